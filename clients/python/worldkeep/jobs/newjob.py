"""A job to be dispatched: checked by the table of fields, and written with the members and the order of the seed."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import uuid
from typing import Any, Callable

from .bundle import FIELDS
from .cron import check_cron
from .errors import JobsError
from .splice import depth, dumps

_DEPTH_MAX = 100
_DAY_MS = 86_400_000
_SAFE = 2**53 - 1
# Short names for members of `schedule`.
_SHORT = ("delay", "runAt", "cron", "timezone")
# Members that a job carries which was read and is sent again.
_IGNORED = ("createdAt", "attempts", "status")
# Words that a path of the API may end with after its last colon; an id or a type must not look like that.
_VERBS = re.compile(r":(batch|bury|cancel|fire|limit|pause|purge|quiet|requeue|resume|retry|runNow|stop)\Z")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ABSENT: Any = object()


def _refuse(code: str, field: str, message: str) -> JobsError:
    return JobsError(code, message, field=field)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _text(value: Any, rule: dict[str, Any], path: str, code: str) -> Any:
    if not isinstance(value, str):
        raise _refuse(code, path, f"{path} must be text")
    if "words" in rule and value not in rule["words"]:
        raise _refuse(code, path, f"{path} must be {' or '.join(rule['words'])}")
    fits = rule.get("min", 0) <= _size(value) <= rule.get("max", _SAFE) and value not in rule.get("not", ())
    if fits and "pattern" in rule:
        fits = re.fullmatch(rule["pattern"].strip("^$"), value) is not None
    if not fits or (rule.get("controls") is False and _CONTROLS.search(value)):
        raise _refuse(code, path, f"{path} {rule.get('says')}")
    if rule.get("verb") and _VERBS.search(value):
        raise _refuse(code, path, f"{path} must not end like an action of the API, such as :cancel")
    return _ABSENT if value == rule.get("drop") else value


def _texts(value: Any, rule: dict[str, Any], path: str, code: str) -> Any:
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
        raise _refuse(code, path, f"{path} must be a list of texts")
    most, longest = rule.get("most", 64), rule.get("max", 200)
    if len(value) > most or not all(rule.get("min", 0) <= _size(one) <= longest for one in value):
        raise _refuse(code, path, f"{path} {rule.get('says', f'takes up to {most} texts of up to {longest} bytes')}")
    return list(value) if value or rule.get("keep") else _ABSENT


def _count(value: Any, rule: dict[str, Any], path: str, code: str) -> Any:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _SAFE:
        raise _refuse(code, path, f"{path} must be a whole number")
    if value < 0:
        raise _refuse(code, path, f"{path} must not be negative")
    if not rule.get("least", 0) <= value <= rule.get("max", _SAFE):
        raise _refuse(code, path, f"{path} {rule.get('says')}")
    return value


def _bool(value: Any, _rule: dict[str, Any], path: str, code: str) -> Any:
    if not isinstance(value, bool):
        raise _refuse(code, path, f"{path} must be true or false")
    return value or _ABSENT


def _map(value: Any, _rule: dict[str, Any], path: str, code: str) -> Any:
    if not isinstance(value, dict):
        raise _refuse(code, path, f"{path} must be an object")
    return value


def _object(value: Any, rule: dict[str, Any], path: str, code: str) -> Any:
    return _members(_map(value, rule, path, code), rule["members"], f"{path}.", code)


_READ: dict[str, Callable[..., Any]] = {
    "text": _text, "texts": _texts, "count": _count, "bool": _bool, "map": _map, "object": _object,
    "json": lambda value, *_: value,
}


def _members(given: dict[str, Any], rules: dict[str, Any], path: str, code: str) -> dict[str, Any]:
    """The members that are known, in the order of the table; absent ones and those of no meaning are left out."""
    for name in given:
        if name not in rules:
            message = f"{path}{name} is no field of a job; leave it out or put it into metadata"
            raise _refuse("unknown_field", f"{path}{name}", message)
    read = {}
    for name, rule in rules.items():
        value = given.get(name, rule.get("default", _ABSENT))
        own = rule.get("code", code)
        if value is _ABSENT:
            if rule.get("required"):
                raise _refuse(own, f"{path}{name}", f"{path}{name} is missing")
            continue
        kept = _READ[rule["kind"]](value, rule, f"{path}{name}", own)
        if kept is not _ABSENT:
            read[name] = kept
    return read


def _json(value: Any, field: str, code: str, most: int) -> str:
    try:
        text = dumps(value)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise _refuse(code, field, f"{field} is no JSON: {error}") from None
    if size > most:
        raise _refuse("too_large", field, f"{field} has {size} bytes, at most {most} are taken")
    if depth(text) > _DEPTH_MAX:
        raise _refuse(code, field, f"{field} is nested more than {_DEPTH_MAX} deep")
    return text


def _check_schedule(schedule: dict[str, Any]) -> None:
    if sum(name in schedule for name in ("delay", "runAt", "cron")) > 1:
        raise _refuse("conflicting_schedule", "schedule", "schedule takes one of delay, runAt and cron")
    if "cron" in schedule:
        check_cron(schedule["cron"], schedule.get("timezone"))
    elif "timezone" in schedule:
        message = "schedule.timezone has a meaning with schedule.cron only"
        raise _refuse("invalid_timezone", "schedule.timezone", message)


def _place(job: dict[str, Any], now: int) -> tuple[str, int]:
    """The structure that a new job goes to, and its score there. A cron definition is due at once: the scheduler finds
    that this is no occurrence of the expression and sets the true time, without firing."""
    schedule = job["schedule"]
    if "cron" in schedule:
        return "cron", 1
    if "runAt" in schedule:
        return "delayed", schedule["runAt"]
    if schedule.get("delay", 0) > 0:
        return "delayed", now + schedule["delay"]
    return ("front" if job["priority"] >= 7 else "back"), 0


def _unique_of(job: dict[str, Any]) -> dict[str, Any] | None:
    """The uniqueness key of a job. A debounce replaces the job that waits with its key and waits anew; a throttle keeps its
    key also after the job's end."""
    unique, debounce, throttle = (job.pop(name, None) for name in ("unique", "debounce", "throttle"))
    if sum(one is not None for one in (unique, debounce, throttle)) > 1:
        raise _refuse("invalid_unique", "unique", "a job takes one of unique, debounce and throttle")
    if debounce is not None:
        if job["schedule"]:
            raise _refuse("invalid_debounce", "debounce", "debounce says when the job runs: leave schedule out")
        job["schedule"] = {"delay": debounce["waitMs"]}
        # The key outlives the wait, because a full queue may keep the job longer.
        window = debounce["waitMs"] + _DAY_MS
        return {"key": f"debounce:{debounce['key']}", "windowMs": window, "onConflict": "debounce"}
    if throttle is not None:
        return {"key": f"throttle:{throttle['key']}", "windowMs": throttle["windowMs"], "onConflict": "throttle"}
    if unique is None and "uniqueKey" in job.get("x", {}):
        # Stored jobs carry the key only; its window is then a day.
        return {"key": job["x"]["uniqueKey"], "windowMs": _DAY_MS, "onConflict": "reject"}
    return unique


