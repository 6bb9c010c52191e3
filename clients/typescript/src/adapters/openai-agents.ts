import { randomUUID } from "node:crypto";

import type { AgentInputItem, CallModelInputFilter, Session } from "@openai/agents";

import { NotFound, warn } from "../errors.js";
import type { AdapterOptions } from "../mirror.js";
import type { AgentEvent, Precis } from "../precis.js";
import type { ContextReply, Part, ToolCall } from "../types.js";

/** A message of the prompt, in precis's own format. */
interface Prompted {
  role: "system" | "user" | "assistant" | "tool";
  content?: string | Part[] | null;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  tool_name?: string;
}

/** An item of the run, and the message of the thread that it is in. */
type Known = { key: string; id: string };

/**
 * A session whose history is a thread of precis: `run(agent, input, {session, callModelInputFilter: session.filter})`. `getItems` gives the
 * compacted history, and the filter compacts within a run, where tool outputs come in turn after turn. The session's own process is the
 * only writer of the thread.
 */
export class PrecisSession implements Session {
  /** What the last getItems returned, which a run begins with, and what has come since. */
  #history: string[] = [];
  #since: Known[] = [];
  /** Published by the filter, and not added by the runner yet. */
  readonly #unadded = new Map<string, string[]>();
  #seq = 0;

  constructor(readonly client: Precis, readonly thread: string, readonly options: AdapterOptions = {}) {}

  async getSessionId(): Promise<string> {
    return this.thread;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const reply = await this.#context();
    const items = (reply?.messages ?? []).flatMap((m) => itemsOf(m as Prompted));
    if (limit !== undefined) return limit > 0 ? items.slice(-limit) : [];
    [this.#history, this.#since] = [items.map(keyOf), []];
    return items;
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    const fresh = items.filter((item) => !this.#unadded.get(keyOf(item))?.shift());
    this.#since.push(...(await this.#publish(fresh)));
  }

  /** Removes the last item. A turn of the model's is one message of the thread: what is left of it is published again. */
  async popItem(): Promise<AgentInputItem | undefined> {
    const reply = await this.#context();
    const [waiting, source] = [reply?.waiting_message_ids.at(-1), reply?.sources.at(-1)]; // calls wait for their results
    if (!waiting && !source) return undefined;
    const message_id = waiting ?? (source?.message_ids.length === 1 ? source.message_ids[0] : undefined);
    if (!message_id) throw new Error("the last items stand as a summary, which can't be removed");
    let message = (waiting ? {} : reply?.messages.at(-1)) as Prompted;
    if (waiting || source?.summary_ids.length) message = { ...message, ...((await this.client.message(this.thread, message_id)) as Prompted) };
    const items = itemsOf(message);
    const last = items.pop();
    await this.#send([{ type: "message.edited", message_id, deleted: true, edit_id: randomUUID() }]);
    await this.#publish(items);
    this.#since = [];
    return last;
  }

  async clearSession(): Promise<void> {
    const reply = await this.#context({ explain: true });
    const first = reply?.sources[0];
    const covered = reply?.explain?.summaries.find((s) => s.summary_id === first?.summary_ids[0]);
    const message_id = covered?.message_ids?.[0] ?? first?.message_ids[0];
    if (!first) return;
    if (!message_id) throw new Error("the thread is too long to be cleared: take another");
    await this.#send([
      { type: "message.edited", message_id, rewind: true, edit_id: randomUUID() },
      { type: "message.edited", message_id, deleted: true, edit_id: randomUUID() },
    ]);
    this.#since = [];
  }

  /** The `callModelInputFilter` of a run: the model gets the compacted prompt. Where that can't be had, the input stays as it is. */
  readonly filter: CallModelInputFilter = async ({ modelData }) => {
    try {
      const { input } = modelData;
      const keys = input.map(keyOf);
      const known = [...this.#history, ...this.#since.map(({ key }) => key)];
      if (known.length > keys.length || known.some((key, i) => key !== keys[i])) return modelData;
      const signal = AbortSignal.timeout(this.options.waitMs ?? 2000);
      await this.#sees(input.slice(known.length), signal);
      const reply = await this.#context({}, signal);
      const own = new Map<string, AgentInputItem[]>();
      for (const [i, { id }] of this.#since.entries()) own.set(id, [...(own.get(id) ?? []), input[this.#history.length + i]!]);
      const shorter = reply?.messages.flatMap((m, i) => {
        const { message_ids, summary_ids } = reply.sources[i]!;
        return (summary_ids.length === 0 && message_ids.length === 1 && own.get(message_ids[0]!)) || itemsOf(m as Prompted);
      });
      return { ...modelData, input: shorter ?? input };
    } catch (error) {
      (this.options.onError ?? warn)(error);
      return modelData;
    }
  };

  /** Publishes what the model is about to see, but for what a run that failed left in the thread. */
  async #sees(items: AgentInputItem[], signal: AbortSignal): Promise<void> {
    const left = items.map((item) => this.#unadded.get(keyOf(item))?.[0]);
    const made = await this.#publish(items.filter((_, i) => left[i] === undefined), signal);
    for (const { key, id } of made) this.#unadded.set(key, [...(this.#unadded.get(key) ?? []), id]);
    this.#since.push(...items.map((item, i) => (left[i] === undefined ? made.shift()! : { key: keyOf(item), id: left[i] })));
  }

  async #publish(items: AgentInputItem[], signal?: AbortSignal): Promise<Known[]> {
    const turns = grouped(items);
    await this.#send(turns.map(({ event }) => event), signal);
    return turns.flatMap(({ event, of }) => of.map((item) => ({ key: keyOf(item), id: event.message_id })));
  }

  async #send(events: AgentEvent[], signal?: AbortSignal): Promise<void> {
    const given = this.options.agentId ? events.map((event) => ({ ...event, agent_id: this.options.agentId! })) : events;
    if (given.length > 0) this.#seq = (await this.client.publish(this.thread, given, { signal })).event_seq;
  }

