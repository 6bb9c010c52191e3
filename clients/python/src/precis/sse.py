"""Server-sent events, as the HTML standard defines them."""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple


class ServerSentEvent(NamedTuple):
    """One event: its type, the id in force, its data."""

    event: str
    id: str
    data: str


def parse(lines: Iterable[bytes]) -> Iterator[ServerSentEvent]:
    """Yield the events of a stream of lines. What is not ended by an empty line is not an event: the connection broke in it."""
    event, last_id, data = "", "", []  # type: str, str, list[str]
    for raw in lines:
        line = raw.decode("utf-8").rstrip("\r\n")
        if not line:
            if data:
                yield ServerSentEvent(event or "message", last_id, "\n".join(data))
            event, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            event = value
        elif field == "data":
            data.append(value)
        elif field == "id" and "\0" not in value:
            last_id = value
