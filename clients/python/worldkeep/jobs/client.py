"""A queue in one namespace, for threads and for asyncio."""

from __future__ import annotations

import asyncio
import os
import re
import time
from typing import Any, AsyncIterator, Iterable, Iterator

import redis

from .bundle import DIGEST
from .errors import JobsError
from .events import BLOCK_MS, Reader
from .store import AsyncStore, Store
from .verbs import ENDED, Answer, JobView, Options, Verbs, outcome, status_of

_LOCAL = "redis://127.0.0.1:6379"
# A job is looked at this often while somebody waits for its end, in seconds.
_LOOK = (0.01, 0.25)
# Names of a job's fields as arguments.
_NAMES = {"job_id": "jobId", "depends_on": "dependsOn", "rate_limit": "rateLimit", "run_at": "runAt"}


def _job(kind: str, payload: Any, fields: dict[str, Any]) -> dict[str, Any]:
    given = {_NAMES.get(name, name): value for name, value in fields.items() if value is not None}
    return {"type": kind, **({} if payload is None else {"payload": payload}), **given}


def _check(namespace: str, layout: str) -> None:
    if not isinstance(namespace, str) or not re.fullmatch(r"[A-Za-z0-9._{}-]{1,64}", namespace):
        message = "namespace must be 1 to 64 of A-Z, a-z, 0-9, ., _, -, { and }"
        raise JobsError("invalid_option", message, field="namespace")
    if layout not in ("plain", "tagged"):
        raise JobsError("invalid_option", "layout must be plain or tagged", field="layout")


class _Queue:
    """What both kinds of queue have."""

    def __init__(self, redis: Any, namespace: str, layout: str, timeout: float, options: dict[str, Any]):
        _check(namespace, layout)
        try:
            self.options = Options(**options)
        except TypeError as error:
            raise JobsError("invalid_option", f"no such option of a queue: {error}") from None
        self.options.check()
        self.namespace, self.layout, self.timeout = namespace, layout, timeout
        self.to = redis if redis is not None else os.environ.get("REDIS_URL", _LOCAL)

    def _given(self) -> tuple[Any, str, str, float]:
        return self.to, self.namespace, self.layout, self.timeout


