"""The check of a cron expression before it is stored. The scheduler of Worldkeep computes the times; an expression that it
could not read is refused here, with the field that is wrong."""

from __future__ import annotations

import re
import zoneinfo

from .errors import JobsError

_MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
_WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()
_MACROS = "@yearly @annually @monthly @weekly @daily @midnight @hourly".split()
_Rule = tuple[str, int, int, int, list[str]]
# Name, low, high, largest step, names of values.
_FIELDS: list[_Rule] = [
    ("second", 0, 59, 60, []), ("minute", 0, 59, 60, []), ("hour", 0, 23, 24, []),
    ("day", 1, 31, 31, []), ("month", 1, 12, 12, _MONTHS), ("weekday", 0, 7, 7, _WEEKDAYS),
]
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _refuse(message: str) -> JobsError:
    return JobsError("invalid_cron", message, field="schedule.cron")


def _wrong(rule: _Rule, item: str, why: str) -> JobsError:
    return _refuse(f'schedule.cron: the {rule[0]} field has "{item}": {why}')


def check_cron(expression: str, timezone: str | None) -> None:
    """Refuses what the scheduler would not take."""
    if timezone is not None:
        _check_timezone(timezone)
    if len(expression) > 500:
        raise _refuse("schedule.cron has at most 500 characters")
    text = expression.strip()
    if text.startswith("@"):
        if text.lower() in _MACROS:
            return
        raise _refuse(f"schedule.cron: there is no {text}, use one of {' '.join(_MACROS)}")
    words = text.split()
    if len(words) not in (5, 6):
        raise _refuse(f"schedule.cron has five fields, or six with seconds, not {len(words)}")
    if len(words) == 5:
        words.insert(0, "0")
    values = [_field(word, rule) for word, rule in zip(words, _FIELDS)]
    days, months, weekdays = values[3], values[4], {day % 7 for day in values[5]}
    has_last = "L" in words[3].upper().split(",")
    if len(weekdays) == 7 and days and not has_last and all(_LONGEST[month - 1] < min(days) for month in months):
        raise _refuse("schedule.cron never fires")


def _check_timezone(timezone: str) -> None:
    try:
        zoneinfo.ZoneInfo(timezone)
    except Exception:
        message = f"schedule.timezone: there is no {timezone}, use an IANA name such as Europe/Paris"
        raise JobsError("invalid_timezone", message, field="schedule.timezone") from None


def _field(text: str, rule: _Rule) -> set[int]:
    values: set[int] = set()
    for item in text.split(","):
        if rule[0] == "day" and item.upper() == "L":
            continue
        if rule[0] == "weekday" and "#" in item:
            day, nth = item.split("#", 1)
            _value(day, rule, item)
            if nth not in ("1", "2", "3", "4", "5"):
                raise _wrong(rule, item, "after # comes a number from 1 to 5")
        elif rule[0] == "weekday" and len(item) > 1 and item[-1] in "Ll":
            _value(item[:-1], rule, item)
        else:
            values.update(_range(item, rule))
    return values


def _range(item: str, rule: _Rule) -> range:
    name, low, high, step_max, _ = rule
    span, slash, step_text = item.partition("/")
    step = _number(step_text, rule, item) if slash else 1
    if not 1 <= step <= step_max:
        raise _wrong(rule, item, f"a step is 1 to {step_max}")
    first, last = low, high
    if span not in ("*", "?"):
        start, dash, end = span.partition("-")
        first = _value(start, rule, item)
        last = _value(end, rule, item) if dash else (high if slash else first)
    if first > last:
        raise _wrong(rule, item, f"a range of the {name} goes from low to high")
    return range(first, last + 1, step)


def _value(text: str, rule: _Rule, item: str) -> int:
    _, low, high, _, names = rule
    if text.upper() in names:
        return low + names.index(text.upper())
    found = _number(text, rule, item)
    if not low <= found <= high:
        raise _wrong(rule, item, f"it is {low} to {high}")
    return found


def _number(text: str, rule: _Rule, item: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise _wrong(rule, item, "use numbers, *, lists, ranges and steps")
    return int(text)
