import { createHash } from "node:crypto";

import type { LanguageModelMiddleware } from "ai";

import { type AdapterOptions, type Entry, Mirror, type Stand } from "../mirror.js";
import type { Precis } from "../precis.js";
import type { Part } from "../types.js";

type Params = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"];
type Message = Params["prompt"][number];
type ToolMessage = Extract<Message, { role: "tool" }>;
type ToolResult = Extract<ToolMessage["content"][number], { type: "tool-result" }>;
type Generated = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>>;
type Content = Generated["content"];

export interface AiSdkOptions extends AdapterOptions {
  /** The thread. `providerOptions: {precis: {thread: "…"}}` of a call comes first; a call without either is left alone. */
  thread?: string;
}

/** Middleware for `wrapLanguageModel` of AI SDK 6 and 7: publishes what each call says and is answered, with its usage, and gives the model the compacted prompt. */
export function precisMiddleware(client: Precis, options: AiSdkOptions = {}): LanguageModelMiddleware {
  const mirror = new Mirror(client, options);
  /** The conversation of each call as the application has it. */
  const calls = new WeakMap<Params, { thread: string; last: string }>();

  const answered = async (params: Params, content: Content, usage: Generated["usage"] | undefined, model: string) => {
    const call = calls.get(params);
    if (!call) return;
    const answer = entries([{ role: "assistant", content: content as Extract<Message, { role: "assistant" }>["content"] }], call.last) ?? [];
    const [input_tokens, output_tokens] = [usage?.inputTokens.total, usage?.outputTokens.total];
    for (const { event } of answer) {
      event["model"] = model;
      if (input_tokens !== undefined && output_tokens !== undefined) event["usage"] = { input_tokens, output_tokens };
    }
    await mirror.publish(call.thread, answer);
  };

  return {
    specificationVersion: "v3", // AI SDK 6 wants it, and 7 takes it: of its own, v4, only the files are different here
    async transformParams({ params }) {
      const thread = params.providerOptions?.["precis"]?.["thread"] ?? options.thread;
      // The system prompt is the application's: it stays in front.
      const first = params.prompt.findIndex((m) => m.role !== "system");
      const own = entries(params.prompt.slice(first), "");
      if (typeof thread !== "string" || first < 0 || !own) return params;
      await mirror.publish(thread, own);
      const shorter = await mirror.compact(thread, own, make);
      const sent = shorter ? { ...params, prompt: [...params.prompt.slice(0, first), ...shorter] } : params;
      calls.set(sent, { thread, last: own.at(-1)?.event.message_id ?? "" });
      return sent;
    },
    async wrapGenerate({ doGenerate, params, model }) {
      const result = await doGenerate();
      await answered(params, result.content, result.usage, model.modelId);
      return result;
    },
    async wrapStream({ doStream, params, model }) {
      const { stream, ...rest } = await doStream();
      const [texts, content]: [Map<string, string>, Content] = [new Map(), []];
      let usage: Generated["usage"] | undefined;
      const copy: Transformer<typeof stream> = {
        async transform(part, controller) {
          if (part.type === "text-delta") texts.set(part.id, (texts.get(part.id) ?? "") + part.delta);
          else if (part.type === "tool-call") content.push(part);
          else if (part.type === "finish") {
            usage = part.usage;
            await answered(params, [...[...texts.values()].map((text) => ({ type: "text" as const, text })), ...content], usage, model.modelId);
          }
          controller.enqueue(part);
        },
      };
      return { stream: stream.pipeThrough(new TransformStream(copy)), ...rest };
    },
  };
}

/**
 * The events of messages; undefined where one has no event. A message with calls and a result are known by the call's id; any other by its
 * text and what comes before it, so that a conversation has the same ids whenever it is sent.
 */
function entries(messages: Message[], last: string): Entry<Message>[] | undefined {
  const list: Entry<Message>[] = [];
  for (const message of messages) {
    for (const entry of message.role === "tool" ? message.content.map((part) => result(message, part)) : [said(message, last)]) {
      if (!entry) return undefined;
      list.push(entry);
      last = entry.event.message_id;
    }
  }
  return list;
}

function said(message: Exclude<Message, ToolMessage>, last: string): Entry<Message> {
  const parts = typeof message.content === "string" ? [{ type: "text" as const, text: message.content }] : message.content;
  const tool_calls = parts.flatMap((p) => (p.type === "tool-call"
    ? [{ id: p.toolCallId, name: p.toolName, arguments: typeof p.input === "string" ? p.input : JSON.stringify(p.input) }] : []));
  const media = parts.flatMap((p): Part[] => (p.type === "file" ? [file(p)] : []));
  const text = parts.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("\n");
  const content = media.length > 0 ? [{ type: "text", text }, ...media] : text;
  const known = tool_calls[0] ? `calls-${tool_calls[0].id}` : JSON.stringify([last, message.role, content]);
  const message_id = tool_calls[0] ? known : `m-${createHash("sha256").update(known).digest("hex").slice(0, 32)}`;
  return { message, event: { type: "thread.message", message_id, role: message.role, content, ...(tool_calls.length > 0 && { tool_calls }) } };
}

function result(message: ToolMessage, part: ToolMessage["content"][number]): Entry<Message> | undefined {
  if (part.type !== "tool-result") return undefined; // an approval
  return {
    message: { ...message, content: [part] },
    event: {
      type: "tool.result", message_id: `result-${part.toolCallId}`, tool_call_id: part.toolCallId, tool_name: part.toolName,
      content: textOf(part.output), is_error: part.output.type.startsWith("error") || part.output.type === "execution-denied",
    },
  };
}

function textOf(output: ToolResult["output"]): string | Part[] {
  switch (output.type) {
    case "text": case "error-text": return output.value;
    case "json": case "error-json": return JSON.stringify(output.value);
    case "execution-denied": return output.reason ?? "denied";
    case "content": return (output.value as Part[]).map((p) => (p.type === "file" ? file(p as unknown as File) : p));
  }
}

type Bytes = Uint8Array | string | URL;

/** A file as AI SDK 6 has it, and as 7 does, where its data says what it is. */
interface File {
  type: "file";
  mediaType: string;
  data: Bytes | { type: "data"; data: Bytes } | { type: "url"; url: URL; originalUrl?: string } | { type: "text"; text: string } | { type: "reference"; reference: object };
}

/** The part of a file, the same one from either version, so that a conversation has the same ids in both. */
function file(part: File): Part {
  const { data } = part;
  const flat = (bytes: Bytes) => ({ ...part, mediaType: part.mediaType.includes("/") ? part.mediaType : `${part.mediaType}/*`, data: plain(bytes) });
  if (typeof data === "string" || !("type" in data)) return flat(data);
  switch (data.type) {
    case "data": return flat(data.data);
    case "url": return flat(data.originalUrl ?? data.url);
    case "text": return { type: "text", text: data.text };
    case "reference": return { ...part };
  }
}

function plain(data: Bytes): string {
  return data instanceof Uint8Array ? Buffer.from(data).toString("base64") : String(data);
}

function make({ role, text }: Stand, of: Message | undefined): Message {
  const part = of?.role === "tool" ? of.content[0] : undefined;
  if (of?.role === "tool" && part?.type === "tool-result") {
    return { ...of, content: [{ ...part, output: { type: part.output.type.startsWith("error") ? "error-text" : "text", value: text } }] };
  }
  return role === "system" ? { role, content: text } : { role: "user", content: [{ type: "text", text }] };
}

type Transformer<S> = S extends ReadableStream<infer P> ? { transform(part: P, controller: { enqueue(part: P): void }): Promise<void> } : never;
