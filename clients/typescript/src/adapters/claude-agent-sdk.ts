import type { HookCallback, SessionKey, SessionStore, SessionStoreEntry } from "@anthropic-ai/claude-agent-sdk";

import { GateTimeout } from "../errors.js";
import { type AdapterOptions, type Entry, Mirror } from "../mirror.js";
import type { Precis } from "../precis.js";
import { Recent } from "../recent.js";
import type { Part, SummaryCreated } from "../types.js";

export interface ClaudeOptions extends AdapterOptions {
  /** The thread of a session. Default: the session's id; a sub-agent's is followed by `/` and the agent's id. */
  thread?: (sessionId: string) => string;
}

type Event = Entry<undefined>["event"];

/** Where a thread's records have been read to, and the summaries of its tool outputs by message. */
interface Followed {
  lastEventId: number;
  chain_seq: number;
  summaries: Recent<string, SummaryCreated>;
}

/** The most events that wait while precis is away; calls and messages that are known, threads that are followed, summaries of one that are not fetched. */
const [mostWaiting, mostKnown, mostFollowed, mostSummaries] = [10_000, 10_000, 1000, 1000];

/** Hands tool outputs to precis and their summaries to the model (`postToolUse`), and publishes the transcript (`sessionStore`). */
export class ClaudeAdapter {
  readonly #mirror: Mirror;
  readonly #followed = new Recent<string, Followed>(mostFollowed);
  /** Calls that are in their thread already, by either way, and messages whose usage is. */
  readonly #calls = new Recent<string, true>(mostKnown);
  readonly #counted = new Recent<string, true>(mostKnown);
  readonly #waiting = new Map<string, Entry<undefined>[]>();

  constructor(readonly client: Precis, readonly options: ClaudeOptions = {}) {
    this.#mirror = new Mirror(client, options);
  }

