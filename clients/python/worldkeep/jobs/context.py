"""The context of one attempt: progress, checkpoints, cancellation, child jobs. Handlers that are coroutines get a
`JobContext`, whose verbs are awaited; plain functions run in threads and get a `ThreadContext`, whose verbs block."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from .errors import JobsError
from .job import Job
from .splice import dumps
from .store import reads, script
from .verbs import Child, parsed

# Progress of one job is written at most this often, in seconds.
_PROGRESS_EVERY = 0.1


class JobContext:
    """For coroutines. `cancelled` says why the handler should end: `asked`, `lease_lost` or `stopping`; then the handler's
    task is cancelled."""

    def __init__(self, jobs: Any, worker: str, job: Job, now: int):
        self.jobs, self.worker, self.job = jobs, worker, job
        self.job_id = job.job_id
        #: Retries before this attempt: 0 the first time. With `job_id` it is the key by which an effect is done once.
        self.attempt = job.attempts
        self.max_attempts = job.max_attempts
        limit = job.x.get("timeoutMs")
        self.timeout_ms: int | None = limit if isinstance(limit, int) and limit > 0 else None
        #: Unix ms by which the attempt must end, when the job has a limit.
        self.deadline = now + self.timeout_ms if self.timeout_ms else None
        self.cancelled: str | None = None
        self.progressed = False
        self.task: asyncio.Task[Any] | None = None
        self.told = threading.Event()
        self._latest: dict[str, Any] = {"percent": 0}
        self._is_dirty = False
        self._written_at = float("-inf")
        self._children = 0
        self.lease_until = 0.0
        self.extend_lease()

    def extend_lease(self) -> None:
        """Our own: the lock was taken or renewed just now."""
        self.lease_until = time.monotonic() + self.jobs.options.lock_ttl_s

    def cancel(self, why: str) -> None:
        """Our own. A lost lease outweighs everything: nothing may be written any more."""
        if self.cancelled == "lease_lost":
            return
        is_first = self.cancelled is None
        self.cancelled = why
        self.told.set()
        if is_first and self.task is not None:
            self.task.cancel()

    async def progress(self, percent: float, message: str | None = None) -> None:
        """Says how far the job is, 0 to 100. Written at most every 100 ms; the last value always is."""
        self._latest["percent"] = percent
        self._latest["message"] = message
        self._is_dirty = True
        if time.monotonic() - self._written_at >= _PROGRESS_EVERY:
            await self.flush()

    async def checkpoint(self, data: Any) -> None:
        """Stores where the handler is, for `restored` after a crash or a retry. It is written when this returns."""
        self._latest["data"] = data
        self._is_dirty = True
        wait = _PROGRESS_EVERY - (time.monotonic() - self._written_at)
        if wait > 0:
            await asyncio.sleep(wait)
        await self.flush()

    async def restored(self) -> Any:
        """The last checkpoint of an earlier attempt, or of this one."""
        (text,) = await self._run(reads(["GET", self.jobs.store.key(f"jobs:progress:{self.job_id}")]))
        if text is None:
            return None
        self.progressed = True
        said = parsed(text)
        return said.get("data") if isinstance(said, dict) else None

    async def flush(self) -> None:
        """Our own: writes what was said and not written yet."""
        if not self._is_dirty:
            return
        self._is_dirty = False
        self._written_at = time.monotonic()
        self.progressed = True
        percent = min(100, max(0, self._latest["percent"]))
        percent = int(percent) if percent == int(percent) else percent
        said = {"percent": percent, "message": self._latest.get("message"), "data": self._latest.get("data")}
        said = {name: value for name, value in said.items() if value is not None}
        text = dumps({**said, "updatedAt": self.jobs.now()})
        if await self._run(script("progress", {"worker": self.worker, "id": self.job_id, "text": text})) != "written":
            self.cancel("lease_lost")

    async def extend_lock(self) -> bool:
        """Prolongs the lock now, for a handler that is about to block its thread. False: it is lost."""
        named = {"worker": self.worker, "ttl": self.jobs.options.lock_ttl_s}
        (answer,) = await self._run(script("renew", named, [self.job_id]))
        if answer == 0:
            self.cancel("lease_lost")
        else:
            self.extend_lease()
        return bool(answer != 0)

    async def children(self) -> list[Child]:
        """How the jobs ended that this one waited for: its children in a flow, or what it depends on, in their order. Those
        that failed are there, too, when the job goes on after a failure."""
        return await self.jobs.store.run(self.jobs.verbs.children(self.job))

    async def spawn_child(self, type: str, payload: Any = None, **fields: Any) -> str:
        """Dispatches a job that belongs to this one: `<id>.<n>`, counted within the attempt. An attempt that is repeated
        finds the children of the one before instead of making them twice."""
        self._children += 1
        if "job_id" not in fields and len(self.job_id) < 110:
            fields["job_id"] = f"{self.job_id}.{self._children}"
        trace = self.job.x.get("traceparent")
        if trace is not None:
            fields["x"] = {"traceparent": trace, **(fields.get("x") or {})}
        try:
            return str(await self.jobs.dispatch(type, payload, **fields))
        except JobsError as error:
            if error.code != "job_exists":
                raise
            return str(error.job_id)

    async def _run(self, call: Any) -> Any:
        def verb() -> Any:
            return (yield call)

        return await self.jobs.store.run(verb())


class ThreadContext:
    """For plain functions, which run in threads: the same verbs, blocking."""

    def __init__(self, context: JobContext, loop: asyncio.AbstractEventLoop):
        self._context, self._loop = context, loop
        self.job_id, self.attempt, self.max_attempts = context.job_id, context.attempt, context.max_attempts
        self.deadline = context.deadline

    @property
    def cancelled(self) -> str | None:
        """Why the handler should end: `asked`, `lease_lost` or `stopping`. A long handler looks now and then."""
        return self._context.cancelled

    def wait_cancelled(self, timeout: float | None = None) -> str | None:
        """Waits until the handler should end, at most that long; why, or nothing."""
        self._context.told.wait(timeout)
        return self.cancelled

    def _ask(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def progress(self, percent: float, message: str | None = None) -> None:
        """Says how far the job is, 0 to 100. Written at most every 100 ms; the last value always is."""
        self._ask(self._context.progress(percent, message))

    def checkpoint(self, data: Any) -> None:
        """Stores where the handler is, for `restored` after a crash or a retry. It is written when this returns."""
        self._ask(self._context.checkpoint(data))

    def restored(self) -> Any:
        """The last checkpoint of an earlier attempt, or of this one."""
        return self._ask(self._context.restored())

    def extend_lock(self) -> bool:
        """Prolongs the lock now. False: it is lost."""
        return bool(self._ask(self._context.extend_lock()))

    def children(self) -> list[Child]:
        """How the jobs ended that this one waited for; see `JobContext.children`."""
        return self._ask(self._context.children())

    def spawn_child(self, type: str, payload: Any = None, **fields: Any) -> str:
        """Dispatches a job that belongs to this one; see `JobContext.spawn_child`."""
        return str(self._ask(self._context.spawn_child(type, payload, **fields)))
