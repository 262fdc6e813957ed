"""The scripts of the queue, their arguments by name, and the table of a job's fields. All of it is data in `bundle.json`,
made from the Rust crate. An argument this package does not know of is found when it is loaded and not in the middle of
somebody's job."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Sequence

_BUNDLE = json.loads(pathlib.Path(__file__).with_name("bundle.json").read_text(encoding="utf-8"))

DIGEST: str = _BUNDLE["digest"]
FIELDS: dict[str, Any] = _BUNDLE["fields"]
SCRIPTS: dict[str, Any] = _BUNDLE["scripts"]

# The arguments that this package can give, by script.
_ENDING = "now opts result_ttl retention"
_GIVEN = {
    "enqueue": "now opts max_waiting jobs",
    "enqueue_dependent": f"{_ENDING} max_waiting jobs",
    "finish_and_claim": f"{_ENDING} worker finishing claiming last_head lock_ttl routing types scan_limit first_seen "
    "last_seen last_index attempts",
    "join_groups": "now jobs",
    "renew": "worker ttl ids",
    "progress": "worker id text",
    "reclaim": f"{_ENDING} max_recoveries cursor pause",
    "promote": "now opts batch",
    "put_cron": "now opts id old_text new_text score type",
    "cancel": f"{_ENDING} ids",
    "pause": "now opts type until_ms",
    "resume": "now opts type only_due",
    "register": "now opts worker pid hostname text",
    "unregister": "now opts worker pid hostname",
    "quarantine": f"{_ENDING} id",
}

for _name, _given in _GIVEN.items():
    _unknown = set(SCRIPTS[_name]["args"]) - set(_given.split())
    if _unknown:
        raise ImportError(f"worldkeep: the script {_name} is not the one this package was written for ({_unknown})")


def words(name: str, keys: Sequence[str], named: dict[str, Any], rest: Sequence[Any]) -> list[Any]:
    """What `EVALSHA` takes after the hash."""
    script = SCRIPTS[name]
    fixed = [named[arg] for arg in script["args"] if arg != script["rest"]]
    return [len(keys), *keys, *fixed, *rest]
