import { once } from "node:events";
import { type Server, createServer } from "node:http";

/** An answer of the scripted model: a text, or calls of a tool by their arguments. */
export type Turn = string | { tool: string; calls: Record<string, unknown>[] };

export interface Asked {
  path: string;
  body: { messages?: unknown[]; input?: unknown[]; stream?: boolean; [member: string]: unknown };
}

/** A provider that answers OpenAI's chat completions and Responses and Anthropic's messages with one turn after the other, and keeps what it was asked. */
export class Provider {
  readonly asked: Asked[] = [];
  turns: Turn[] = [];
  #calls = 0;

  private constructor(readonly server: Server, readonly url: string) {}

  static async start(): Promise<Provider> {
    const server = createServer(async (request, reply) => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const body = JSON.parse(text || "{}") as Asked["body"];
      provider.asked.push({ path: request.url ?? "", body });
      const turn = provider.turns.shift();
      if (turn === undefined) return reply.writeHead(500, { "Content-Type": "application/json" }).end('{"error":{"message":"the script has ended"}}');
      const path = (request.url ?? "").replace(/\?.*/, "");
      const answer = path.endsWith("/responses") ? provider.responses(turn) : path.endsWith("/messages") ? provider.messages(turn) : provider.chat(turn);
      if (!body.stream) return reply.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer.whole));
      reply.writeHead(200, { "Content-Type": "text/event-stream" });
      for (const chunk of answer.chunks) reply.write(`${"type" in chunk ? `event: ${String(chunk["type"])}\n` : ""}data: ${JSON.stringify(chunk)}\n\n`);
      return reply.end(path.endsWith("/messages") ? "" : "data: [DONE]\n\n");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const provider = new Provider(server, `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`);
    return provider;
  }

  /** The messages of a request, as one text. */
  said(i: number): string {
    const body = this.asked.at(i)?.body;
    return JSON.stringify(body?.messages ?? body?.input);
  }

  end(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  chat(turn: Turn) {
    const [created, model] = [1, "gpt-4.1-mini"];
    const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
    const tool_calls = typeof turn === "string" ? undefined : turn.calls.map((args, index) => (
      { index, id: `call_${++this.#calls}`, type: "function", function: { name: turn.tool, arguments: JSON.stringify(args) } }));
    const message = { role: "assistant", content: typeof turn === "string" ? turn : null, ...(tool_calls && { tool_calls }) };
    const finish_reason = tool_calls ? "tool_calls" : "stop";
    const id = `chatcmpl-${++this.#calls}`;
    return {
      whole: { id, object: "chat.completion", created, model, choices: [{ index: 0, message, finish_reason }], usage },
      chunks: [
        { id, object: "chat.completion.chunk", created, model, choices: [{ index: 0, delta: message, finish_reason: null }] },
        { id, object: "chat.completion.chunk", created, model, choices: [{ index: 0, delta: {}, finish_reason }] },
        { id, object: "chat.completion.chunk", created, model, choices: [], usage },
      ] as Record<string, unknown>[],
    };
  }

  responses(turn: Turn) {
    const output = typeof turn === "string"
      ? [{ type: "message", id: `msg_${++this.#calls}`, role: "assistant", status: "completed", content: [{ type: "output_text", text: turn, annotations: [] }] }]
      : turn.calls.map((args) => (
        { type: "function_call", id: `fc_${++this.#calls}`, call_id: `call_${this.#calls}`, name: turn.tool, arguments: JSON.stringify(args), status: "completed" }));
    const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
    const whole = { id: `resp_${++this.#calls}`, object: "response", created_at: 1, status: "completed", model: "gpt-4.1-mini", output, usage,
      error: null, incomplete_details: null, instructions: null, metadata: {}, parallel_tool_calls: true, temperature: 1, tool_choice: "auto", tools: [], top_p: 1 };
    let sequence_number = 0;
    const chunks: Record<string, unknown>[] = [{ type: "response.created", sequence_number: sequence_number++, response: { ...whole, status: "in_progress", output: [] } }];
    for (const [output_index, item] of output.entries()) {
      chunks.push({ type: "response.output_item.added", sequence_number: sequence_number++, output_index, item });
      if (item.type === "message") {
        const at = { item_id: item.id, output_index, content_index: 0 };
        chunks.push({ type: "response.output_text.delta", sequence_number: sequence_number++, ...at, delta: turn, logprobs: [] });
      }
      chunks.push({ type: "response.output_item.done", sequence_number: sequence_number++, output_index, item });
    }
    chunks.push({ type: "response.completed", sequence_number: sequence_number++, response: whole });
    return { whole, chunks };
  }

  messages(turn: Turn) {
    const content = typeof turn === "string" ? [{ type: "text", text: turn }]
      : turn.calls.map((input) => ({ type: "tool_use", id: `toolu_${++this.#calls}`, name: turn.tool, input }));
    const stop = { stop_reason: typeof turn === "string" ? "end_turn" : "tool_use", stop_sequence: null };
    const begun = { id: `msg_${++this.#calls}`, type: "message", role: "assistant", model: "claude-haiku-4-5", content: [], stop_reason: null, stop_sequence: null };
    const usage = { input_tokens: 11, output_tokens: 7 };
    const chunks: Record<string, unknown>[] = [{ type: "message_start", message: { ...begun, usage } }];
    for (const [index, block] of content.entries()) {
      const [empty, delta] = "text" in block ? [{ ...block, text: "" }, { type: "text_delta", text: block.text }]
        : [{ ...block, input: {} }, { type: "input_json_delta", partial_json: JSON.stringify((block as { input: unknown }).input) }];
      chunks.push({ type: "content_block_start", index, content_block: empty }, { type: "content_block_delta", index, delta }, { type: "content_block_stop", index });
    }
    chunks.push({ type: "message_delta", delta: stop, usage: { output_tokens: 7 } }, { type: "message_stop" });
    return { whole: { ...begun, content, ...stop, usage }, chunks };
  }
}
