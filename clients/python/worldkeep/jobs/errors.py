"""Errors of the package: refusals of the queue, faults of the store, and the errors by which a handler says how its
attempt goes on."""

from __future__ import annotations

from typing import Any


class JobsError(Exception):
    """The queue says no, and nothing was changed. `code` is a stable word, `field` the part of the job that is meant."""

    def __init__(self, code: str, message: str, *, field: str | None = None, job_id: str | None = None, error: Any = None):
        super().__init__(message)
        self.code = code
        self.field = field
        self.job_id = job_id
        self.error = error


class StoreError(Exception):
    """The store failed. With `outcome` `unknown` the call may have happened; with `not_sent` it has not."""

    code = "store"

    def __init__(self, outcome: str, message: str):
        super().__init__(message)
        self.outcome = outcome


class JobError(Exception):
    """Raised by a handler: the base of the four ways an attempt can go on beside the job's own rules."""

    def __init__(self, message: str = "", name: str | None = None):
        super().__init__(message)
        self.name = name or type(self).__name__


class RetryAfter(JobError):
    """Again after `ms`, while the job has attempts left."""

    def __init__(self, ms: float, message: str = "the handler asked to run again later", name: str | None = None):
        super().__init__(message, name)
        self.ms = ms


class Snooze(JobError):
    """Again after `ms`; this uses no attempt."""

    def __init__(self, ms: float):
        super().__init__("the handler asked to run later")
        self.ms = ms


class Discard(JobError):
    """Never again, and not in the dead letters: the job ends as `failed`."""


class Dead(JobError):
    """Never again: to the dead letters at once."""
