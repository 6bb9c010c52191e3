import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { type AgentMiddleware, createMiddleware } from "langchain";

import { type AdapterOptions, type Entry, Mirror, type Stand } from "../mirror.js";
import type { Precis } from "../precis.js";
import type { Part } from "../types.js";

export interface LangChainOptions extends AdapterOptions {
  /** The thread. Default: `thread_id` of the run's `configurable`; a run without one is left alone. */
  thread?: string;
}

/** Content blocks that repeat what `tool_calls` has. */
const calls = ["tool_use", "tool_call", "function_call", "input_json_delta"];

/**
 * Middleware for `createAgent`: publishes the messages before and after each call of the model, with the usage that the provider reported,
 * and gives the model the compacted prompt. The agent's state keeps its messages whole.
 */
export function precisMiddleware(client: Precis, options: LangChainOptions = {}): AgentMiddleware {
  const mirror = new Mirror(client, options);
  const threadOf = (runtime: { configurable?: { thread_id?: string } }) => options.thread ?? runtime.configurable?.thread_id;
  const publish = async (state: { messages: BaseMessage[] }, runtime: { configurable?: { thread_id?: string } }) => {
    const thread = threadOf(runtime);
    if (thread) await mirror.publish(thread, state.messages.flatMap(entry));
  };
  return createMiddleware({
    name: "precis",
    beforeModel: publish,
    afterModel: publish,
    wrapModelCall: async (request, handler) => {
      const thread = threadOf(request.runtime);
      const entries = request.messages.flatMap(entry);
      if (!thread || entries.length !== request.messages.length) return handler(request);
      const messages = await mirror.compact(thread, entries, make);
      return handler(messages ? { ...request, messages } : request);
    },
  });
}

/** The event of a message. One without an id is not in the agent's state, and has none. */
function entry(message: BaseMessage): Entry<BaseMessage>[] {
  const { id } = message;
  if (!id) return [];
  const content = parts(message.content);
  if (ToolMessage.isInstance(message)) {
    const [tool_name, is_error] = [message.name ?? null, message.status === "error"];
    return [{ message, event: { type: "tool.result", message_id: id, tool_call_id: message.tool_call_id, tool_name, content, is_error } }];
  }
  if (!AIMessage.isInstance(message)) {
    const role = message.type === "system" ? "system" : "user";
    return [{ message, event: { type: "thread.message", message_id: id, role, content } }];
  }
  const used = message.usage_metadata as { input_tokens: number; output_tokens: number } | undefined;
  const response = message.response_metadata as { model_name?: unknown; model?: unknown };
  const model = response.model_name ?? response.model;
  const tool_calls = (message.tool_calls ?? []).map((call, i) => ({ id: call.id ?? `${id}-${i}`, name: call.name, arguments: call.args }));
  return [{ message, event: {
    type: "thread.message", message_id: id, role: "assistant", content, ...(tool_calls.length > 0 && { tool_calls }),
    ...(used && { usage: { input_tokens: used.input_tokens, output_tokens: used.output_tokens } }), ...(typeof model === "string" && { model }),
  } }];
}

function parts(content: BaseMessage["content"]): string | Part[] {
  if (typeof content === "string") return content;
  return (content as Part[]).filter(({ type }) => !calls.includes(String(type)));
}

function make({ role, text, id }: Stand, of: BaseMessage | undefined): BaseMessage {
  if (of && ToolMessage.isInstance(of)) {
    return new ToolMessage({ id: of.id ?? id, content: text, tool_call_id: of.tool_call_id, ...(of.name && { name: of.name }), ...(of.status && { status: of.status }) });
  }
  return role === "system" ? new SystemMessage({ id, content: text }) : new HumanMessage({ id, content: text });
}