@dataclasses.dataclass
class Entry:
    """A job that was checked, with all that the scripts want to know of it."""

    id: str
    is_own_id: bool
    type: str
    text: str
    place: str
    score: int
    depends_on: list[str]
    digest: str
    window: str
    policy: str
    is_cron: bool
    group: str
    sequence: str


def digest(key: str) -> str:
    """The digest of a uniqueness key, as scripts compute it."""
    return hashlib.sha1(key.encode()).hexdigest()


def prepare(given: dict[str, Any], now: int, payload_max: int, place: dict[str, str] | None = None) -> Entry:
    """Checks a job and writes its text. `place` is its flow and its parent there."""
    if not isinstance(given, dict):
        raise _refuse("invalid_body", "", "a job is an object")
    rest = {name: value for name, value in given.items() if name not in _SHORT and name not in _IGNORED}
    short = {name: given[name] for name in _SHORT if name in given}
    if short:
        rest["schedule"] = {**rest.get("schedule", {}), **short}
    # The definition that fired a job, and its place in a flow, are not for its sender to name.
    if isinstance(rest.get("x"), dict):
        rest["x"] = {name: value for name, value in rest["x"].items() if name not in ("cronParent", "flow", "parent")}
    if place:
        rest["x"] = {**rest.get("x", {}), **place}
    job = _members(rest, FIELDS, "", "invalid_body")
    job_id, unique = job.pop("jobId", None), _unique_of(job)
    _check_schedule(job["schedule"])
    is_cron = "cron" in job["schedule"]
    if is_cron and job["dependsOn"]:
        raise _refuse("invalid_dependency", "dependsOn", "a cron definition cannot depend on other jobs")
    if is_cron and job.get("x", {}).get("sequence"):
        raise _refuse("invalid_x", "x.sequence", "a cron definition has no place in a sequence")
    if is_cron and unique:
        raise _refuse("invalid_unique", "unique", "a cron definition is unique by its id")
    job["priority"] = job["priority"] or 5
    if unique and unique["onConflict"] != "throttle":
        job["x"] = {"uniqueKey": unique["key"], **{k: v for k, v in job.get("x", {}).items() if k != "uniqueKey"}}
    name = job_id if job_id is not None else str(uuid.uuid4())
    place, score = _place(job, now)
    return Entry(
        name, job_id is None, job["type"], _write(name, job, now, payload_max), place, score, job["dependsOn"],
        digest(unique["key"]) if unique else "", str(unique["windowMs"]) if unique else "",
        unique["onConflict"] if unique else "", is_cron, job.get("x", {}).get("group", ""),
        job.get("x", {}).get("sequence", ""),
    )


def _write(name: str, job: dict[str, Any], now: int, payload_max: int) -> str:
    """The bytes that are stored."""
    payload = _json(job["payload"], "payload", "invalid_payload", payload_max)
    metadata = _json(job["metadata"], "metadata", "invalid_metadata", payload_max)
    ends = "".join(f',"{part}":{dumps(job[part])}' for part in ("rateLimit", "x") if job.get(part))
    return (
        f'{{"jobId":{dumps(name)},"type":{dumps(job["type"])},"payload":{payload},'
        f'"schedule":{dumps(job["schedule"])},"retry":{dumps(job["retry"])},"priority":{job["priority"]},'
        f'"dependsOn":{dumps(job["dependsOn"])},"target":{dumps(job["target"])},"metadata":{metadata},'
        f'"createdAt":{now},"attempts":0{ends}}}'
    )
