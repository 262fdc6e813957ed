"""Connections to the store. A call is sent at most once; after a lost answer its outcome is unknown, and the caller
decides. Time is the store's.

The verbs of the queue are generators that yield calls and get answers: `Store` runs them for threads, `AsyncStore` for
asyncio, and each verb is written once."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Generator, TypeVar

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from .bundle import SCRIPTS, words
from .errors import StoreError

T = TypeVar("T")
#: A verb: it yields calls, gets their answers, and returns its own.
Verb = Generator["Call", Any, T]

# The server is asked for its time this often, in seconds.
_TIME_EVERY = 60.0
# Answers by which a server says that it did nothing and may do it later.
_LATER = ("LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "MISCONF", "OOM")
# What is taken over of a client that is given instead of an address.
_KEPT = ("host", "port", "db", "username", "password", "path", "client_name")


class Call:
    """A script or commands, to be sent in one trip."""

    __slots__ = ("again", "commands", "name", "named", "rest")

    def __init__(self, name: str = "", named: dict[str, Any] | None = None, rest: Any = (), commands: Any = None):
        self.name, self.named, self.rest, self.commands = name, named or {}, rest, commands
        # Whether it may be sent again after a lost answer.
        self.again = False


def script(name: str, named: dict[str, Any], rest: Any = ()) -> Call:
    return Call(name, named, rest)


def commands(*every: list[Any]) -> Call:
    return Call(commands=every)


def reads(*every: list[Any]) -> Call:
    """Commands that only read, sent again after a lost answer."""
    call = Call(commands=every)
    call.again = True
    return call


def fault_of(error: Exception) -> StoreError | None:
    """The fault that an error of the driver is; nothing when the server refused the command for its content."""
    text = str(error)
    if isinstance(error, StoreError):
        return error
    if isinstance(error, redis.exceptions.BusyLoadingError) or text.startswith(_LATER):
        return StoreError("not_sent", text)
    if isinstance(error, redis.exceptions.ReadOnlyError):
        return StoreError("not_sent", text)
    if isinstance(error, redis.exceptions.ResponseError):
        return None
    if isinstance(error, (redis.exceptions.RedisError, OSError, asyncio.TimeoutError)):
        is_unsent = "connecting to" in text or "max number of clients" in text
        return StoreError("not_sent" if is_unsent else "unknown", f"the store failed: {text}")
    return None


class Space:
    """The keys of a namespace, and the store's time."""

    def __init__(self, to: Any, namespace: str, layout: str, timeout: float):
        self.to, self.timeout = to, timeout
        is_tagged = layout == "tagged" and "{" not in namespace
        self.prefix = f"{{{namespace}}}:" if is_tagged else f"{namespace}:"
        self.keys = [self.key("jobs:waiting")]
        self.offset = 0.0
        self.timed_at = float("-inf")

    def key(self, name: str) -> str:
        return self.prefix + name

    def now(self) -> int:
        """Unix milliseconds, the store's."""
        return round(time.time() * 1000 + self.offset)

    def note_time(self, answer: Any, before: float) -> None:
        after = time.time()
        seconds, micros = int(answer[0]), int(answer[1])
        self.offset = seconds * 1000 + micros / 1000 - (before + after) / 2 * 1000
        self.timed_at = time.monotonic()

    @property
    def wants_time(self) -> bool:
        return time.monotonic() - self.timed_at > _TIME_EVERY

    def _options(self, retry: Any, **more: Any) -> dict[str, Any]:
        own = {
            "decode_responses": True, "encoding_errors": "replace", "retry": retry, "retry_on_timeout": False, "protocol": 2,
            "socket_timeout": self.timeout, "socket_connect_timeout": self.timeout, "health_check_interval": 0, **more,
        }
        if isinstance(self.to, str):
            return own
        pool = self.to.connection_pool
        given = {name: value for name, value in pool.connection_kwargs.items() if name in _KEPT or name.startswith("ssl_")}
        return {**given, **own}

    def _class(self, module: Any) -> Any:
        """The same kind of connection for threads or for asyncio."""
        return getattr(module, self.to.connection_pool.connection_class.__name__, module.Connection)


