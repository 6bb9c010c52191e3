"""What the requests of both clients have in common."""

from __future__ import annotations

import random
from typing import Any, Dict, Iterable, List, Literal, Mapping, NamedTuple, cast

Format = Literal["messages", "openai", "responses", "anthropic", "gemini"]
Sort = Literal["recent", "size", "prompt", "cost", "stale"]


class Record(NamedTuple):
    """A record of a thread. id is its sequence in SUMMARIES: records(last_event_id=…) continues behind it."""

    id: int
    type: str
    data: Mapping[str, Any]


def listed(events: Iterable[Mapping[str, Any] | Iterable[Mapping[str, Any]]]) -> List[Mapping[str, Any]]:
    """Return the events one by one, also those that stand in lists."""
    out: List[Mapping[str, Any]] = []
    for event in events:
        if isinstance(event, (Mapping, str, bytes)) or not isinstance(event, Iterable):  # an empty text would be no event
            out.append(event)
        else:
            out.extend(cast("Iterable[Mapping[str, Any]]", event))
    for event in out:
        if not isinstance(event, Mapping):
            raise TypeError(f"an event is a dict with its type and data, such as {{'type': 'thread.message', …}}, not {type(event).__name__}")
    return out


def given(**members: Any) -> Dict[str, Any]:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def delay(attempt: int, error: Exception | None = None) -> float:
    """A tenth of a second, doubled each time, at most 5; not before the server says. Half of it by chance, so that clients spread."""
    wait = min(0.1 * 2.0 ** min(attempt, 10), 5.0)
    return max(wait * random.uniform(0.5, 1.0), getattr(error, "retry_after", None) or 0.0)
