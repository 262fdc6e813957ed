"""What happens in a namespace, read from its stream on a connection of its own. A reader can resume after the last event
that it saw, and is told where the stream does not go back that far."""

from __future__ import annotations

import re
from typing import Any, Iterable

from .errors import JobsError
from .store import Space
from .verbs import parsed

BLOCK_MS = 2000
COUNT = 500


def _seq(text: str) -> tuple[int, int]:
    ms, _, n = text.partition("-")
    return int(ms), int(n or 0)


class Reader:
    """The place of a reader in the stream; the two kinds of queue bring the connection."""

    def __init__(self, space: Space, scope: str, after: str | None, types: Iterable[str] | None):
        if after is not None and not re.fullmatch(r"\d+(-\d+)?", after):
            raise JobsError("invalid_after", "after must be the seq of an event", field="after")
        self.stream, self.scope = space.key("events:stream"), scope
        self.last = after
        self.is_sure = False
        self.types = None if types is None else set(types)

    @property
    def edges(self) -> list[list[Any]]:
        """Commands for the oldest and the newest event, to be asked while `is_sure` is not so."""
        return [["XRANGE", self.stream, "-", "+", "COUNT", 1], ["XREVRANGE", self.stream, "+", "-", "COUNT", 1]]

    def resume(self, oldest: Any, newest: Any) -> list[dict[str, Any]]:
        """Where to go on; a gap when events that were not read are gone."""
        first = oldest[0][0] if oldest else None
        end = newest[0][0] if newest else "0-0"
        self.is_sure = True
        if self.last is None:
            self.last = end
            return []
        gap = {"type": "gap", "module": "jobs", "scope": self.scope, "from": first or "0-0"}
        if _seq(self.last) > _seq(end):
            # Another stream of the same name.
            self.last = "0-0"
            return [gap]
        is_missing = first is not None and _seq(first) > _seq(self.last) > (0, 0)
        return [gap] if is_missing else []

    @property
    def read(self) -> list[Any]:
        return ["XREAD", "COUNT", COUNT, "BLOCK", BLOCK_MS, "STREAMS", self.stream, self.last]

    def take(self, reply: Any) -> list[dict[str, Any]]:
        """The events of a reply that are wanted."""
        entries = reply[0][1] if reply else []
        # A reader that is far behind may be overtaken by the trimming.
        self.is_sure = len(entries) < COUNT
        events = []
        for seq, fields in entries:
            self.last = seq
            if self.types is None or fields.get("type") in self.types:
                at, body = fields.get("at", ""), parsed(fields.get("body"))
                events.append({
                    "module": "jobs", "scope": self.scope, "seq": seq, "at": int(at) if at.isdigit() else 0,
                    "type": fields.get("type"), "id": fields.get("id"), "body": body,
                })
        return events
