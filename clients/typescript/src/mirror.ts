import { BadRequest, EventsRejected, NotFound, Problem, StaleSummary, TooLarge, warn } from "./errors.js";
import type { AgentEvent, Precis } from "./precis.js";
import { Recent } from "./recent.js";
import type { ContextReply } from "./types.js";

/** What every adapter takes. */
export interface AdapterOptions {
  /** The most tokens that the messages of a prompt may have. Default: no limit but the policy's. */
  maxTokens?: number;
  /** The agent's name, by which policies match: `agent_id` of each event. */
  agentId?: string;
  /** How long, in milliseconds, a step of the agent waits for precis. Default: 2,000. */
  waitMs?: number;
  /** Learns what precis could not do; the agent goes on with its own messages. Default: a line by console.warn. */
  onError?: (error: unknown) => void;
}

/** A message of a framework, and the event that stands for it in the thread. */
export interface Entry<M> {
  event: AgentEvent & { message_id: string };
  message: M;
}

/** What stands in a prompt for messages: the text of a tool's result, or of a compaction. */
export interface Stand {
  role: "user" | "system" | "assistant" | "tool";
  text: string;
  id: string;
}

/** How long, in milliseconds, precis is left alone once it failed or was too slow. */
const rest = 10_000;
/** Bounds of one request: the API takes 1,000 events and 16 MiB. */
const [mostEvents, mostChars] = [1000, 4 << 20];
/** Threads, and messages of all of them, that are known. What is forgotten is published again once, and is a duplicate. */
const [mostThreads, mostMessages] = [1000, 100_000];

/** What is known of a thread: messages that it has, the sequence of its newest event, and until when it is left alone. */
interface Stored {
  ids: Set<string>;
  seq: number;
  until: number;
}

/** Refusals that say nothing of other threads. A token may be for some threads alone: 403. */
const ofOneThread = (error: unknown) =>
  [BadRequest, EventsRejected, NotFound, StaleSummary, TooLarge].some((kind) => error instanceof kind) || (error instanceof Problem && error.status === 403);

/**
 * Keeps a thread in step with an agent's messages, and gives the prompt in which summaries stand for some of them. It never throws: where
 * precis is away or slow, or its thread is not what the agent has, the messages stay as they are.
 */
export class Mirror {
  readonly #stored: Recent<string, Stored>;
  #queue: Promise<unknown> = Promise.resolve();
  #until = 0;

  constructor(readonly client: Precis, readonly options: AdapterOptions = {}, readonly most = { threads: mostThreads, messages: mostMessages }) {
    this.#stored = new Recent(most.threads);
  }

