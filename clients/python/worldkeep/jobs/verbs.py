"""The verbs of a queue, each a generator that yields calls to the store: dispatch, look, cancel, pause."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any, Iterable

from .errors import JobsError, StoreError
from .flow import prepare_flow
from .job import Job
from .newjob import Entry, prepare
from .store import Space, Verb, reads, script

# Jobs that one step stores at most.
_DISPATCH_MAX = 500
# The life of a job's failure where results are not kept.
_FAILURE_TTL_S = 86_400
ENDED = ("completed", "failed", "dead")


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a queue. Those of a namespace must be the same in every program, and are the server's defaults."""

    payload_max: int = 1 << 20
    result_max: int = 1 << 20
    #: Seconds for which an ended job stays; 0 deletes it at once, -1 keeps it.
    retention_s: int = 86_400
    result_ttl_s: int = 86_400
    #: Seconds a lock lasts unless it is renewed; 5 or more.
    lock_ttl_s: int = 30
    #: Dispatch is refused when so many jobs wait; 0 switches it off.
    max_waiting: int = 0
    promote_honours_priority: bool = False
    fair_high: bool = False
    scan_limit: int = 1000
    events: bool = True
    max_recoveries: int = 3
    #: What tells of a firing of cron that failed for good: a dead letter of its own (`letter`), or an `alarm`.
    cron_failed: str = "letter"

    def check(self) -> None:
        if self.cron_failed not in ("letter", "alarm"):
            raise JobsError("invalid_option", "cron_failed must be letter or alarm", field="cron_failed")
        for field in dataclasses.fields(self):
            if field.type == "str":
                continue
            value, is_flag = getattr(self, field.name), field.type == "bool"
            if isinstance(value, bool) != is_flag or not isinstance(value, int):
                wanted = "True or False" if is_flag else "a whole number"
                raise JobsError("invalid_option", f"{field.name} must be {wanted}", field=field.name)
        if self.lock_ttl_s < 5:
            raise JobsError("invalid_option", "lock_ttl_s must be whole seconds, 5 or more", field="lock_ttl_s")
        if self.scan_limit < 1:
            raise JobsError("invalid_option", "scan_limit must be 1 or more", field="scan_limit")

    @property
    def opts(self) -> str:
        """The letters of what is switched on, as scripts understand them."""
        switches = (("e", self.events), ("f", self.fair_high), ("n", self.result_ttl_s == 0), ("p", self.promote_honours_priority))
        return "".join(letter for letter, is_on in switches if is_on)


@dataclasses.dataclass
class Answer:
    """What became of one job of `dispatch_many`: an id and a status, or an error."""

    job_id: str | None = None
    status: str | None = None
    error: JobsError | None = None


@dataclasses.dataclass
class JobView:
    """A job as it stands."""

    job_id: str
    job: Job | None
    status: str | None
    progress: dict[str, Any] | None
    result: dict[str, Any] | None
    #: The worker that holds it.
    worker: str | None


@dataclasses.dataclass
class Child:
    """How a job ended that another one waited for."""

    job_id: str
    #: `completed`, `failed` or `dead`; `gone` when it was removed.
    status: str
    #: What its handler returned.
    data: Any = None
    #: Why it failed: `name` and `message`.
    error: dict[str, Any] | None = None


def _child(job_id: str, text: str) -> Child:
    status, _, result = text.partition(" ")
    said = parsed(result)
    said = said if isinstance(said, dict) else {}
    return Child(job_id, status, said.get("data"), said.get("error"))


