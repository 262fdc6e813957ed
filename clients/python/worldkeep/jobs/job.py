"""A stored job: its text is the truth. Members of the wrong type read as absent; edits change the members they own and
keep every other byte."""

from __future__ import annotations

import json
import math
from typing import Any

from .splice import dumps, edit, member

# No job waits longer than this before a retry.
_MAX_DELAY_MS = 30 * 86_400_000
_USUAL_RETRY = {"attempts": 3, "backoff": {"type": "exponential", "delay": 2000}}


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None


def words(value: Any) -> list[str]:
    """The texts of a list, or none."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


class Job:
    """A job as it is stored."""

    def __init__(self, job_id: str, text: str, read: dict[str, Any]):
        self.job_id = job_id
        self.text = text
        self.type: str = read["type"]
        self.payload: Any = read.get("payload", {})
        self.metadata = _dict(read.get("metadata"))
        self.schedule = _dict(read.get("schedule"))
        self.retry: dict[str, Any] = {**_USUAL_RETRY, **_dict(read.get("retry"))}
        self.priority = _count(read.get("priority")) or 5
        self.depends_on = words(read.get("dependsOn"))
        self.target = _dict(read.get("target"))
        self.created_at = _count(read.get("createdAt")) or 0
        #: Retries that were scheduled so far.
        self.attempts = _count(read.get("attempts")) or 0
        self.x = _dict(read.get("x"))

    @staticmethod
    def read(job_id: str, text: str) -> Job | None:
        """Reads a stored text; nothing when no worker could run it."""
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            return None
        is_job = isinstance(read, dict) and isinstance(read.get("type"), str) and read["type"] != ""
        return Job(job_id, text, read) if is_job else None

    @property
    def is_high(self) -> bool:
        return self.priority >= 7

    @property
    def is_cron(self) -> bool:
        cron = self.schedule.get("cron")
        return isinstance(cron, str) and cron != ""

    @property
    def max_attempts(self) -> int:
        """The number of retries it may have."""
        attempts = _count(self.retry.get("attempts"))
        return 3 if attempts is None else attempts

    def backoff_ms(self, random: float) -> int:
        """Milliseconds before the next retry; `random` is 0 to 1 and spreads the wait."""
        backoff = _dict(self.retry.get("backoff"))
        delay = _count(backoff.get("delay"))
        delay = 2000 if delay is None else delay
        kind = backoff.get("type", "exponential")
        wait = delay
        if kind == "exponential":
            wait = delay << min(self.attempts, 64)
        elif kind == "linear":
            wait = delay * (self.attempts + 1)
        wait = min(wait, _count(backoff.get("maxDelay")) or _MAX_DELAY_MS, _MAX_DELAY_MS)
        if backoff.get("jitter") is True:
            wait = math.floor(wait * (0.75 + 0.5 * random))
        return min(wait, _MAX_DELAY_MS)

    def with_attempts(self, attempts: int) -> str:
        """The text with another number of attempts."""
        return edit(self.text, {"attempts": str(attempts)})

    def instance(self, job_id: str, now: int) -> str:
        """The text of one firing of this definition, as a job of its own."""
        x = edit(member(self.text, "x") or "{}", {"cronParent": dumps(self.job_id)})
        changes = {"jobId": dumps(job_id), "schedule": "{}", "createdAt": str(now), "attempts": "0", "x": x}
        return edit(self.text, changes)

    def rerouted(self, worker: str, attempts: int) -> str:
        """The text for a retry that must not run on `worker` again."""
        exclude = list(dict.fromkeys([*words(self.x.get("exclude")), worker]))
        x = edit(member(self.text, "x") or "{}", {"exclude": dumps(exclude)})
        target = edit(member(self.text, "target") or "{}", {"server": None})
        return edit(self.text, {"target": target, "attempts": str(attempts), "x": x})
