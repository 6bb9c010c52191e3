import { type ConsumerMessages, DeliverPolicy, JetStreamApiError, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { type NatsConnection, errors } from "@nats-io/nats-core";

import { PrecisError, TooLarge, Unreachable, problem } from "./errors.js";
import { type AgentEvent, type CallOptions, Precis, type RecordsOptions, type ThreadRecord, optionsOf } from "./precis.js";
import type {
  ContextReply, ContextRequest, EventRejected, EventsReply, MessageReply, MessageRequest, Rejection, SummarizeReply, SummarizeRequest,
  SummaryReply, ThreadReply, ThreadRequest, ThreadsReply, ThreadsRequest,
} from "./types.js";
import { retry } from "./wait.js";

export interface NatsClientOptions {
  /** The longest wait, in milliseconds, for one answer. Default: 12,000: the processor holds a request for at most 10 s. */
  timeoutMs?: number;
  /** How often a request that can't be answered now is repeated. Default: 4. */
  retries?: number;
}

const types = ["thread.message", "tool.result", "message.edited", "thread.forked"];
const maxRejections = 1000;

/** Asks a processor over a NATS connection, which stays the caller's to close. */
export class NatsClient extends Precis {
  readonly #nc: NatsConnection;
  readonly #timeoutMs: number;
  readonly #retries: number;

  constructor(nc: NatsConnection, { timeoutMs = 12_000, retries = 4 }: NatsClientOptions = {}) {
    super();
    [this.#nc, this.#timeoutMs, this.#retries] = [nc, timeoutMs, retries];
  }

  /** As of Precis. Each event is sent when the one before is stored, which keeps them in order. One that can't be accepted is rejected later: see `rejections`. */
  async publish(thread: string, events: AgentEvent | readonly AgentEvent[], options: CallOptions = {}): Promise<EventsReply> {
    const { signal } = optionsOf(options);
    const js = jetstream(this.#nc, { timeout: this.#timeoutMs });
    const messages = [events].flat().map((event) => {
      if (!types.includes(event.type)) throw new TypeError(`type must be one of ${types.join(", ")}, not ${JSON.stringify(event.type)}`);
      return { subject: `${event.type}.${token(thread)}`, body: this.#bounded(JSON.stringify(event)) };
    });
    const event_seqs: number[] = [];
    for (const { subject, body } of messages) {
      const ack = await this.#try(signal, subject, () => js.publish(subject, body, { expect: { streamName: "EVENTS" } }));
      event_seqs.push(ack.seq);
    }
    return { event_seqs, event_seq: Math.max(0, ...event_seqs) };
  }

  async thread(thread: string, request: ThreadRequest = {}, options: CallOptions = {}): Promise<ThreadReply> {
    return this.#ask(`precis.thread.get.${token(thread)}`, request, options);
  }

  async threads(request: ThreadsRequest = {}, options: CallOptions = {}): Promise<ThreadsReply> {
    return this.#ask("precis.threads.list", request, options);
  }

  async context(thread: string, request: ContextRequest = {}, options: CallOptions = {}): Promise<ContextReply> {
    return this.#ask(`precis.thread.context.${token(thread)}`, request, options);
  }

  async summarize(thread: string, request: SummarizeRequest = {}, options: CallOptions = {}): Promise<SummarizeReply> {
    return this.#ask(`precis.thread.summarize.${token(thread)}`, request, options);
  }

  async message(thread: string, id: string, request: Omit<MessageRequest, "message_id"> = {}, options: CallOptions = {}): Promise<MessageReply> {
    return this.#ask(`precis.message.get.${token(thread)}`, { ...request, message_id: id }, options);
  }

  async summary(id: string, options: CallOptions = {}): Promise<SummaryReply> {
    return this.#ask(`precis.summary.get.${token(id)}`, {}, options);
  }

  /** As of Precis. It reads REJECTED itself, not through the processor. */
  async rejections(thread: string, { after = 0 }: { after?: number } = {}, { signal }: CallOptions = {}): Promise<Rejection[]> {
    const subject = `event.rejected.${token(thread)}`;
    return this.#try(signal, subject, async () => {
      const manager = await jetstreamManager(this.#nc, { checkAPI: false, timeout: this.#timeoutMs });
      const info = await manager.consumers.add("REJECTED", {
        name: `rejections_${crypto.randomUUID()}`, filter_subject: subject, deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: after + 1,
        ack_policy: "none", mem_storage: true, num_replicas: 1, inactive_threshold: 60e9,
      });
      const list: Rejection[] = [];
      try {
        const count = Math.min(info.num_pending, maxRejections);
        if (count === 0) return list;
        const consumer = manager.jetstream().consumers.getConsumerFromInfo(info);
        for await (const m of await consumer.fetch({ max_messages: count, expires: this.#timeoutMs })) {
          list.push({ ...m.json<EventRejected>(), seq: m.seq, rejected_at: m.time.toISOString() });
        }
        if (list.length < count) throw new Unreachable(`${subject}: ${list.length} of ${count} records within ${this.#timeoutMs} ms`);
        return list;
      } finally {
        await manager.consumers.delete("REJECTED", info.name).catch(() => undefined); // the server forgets it by itself
      }
    });
  }

  async *records(thread: string, { from, lastEventId, reconnect = true, signal }: RecordsOptions = {}): AsyncGenerator<ThreadRecord, void> {
    signal?.throwIfAborted();
    const subject = `*.*.${token(thread)}`;
    let after = lastEventId ?? 0;
    let messages: ConsumerMessages | undefined;
    const stop = () => messages?.stop();
    try {
      messages = await this.#try(signal, subject, async () => {
        const js = jetstream(this.#nc, { timeout: this.#timeoutMs });
        const last = (await (await js.jetstreamManager(false)).streams.info("SUMMARIES")).state.last_seq;
        if (after > last) throw problem(400, { title: "Bad request", detail: `lastEventId ${after} is beyond the last record, ${last}: begin again without it` });
        if (from === "now" && lastEventId === undefined) after = last;
        const consumer = await js.consumers.get("SUMMARIES", { filter_subjects: subject, opt_start_seq: after + 1 });
        const opened = await consumer.consume({ abort_on_missing_resource: !reconnect });
        if (signal?.aborted) opened.stop(); // its caller is gone
        return opened;
      });
      signal?.addEventListener("abort", stop, { once: true });
      for await (const m of messages) {
        signal?.throwIfAborted();
        if (m.seq <= after) continue; // a consumer that had to be made again before its first message begins at the first
        after = m.seq;
        yield { id: m.seq, type: m.subject.split(".").slice(0, 2).join("."), data: m.json() } as ThreadRecord;
      }
      signal?.throwIfAborted();
      if (reconnect) throw new Unreachable(`${thread}: the connection is closed`);
    } finally {
      signal?.removeEventListener("abort", stop);
      stop();
    }
  }

  #ask<T>(subject: string, request: object, { signal }: CallOptions): Promise<T> {
    const body = this.#bounded(JSON.stringify(request));
    return this.#try(signal, subject, async () => {
      const reply = await this.#nc.request(subject, body, { timeout: this.#timeoutMs });
      const code = reply.headers?.get("Nats-Service-Error-Code");
      if (code) throw problem(Number(code), { title: "Refused", detail: reply.headers?.get("Nats-Service-Error") });
      return reply.json<T>();
    });
  }

  /** Runs a request, again where it may succeed later. A signal can't take back what was sent: it ends the wait. */
  #try<T>(signal: AbortSignal | undefined, subject: string, ask: () => Promise<T>): Promise<T> {
    return retry(this.#retries, signal, async () => {
      signal?.throwIfAborted();
      let abort: (() => void) | undefined;
      const aborted = new Promise<never>((_, reject) => {
        abort = () => reject(signal?.reason);
        signal?.addEventListener("abort", abort, { once: true });
      });
      try {
        return await Promise.race([ask(), aborted]);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        throw failed(error, subject);
      } finally {
        if (abort) signal?.removeEventListener("abort", abort);
      }
    });
  }

  #bounded(text: string): string {
    const [size, most] = [Buffer.byteLength(text), this.#nc.info?.max_payload ?? Infinity];
    if (size > most) throw new TooLarge(413, { title: "Too large", detail: `${size} bytes; the server takes ${most}` });
    return text;
  }
}

function failed(error: unknown, subject: string): Error {
  if (error instanceof PrecisError) return error;
  const detail = `${subject}: ${error instanceof Error ? error.message || error.name : String(error)}`;
  if (error instanceof JetStreamApiError) return problem(error.code, { title: "Refused", detail });
  if (error instanceof errors.PermissionViolationError) return problem(403, { title: "Refused", detail });
  return new Unreachable(detail, { cause: error });
}

/** Returns an id as one subject token: A-Z a-z 0-9 _ - as they are, every other byte as =HH. */
export function token(id: string): string {
  const bytes = new TextEncoder().encode(id).length;
  if (bytes === 0 || bytes > 256) throw new TypeError(`an id has 1 to 256 bytes, not ${bytes}`);
  return encodeURIComponent(id).replace(/[.!~*'()]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll("%", "=");
}