def parsed(text: str | None) -> Any:
    """What a text says as JSON; nothing when it says nothing."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return None


def _exists(job_id: str) -> JobsError:
    return JobsError("job_exists", f"job {job_id} exists already; choose another id or leave it out", job_id=job_id)


def _stored(entry: Entry, word: str, is_again: bool) -> Answer:
    if word == "" or (word == "exists" and is_again and entry.is_own_id):
        return Answer(entry.id, entry.place if entry.place in ("delayed", "cron") else "waiting")
    if word == "exists":
        return Answer(error=_exists(entry.id))
    holder = word.removeprefix("held ")
    # The first one of two tries holds the key for this very job.
    if holder == entry.id:
        return Answer(entry.id, "waiting")
    return Answer(error=JobsError("not_unique", f"job {holder} holds this unique key", job_id=holder))


class Verbs:
    """Verbs on one namespace."""

    def __init__(self, space: Space, options: Options):
        self.space, self.options, self.opts = space, options, options.opts

    def timed(self) -> dict[str, Any]:
        """Arguments of nearly every script."""
        return {"now": self.space.now(), "opts": self.opts}

    def ending(self) -> dict[str, Any]:
        """Arguments of every script that may end a job."""
        kept, options = self.timed(), self.options
        kept["result_ttl"] = options.result_ttl_s or _FAILURE_TTL_S
        kept["retention"] = max(-1, options.retention_s)
        return kept

    def dispatch_many(self, jobs: Iterable[dict[str, Any]]) -> Verb[list[Answer]]:
        if self.space.wants_time:
            yield reads(["PING"])
        answers: list[Answer] = []
        plain: list[tuple[int, Entry]] = []
        for at, given in enumerate(jobs):
            answers.append(Answer())
            try:
                entry = prepare(given, self.space.now(), self.options.payload_max)
                if entry.depends_on or entry.sequence:
                    # A job that it depends on may stand before it in this very call.
                    yield from self._enqueue(plain, answers)
                    plain = []
                    (answers[at],) = yield from self._enqueue_dependent([entry])
                else:
                    plain.append((at, entry))
            except JobsError as error:
                answers[at] = Answer(error=error)
            if len(plain) == _DISPATCH_MAX:
                yield from self._enqueue(plain, answers)
                plain = []
        yield from self._enqueue(plain, answers)
        return answers

    def _enqueue(self, entries: list[tuple[int, Entry]], answers: list[Answer]) -> Verb[None]:
        """One step. After a lost answer it is sent again, and then a job with an id of our own making that is there was
        stored by the first one: nothing is stored twice, nothing is lost."""
        if not entries:
            return
        is_again, until = False, time.monotonic() + self.space.timeout
        while True:
            rest: list[Any] = []
            for _, one in entries:
                fresh = "1" if one.is_own_id and not is_again else ""
                rest += (one.id, fresh, one.place, one.score, one.text, one.type, one.digest, one.window, one.policy)
            try:
                reply = yield script("enqueue", {**self.timed(), "max_waiting": self.options.max_waiting}, rest)
                break
            except StoreError as fault:
                if time.monotonic() >= until or fault.outcome != "unknown":
                    raise
                is_again = True
        if isinstance(reply, int):
            for at, _ in entries:
                answers[at] = Answer(error=self._full(reply))
            return
        for (at, entry), word in zip(entries, reply):
            answers[at] = _stored(entry, word, is_again)
        yield from self._join_groups([entry for at, entry in entries if answers[at].status == "waiting"])

    def _full(self, waiting: int) -> JobsError:
        most = self.options.max_waiting
        return JobsError("queue_full", f"{waiting} jobs wait already, at most {most} may; try again later")

    def _join_groups(self, entries: list[Entry]) -> Verb[None]:
        """Enters stored jobs into the lines of their groups. A claim enters what it meets in the list, so a fault here costs a
        turn and nothing else."""
        rest = [word for entry in entries if entry.group for word in (entry.id, entry.group)]
        if not rest:
            return
        try:
            yield script("join_groups", {"now": self.space.now()}, rest)
        except StoreError:
            pass

    def dispatch_flow(self, flow: dict[str, Any]) -> Verb[list[Answer]]:
        if self.space.wants_time:
            yield reads(["PING"])
        entries = prepare_flow(flow, self.space.now(), self.options.payload_max)
        answers = yield from self._enqueue_dependent(entries)
        return answers[::-1]

    def _enqueue_dependent(self, entries: list[Entry]) -> Verb[list[Answer]]:
        """Jobs that depend on others or follow the last of their sequence, dependencies first. All are stored, or none and it
        raises."""
        rest = [word for one in entries for word in (one.id, one.text, one.digest, one.window)]
        reply = yield script("enqueue_dependent", {**self.ending(), "max_waiting": self.options.max_waiting}, rest)
        if isinstance(reply, int):
            raise self._full(reply)
        word, job_id = reply[0], reply[-1]
        if word == "exists":
            raise _exists(job_id)
        if word == "held":
            raise JobsError("not_unique", f"job {job_id} holds this unique key", job_id=job_id)
        if word == "unknown":
            message = f"there is no job {job_id}, so nothing can depend on it"
            raise JobsError("unknown_dependency", message, field="dependsOn")
        states = {"placed": "waiting", "parked": "waiting"}
        answers = [Answer(one.id, states.get(word, word)) for one, word in zip(entries, reply)]
        placed = [(one, answer) for one, answer, word in zip(entries, answers, reply) if word == "placed"]
        for one, answer in placed:
            if one.place == "delayed":
                answer.status = "delayed"
        yield from self._join_groups([one for one, answer in placed if answer.status == "waiting"])
        return answers

    def put_cron(self, job_id: str, given: dict[str, Any]) -> Verb[bool]:
        if self.space.wants_time:
            yield reads(["PING"])
        while True:
            entry = prepare({**given, "jobId": job_id}, self.space.now(), self.options.payload_max)
            if not entry.is_cron:
                message = "schedule.cron is missing: say when the definition fires"
                raise JobsError("invalid_cron", message, field="schedule.cron")
            (old,) = yield reads(["GET", self.space.key(f"jobs:data:{job_id}")])
            named = {"id": job_id, "old_text": old or "", "new_text": entry.text, "score": entry.score, "type": entry.type}
            word = yield script("put_cron", {**self.timed(), **named})
            if word == "exists":
                raise _exists(job_id)
            if word != "changed":
                return word == "created"

    def children(self, job: Job) -> Verb[list[Child]]:
        ids, key = job.depends_on, self.space.key
        if not ids:
            return []
        (noted,) = yield reads(["HMGET", key(f"x:flow:{job.job_id}"), *ids])
        unknown = [job_id for job_id, text in zip(ids, noted) if text is None]
        found: dict[str, str] = {}
        if unknown:
            (texts,) = yield reads(["MGET", *(key(f"jobs:{name}:{job_id}") for job_id in unknown for name in ("status", "result"))])
            found = {job_id: f"{texts[2 * n] or 'gone'} {texts[2 * n + 1] or ''}" for n, job_id in enumerate(unknown)}
        return [_child(job_id, found[job_id] if text is None else text) for job_id, text in zip(ids, noted)]

    def get(self, job_id: str) -> Verb[JobView | None]:
        keys = [self.space.key(f"jobs:{name}:{job_id}") for name in ("data", "status", "progress", "result", "lock")]
        ((text, status, progress, result, worker),) = yield reads(["MGET", *keys])
        if text is None and status is None and result is None:
            return None
        job = None if text is None else Job.read(job_id, text)
        return JobView(job_id, job, status, parsed(progress), parsed(result), worker)

    def cancel(self, ids: tuple[str, ...]) -> Verb[list[tuple[str, str, str]]]:
        reply = yield script("cancel", self.ending(), ids)
        return [(job_id, reply[2 * n], reply[2 * n + 1]) for n, job_id in enumerate(ids)]

    def pause(self, kind: str, for_ms: int | None) -> Verb[bool]:
        until = "" if for_ms is None else self.space.now() + for_ms
        return (yield script("pause", {**self.timed(), "type": kind, "until_ms": until})) == "changed"

    def resume(self, kind: str) -> Verb[bool]:
        return (yield script("resume", {**self.timed(), "type": kind, "only_due": ""})) == "changed"

    def stats(self) -> Verb[dict[str, int]]:
        key = self.space.key
        counts = yield reads(
            ["LLEN", key("jobs:waiting")], ["SCARD", key("jobs:active")], ["ZCARD", key("jobs:delayed")],
            ["ZCARD", key("jobs:cron")], ["LLEN", key("jobs:deadletter")],
        )
        return dict(zip(("waiting", "active", "delayed", "cron", "dead"), counts))

    def leader_scripts(self) -> Verb[str | None]:
        (text,) = yield reads(["GET", self.space.key("scheduler:leader")])
        leader = parsed(text)
        return leader.get("scripts") if isinstance(leader, dict) else None


def outcome(view: JobView, status: str) -> Any:
    """What the handler returned; raises when the job did not complete."""
    result = view.result or {}
    if status == "completed":
        return result.get("data")
    error = result.get("error") or {}
    name, message = error.get("name", "Error"), error.get("message", f"the job is {status}")
    raise JobsError("job_failed", f"job {view.job_id} is {status}: {name}: {message}", job_id=view.job_id, error=error)


def status_of(view: JobView | None, seen: bool, job_id: str) -> str | None:
    """A job's status; one that was there and is deleted at its end is told by its result."""
    if view is None:
        if not seen:
            raise JobsError("no_such_job", f"there is no job {job_id}", job_id=job_id)
        return "gone"
    if view.status is None and seen and view.result is not None:
        return "completed" if view.result.get("success") else "failed"
    return view.status
