"""How an attempt ends: by the job's own rules, by what its handler raised, or by a cancellation; and the arguments of the
script about it."""

from __future__ import annotations

import dataclasses
import random
import traceback
from typing import Any

from .errors import Dead, Discard, JobError, RetryAfter, Snooze
from .job import Job, words
from .newjob import digest
from .splice import dumps


@dataclasses.dataclass
class Ending:
    #: completed, retry, dead, failed or hand_back.
    outcome: str
    #: JSON of what the handler returned.
    data: str | None = None
    failure: dict[str, str] | None = None
    #: Unix ms; 0 is at once.
    run_at: int = 0
    #: Whether a retry uses up an attempt.
    counts: bool = False
    #: Whether another worker must run it.
    reroute: bool = False


@dataclasses.dataclass
class Done:
    job: Job
    ending: Ending
    took_ms: int = 0
    progressed: bool = False


def failed(name: str, message: str) -> Ending:
    return Ending("failed", failure={"message": message, "name": name})


def completed(value: Any) -> Ending:
    """The end of an attempt whose handler returned. A result that is no JSON now is none later either."""
    try:
        data = None if value is None else dumps(value)
        if data is not None:
            data.encode()
        return Ending("completed", data=data)
    except (TypeError, ValueError, RecursionError) as error:
        return Ending("dead", failure={"message": f"the result is no JSON: {error}", "name": "InvalidResult"})


def _failure_of(error: BaseException) -> dict[str, str]:
    name = error.name if isinstance(error, JobError) else type(error).__name__
    stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    message = str(error).encode("utf-8", "replace").decode()
    return {"message": message, "stack": stack.encode("utf-8", "replace").decode(), "name": name}


def after_error(job: Job, error: BaseException, now: int) -> Ending:
    """The end of an attempt whose handler raised."""
    failure = _failure_of(error)
    if isinstance(error, Discard):
        return Ending("failed", failure=failure)
    if isinstance(error, Dead):
        return Ending("dead", failure=failure)
    if isinstance(error, Snooze):
        return Ending("retry", failure=failure, run_at=now + max(1, round(error.ms)))
    if failure["name"] in words(job.retry.get("skipOn")) or job.attempts >= job.max_attempts:
        return Ending("dead", failure=failure)
    wait = max(0, round(error.ms)) if isinstance(error, RetryAfter) else job.backoff_ms(random.random())
    reroute = failure["name"] in words(job.retry.get("rerouteOn"))
    return Ending("retry", failure=failure, run_at=now + wait if wait else 0, counts=True, reroute=reroute)


def _result_of(ending: Ending, now: int, took: int, is_large: bool) -> str:
    times = f'"completedAt":{now},"processingTime":{took}}}'
    if ending.outcome == "hand_back":
        return ""
    if ending.outcome != "completed":
        return f'{{"success":false,"error":{dumps(ending.failure)},{times}'
    data = "null" if is_large else ending.data
    return f'{{"success":true,{times}' if data is None else f'{{"success":true,"data":{data},{times}'


def _body_of(done: Done, worker: str) -> str:
    """The body of the event."""
    job, ending = done.job, done.ending
    if ending.outcome == "completed":
        return dumps({"took": done.took_ms, "type": job.type, "worker": worker})
    if ending.outcome == "hand_back":
        return dumps({"reason": "handed_back", "type": job.type, "worker": worker})
    name = (ending.failure or {}).get("name")
    if ending.outcome != "retry":
        return dumps({"error": name, "took": done.took_ms, "type": job.type, "worker": worker})
    return dumps({
        "attempt": job.attempts + ending.counts, "error": name, "runAt": ending.run_at, "took": done.took_ms,
        "type": job.type, "worker": worker,
    })


def attempt_args(done: Done, worker: str, now: int, options: Any) -> list[Any]:
    """The arguments of `finish_and_claim` about one attempt: six, and five more when there is something to the job."""
    job, ending = done.job, done.ending
    is_retry = ending.outcome == "retry"
    is_large = ending.data is not None and len(ending.data.encode()) > options.result_max
    unique, batch = (value if isinstance(value, str) else "" for value in (job.x.get("uniqueKey"), job.x.get("batch")))
    flags = "".join(letter for letter, is_so in (
        ("c", job.is_cron),
        # An attempt before this one may have left some progress.
        ("p", done.progressed or job.attempts > 0),
        ("l", is_large), ("u", unique), ("b", batch),
        ("f", isinstance(job.x.get("flow"), str) and job.depends_on), ("r", is_retry), ("h", is_retry and job.is_high),
    ) if is_so)
    result = _result_of(ending, now, done.took_ms, is_large)
    args: list[Any] = [job.job_id, ending.outcome, job.type, result, _body_of(done, worker), flags]
    if not flags:
        return args
    attempts = job.attempts + ending.counts
    new_text, old_text = _letter_of(job, ending, now, options.cron_failed)
    if is_retry:
        new_text = job.rerouted(worker, attempts) if ending.reroute else job.with_attempts(attempts)
        old_text = job.text
    args += [new_text, old_text, ending.run_at, digest(unique) if unique else "", batch]
    return args


def _letter_of(job: Job, ending: Ending, now: int, cron_failed: str) -> tuple[str, str]:
    """A definition fires on, so a firing that failed for good is told by a letter of its own (text and id), or by an
    alarm."""
    if not job.is_cron or ending.outcome != "dead" or cron_failed != "letter":
        return "", ""
    letter = f"{job.job_id}:{now}"
    return job.instance(letter, now), letter