class Store(Space):
    """For threads."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.redis = self.open()

    def open(self, **more: Any) -> redis.Redis:
        """A client of our own."""
        options = self._options(Retry(NoBackoff(), 0), **more)
        if isinstance(self.to, str):
            return redis.Redis(connection_pool=redis.ConnectionPool.from_url(self.to, **options))
        pool = redis.ConnectionPool(connection_class=self._class(redis.connection), **options)
        return redis.Redis(connection_pool=pool)

    def close(self) -> None:
        self.redis.close()

    def run(self, verb: Verb[T]) -> T:
        """Runs a verb to its end."""
        answer: Any = None
        error: Exception | None = None
        while True:
            try:
                call = verb.throw(error) if error else verb.send(answer)
            except StopIteration as end:
                return end.value
            error = None
            try:
                answer = self._send(call)
            except Exception as failed:  # told to the verb, which may go on
                error = failed

    def _send(self, call: Call) -> Any:
        until = time.monotonic() + self.timeout
        while True:
            try:
                if self.wants_time:
                    before = time.time()
                    self.note_time(self.redis.execute_command("TIME"), before)
                return self._once(call)
            except Exception as error:
                fault = fault_of(error)
                if fault is None:
                    raise
                may_try = fault.outcome == "not_sent" or call.again
                if not may_try or time.monotonic() + 0.1 >= until:
                    raise fault from error
                time.sleep(0.05)

    def _once(self, call: Call) -> Any:
        if call.commands is not None:
            with self.redis.pipeline(transaction=False) as pipeline:
                for command in call.commands:
                    pipeline.execute_command(*command)
                return pipeline.execute()
        shipped = SCRIPTS[call.name]
        args = words(call.name, self.keys, call.named, call.rest)
        try:
            return self.redis.execute_command("EVALSHA", shipped["sha1"], *args)
        except redis.exceptions.NoScriptError:
            return self.redis.execute_command("EVAL", shipped["lua"], *args)


class AsyncStore(Space):
    """For asyncio."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.redis = self.open(max_connections=8)

    def open(self, **more: Any) -> redis.asyncio.Redis:
        """A client of our own."""
        options = self._options(AsyncRetry(NoBackoff(), 0), **more)
        kind = redis.asyncio.BlockingConnectionPool if "max_connections" in more else redis.asyncio.ConnectionPool
        if isinstance(self.to, str):
            return redis.asyncio.Redis(connection_pool=kind.from_url(self.to, **options))
        pool = kind(connection_class=self._class(redis.asyncio.connection), **options)
        return redis.asyncio.Redis(connection_pool=pool)

    async def close(self) -> None:
        await self.redis.aclose()
        await self.redis.connection_pool.disconnect()

    async def run(self, verb: Verb[T]) -> T:
        """Runs a verb to its end."""
        answer: Any = None
        error: Exception | None = None
        while True:
            try:
                call = verb.throw(error) if error else verb.send(answer)
            except StopIteration as end:
                return end.value
            error = None
            try:
                answer = await self._send(call)
            except Exception as failed:  # told to the verb, which may go on
                error = failed

    async def _send(self, call: Call) -> Any:
        until = time.monotonic() + self.timeout
        while True:
            try:
                if self.wants_time:
                    before = time.time()
                    self.note_time(await self.redis.execute_command("TIME"), before)
                return await self._once(call)
            except Exception as error:
                fault = fault_of(error)
                if fault is None:
                    raise
                may_try = fault.outcome == "not_sent" or call.again
                if not may_try or time.monotonic() + 0.1 >= until:
                    raise fault from error
                await asyncio.sleep(0.05)

    async def _once(self, call: Call) -> Any:
        if call.commands is not None:
            async with self.redis.pipeline(transaction=False) as pipeline:
                for command in call.commands:
                    pipeline.execute_command(*command)
                return await pipeline.execute()
        shipped = SCRIPTS[call.name]
        args = words(call.name, self.keys, call.named, call.rest)
        try:
            return await self.redis.execute_command("EVALSHA", shipped["sha1"], *args)
        except redis.exceptions.NoScriptError:
            return await self.redis.execute_command("EVAL", shipped["lua"], *args)