  /** A PostToolUse hook: publishes the call and its output, and where precis summarizes it, the model gets the summary in its place. */
  readonly postToolUse: HookCallback = async (input) => {
    if (input.hook_event_name !== "PostToolUse") return {};
    const thread = this.#thread(input.session_id, input.agent_id);
    const { tool_use_id: id, tool_name } = input;
    const output = longest(input.tool_response);
    await this.#publish(thread, [
      ...this.#call(id, tool_name, input.tool_input),
      { type: "tool.result", message_id: `result-${id}`, tool_call_id: id, tool_name, content: output.text },
    ]);
    const summary = await this.#mirror.attempt(thread, (signal) => this.#summary(thread, `result-${id}`, signal));
    if (!summary || summary.content.length >= output.text.length) return {};
    return { hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput: output.with(summary.content) } };
  };

  /** The store of an application, with what is appended to it published. The store keeps the transcript; precis never fails it. */
  sessionStore(inner: SessionStore): SessionStore {
    const { append, load, listSessions, listSessionSummaries, delete: remove, listSubkeys } = inner;
    return {
      append: async (key, entries) => {
        if (entries.length === 0) return; // a store may not begin a session with nothing; the SDK's own, in memory, does
        await append.call(inner, key, entries);
        const agent = key.subpath?.replace(/^.*agent-/, "");
        const parent = agent === undefined ? {} : { parent_thread_id: this.#thread(key.sessionId) };
        const events = entries.flatMap((entry) => this.#events(entry));
        await this.#publish(this.#thread(key.sessionId, agent), events.map((event) => ({ ...event, ...parent })));
      },
      load: (key) => load.call(inner, key),
      ...(listSessions && { listSessions: (projectKey: string) => listSessions.call(inner, projectKey) }),
      ...(listSessionSummaries && { listSessionSummaries: (projectKey: string) => listSessionSummaries.call(inner, projectKey) }),
      ...(remove && { delete: (key: SessionKey) => remove.call(inner, key) }),
      ...(listSubkeys && { listSubkeys: (key: { projectKey: string; sessionId: string }) => listSubkeys.call(inner, key) }),
    };
  }

  #thread(sessionId: string, agent?: string): string {
    const thread = this.options.thread?.(sessionId) ?? sessionId;
    return agent === undefined ? thread : `${thread}/${agent}`;
  }

  /** Publishes events, behind those that could not be published before: neither way sends anything again. */
  async #publish(thread: string, events: Event[]): Promise<void> {
    const list = [...(this.#waiting.get(thread) ?? []), ...events.map((event) => ({ event, message: undefined }))];
    this.#waiting.set(thread, list);
    await this.#mirror.publish(thread, list);
    const left = (this.#waiting.get(thread) ?? []).filter(({ event }) => !this.#mirror.has(thread, event.message_id)).slice(-mostWaiting);
    this.#waiting.delete(thread);
    if (left.length > 0) this.#waiting.set(thread, left); // as the newest
    let waiting = 0;
    for (const list of this.#waiting.values()) waiting += list.length;
    for (const [oldest, list] of this.#waiting) {
      if (waiting <= mostWaiting) return;
      waiting -= list.length;
      this.#waiting.delete(oldest);
    }
  }

  #call(id: string, name: string, input: unknown): Event[] {
    if (this.#calls.has(id)) return [];
    this.#calls.set(id, true);
    const call = { id, name, arguments: JSON.stringify(input ?? {}) };
    return [{ type: "thread.message", message_id: `call-${id}`, role: "assistant", content: "", tool_calls: [call] }];
  }

  /** The events of a line of a transcript: none for what is not said to the model or by it. */
  #events({ type, uuid, timestamp, message, isMeta, isCompactSummary }: SessionStoreEntry): Event[] {
    if ((type !== "user" && type !== "assistant") || !uuid || isMeta || isCompactSummary) return [];
    const { id, content, model, usage } = message as { id?: string; content: string | Part[]; model?: string; usage?: Event["usage"] };
    const blocks: Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const calls = blocks.filter((b) => b.type === "tool_use").flatMap((b) => this.#call(String(b["id"]), String(b["name"]), b["input"]));
    const results = blocks.filter((b) => b.type === "tool_result").map((b): Event => ({
      type: "tool.result", message_id: `result-${b["tool_use_id"]}`, tool_call_id: String(b["tool_use_id"]), content: textOf(b["content"]), is_error: b["is_error"] === true }));
    const rest = blocks.filter((b) => b.type !== "tool_use" && b.type !== "tool_result");
    const said: Event[] = rest.length > 0 ? [{ type: "thread.message", message_id: uuid, role: type, content: rest }] : [];
    const list = [...said, ...calls, ...results].map((event) => ({ ...event, created_at: timestamp ?? null, ...(model && { model }) }));
    if (id && usage && list[0] && !this.#counted.has(id)) Object.assign(list[0], { usage }); // the lines of a message repeat its usage
    if (id) this.#counted.set(id, true);
    return list;
  }

  /** Returns the summary of a tool's output, once the thread's records are read up to what is decided of it. */
  async #summary(thread: string, id: string, signal: AbortSignal): Promise<SummaryCreated | undefined> {
    const min_event_seq = this.#mirror.seq(thread);
    try {
      await this.client.gate(thread, { min_event_seq, signal, maxWaitMs: (this.options.waitMs ?? 2000) / 2 });
    } catch (error) {
      if (error instanceof GateTimeout) return undefined; // a model is still at work on it
      throw error;
    }
    const { chain_seq } = await this.client.thread(thread, { min_event_seq }, { signal });
    let at = this.#followed.get(thread);
    if (!at) this.#followed.set(thread, (at = { lastEventId: 0, chain_seq: 0, summaries: new Recent(mostSummaries) }));
    if (at.chain_seq < chain_seq) {
      for await (const { id: seq, type, data } of this.client.records(thread, { lastEventId: at.lastEventId, signal })) {
        [at.lastEventId, at.chain_seq] = [seq, data.chain_seq];
        if (type === "summary.created" && data.kind === "tool_result") at.summaries.set(data.source_message_ids[0] ?? "", data);
        if (at.chain_seq >= chain_seq) break;
      }
    }
    const summary = at.summaries.get(id);
    at.summaries.delete(id);
    return summary;
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return ((content ?? []) as Part[]).map((b) => (b.type === "text" ? String(b["text"]) : `[${b.type}]`)).join("\n");
}

/** The longest text in a tool's output, and the output with another in its place: the SDK wants the shape that the tool gave it. */
function longest(output: unknown): { text: string; with: (text: string) => unknown } {
  if (typeof output === "string") return { text: output, with: (text) => text };
  let found = { text: "", with: (_: string): unknown => output };
  if (typeof output !== "object" || output === null) return found;
  for (const [name, value] of Object.entries(output)) {
    const inner = longest(value);
    if (inner.text.length <= found.text.length) continue;
    const replaced = (text: string) => (Array.isArray(output) ? output.map((v, i) => (String(i) === name ? inner.with(text) : v)) : { ...output, [name]: inner.with(text) });
    found = { text: inner.text, with: replaced };
  }
  return found;
}