class Jobs(_Queue):
    """A queue for programs with threads. `redis` is an address (`REDIS_URL` or this machine when absent) or a client of
    redis-py, whose address is taken over."""

    def __init__(
        self, redis: Any = None, *, namespace: str = "bridge", layout: str = "plain", timeout: float = 5.0, **options: Any
    ):
        super().__init__(redis, namespace, layout, timeout, options)
        self.store = Store(*self._given())
        self.verbs = Verbs(self.store, self.options)

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    def now(self) -> int:
        """Unix milliseconds, the store's."""
        return self.store.now()

    def dispatch(self, type: str, payload: Any = None, **fields: Any) -> str:
        """Stores a job and gives its id. Fields as in `POST /api/jobs`: `delay`, `run_at`, `cron`, `priority`, `retry`,
        `target`, `rate_limit`, `unique`, `depends_on`, `metadata`, `job_id`, `x`."""
        (answer,) = self.dispatch_many([_job(type, payload, fields)])
        if answer.error:
            raise answer.error
        return str(answer.job_id)

    def dispatch_many(self, jobs: Iterable[dict[str, Any]]) -> list[Answer]:
        """The same for many, up to 500 in a step; an answer per job, in order."""
        return self.store.run(self.verbs.dispatch_many(jobs))

    def dispatch_flow(self, flow: dict[str, Any]) -> list[Answer]:
        """Stores a flow, all of it or nothing: a job as in `POST /api/jobs:flow`, with `children`, which may have children, too. A
        parent runs when its children have ended, and sees how by `cx.children()`. Gives all jobs, the root first."""
        return self.store.run(self.verbs.dispatch_flow(flow))

    def put_cron(self, job_id: str, type: str, payload: Any = None, **fields: Any) -> bool:
        """Creates a cron definition under this id, or replaces it; whether it is new. A scheduler of Worldkeep fires it."""
        return self.store.run(self.verbs.put_cron(job_id, _job(type, payload, fields)))

    def get(self, job_id: str) -> JobView | None:
        """A job as it stands."""
        return self.store.run(self.verbs.get(job_id))

    def wait(self, job_id: str, timeout: float = 30.0) -> Any:
        """Waits until a job has ended, and gives what its handler returned; raises when it failed, or has not ended in
        time."""
        until, look, seen = time.monotonic() + timeout, _LOOK[0], False
        while True:
            view = self.get(job_id)
            status = status_of(view, seen, job_id)
            if view is None:
                return None
            seen = True
            if status in ENDED:
                return outcome(view, str(status))
            if time.monotonic() >= until:
                raise JobsError("wait_timeout", f"job {job_id} is {status} after {timeout} s", job_id=job_id)
            time.sleep(look)
            look = min(look * 1.5, _LOOK[1])

    def cancel(self, *ids: str) -> list[tuple[str, str, str]]:
        """Asks for the end of jobs: waiting ones end at once, running ones are told. Id, answer, status before of each."""
        return self.store.run(self.verbs.cancel(ids))

    def pause(self, type: str, for_ms: int | None = None) -> bool:
        """Stops claims of a type (`*`: all), for good or for a time."""
        return self.store.run(self.verbs.pause(type, for_ms))

    def resume(self, type: str) -> bool:
        """Lets claims of a type go on."""
        return self.store.run(self.verbs.resume(type))

    def stats(self) -> dict[str, int]:
        """How many jobs are where."""
        return self.store.run(self.verbs.stats())

    def has_same_scripts(self) -> bool | None:
        """Whether the scheduler that leads has the scripts of this package; nothing when it does not say."""
        theirs = self.store.run(self.verbs.leader_scripts())
        return None if theirs is None else theirs == DIGEST

    def events(self, after: str | None = None, types: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
        """What happens in the namespace, from now on or after an event that was seen."""
        reader = Reader(self.store, self.namespace, after, types)
        client = self.store.open(socket_timeout=BLOCK_MS / 1000 + self.timeout)
        try:
            while True:
                try:
                    found = [] if reader.is_sure else reader.resume(*[client.execute_command(*one) for one in reader.edges])
                    found += reader.take(client.execute_command(*reader.read))
                except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
                    # It comes back, and nothing is missed unless the stream was trimmed meanwhile.
                    reader.is_sure = False
                    time.sleep(0.1)
                    continue
                yield from found
        finally:
            client.close()


class AsyncJobs(_Queue):
    """A queue for asyncio; the same verbs, awaited."""

    def __init__(
        self, redis: Any = None, *, namespace: str = "bridge", layout: str = "plain", timeout: float = 5.0, **options: Any
    ):
        super().__init__(redis, namespace, layout, timeout, options)
        self.store = AsyncStore(*self._given())
        self.verbs = Verbs(self.store, self.options)

    async def __aenter__(self) -> AsyncJobs:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        await self.store.close()

    def now(self) -> int:
        """Unix milliseconds, the store's."""
        return self.store.now()

    async def dispatch(self, type: str, payload: Any = None, **fields: Any) -> str:
        """Stores a job and gives its id; see `Jobs.dispatch`."""
        (answer,) = await self.dispatch_many([_job(type, payload, fields)])
        if answer.error:
            raise answer.error
        return str(answer.job_id)

    async def dispatch_many(self, jobs: Iterable[dict[str, Any]]) -> list[Answer]:
        """The same for many, up to 500 in a step; an answer per job, in order."""
        return await self.store.run(self.verbs.dispatch_many(jobs))

    async def dispatch_flow(self, flow: dict[str, Any]) -> list[Answer]:
        """Stores a flow, all of it or nothing; see `Jobs.dispatch_flow`."""
        return await self.store.run(self.verbs.dispatch_flow(flow))

    async def put_cron(self, job_id: str, type: str, payload: Any = None, **fields: Any) -> bool:
        """Creates a cron definition under this id, or replaces it; whether it is new. A scheduler of Worldkeep fires it."""
        return await self.store.run(self.verbs.put_cron(job_id, _job(type, payload, fields)))

    async def get(self, job_id: str) -> JobView | None:
        """A job as it stands."""
        return await self.store.run(self.verbs.get(job_id))

    async def wait(self, job_id: str, timeout: float = 30.0) -> Any:
        """Waits until a job has ended; see `Jobs.wait`."""
        until, look, seen = time.monotonic() + timeout, _LOOK[0], False
        while True:
            view = await self.get(job_id)
            status = status_of(view, seen, job_id)
            if view is None:
                return None
            seen = True
            if status in ENDED:
                return outcome(view, str(status))
            if time.monotonic() >= until:
                raise JobsError("wait_timeout", f"job {job_id} is {status} after {timeout} s", job_id=job_id)
            await asyncio.sleep(look)
            look = min(look * 1.5, _LOOK[1])

    async def cancel(self, *ids: str) -> list[tuple[str, str, str]]:
        """Asks for the end of jobs; see `Jobs.cancel`."""
        return await self.store.run(self.verbs.cancel(ids))

    async def pause(self, type: str, for_ms: int | None = None) -> bool:
        """Stops claims of a type (`*`: all), for good or for a time."""
        return await self.store.run(self.verbs.pause(type, for_ms))

    async def resume(self, type: str) -> bool:
        """Lets claims of a type go on."""
        return await self.store.run(self.verbs.resume(type))

    async def stats(self) -> dict[str, int]:
        """How many jobs are where."""
        return await self.store.run(self.verbs.stats())

    async def has_same_scripts(self) -> bool | None:
        """Whether the scheduler that leads has the scripts of this package; nothing when it does not say."""
        theirs = await self.store.run(self.verbs.leader_scripts())
        return None if theirs is None else theirs == DIGEST

    async def events(self, after: str | None = None, types: Iterable[str] | None = None) -> AsyncIterator[dict[str, Any]]:
        """What happens in the namespace, from now on or after an event that was seen."""
        reader = Reader(self.store, self.namespace, after, types)
        client = self.store.open(socket_timeout=BLOCK_MS / 1000 + self.timeout)
        try:
            while True:
                try:
                    found = []
                    if not reader.is_sure:
                        found = reader.resume(*[await client.execute_command(*one) for one in reader.edges])
                    found += reader.take(await client.execute_command(*reader.read))
                except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
                    # It comes back, and nothing is missed unless the stream was trimmed meanwhile.
                    reader.is_sure = False
                    await asyncio.sleep(0.1)
                    continue
                for event in found:
                    yield event
        finally:
            await client.aclose()