  /** Publishes the messages that the thread does not have yet, in their order, behind those of earlier calls. */
  async publish(thread: string, entries: readonly Entry<unknown>[]): Promise<void> {
    const stored = this.#of(thread);
    const next = this.#queue.then(() => this.attempt(thread, async (signal) => {
      const fresh = entries.filter(({ event }) => !stored.ids.has(event.message_id));
      for (const batch of batches(fresh.map(({ event }) => (this.options.agentId ? { agent_id: this.options.agentId, ...event } : event)))) {
        await this.#send(thread, batch, stored, signal);
      }
    }));
    this.#queue = next;
    await next;
    this.#forget(stored);
  }

  /** Stores events. Those that precis can't accept stay out for good; the prompts of their thread are left as they are. */
  async #send(thread: string, events: Entry<unknown>["event"][], stored: Stored, signal: AbortSignal): Promise<void> {
    let rest = events;
    try {
      if (rest.length > 0) stored.seq = Math.max(stored.seq, (await this.client.publish(thread, rest, { signal })).event_seq);
    } catch (error) {
      if (!(error instanceof EventsRejected) || error.rejections.length === 0) throw error;
      this.#report(error);
      const refused = new Set(error.rejections.map((r) => r.index));
      for (const i of refused) stored.ids.add(events[i]?.message_id ?? "");
      rest = events.filter((_, i) => !refused.has(i));
      return this.#send(thread, rest, stored, signal);
    }
    for (const event of rest) stored.ids.add(event.message_id);
  }

  /**
   * Returns the messages of the thread's prompt: those that stand whole as the agent has them, and `make`'s for what summaries stand for,
   * with the message itself where it is one. Undefined where nothing is shorter, or the prompt does not account for exactly these messages.
   */
  async compact<M>(thread: string, entries: readonly Entry<M>[], make: (stand: Stand, of: M | undefined) => M): Promise<M[] | undefined> {
    const seq = this.seq(thread);
    const reply = await this.attempt(thread, (signal) =>
      this.client.context(thread, { max_tokens: this.options.maxTokens ?? null, min_event_seq: seq || null, explain: true }, { signal }));
    return reply && splice(reply, entries, make);
  }

  /** Reports whether a message is stored, or refused for good. */
  has(thread: string, id: string): boolean {
    return this.#stored.get(thread)?.ids.has(id) ?? false;
  }

  /** The sequence of the thread's newest event. */
  seq(thread: string): number {
    return this.#stored.get(thread)?.seq ?? 0;
  }

  #of(thread: string): Stored {
    let stored = this.#stored.get(thread);
    if (!stored) this.#stored.set(thread, (stored = { ids: new Set(), seq: 0, until: 0 }));
    return stored;
  }

  /** Forgets messages, those of the threads first that were used longest ago, and the oldest of the thread in use. */
  #forget(used: Stored): void {
    let known = 0;
    for (const [, { ids }] of this.#stored) known += ids.size;
    for (const [thread, { ids }] of this.#stored) {
      if (known <= this.most.messages) return;
      if (ids === used.ids) continue;
      known -= ids.size;
      this.#stored.delete(thread);
    }
    for (const id of used.ids) {
      if (used.ids.size <= this.most.messages) return;
      used.ids.delete(id);
    }
  }

  /** Runs a request within the time that a step has; undefined where it fails, or has failed shortly before: for its thread, or for any. */
  async attempt<T>(thread: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const stored = this.#of(thread);
    if (Date.now() < Math.max(this.#until, stored.until)) return undefined;
    try {
      return await ask(AbortSignal.timeout(this.options.waitMs ?? 2000));
    } catch (error) {
      const until = Date.now() + rest;
      if (ofOneThread(error)) stored.until = until;
      else this.#until = until;
      this.#report(error);
      return undefined;
    }
  }

  #report(error: unknown): void {
    (this.options.onError ?? warn)(error);
  }
}

function* batches<E>(events: E[]): Generator<E[]> {
  let [batch, chars] = [[] as E[], 0];
  for (const event of events) {
    const size = JSON.stringify(event).length;
    if (batch.length === mostEvents || (batch.length > 0 && chars + size > mostChars)) {
      yield batch;
      [batch, chars] = [[], 0];
    }
    batch.push(event);
    chars += size;
  }
  if (batch.length > 0) yield batch;
}

export function splice<M>(reply: ContextReply, entries: readonly Entry<M>[], make: (stand: Stand, of: M | undefined) => M): M[] | undefined {
  const { sources, dropped_message_ids: dropped, explain } = reply;
  if (!explain || !dropped || sources.length !== reply.messages.length || reply.waiting_message_ids.length > 0) return undefined;
  if (reply.summary_ids.length === 0 && dropped.length === 0) return undefined;
  const own = new Map(entries.map(({ event, message }) => [event.message_id, message]));
  const missing = new Set(own.keys());
  const account = (ids: readonly string[]) => ids.every((id) => (missing.delete(id), own.has(id)));
  if (!account(dropped)) return undefined;
  for (const { message_ids } of explain.summaries) if (!message_ids || !account(message_ids)) return undefined;
  const list: M[] = [];
  for (const [i, { message_ids, summary_ids }] of sources.entries()) {
    if (!account(message_ids)) return undefined;
    const { role, content, summary_id } = reply.messages[i] as { role: Stand["role"]; content?: unknown; summary_id?: string };
    const message = message_ids.length === 1 ? own.get(message_ids[0]!) : undefined;
    if (summary_ids.length === 0 && message !== undefined) list.push(message);
    else if (typeof content === "string") list.push(make({ role, text: content, id: summary_id ?? `precis-${i}` }, message));
    else return undefined; // a compaction that holds more than text
  }
  return missing.size === 0 ? list : undefined;
}
