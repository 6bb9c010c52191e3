"""The gate of the client over HTTP: it asks until no summary of a thread is in progress."""

from __future__ import annotations

import http.client
import selectors
import socket
import ssl
import time
from typing import Callable, Tuple

from . import errors
from .request import delay
from .types import ThreadReply

#: How long, in seconds, the end of a summary can go unnoticed where its record is missed.
AGAIN = 1.0

#: A stream of records: what a request for it returns.
Stream = Tuple[http.client.HTTPConnection, http.client.HTTPResponse]


def until_idle(thread: str, ask: Callable[[float], ThreadReply], follow: Callable[[float], Stream], max_wait: float) -> None:
    """Return when no summary is in progress. ask and follow take the longest time that they may wait, in seconds."""
    if not max_wait > 0:
        raise ValueError(f"max_wait must be more than 0 seconds, not {max_wait!r}")
    deadline = time.monotonic() + max_wait
    hints: _Hints | None = None
    failures, last = 0, None  # type: int, Exception | None
    try:
        while (left := deadline - time.monotonic()) > 0:
            try:
                if ask(left)["summaries_started"] == 0:
                    return
                failures = 0
                if hints is None:
                    hints = _Hints(follow, left)  # a summary that ended before the stream was open has no record in it: ask again
                else:
                    hints.wait(min(AGAIN, left))
            except errors.NotFound:  # every event of the thread is decided, and none has created anything
                return
            except errors.PASSING as e:
                last = e
                time.sleep(min(delay(failures, e), max(deadline - time.monotonic(), 0.0)))
                failures += 1
    finally:
        if hints is not None:
            hints.close()
    raise errors.GateTimeout(f"a summary of {thread} is still in progress after {max_wait:g} s") from last


class _Hints:
    """The thread's records from now on. What they say does not matter: each is published after the commit that an answer is read
    from, and so a reason to ask again. Where there is no stream, time alone is."""

    def __init__(self, follow: Callable[[float], Stream], timeout: float) -> None:
        self._connection: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None
        try:
            self._connection, answer = follow(timeout)
        except errors.PrecisError:
            return
        if answer.status == 200:
            self._socket = self._connection.sock  # None where the server ends the connection with its answer

    def wait(self, seconds: float) -> None:
        """Return when a record arrives, or when the time is up."""
        if self._socket is None:
            time.sleep(seconds)
            return
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            if selector.select(seconds):
                self._drain(self._socket)

    def _drain(self, stream: socket.socket) -> None:
        """Drop what has arrived, so that the next wait is for something new."""
        stream.setblocking(False)
        try:
            while stream.recv(1 << 16):
                pass
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            pass
        self._socket = None  # the stream has ended

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
