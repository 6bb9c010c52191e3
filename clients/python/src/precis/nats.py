"""Client of precis over NATS, on a connection of nats-py, which the extra nats brings.

    nc = await nats.connect("nats://127.0.0.1:4222")
    client = NatsClient(nc)
    stored = await client.publish("t1", {"type": "thread.message", "message_id": "m1", "role": "user", "content": "Hi"})
    prompt = await client.context("t1", format="openai", max_tokens=8000, min_event_seq=stored["event_seq"])
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from typing import Any, AsyncGenerator, Awaitable, Callable, Iterable, List, Literal, Mapping, Sequence, Tuple, TypeVar, cast

try:
    import nats.errors
    import nats.js.errors
    from nats.aio.client import Client as Connection
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext
    from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
except ImportError as e:
    raise ImportError("precis.nats needs nats-py: pip install 'nats-py>=2.15'") from e

from . import errors
from .gate import AGAIN
from .request import Format, Record, Sort, delay, given, listed
from .types import ContextReply, EventsReply, MessageReply, Rejection, SummarizeReply, SummaryReply, ThreadReply, ThreadsReply

__all__ = ["NatsClient", "token"]

_T = TypeVar("_T")
_TYPES = ("thread.message", "tool.result", "message.edited", "thread.forked")
_PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_MOST_REJECTIONS = 1000
#: What nats-py raises where a request fails.
_FAILURES = (nats.errors.Error, asyncio.TimeoutError)
#: How long, in seconds, one pull for messages waits; then a consumer that is lost is noticed.
_WAIT = 5.0


class NatsClient:
    """Asks a processor over a NATS connection, which stays its caller's to close.

    timeout is the longest wait, in seconds, for one answer; the processor holds a request for at most 10. A request that can't be
    answered now is repeated up to retries times, longer and longer apart. That is safe for each of them: an event counts once, by its
    ids, and a summary has the same id wherever it is made.
    """

    def __init__(self, nc: Connection, *, timeout: float = 12.0, retries: int = 4) -> None:
        self._nc, self._timeout, self._retries = nc, timeout, retries
        self._js = nc.jetstream(timeout=timeout)

    async def publish(self, thread: str, *events: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> EventsReply:
        """Publish events, one by one or as a list, each with its type as in an event file, and return their sequences when all are stored.

        Each is sent when the one before is stored, which keeps them in order. Give a message.edited an edit_id: a repeated call
        counts it once by it. An event that can't be accepted is rejected later: rejections() names it.
        """
        messages = []
        for event in listed(events):
            if event.get("type") not in _TYPES:
                raise ValueError(f"type must be one of {', '.join(_TYPES)}, not {event.get('type')!r}")
            messages.append((f"{event['type']}.{token(thread)}", self._body(event)))
        seqs = []
        for subject, body in messages:
            seqs.append(await self._try(subject, lambda: self._store(subject, body)))
        return {"event_seqs": seqs, "event_seq": max(seqs, default=0)}

    async def _store(self, subject: str, body: bytes) -> int:
        # Without a Nats-Msg-Id: the processor drops duplicates itself, however late they come.
        return int((await self._js.publish(subject, body, stream="EVENTS")).seq)

    async def thread(self, thread: str, *, min_event_seq: int | None = None) -> ThreadReply:
        """Return a thread's counters."""
        return cast(ThreadReply, await self._ask(f"precis.thread.get.{token(thread)}", min_event_seq=min_event_seq))

    async def threads(self, *, prefix: str | None = None, search: str | None = None, agent_id: str | None = None,
                      policy: str | None = None, stale: bool | None = None, sort: Sort | None = None, ascending: bool | None = None,
                      limit: int | None = None, after: str | None = None) -> ThreadsReply:
        """Return a page of the threads of which all that is given holds; the next one is after=next of the reply."""
        return cast(ThreadsReply, await self._ask(
            "precis.threads.list", prefix=prefix, search=search, agent_id=agent_id, policy=policy, stale=stale, sort=sort,
            ascending=ascending, limit=limit, after=after))

    async def context(self, thread: str, *, max_tokens: int | None = None, format: Format | None = None,
                      min_event_seq: int | None = None, explain: bool | None = None, children: bool | None = None,
                      only_summaries: bool | None = None) -> ContextReply:
        """Return the compacted prompt. With min_event_seq (event_seq of publish) it waits until that event is in it."""
        return cast(ContextReply, await self._ask(
            f"precis.thread.context.{token(thread)}", max_tokens=max_tokens, format=format, min_event_seq=min_event_seq,
            explain=explain, children=children, only_summaries=only_summaries))

    async def summarize(self, thread: str, *, kind: Literal["compaction", "history"] | None = None,
                        min_event_seq: int | None = None) -> SummarizeReply:
        """Summarize a thread now. Where a model does it, the summary.created or summary.failed with the id follows."""
        return cast(SummarizeReply, await self._ask(f"precis.thread.summarize.{token(thread)}", kind=kind, min_event_seq=min_event_seq))

    async def message(self, thread: str, message_id: str, *, lines: Tuple[int, int] | None = None, revision: int | None = None,
                      min_event_seq: int | None = None) -> MessageReply:
        """Return the original text of a message, or of its lines from to to, counted from 1."""
        return cast(MessageReply, await self._ask(
            f"precis.message.get.{token(thread)}", message_id=message_id, lines=lines, revision=revision, min_event_seq=min_event_seq))

    async def summary(self, summary_id: str) -> SummaryReply:
        """Return a summary's record and what became of it."""
        return cast(SummaryReply, await self._ask(f"precis.summary.get.{token(summary_id)}"))

    async def rejections(self, thread: str, *, after: int = 0) -> Sequence[Rejection]:
        """Return the thread's rejected events behind a sequence of REJECTED, at most 1,000. It reads that stream itself."""
        subject = f"event.rejected.{token(thread)}"
        return await self._try(subject, lambda: self._rejections(subject, after))

    async def _rejections(self, subject: str, after: int) -> List[Rejection]:
        reader = _Reader(self._nc, "REJECTED", subject, after, self._timeout)
        found: List[Rejection] = []
        try:
            count = min(await reader.open(), _MOST_REJECTIONS)
            while len(found) < count:
                messages = await reader.next(self._timeout, count - len(found))
                if not messages:
                    raise errors.Unreachable(f"{subject}: {len(found)} of {count} records within {self._timeout:g} s")
                for m in messages:
                    at = m.metadata.timestamp.isoformat().replace("+00:00", "Z")
                    found.append(cast(Rejection, {**json.loads(m.data), "seq": m.metadata.sequence.stream, "rejected_at": at}))
            return found
        finally:
            await reader.close()

    async def records(self, thread: str, *, from_now: bool = False, last_event_id: int | None = None) -> AsyncGenerator[Record, None]:
        """Follow a thread's records: summary.created and the others, from the first or from now on, or behind a record.

        Where the connection was away, or the server has forgotten the consumer, it goes on behind the last record, so that none is
        missed and none comes twice. It raises Unreachable when the connection is closed. Close the generator to end it.
        """
        subject = f"*.*.{token(thread)}"
        after = None if from_now and last_event_id is None else last_event_id or 0
        await self._try(subject, lambda: self._reaches(after or 0))
        reader = _Reader(self._nc, "SUMMARIES", subject, after, self._timeout)
        failures = 0
        try:
            await self._try(subject, reader.open)
            while True:
                try:
                    for m in await reader.next(_WAIT):
                        yield Record(m.metadata.sequence.stream, m.subject[:m.subject.rindex(".")], json.loads(m.data))
                    failures = 0
                except _FAILURES as e:
                    failed = _failed(e, subject)
                    if self._nc.is_closed or not isinstance(failed, errors.PASSING):
                        raise failed from e
                    await asyncio.sleep(delay(failures))
                    failures += 1
        finally:
            await reader.close()

    async def _reaches(self, last_event_id: int) -> None:
        """Refuse to begin behind a record that there is not."""
        last = int((await self._js.stream_info("SUMMARIES")).state.last_seq) if last_event_id else 0
        if last_event_id > last:
            raise errors.problem(400, {
                "title": "Bad request", "detail": f"last_event_id {last_event_id} is beyond the last record, {last}: begin again without it"})

    async def gate(self, thread: str, *, min_event_seq: int | None = None, max_wait: float = 30.0) -> None:
        """Return when no summary of the thread is in progress, so that the next prompt contains them: hold the user's input until then.

        With min_event_seq (event_seq of publish) it first waits until that event is decided; without it only summaries that have
        already started are waited for. Raises GateTimeout after max_wait seconds; 30 is the processor's own limit of a model's call.
        """
        if not max_wait > 0:
            raise ValueError(f"max_wait must be more than 0 seconds, not {max_wait!r}")
        try:
            await asyncio.wait_for(self._until_idle(thread, min_event_seq), max_wait)
        except asyncio.TimeoutError as e:
            raise errors.GateTimeout(f"a summary of {thread} is still in progress after {max_wait:g} s") from e

    async def _until_idle(self, thread: str, min_event_seq: int | None) -> None:
        # What its records say does not matter: each is published after the commit that an answer is read from, and so a reason to ask.
        hints = _Reader(self._nc, "SUMMARIES", f"*.*.{token(thread)}", None, AGAIN)
        try:
            while True:
                try:
                    if (await self.thread(thread, min_event_seq=min_event_seq))["summaries_started"] == 0:
                        return
                except errors.NotFound:  # every event of the thread is decided, and none has created anything
                    return
                except errors.PASSING as e:
                    if self._nc.is_closed:
                        raise
                    await asyncio.sleep(delay(0, e))
                    continue
                try:
                    await hints.next(AGAIN)
                except _FAILURES:  # time is the hint then
                    await asyncio.sleep(AGAIN)
        finally:
            await hints.close()

    async def _ask(self, subject: str, **members: Any) -> Any:
        body = self._body(given(**members))
        return await self._try(subject, lambda: self._request(subject, body))

    async def _request(self, subject: str, body: bytes) -> Any:
        reply = await self._nc.request(subject, body, timeout=self._timeout)
        headers = reply.headers or {}
        if code := headers.get("Nats-Service-Error-Code"):
            raise errors.problem(int(code), {"title": "Refused", "detail": headers.get("Nats-Service-Error", "")})
        return json.loads(reply.data)

    async def _try(self, subject: str, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Run a request, and again where it may succeed later."""
        for attempt in range(self._retries + 1):
            try:
                return await ask()
            except errors.PrecisError as e:
                failed, cause = e, e.__cause__
            except _FAILURES as e:
                failed, cause = _failed(e, subject), e
            if attempt == self._retries or self._nc.is_closed or not isinstance(failed, errors.PASSING):
                raise failed from cause
            await asyncio.sleep(delay(attempt, failed))
        raise AssertionError("unreachable")

    def _body(self, members: Mapping[str, Any]) -> bytes:
        body = json.dumps(members, allow_nan=False).encode()
        if len(body) > self._nc.max_payload:
            raise errors.problem(413, {"title": "Too large", "detail": f"{len(body)} bytes; the server takes {self._nc.max_payload}"})
        return body


class _Reader:
    """Reads messages of a stream in order, by a consumer that it pulls from, and makes again behind the last one where it is lost.

    js.subscribe(ordered_consumer=True) does so by a consumer that pushes. What a server pushes does not reach an account that imports
    the API of JetStream (deploy/nats); a pull is answered.
    """

    def __init__(self, nc: Connection, stream: str, subject: str, after: int | None, timeout: float) -> None:
        self._nc, self._stream, self._subject = nc, stream, subject
        self._after = after  # the sequence of the last message; None: that of the stream's last one when the consumer is made
        self._js = nc.jetstream(timeout=timeout)
        self._name, self._read = "", 0
        self._pull: JetStreamContext.PullSubscription | None = None

    async def open(self) -> int:
        """Make the consumer, and return how many messages wait for it."""
        self._name, self._read = f"py_{uuid.uuid4().hex}", 0
        start = ConsumerConfig(deliver_policy=DeliverPolicy.NEW) if self._after is None else ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=self._after + 1)
        info = await self._js.add_consumer(
            self._stream, start, name=self._name, filter_subject=self._subject, ack_policy=AckPolicy.NONE, mem_storage=True,
            num_replicas=1, inactive_threshold=60.0)
        if self._after is None and info.delivered is not None:
            self._after = info.delivered.stream_seq
        self._pull = await self._js.pull_subscribe_bind(consumer=self._name, stream=self._stream)
        return info.num_pending or 0

    async def next(self, wait: float, count: int = 100) -> List[Msg]:
        """Return the next messages, at most count; none where none comes within wait seconds, or where the consumer is made anew."""
        if self._pull is None:
            await self.open()
            return []
        messages: List[Msg] = []
        try:
            messages = await self._pull.fetch(count, timeout=wait)
        except asyncio.TimeoutError:
            if await self._complete():
                return []
        except nats.errors.Error:
            await self.close()
            raise
        fresh = []
        for m in messages:
            if m.metadata.sequence.consumer != self._read + 1:
                break
            self._read, self._after = m.metadata.sequence.consumer, m.metadata.sequence.stream
            fresh.append(m)
        if len(fresh) < len(messages) or not messages:  # one went to a connection that broke
            await self.close()
        return fresh

    async def _complete(self) -> bool:
        """Report whether the consumer is there, and all that it delivered has arrived."""
        try:
            info = await self._js.consumer_info(self._stream, self._name)
        except nats.js.errors.NotFoundError:
            return False
        return info.delivered is not None and info.delivered.consumer_seq == self._read

    async def close(self) -> None:
        """Give the consumer up. The server forgets it in a minute where it can't be told."""
        pull, self._pull = self._pull, None
        if pull is None:
            return
        with contextlib.suppress(*_FAILURES):
            await pull.unsubscribe()
            if self._nc.is_connected:
                await asyncio.wait_for(self._js.delete_consumer(self._stream, self._name), AGAIN)


def _failed(error: Exception, subject: str) -> errors.PrecisError:
    """Return the error of this package that says what an error of nats-py means."""
    detail = f"{subject}: {error}"
    if isinstance(error, nats.js.errors.APIError):
        return errors.problem(error.code or 503, {"title": "Refused", "detail": detail})
    return errors.Unreachable(detail)


def token(id: str) -> str:
    """Return an id as one subject token: A-Z a-z 0-9 _ - as they are, every other byte as =HH."""
    data = id.encode()
    if not 1 <= len(data) <= 256:
        raise ValueError(f"an id has 1 to 256 bytes, not {len(data)}")
    return "".join(chr(b) if b in _PLAIN else f"={b:02X}" for b in data)
