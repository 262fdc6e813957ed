"""A flow: a job and the jobs that must end before it, as a tree. A parent depends on its children."""

from __future__ import annotations

import uuid
from typing import Any

from .errors import JobsError
from .newjob import Entry, prepare

# Jobs of a flow, at most: one step stores them all.
_JOBS_MAX = 500
# Jobs from the root of a flow to its lowest leaf, at most.
_DEPTH_MAX = 16


def _refuse(path: str, field: str, why: str) -> JobsError:
    return JobsError("invalid_flow", f"{path[:-1]}: {why}" if path else why, field=path + field)


def _check(entry: Entry, path: str) -> None:
    if entry.is_cron:
        raise _refuse(path, "schedule.cron", "a cron definition cannot be part of a flow")
    if entry.policy not in ("", "reject"):
        why = "a job of a flow can be unique with reject only: all of a flow is stored, or none"
        raise _refuse(path, "unique", why)


def prepare_flow(flow: dict[str, Any], now: int, payload_max: int) -> list[Entry]:
    """The jobs of a flow, each child before its parent."""
    entries: list[Entry] = []
    root = _id_of(flow)

    def add(given: Any, job_id: Any, parent: Any, path: str, depth: int) -> None:
        if not isinstance(given, dict):
            raise JobsError("invalid_body", f"{path[:-1]}: a job is an object", field=path[:-1])
        job = dict(given)
        children = job.pop("children", [])
        if depth > _DEPTH_MAX:
            raise _refuse(path, "children", f"a flow is up to {_DEPTH_MAX} jobs deep")
        if not isinstance(children, list):
            raise _refuse(path, "children", "children must be a list of jobs")
        ids = [_id_of(child) for child in children]
        for number, (child, child_id) in enumerate(zip(children, ids)):
            add(child, child_id, job_id, f"{path}children[{number}].", depth + 1)
        others = job.get("dependsOn", [])
        job = {**job, "jobId": job_id, "dependsOn": [*others, *ids] if isinstance(others, list) else others}
        place = {"flow": root} if parent is None else {"flow": root, "parent": parent}
        entry = _prepared(job, now, payload_max, place, path)
        _check(entry, path)
        if len(entries) == _JOBS_MAX:
            raise _refuse(path, "children", f"a flow has up to {_JOBS_MAX} jobs")
        entries.append(entry)

    add(flow, root, None, "", 1)
    return entries


def _id_of(given: Any) -> Any:
    given_id = given.get("jobId") if isinstance(given, dict) else None
    return str(uuid.uuid4()) if given_id is None else given_id


def _prepared(job: dict[str, Any], now: int, payload_max: int, place: dict[str, str], path: str) -> Entry:
    """A refusal names the job in the tree that it is about."""
    try:
        return prepare(job, now, payload_max, place)
    except JobsError as error:
        if not path:
            raise
        field = (path + (error.field or "")).rstrip(".")
        raise JobsError(error.code, f"{path[:-1]}: {error}", field=field) from error
