"""A worker: handlers by type, a number of slots, and everything that keeps a job safe while it runs. Coroutines run on the
worker's event loop, plain functions in threads.

Always true: a job runs only under a lease, which is renewed while it runs; a handler whose lease is lost is told and its
result dropped; whatever is not finished when the worker ends goes back to the front."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import logging
import os
import random
import re
import secrets
import signal
import socket
import threading
import time
from typing import Any, Callable, Mapping, Sequence

from .chores import Chores, Tally
from .client import AsyncJobs, Jobs
from .context import JobContext, ThreadContext
from .ending import Done, Ending, after_error, attempt_args, completed, failed
from .errors import Discard, JobError, JobsError, StoreError
from .job import Job
from .splice import dumps
from .store import reads, script

Handler = Callable[[Job, Any], Any]

# Jobs that one call finishes or claims at most.
_WORK_MAX = 64
# An idle worker looks by itself this often, in seconds: foreign producers send no wake-up.
_POLL = 1.0
# From so many slots on two calls are under way at once, so that handlers run while the store works.
_TWO_CALLS = 16
# How many stretches of jobs for others a claim goes through before it rests.
_DEEPER_MAX = 20
# The first wait after a failed call, and the longest.
_RETRY = (0.01, 0.16)
# How long handlers have after they were told that the worker stops.
_LAST_CALL = 5.0
# Phases of a worker; later ones include what earlier ones forbid.
_RUNNING, _QUIET, _DRAINING, _CANCELLING, _HAND_BACK = range(5)

_LOG = logging.getLogger("worldkeep.jobs")


class Worker:
    """Runs jobs of the types it has handlers for, and claims no others.

    `await worker.run()` in a program with an event loop; `worker.run_blocking()` in one without, which also ends on SIGTERM
    and SIGINT when it runs in the main thread."""

    def __init__(
        self, jobs: Jobs | AsyncJobs, handlers: Mapping[str, Handler], *, concurrency: int = 1, server_id: str | None = None,
        stack: str = "python", region: str | None = None, capabilities: Sequence[str] = (), grace: float = 25.0,
    ):
        self.server_id = _default_id() if server_id is None else server_id
        _check(self.server_id, handlers, concurrency)
        self._given = jobs
        self.handlers = dict(handlers)
        self.concurrency, self.grace = concurrency, grace
        self.stack, self.region, self.capabilities = stack, region, list(capabilities)
        self.pid, self.hostname, self.started_at = os.getpid(), socket.gethostname(), 0
        self.counts = {"completed": 0, "failed": 0, "retried": 0, "dead": 0, "lease_lost": 0, "faults": 0}
        self.tally = Tally()
        #: Every job that is held, until its end is written.
        self.running: dict[str, JobContext] = {}
        self.jobs: AsyncJobs = None  # type: ignore[assignment]
        regions = [] if region is None else [region]
        self._routing = dumps({"stack": [stack], "capabilities": self.capabilities, "region": regions})
        self._types = "\n" + "\n".join(self.handlers) + "\n"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._phase = _RUNNING
        self._begun = threading.Lock()
        self._stops_before = 0
        self._done: list[Done] = []
        self._busy = self._claiming = self._deeper = self._calls = 0
        self._may_have_more, self._is_unsure = True, False
        self._memory: tuple[str, str, int, int] = ("", "", 0, 0)

    # How a program starts and ends it.

    def run_blocking(self) -> None:
        """Runs until it is stopped, from a program without an event loop."""
        asyncio.run(self.run(signals=threading.current_thread() is threading.main_thread()))

    async def run(self, *, signals: bool = False) -> None:
        """Registers, then claims and runs jobs until it is stopped. Ends when everything is written or handed back."""
        if not self._begun.acquire(blocking=False):
            raise JobsError("worker_in_use", "this worker runs already, or has ended")
        self._loop = asyncio.get_running_loop()
        given = self._given
        self.jobs = AsyncJobs(given.to, namespace=given.namespace, layout=given.layout, timeout=given.timeout, **vars(given.options))
        self._moved, self._waker, self._gate = asyncio.Event(), asyncio.Event(), asyncio.Lock()
        self._threads = concurrent.futures.ThreadPoolExecutor(self.concurrency, "worldkeep")
        self._attempts: set[asyncio.Task[None]] = set()
        for name in (signal.SIGTERM, signal.SIGINT) if signals else ():
            self._loop.add_signal_handler(name, self.stop)
        chores = Chores(self)
        try:
            await chores.register()
            chores.start()
            try:
                for _ in range(self._stops_before):
                    self._stop()
                await self._work()
            finally:
                await chores.stop()
        finally:
            for name in (signal.SIGTERM, signal.SIGINT) if signals else ():
                self._loop.remove_signal_handler(name)
            self._threads.shutdown(wait=False, cancel_futures=True)
            await self.jobs.close()

    def quiet(self) -> None:
        """Claims nothing more; what runs goes on and the worker stays. From any thread."""
        self._from_any_thread(lambda: self._reach(_QUIET))

    def stop(self) -> None:
        """Ends gracefully: waits for its jobs for the grace time, tells those that still run, and hands back what is left.
        Called a second time it hands everything back at once. From any thread."""
        if self._loop is None:
            self._stops_before += 1
        else:
            self._from_any_thread(self._stop)

    def _stop(self) -> None:
        self._reach(_HAND_BACK if self._phase >= _DRAINING else _DRAINING)

    def _from_any_thread(self, act: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act)

    def _reach(self, phase: int) -> None:
        if phase > self._phase:
            self._phase = phase
            moved, self._moved = self._moved, asyncio.Event()
            moved.set()
            self.wake()

    def wake(self) -> None:
        """Our own: there may be something to do."""
        self._may_have_more = True
        self._waker.set()

    def tell(self, error: Exception) -> None:
        """Our own: an error that heals by itself."""
        self.counts["faults"] += 1
        _LOG.debug("a call of worker %s failed, again soon: %s", self.server_id, error)

    # Claims and attempts.

    async def _work(self) -> None:
        pumps = [asyncio.create_task(self._pump()) for _ in range(2 if self.concurrency >= _TWO_CALLS else 1)]
        over = asyncio.gather(*pumps)
        try:
            await self._either(over, _DRAINING, None)
            if not over.done():
                await self._either(over, _HAND_BACK, self.grace)
            if not over.done():
                self._reach(_CANCELLING)
                for context in list(self.running.values()):
                    context.cancel("stopping")
                await self._either(over, _HAND_BACK, _LAST_CALL)
            self._reach(_HAND_BACK)
            await over
        finally:
            for task in (*pumps, *self._attempts):
                task.cancel()

    async def _either(self, over: asyncio.Future[Any], phase: int, limit: float | None) -> None:
        """Ends with the work, when the phase is reached, or after the limit."""
        until = None if limit is None else time.monotonic() + limit
        while not over.done() and self._phase < phase and (until is None or time.monotonic() < until):
            moved = asyncio.ensure_future(self._moved.wait())
            left = None if until is None else max(0, until - time.monotonic())
            await asyncio.wait((over, moved), timeout=left, return_when=asyncio.FIRST_COMPLETED)
            moved.cancel()

    async def _pump(self) -> None:
        """One call to the store at a time: what is done goes out and new jobs come in."""
        while True:
            self._waker.clear()
            free = self.concurrency - self._busy - self._claiming
            is_claiming = self._phase == _RUNNING and (self._may_have_more or bool(self._done))
            want = min(free, _WORK_MAX) if is_claiming else 0
            if want > 0 or self._done:
                done, self._done = self._done[:_WORK_MAX], self._done[_WORK_MAX:]
                await self._turn(done, want)
            elif self._phase >= _DRAINING and self._busy == 0 and self._claiming == 0:
                self._waker.set()
                return
            else:
                try:
                    await asyncio.wait_for(self._waker.wait(), _POLL * (0.8 + 0.4 * random.random()))
                except asyncio.TimeoutError:
                    self._may_have_more = True
            # Attempts that end at the same time go out together.
            await asyncio.sleep(0)

    async def _turn(self, done: list[Done], want: int) -> None:
        self._claiming += want
        if want > 0:
            # A wake-up that comes while the store looks is about something that it may not have seen.
            self._may_have_more = False
        try:
            claimed, has_more = await self._exchange(done, want)
        finally:
            self._claiming -= want
        if want > 0:
            self._deeper = self._deeper + 1 if has_more and not claimed else 0
            if len(claimed) == want or (has_more and self._deeper <= _DEEPER_MAX):
                self._may_have_more = True
            if len(claimed) == want:
                # There may be more than this call could take.
                self._waker.set()
        for context in claimed:
            self._busy += 1
            task = asyncio.create_task(self._begin(context))
            self._attempts.add(task)
            task.add_done_callback(self._attempts.discard)

    async def _begin(self, context: JobContext) -> None:
        done = await self._attempt(context)
        self._busy -= 1
        if done:
            self._done.append(done)
        else:
            self.running.pop(context.job_id, None)
        self._waker.set()

    async def _attempt(self, context: JobContext) -> Done | None:
        """Runs one claimed job. Nothing: its lease was lost meanwhile, so nothing may be written."""
        job, started = context.job, time.monotonic()
        try:
            ending = completed(await self._handle(context))
        except _Dropped:
            ending = Ending("hand_back")
        except Exception as error:
            ending = after_error(job, error, self.jobs.now())
        took_ms = round((time.monotonic() - started) * 1000)
        try:
            await context.flush()
        except Exception as error:
            self.tell(error)
        if context.cancelled == "lease_lost":
            self.counts["lease_lost"] += 1
            return None
        if context.cancelled == "asked" and ending.outcome != "hand_back":
            ending = failed("JobCancelled", "the job was cancelled while it ran")
        return Done(job, ending, took_ms, context.progressed)

    async def _handle(self, context: JobContext) -> Any:
        """The handler with its guards."""
        job = context.job
        expires = job.x.get("expiresAt")
        if context.cancelled == "asked":
            return None
        if isinstance(expires, (int, float)) and expires < self.jobs.now():
            raise Discard("the job was claimed after its expiry", "JobExpired")
        handler = self.handlers.get(job.type)
        if handler is None:
            raise _Dropped
        work = self._start(handler, context)
        limit = None if context.timeout_ms is None else time.monotonic() + context.timeout_ms / 1000
        while not work.done():
            moved = asyncio.ensure_future(self._moved.wait())
            left = None if limit is None else max(0.0, limit - time.monotonic())
            await asyncio.wait((work, moved), timeout=left, return_when=asyncio.FIRST_COMPLETED)
            moved.cancel()
            if work.done():
                break
            if self._phase >= _HAND_BACK:
                work.cancel()
                raise _Dropped
            if limit is not None and time.monotonic() >= limit:
                context.told.set()
                work.cancel()
                raise JobError(f"the handler took longer than {context.timeout_ms} ms", "Timeout")
        if work.cancelled():
            if context.cancelled in ("asked", "lease_lost"):
                return None
            raise _Dropped
        return work.result()

    def _start(self, handler: Handler, context: JobContext) -> asyncio.Future[Any]:
        assert self._loop is not None
        if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None)):
            context.task = asyncio.ensure_future(handler(context.job, context))
            return context.task
        return self._loop.run_in_executor(self._threads, handler, context.job, ThreadContext(context, self._loop))

    # Calls to the store.

    async def _exchange(self, done: list[Done], want: int) -> tuple[list[JobContext], bool]:
        """Writes what is done, claims up to `want`, and tries again until the store answers or nothing is left that may be
        written. Also tells whether the list goes on behind what was looked at."""
        wait = _RETRY[0]
        # An answer was lost: a job that is not ours any more may well have been finished by that very call.
        is_unsure = False
        while True:
            async with self._gate:
                self._calls += 1
            try:
                answer = await self._step(done, want, is_unsure)
            except Exception as error:
                self._calls -= 1
                self.tell(error)
                if not isinstance(error, StoreError) or error.outcome == "unknown":
                    is_unsure = self._is_unsure = True
                await asyncio.sleep(wait)
                wait = min(wait * 2, _RETRY[1])
                done = [one for one in done if not self._is_lost(one.job.job_id)]
                if not done:
                    return [], False
                continue
            self._calls -= 1
            if self._is_unsure and not self._gate.locked():
                await self._give_back_unknown()
            return answer

    def _is_lost(self, job_id: str) -> bool:
        """Forgets a job whose lease was lost while the store did not answer."""
        context = self.running.get(job_id)
        if context is not None and context.cancelled != "lease_lost" and time.monotonic() < context.lease_until:
            return False
        self.running.pop(job_id, None)
        self.counts["lease_lost"] += 1
        return True

    async def _call(self, call: Any) -> Any:
        def verb() -> Any:
            return (yield call)

        return await self.jobs.store.run(verb())

    async def _step(self, done: list[Done], want: int, is_unsure: bool = False) -> tuple[list[JobContext], bool]:
        options, named = self.jobs.options, self.jobs.verbs.ending()
        now = named["now"]
        head, last, index, _ = self._recall(now)
        rest: list[Any] = []
        for one in done:
            rest += attempt_args(one, self.server_id, now, options)
        wrote, seen, *flat = await self._call(script("finish_and_claim", {
            **named, "worker": self.server_id, "finishing": len(done), "claiming": want,
            "last_head": max(0, min(want, options.scan_limit) - 1), "lock_ttl": options.lock_ttl_s,
            "routing": self._routing, "types": self._types, "scan_limit": options.scan_limit,
            "first_seen": head, "last_seen": last, "last_index": index,
        }, rest))
        # Claimed jobs are held before anybody can ask for them.
        claimed = self._take(flat, now)
        for n, one in enumerate(done):
            await self._settle(one, wrote[n] if isinstance(wrote, list) else "written", now, is_unsure)
        has_more = False
        if isinstance(seen, list):
            self._remember(seen[2], now)
            has_more = seen[0][0] >= options.scan_limit
            for job_id in seen[1]:
                asyncio.ensure_future(self._quarantine(job_id))
        elif want > 0:
            self._memory = ("", "", 0, 0)
        return claimed, has_more

    def _take(self, flat: list[str], now: int) -> list[JobContext]:
        claimed = []
        for job_id, text in zip(flat[::2], flat[1::2]):
            job = Job.read(job_id, text)
            if job is None:
                # It looked like a job to the script and is none.
                kind = re.search(r'"type":"([^"\\]+)"', text)
                job = Job(job_id, text, {"type": kind.group(1) if kind else "?"})
                failure = {"message": "the stored job cannot be read", "name": "MalformedJob"}
                self._done.append(Done(job, Ending("dead", failure=failure)))
                continue
            context = JobContext(self.jobs, self.server_id, job, now)
            self.running[job_id] = context
            claimed.append(context)
        return claimed

    async def _settle(self, one: Done, word: str, now: int, is_unsure: bool) -> None:
        """Counts what was written and forgets it."""
        if word == "changed":
            await self._finish_changed(one)
            return
        context = self.running.pop(one.job.job_id, None)
        if word == "lost":
            if context is not None and not is_unsure:
                self.counts["lease_lost"] += 1
            return
        outcome = "failed" if word == "cancelled" else {"retry": "retried"}.get(one.ending.outcome, one.ending.outcome)
        if outcome != "hand_back":
            self.counts[outcome] += 1
            self.tally.add(one.job.type, outcome, one.took_ms, now)

    async def _finish_changed(self, one: Done) -> None:
        """The stored text is not the one that was claimed: somebody edited the job while it ran. It is decided anew."""
        job_id = one.job.job_id
        (text,) = await self._call(reads(["GET", self.jobs.store.key(f"jobs:data:{job_id}")]))
        # The same text again is one that cannot be told apart from what it was read as.
        job = None if text is None or text == one.job.text else Job.read(job_id, text)
        if job is None:
            gone = failed("JobGone", "the job was removed while it ran")
            self._done.append(Done(one.job, gone, one.took_ms, one.progressed))
        else:
            self._done.append(Done(job, one.ending, one.took_ms, one.progressed))

    async def _quarantine(self, job_id: str) -> None:
        """Unreadable jobs go to the dead letters, in the background: they must not slow the readable ones."""
        try:
            await self._call(script("quarantine", {**self.jobs.verbs.ending(), "id": job_id}))
        except Exception as error:
            self.tell(error)

    def _recall(self, now: int) -> tuple[str, str, int, int]:
        """The worker's memory of the jobs at the head of the list that it can never run. It expires."""
        keep_ms = 1000 * min(60, 1 + self._memory[2] // self.jobs.options.scan_limit)
        if now - self._memory[3] > keep_ms:
            self._memory = ("", "", 0, 0)
        return self._memory

    def _remember(self, told: list[Any], now: int) -> None:
        head, last, index = told
        since = now if self._memory[1] == "" else self._memory[3]
        self._memory = (head, last, index, since) if last != "" and index >= 0 else ("", "", 0, 0)

    async def _give_back_unknown(self) -> None:
        """A call whose answer was lost may have claimed jobs that nobody here runs: they go back at once instead of waiting
        for their lease to run out. No call is under way meanwhile."""
        async with self._gate:
            while self._calls > 0:
                await asyncio.sleep(0.001)
            try:
                (held,) = await self._call(reads(["HGETALL", self.jobs.store.key("x:claimed")]))
                for job_id, value in held.items():
                    if job_id in self.running or value.split(" ")[1:2] != [self.server_id]:
                        continue
                    (text,) = await self._call(reads(["GET", self.jobs.store.key(f"jobs:data:{job_id}")]))
                    job = None if text is None else Job.read(job_id, text)
                    if job is not None:
                        await self._step([Done(job, Ending("hand_back"))], 0)
                self._is_unsure = False
            except Exception as error:
                self.tell(error)


class _Dropped(Exception):
    """The worker stops and did not wait any longer, or has no handler: the job goes back."""


def _default_id() -> str:
    host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())
    return f"{host}-{os.getpid()}-{secrets.token_hex(2)}"[-128:]


def _check(server_id: Any, handlers: Any, concurrency: Any) -> None:
    if server_id in ("active", "heartbeat"):
        message = "server_id must not be active or heartbeat, which are keys of the registry"
        raise JobsError("invalid_server_id", message, field="server_id")
    if not isinstance(server_id, str) or not re.fullmatch(r"[A-Za-z0-9._-]{1,128}", server_id):
        message = "server_id must be 1 to 128 of A-Z, a-z, 0-9, ., _ and -"
        raise JobsError("invalid_server_id", message, field="server_id")
    if not isinstance(handlers, Mapping) or not handlers or not all(callable(one) for one in handlers.values()):
        message = "handlers must be functions by the type of their jobs, one or more"
        raise JobsError("invalid_option", message, field="handlers")
    if any(not isinstance(kind, str) or kind == "" or "\n" in kind for kind in handlers):
        raise JobsError("invalid_option", "handlers has a name that is no type", field="handlers")
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or not 1 <= concurrency <= 10_000:
        raise JobsError("invalid_option", "concurrency must be a whole number from 1 to 10000", field="concurrency")
