"""The chores of a worker beside its jobs: it renews their leases, shows that it lives, hears wake-ups, cancellations and
orders, moves due jobs, and takes back those of dead workers."""

from __future__ import annotations

import asyncio
import os
import random
import time
from typing import Any, Awaitable, Callable

from .. import __version__
from .bundle import DIGEST
from .errors import JobsError
from .splice import dumps
from .store import commands, reads, script
from .verbs import parsed

# A worker shows that it lives this often, in seconds; its key lives three times as long (seed).
_HEARTBEAT = 10.0
# After a fault a renewal is tried again this soon, because a missed one costs a job.
_AGAIN = 0.5
_RENEW_BATCH = 200
# The longest sleep of the helper; due jobs are moved when they are due.
_TICK = 1.0
# One look through the claimed jobs serves all processes this long; a little less than a tick.
_RECLAIM_PAUSE_MS = 900
_PROMOTE_BATCH = 100
_DAYS_KEPT_S = 90 * 86_400


class Tally:
    """Counts of outcomes: the three metrics keys and the daily hash. They are numbers, not state: a worker adds them up and
    writes them about once a second, outside of the steps."""

    def __init__(self) -> None:
        self._totals: dict[str, int] = {}
        self._days: dict[tuple[int, str], int] = {}

    def add(self, kind: str, outcome: str, took_ms: int, now: int) -> None:
        name = {"completed": "jobs:processed", "failed": "jobs:failed", "dead": "jobs:failed"}.get(outcome)
        if name:
            self._totals[name] = self._totals.get(name, 0) + 1
        self._totals["processing:time"] = self._totals.get("processing:time", 0) + took_ms
        day = (now // 86_400_000, f"{kind}:{outcome}")
        self._days[day] = self._days.get(day, 0) + 1

    def take(self, key: Callable[[str], str]) -> list[list[Any]]:
        """Commands that write what was counted since the last time."""
        out: list[list[Any]] = [["INCRBY", key(f"metrics:{name}"), by] for name, by in self._totals.items() if by]
        stats = set()
        for (day, field), by in self._days.items():
            name = key(f"x:stats:{time.strftime('%Y%m%d', time.gmtime(day * 86_400))}")
            out.append(["HINCRBY", name, field, by])
            stats.add(name)
        out += [["EXPIRE", name, _DAYS_KEPT_S] for name in stats]
        self._totals, self._days = {}, {}
        return out


def _is_alive(pid: int) -> bool:
    """Whether a process of this machine is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


class Chores:
    def __init__(self, worker: Any):
        self.worker, self.jobs, self.store = worker, worker.jobs, worker.jobs.store
        self._tasks: list[asyncio.Task[Any]] = []
        self._beats = 0
        self._reclaim_at = 0.0
        self._is_over = False

    async def _call(self, call: Any) -> Any:
        def verb() -> Any:
            return (yield call)

        return await self.store.run(verb())

    def _who(self) -> dict[str, Any]:
        worker = self.worker
        return {**self.jobs.verbs.timed(), "worker": worker.server_id, "pid": worker.pid, "hostname": worker.hostname}

    async def register(self) -> None:
        """Enters the worker into the registry. A living one of the same id is refused."""
        await self._call(reads(["PING"]))
        self.worker.started_at = self.jobs.now()
        register = script("register", {**self._who(), "text": self._entry()})
        # The same process may enter itself twice.
        register.again = True
        answer = await self._call(register)
        if answer != "done" and await self._replaces(answer[1]):
            answer = await self._call(register)
        if answer != "done":
            entry = parsed(answer[1]) or {}
            holder = f"process {entry.get('pid')} on {entry.get('hostname')}"
            message = f"server_id {self.worker.server_id} is in use by {holder}; give this worker an id of its own"
            raise JobsError("worker_in_use", message, field="server_id")

    async def _replaces(self, text: str) -> bool:
        """Takes a dead predecessor out: a process of this host that is gone."""
        entry = parsed(text)
        if not isinstance(entry, dict) or entry.get("hostname") != self.worker.hostname:
            return False
        pid = entry.get("pid")
        if not isinstance(pid, int) or _is_alive(pid):
            return False
        return await self._call(script("unregister", {**self._who(), "pid": pid})) == "done"

    def _entry(self) -> str:
        """The registry's bytes."""
        worker = self.worker
        region = {} if worker.region is None else {"region": worker.region}
        return dumps({
            "serverId": worker.server_id, "stack": worker.stack, **region, "capabilities": worker.capabilities,
            "lastSeen": self.jobs.now(), "pid": worker.pid, "hostname": worker.hostname,
            "x": {
                "version": __version__, "concurrency": worker.concurrency, "types": list(worker.handlers),
                "startedAt": worker.started_at, "scripts": DIGEST,
            },
        })

    def start(self) -> None:
        renew = self.jobs.options.lock_ttl_s / 3

        async def renewal() -> float:
            return renew if await self._renew_all() else min(_AGAIN, renew)

        async def heartbeat() -> float:
            self._beats += 1
            await self._beat(self._beats % 3 == 0)
            return _HEARTBEAT

        for wait, act in ((renew, renewal), (_HEARTBEAT, heartbeat), (0.01, self._help)):
            self._tasks.append(asyncio.create_task(self._repeat(wait, act)))
        self._tasks.append(asyncio.create_task(self._listen()))

    async def stop(self) -> None:
        self._is_over = True
        left = set(self._tasks)
        while left:
            # A driver may swallow a cancellation that comes while a call ends: it is asked again.
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=0.5)
        try:
            await self._flush_counts()
            await self._call(script("unregister", self._who()))
        except Exception as error:
            self.worker.tell(error)

    async def _repeat(self, wait: float, act: Callable[[], Awaitable[float]]) -> None:
        """Does something again and again; it says itself when next."""
        while True:
            await asyncio.sleep(wait)
            try:
                wait = await act()
            except Exception as error:
                self.worker.tell(error)
                wait = _AGAIN

    async def _renew_all(self) -> bool:
        """Renews all leases; false when the store did not answer for some."""
        running, is_well = self.worker.running, True
        held = list(running)
        for at in range(0, len(held), _RENEW_BATCH):
            ids = held[at : at + _RENEW_BATCH]
            answers: list[int | None] = [None] * len(ids)
            try:
                named = {"worker": self.worker.server_id, "ttl": self.jobs.options.lock_ttl_s}
                answers = await self._call(script("renew", named, ids))
            except Exception as error:
                self.worker.tell(error)
                is_well = False
            for job_id, answer in zip(ids, answers):
                context = running.get(job_id)
                if context is None:
                    continue
                if answer == 0 or (answer is None and time.monotonic() >= context.lease_until):
                    context.cancel("lease_lost")
                elif answer is not None:
                    context.extend_lease()
                if answer == 2:
                    context.cancel("asked")
        return is_well

    async def _beat(self, renews_entry: bool) -> None:
        """Shows that the worker lives."""
        key, me = self.store.key, self.worker.server_id
        words: list[list[Any]] = [
            ["SET", key(f"workers:heartbeat:{me}"), self.jobs.now(), "EX", 30],
            ["HGET", key("x:asked"), me],
            ["SISMEMBER", key("workers:active"), me],
        ]
        if renews_entry:
            words += [["SET", key(f"workers:{me}"), self._entry()], ["SADD", key("workers:active"), me]]
        answers = await self._call(commands(*words))
        # A store that lost its data has lost the registry too.
        if answers[2] != 1 and not renews_entry:
            await self._beat(True)
        self._obey(answers[1])

    def _obey(self, word: str | None) -> None:
        if word == "quiet":
            self.worker.quiet()
        elif word == "stop":
            self.worker.stop()

    async def _listen(self) -> None:
        """Hears what the queue and its operators say, for ever."""
        wake, cancel, control = (self.store.key(name) for name in ("x:wake", "x:cancel", "x:control"))
        while True:
            client = self.store.open(socket_timeout=None)
            try:
                pubsub = client.pubsub(ignore_subscribe_messages=True)
                await pubsub.subscribe(wake, cancel, control)
                # Messages may have been missed: jobs may wait, a heartbeat tells orders, a renewal cancellations.
                self.worker.wake()
                await self._beat(False)
                await self._renew_all()
                async for message in pubsub.listen():
                    self._hear(message["channel"], message["data"], wake, cancel)
            except Exception as error:
                self.worker.tell(error)
                await asyncio.sleep(0.2)
            finally:
                await client.aclose()
                await client.connection_pool.disconnect()

    def _hear(self, channel: str, text: str, wake: str, cancel: str) -> None:
        if channel == wake:
            if text in self.worker.handlers or text in ("", "*"):
                self.worker.wake()
        elif channel == cancel:
            context = self.worker.running.get(text)
            if context is not None:
                context.cancel("asked")
        else:
            word, _, name = text.partition(" ")
            if name == self.worker.server_id:
                self._obey(word)

    async def _help(self) -> float:
        """Moves due jobs, takes back those of dead workers, writes counts; says how long there is nothing to do."""
        moved, due = _PROMOTE_BATCH, ""
        while moved == _PROMOTE_BATCH:
            moved, due = await self._call(script("promote", {**self.jobs.verbs.timed(), "batch": _PROMOTE_BATCH}))
        if time.monotonic() >= self._reclaim_at:
            self._reclaim_at = time.monotonic() + _RECLAIM_PAUSE_MS / 1000
            await self._reclaim()
            await self._flush_counts()
        tick = _TICK * (0.9 + 0.1 * random.random())
        return tick if due == "" else max(0.001, min(tick, (float(due) - self.jobs.now()) / 1000))

    async def _reclaim(self) -> None:
        cursor = "0"
        while True:
            named = {"max_recoveries": self.jobs.options.max_recoveries, "cursor": cursor, "pause": _RECLAIM_PAUSE_MS}
            cursor, *flat = await self._call(script("reclaim", {**self.jobs.verbs.ending(), **named}))
            for at in range(0, len(flat) - 2, 3):
                outcome = {"dead": "dead", "cancelled": "failed"}.get(flat[at + 2], "recovered")
                self.worker.tally.add(flat[at + 1], outcome, 0, self.jobs.now())
            if str(cursor) == "0":
                return

    async def _flush_counts(self) -> None:
        words = self.worker.tally.take(self.store.key)
        if words:
            await self._call(commands(*words))
