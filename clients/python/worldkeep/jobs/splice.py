"""Stored JSON is spliced, never written anew: members that the queue does not own keep their bytes, and numbers their
spelling."""

from __future__ import annotations

import json
import re
from typing import Any, Mapping

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def dumps(value: Any) -> str:
    """Compact JSON, escaped only where JSON demands it. Refuses what is no JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def members(text: str) -> list[tuple[str, int, int, int]]:
    """Name of each member of an object, where it begins, where its value begins and ends."""
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return []
    found = []
    at = _skip(text, at + 1)
    while text[at : at + 1] == '"':
        start = at
        name, at = _DECODER.raw_decode(text, at)
        begins = _skip(text, _skip(text, at) + 1)
        _, ends = _DECODER.raw_decode(text, begins)
        found.append((name, start, begins, ends))
        at = _skip(text, ends)
        if text[at : at + 1] != ",":
            break
        at = _skip(text, at + 1)
    return found


def member(text: str, name: str) -> str | None:
    """The text of one member's value."""
    for found, _, begins, ends in reversed(members(text)):
        if found == name:
            return text[begins:ends]
    return None


def edit(text: str, changes: Mapping[str, str | None]) -> str:
    """The object with these members set to JSON texts; `None` removes one. Every other byte stays."""
    every = members(text)
    kept = [at for at, one in enumerate(every) if changes.get(one[0], "") is not None]
    known = {one[0] for one in every}
    close = text.rindex("}")
    out = text[: every[0][1] if every else close]
    for place, at in enumerate(kept):
        name, start, begins, ends = every[at]
        # What stands between two members goes with the one before.
        between = text[ends : every[at + 1][1]] if place + 1 < len(kept) else ""
        out += text[start:begins] + (changes.get(name) or text[begins:ends]) + between
    added = ",".join(f"{dumps(name)}:{value}" for name, value in changes.items() if value is not None and name not in known)
    out += ("," if kept and added else "") + added
    return out + text[every[-1][3] if every else close :]


def depth(text: str) -> int:
    """How deep arrays and objects are nested."""
    deep = most = 0
    for mark in re.findall(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text):
        if mark in "[{":
            deep += 1
            most = max(most, deep)
        elif mark in "]}":
            deep -= 1
    return most
