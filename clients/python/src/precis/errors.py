"""What a request can raise: a Problem (RFC 9457) that precis answers with, Unreachable where no answer came, or GateTimeout."""

from __future__ import annotations

from typing import Any, List, Mapping, cast

from .types import RefusedEvent


class PrecisError(Exception):
    """The base of all errors of this package."""


class Unreachable(PrecisError):
    """No whole answer came: the connection failed, broke, or took longer than the timeout."""


class GateTimeout(PrecisError):
    """A gate's time is up: a summary may still be in progress."""


class Problem(PrecisError):
    """A request is refused. detail says what to do; status is that of the HTTP answer, or the code of the NATS service."""

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.type = str(body.get("type", "about:blank"))
        self.title = str(body.get("title", ""))
        self.detail = str(body.get("detail", ""))
        self.rejections = cast(List[RefusedEvent], body.get("rejections") or [])
        #: Seconds after which the server expects the request to succeed; None where it does not say.
        self.retry_after = retry_after
        super().__init__(f"{status} {self.title}: {self.detail}" + "".join(
            f"; event {r['index']}: {' '.join(filter(None, (r['code'], r['field'])))}: {r['message']}" for r in self.rejections))


class BadRequest(Problem):
    """400: the request is wrong."""


class Unauthorized(Problem):
    """401 and 403: the token is missing, unknown, expired or of another role or thread."""


class NotFound(Problem):
    """404: no such thread, message, revision or summary."""


class StaleSummary(Problem):
    """409: a summary is stale, and the thread's policy says fail."""


class TooLarge(Problem):
    """413: the request or its answer is too large."""


class EventsRejected(Problem):
    """422: events can't be accepted. rejections names each; none of the request is stored."""


class Unavailable(Problem):
    """429 and 503: not caught up, or too many requests. It may pass: ask again."""


#: What the same request may succeed after, later.
PASSING = (Unreachable, Unavailable)

_CLASSES: Mapping[int, type[Problem]] = {
    400: BadRequest, 401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: StaleSummary, 413: TooLarge,
    422: EventsRejected, 429: Unavailable, 503: Unavailable,
}


def problem(status: int, body: Mapping[str, Any], retry_after: float | None = None) -> Problem:
    """Return the exception for an answer."""
    return _CLASSES.get(status, Problem)(status, body, retry_after)
