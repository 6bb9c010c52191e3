"""The client: a method for each route of the API."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
import urllib.parse
from typing import Any, Iterable, Iterator, Literal, Mapping, Sequence, Tuple, cast

from . import errors, sse
from .gate import Stream, until_idle
from .request import Format, Record, Sort, delay, given, listed
from .types import ContextReply, EventsReply, MessageReply, Rejection, SummarizeReply, SummaryReply, ThreadReply, ThreadsReply

# A stream that says nothing for longer, in seconds, is broken: the server writes every 15.
_SILENCE = 45.0


class Client:
    """Asks a processor over HTTP. It opens a connection for each request: threads may share a client.

    token is a bearer token, if the API wants one. timeout is the longest wait, in seconds, for a connection and for each part of an
    answer. A request that can't be answered now (429, 503, a broken connection) is repeated up to retries times, longer and longer
    apart. That is safe for each of them: an event counts once, by its ids, and a summary has the same id wherever it is made.
    """

    def __init__(self, url: str = "http://127.0.0.1:8088", *, token: str | None = None, timeout: float = 30.0, retries: int = 4,
                 ssl_context: ssl.SSLContext | None = None) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"url must be http://HOST:PORT or https://HOST:PORT, not {url!r}")
        self._secure = parts.scheme == "https"
        self._host, self._port, self._prefix = parts.hostname, parts.port, parts.path.rstrip("/")
        self._token, self._timeout, self._retries = token, timeout, retries
        self._ssl = ssl_context

    def publish(self, thread: str, *events: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> EventsReply:
        """Publish up to 1,000 events, one by one or as a list, each with its type as in an event file, and return their sequences when all are stored.

        Give a message.edited an edit_id: a repeated request counts it once by it. Raises EventsRejected where an event can't be
        accepted; then none is stored. What conflicts with an earlier event is found later: rejections() names it.
        """
        return cast(EventsReply, self._ask("POST", f"/v1/threads/{_segment(thread)}/events", body=listed(events)))

    def thread(self, thread: str, *, min_event_seq: int | None = None) -> ThreadReply:
        """Return a thread's counters."""
        return cast(ThreadReply, self._ask("GET", f"/v1/threads/{_segment(thread)}", {"min_event_seq": min_event_seq}))

    def threads(self, *, prefix: str | None = None, search: str | None = None, agent_id: str | None = None, policy: str | None = None,
                stale: bool | None = None, sort: Sort | None = None, ascending: bool | None = None, limit: int | None = None,
                after: str | None = None) -> ThreadsReply:
        """Return a page of the threads of which all that is given holds; the next one is after=next of the reply."""
        return cast(ThreadsReply, self._ask("GET", "/v1/threads", {
            "prefix": prefix, "search": search, "agent_id": agent_id, "policy": policy, "stale": stale, "sort": sort,
            "ascending": ascending, "limit": limit, "after": after}))

    def context(self, thread: str, *, max_tokens: int | None = None, format: Format | None = None, min_event_seq: int | None = None,
                explain: bool | None = None, children: bool | None = None,
                only_summaries: bool | None = None) -> ContextReply:
        """Return the compacted prompt. With min_event_seq (event_seq of publish) it waits until that event is in it."""
        return cast(ContextReply, self._ask("POST", f"/v1/threads/{_segment(thread)}/context", body=given(
            max_tokens=max_tokens, format=format, min_event_seq=min_event_seq, explain=explain, children=children,
            only_summaries=only_summaries)))

    def summarize(self, thread: str, *, kind: Literal["compaction", "history"] | None = None,
                  min_event_seq: int | None = None) -> SummarizeReply:
        """Summarize a thread now. Where a model does it, the summary.created or summary.failed with the id follows."""
        return cast(SummarizeReply, self._ask("POST", f"/v1/threads/{_segment(thread)}/summarize", body=given(
            kind=kind, min_event_seq=min_event_seq)))

    def message(self, thread: str, message_id: str, *, lines: Tuple[int, int] | None = None, revision: int | None = None,
                min_event_seq: int | None = None) -> MessageReply:
        """Return the original text of a message, or of its lines from to to, counted from 1."""
        return cast(MessageReply, self._ask("GET", f"/v1/threads/{_segment(thread)}/messages/{_segment(message_id)}", {
            "lines": None if lines is None else f"{lines[0]}-{lines[1]}", "revision": revision, "min_event_seq": min_event_seq}))

    def summary(self, summary_id: str) -> SummaryReply:
        """Return a summary's record and what became of it."""
        return cast(SummaryReply, self._ask("GET", f"/v1/summaries/{_segment(summary_id)}"))

    def rejections(self, thread: str, *, after: int = 0) -> Sequence[Rejection]:
        """Return the thread's rejected events behind a sequence of REJECTED, at most 1,000."""
        reply = self._ask("GET", f"/v1/threads/{_segment(thread)}/rejections", {"after": after})
        return cast(Sequence[Rejection], reply["rejections"])

    def records(self, thread: str, *, from_now: bool = False, last_event_id: int | None = None,
                reconnect: bool = True) -> Iterator[Record]:
        """Follow a thread's records: summary.created and the others, from the first or from now on.

        A connection that breaks is opened again behind the last record, so that none is missed and none comes twice. With from_now,
        what is published before the first record has arrived may be missed then. Close the iterator to end it.
        """
        failures = 0
        while True:
            try:
                for event in self._stream(thread, from_now, last_event_id):
                    if event is None:  # connected
                        failures = 0
                        continue
                    last_event_id = int(event.id)
                    yield Record(last_event_id, event.event, json.loads(event.data))
                if not reconnect:
                    return
                failures = 0
                wait = delay(0)  # it ended in order: the processor stopped, or will say why
            except errors.PASSING as e:
                if not reconnect or failures >= self._retries:
                    raise
                wait = delay(failures, e)
                failures += 1
            time.sleep(wait)

    def gate(self, thread: str, *, min_event_seq: int | None = None, max_wait: float = 30.0) -> None:
        """Return when no summary of the thread is in progress, so that the next prompt contains them: hold the user's input until then.

        With min_event_seq (event_seq of publish) it first waits until that event is decided; without it only summaries that have
        already started are waited for. Raises GateTimeout after max_wait seconds; 30 is the processor's own limit of a model's call.
        """
        path = f"/v1/threads/{_segment(thread)}"
        until_idle(
            thread,
            lambda left: cast(ThreadReply, self._once("GET", path, {"min_event_seq": min_event_seq}, None, min(self._timeout, left))),
            lambda left: self._send("GET", path + "/records", {"from": "now"}, None, {"Accept": "text/event-stream"}, min(self._timeout, left)),
            max_wait)

    def _stream(self, thread: str, from_now: bool, last_event_id: int | None) -> Iterator[sse.ServerSentEvent | None]:
        headers = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
        connection, answer = self._send("GET", f"/v1/threads/{_segment(thread)}/records", {"from": "now" if from_now else None}, None,
                                        {"Accept": "text/event-stream", **headers}, max(self._timeout, _SILENCE))
        try:
            if answer.status != 200:
                raise _failed(answer)
            yield None
            yield from sse.parse(answer)
        except (OSError, http.client.HTTPException) as e:
            raise errors.Unreachable(f"{thread}: the stream broke: {e}") from e
        finally:
            connection.close()

    def _ask(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        for attempt in range(self._retries + 1):
            try:
                return self._once(method, path, query, body)
            except errors.PASSING as e:
                if attempt == self._retries:
                    raise
                time.sleep(delay(attempt, e))
        raise AssertionError("unreachable")

    def _once(self, method: str, path: str, query: Mapping[str, Any] | None, body: Any, timeout: float | None = None) -> Any:
        connection, answer = self._send(method, path, query, body, {"Accept": "application/json"}, timeout)
        try:
            if answer.status != 200:
                raise _failed(answer)
            return json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise errors.Unreachable(f"{method} {path}: {e or type(e).__name__}") from e
        finally:
            connection.close()

    def _send(self, method: str, path: str, query: Mapping[str, Any] | None, body: Any,
              headers: Mapping[str, str], timeout: float | None = None) -> Stream:
        target = self._prefix + path
        members = given(**(query or {}))
        if members:
            target += "?" + urllib.parse.urlencode({name: json.dumps(v) if isinstance(v, bool) else v for name, v in members.items()})
        sent = dict(headers)
        if self._token is not None:
            sent["Authorization"] = "Bearer " + self._token
        text = None
        if body is not None:
            text = json.dumps(body, allow_nan=False).encode()
            sent["Content-Type"] = "application/json"
        connection: http.client.HTTPConnection
        if self._secure:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout or self._timeout, context=self._ssl)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout or self._timeout)
        try:
            connection.request(method, target, body=text, headers=sent)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as e:
            connection.close()
            hint = ""
            if isinstance(e, (ConnectionRefusedError, socket.gaierror)):
                hint = ' (is "processor run" started? Its API listens on http://127.0.0.1:8088 by default)'
            raise errors.Unreachable(f"{method} {path}: {e or type(e).__name__}{hint}") from e


def _failed(answer: http.client.HTTPResponse) -> errors.Problem:
    text = answer.read()
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict):  # of a proxy in between
        body = {"title": answer.reason, "detail": text[:200].decode("utf-8", "replace")}
    after = answer.getheader("Retry-After", "")
    return errors.problem(answer.status, body, float(after) if after.isdigit() else None)


def _segment(text: str) -> str:
    """A path segment: every byte but A-Z a-z 0-9 - . _ ~ as %HH, and dots too where the segment is nothing else."""
    escaped = urllib.parse.quote(text, safe="")
    return escaped.replace(".", "%2E") if escaped in (".", "..") else escaped