  async #context(request: { explain?: boolean } = {}, signal?: AbortSignal): Promise<ContextReply | undefined> {
    try {
      return await this.client.context(this.thread, { ...request, max_tokens: this.options.maxTokens ?? null, min_event_seq: this.#seq || null }, { signal });
    } catch (error) {
      if (error instanceof NotFound) return undefined; // nothing was said yet
      throw error;
    }
  }
}

/** What an item says, by which it is known again: the runner passes copies, with and without ids. */
function keyOf(item: AgentInputItem): string {
  if (item.type === "function_call" || item.type === "function_call_result") return `${item.type} ${item.callId}`;
  if ("role" in item) return JSON.stringify([item.role, typeof item.content === "string" ? item.content : partsOf(item.content as Part[])]);
  return JSON.stringify(item);
}

/** The events of items: what a model says in one turn is one message, with its calls and its reasoning. */
function grouped(items: AgentInputItem[]): { event: AgentEvent & { message_id: string }; of: AgentInputItem[] }[] {
  const turns: { event: AgentEvent & { message_id: string }; of: AgentInputItem[] }[] = [];
  let open: { content: Part[]; tool_calls: ToolCall[]; of: AgentInputItem[] } | undefined;
  const close = () => {
    if (!open) return;
    const { content, tool_calls, of } = open;
    turns.push({ of, event: { type: "thread.message", message_id: randomUUID(), role: "assistant", content, ...(tool_calls.length > 0 && { tool_calls }) } });
    open = undefined;
  };
  for (const item of items) {
    if (item.type === "function_call_result") {
      close();
      const { callId, name, output, status } = item;
      turns.push({ of: [item], event: { type: "tool.result", message_id: randomUUID(), tool_call_id: callId, tool_name: name, content: textOf(output), is_error: status === "incomplete" } });
    } else if ("role" in item && item.role !== "assistant") {
      close();
      const content = typeof item.content === "string" ? item.content : partsOf(item.content as Part[]);
      turns.push({ of: [item], event: { type: "thread.message", message_id: randomUUID(), role: item.role, content } });
    } else {
      open ??= { content: [], tool_calls: [], of: [] };
      open.of.push(item);
      if ("role" in item) open.content.push(...partsOf(item.content as Part[]));
      else if (item.type === "function_call") open.tool_calls.push({ id: item.callId, name: item.name, arguments: item.arguments });
      else open.content.push(item as unknown as Part); // reasoning, and calls of the provider's own tools
    }
  }
  close();
  return turns;
}

const texts = ["text", "input_text", "output_text"];

function partsOf(content: Part[]): Part[] {
  return content.map((part) => (texts.includes(String(part.type)) ? { type: "text", text: String(part["text"]) } : part));
}

function textOf(output: unknown): string {
  if (typeof output === "string") return output;
  const parts = (Array.isArray(output) ? output : [output]) as Part[];
  return parts.map((p) => (texts.includes(String(p.type)) ? String(p["text"]) : JSON.stringify(p))).join("\n");
}

/** The items of a message of the prompt. */
function itemsOf({ role, content, tool_calls = [], tool_call_id, tool_name }: Prompted): AgentInputItem[] {
  const parts = typeof content === "string" ? (content ? [{ type: "text", text: content }] : []) : (content ?? []);
  if (role === "tool") {
    return [{ type: "function_call_result", callId: tool_call_id ?? "", name: tool_name ?? "", status: "completed", output: { type: "text", text: textOf(parts) } }];
  }
  if (role === "system") return [{ role, content: textOf(parts) }];
  if (role === "user") return [{ role, content: parts.map((p) => (p.type === "text" ? { ...p, type: "input_text" } : p)) as never }];
  const calls = tool_calls.map(({ id, name, arguments: args }) => ({ type: "function_call" as const, callId: id, name, arguments: typeof args === "string" ? args : JSON.stringify(args ?? {}), status: "completed" as const }));
  const said = parts.map((p): AgentInputItem => (p.type === "text"
    ? { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: String(p["text"]) }] } : (p as unknown as AgentInputItem)));
  return [...said, ...calls];
}
