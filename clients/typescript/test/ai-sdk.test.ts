import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { type ModelMessage, generateText, jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { Client, type Precis } from "precis";
import { type AiSdkOptions, precisMiddleware } from "precis/ai-sdk";

import { Processor, output, settled } from "./harness.js";
import { Provider } from "./provider.js";

let running: Processor;
let provider: Provider;
before(async () => {
  running = await Processor.start({ config: "policies: [{name: short, match: {agent_id: short}, compaction: {trigger: {any: [{messages: 6}]}, keep: {messages: 2}}}, {name: default}]\n" });
  provider = await Provider.start();
});
beforeEach(() => {
  provider.asked.length = 0;
  provider.turns = [];
});
after(async () => {
  provider?.end();
  await running?.[Symbol.asyncDispose]();
});

const whole = JSON.stringify(output).slice(1, -1);
const inputSchema = jsonSchema<{ command: string }>({ type: "object", properties: { command: { type: "string" } } });
const bash = tool({ description: "Runs a command", inputSchema, execute: () => output });
const model = (client: Precis, options: AiSdkOptions) =>
  wrapLanguageModel({ model: createOpenAI({ baseURL: provider.url, apiKey: "none" }).chat("gpt-4.1-mini"), middleware: precisMiddleware(client, options) });
const user = (content: string): ModelMessage => ({ role: "user", content });
const common = { tools: { bash }, stopWhen: stepCountIs(5), maxRetries: 0 };

test("messages are published with usage, and read outputs stand as their summaries", async () => {
  const c = running.client();
  provider.turns = [{ tool: "bash", calls: [{ command: "a" }, { command: "b" }] }, "Both fail.", "In cart.go."];
  const first = await generateText({ model: model(c, { thread: "ai1" }), system: "Be brief.", messages: [user("Which test fails?")], ...common });
  assert.ok(provider.said(1).includes(whole), "an output stands whole until the model has read it");
  // Another process goes on with the same messages: what is there already counts once.
  const messages = [user("Which test fails?"), ...first.response.messages, user("Where?")];
  await generateText({ model: model(c, { thread: "ai1" }), system: "Be brief, please.", messages, ...common });

  const sent = provider.asked[2]!.body.messages as { role: string; content: string; tool_call_id?: string }[];
  assert.deepEqual(sent.map((m) => m.role), ["system", "user", "assistant", "tool", "tool", "assistant", "user"]);
  const before = provider.asked[1]!.body.messages as typeof sent;
  for (const i of [3, 4]) {
    assert.ok(sent[i]!.content.length < 800 && sent[i]!.content.includes("FAIL: TestTotal"));
    assert.equal(sent[i]!.tool_call_id, before[i]!.tool_call_id);
  }
  const thread = await settled(c, "ai1", (t) => t.messages === 5 && t.tool_results === 2);
  assert.deepEqual([thread.messages, thread.tool_results, thread.rejected], [5, 2, 0]);
  assert.deepEqual([thread.reported?.total.input_tokens, thread.reported?.total.output_tokens], [33, 21]);
});

test("streams are published when they end", async () => {
  const c = running.client();
  provider.turns = [{ tool: "bash", calls: [{ command: "go test" }] }, "TestTotal.", "In cart.go."];
  const options = { providerOptions: { precis: { thread: "ai2" } } };
  const first = streamText({ model: model(c, {}), messages: [user("Which test fails?")], ...common, ...options });
  assert.equal(await first.text, "TestTotal.");
  const stored = await settled(c, "ai2", (t) => t.messages === 3 && t.tool_results === 1);
  assert.deepEqual([stored.messages, stored.tool_results, stored.reported?.total.output_tokens], [3, 1, 14]);
  const second = streamText({ model: model(c, {}), messages: [user("Which test fails?"), ...(await first.response).messages, user("Where?")], ...common, ...options });
  assert.equal(await second.text, "In cart.go.");
  assert.ok(!provider.said(2).includes(whole));
  const thread = await settled(c, "ai2", (t) => t.messages === 5);
  assert.deepEqual([thread.messages, thread.tool_results, thread.rejected], [5, 1, 0]);
});

test("older messages stand as a compaction", async () => {
  const wrapped = model(running.client(), { thread: "ai3", agentId: "short" });
  const messages: ModelMessage[] = [];
  for (const c of "abcdefgh") {
    provider.turns = [`Answer ${c}. ${"It is long. ".repeat(40)}`];
    messages.push(user(`Question ${c}. ${"It is long. ".repeat(40)}`));
    messages.push(...(await generateText({ model: wrapped, messages, ...common })).response.messages);
  }
  const last = provider.asked.at(-1)!.body.messages as { role: string; content: string }[];
  assert.ok(last.length < 15, `${last.length} messages`);
  assert.ok(JSON.stringify(last[0]!.content).includes("[Previous Conversation Summary]"));
  assert.ok(JSON.stringify(last.at(-1)).includes("Question h."));
});

test("failed tools, objects and files are published, and sent as they are", async () => {
  const c = running.client();
  const tools = {
    bash: tool({ inputSchema, execute: (): string => { throw new Error("no such file"); } }),
    read: tool({ inputSchema, execute: () => ({ lines: 3 }) }),
  };
  provider.turns = [{ tool: "bash", calls: [{ command: "a" }] }, { tool: "read", calls: [{ command: "b" }] }, "Done."];
  const png = new Uint8Array(Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=", "base64"));
  await generateText({ model: model(c, { thread: "ai4" }), messages: [{ role: "user", content: [{ type: "text", text: "See." }, { type: "image", image: png }] }], ...common, tools });
  const thread = await settled(c, "ai4", (t) => t.messages === 4 && t.tool_results === 2);
  assert.deepEqual([thread.messages, thread.tool_results, thread.rejected], [4, 2, 0]);
  assert.ok(provider.said(2).includes("no such file") && provider.said(2).includes("image_url"));
});

test("without a thread, without precis, and in a thread that has other messages, the model gets what the application has", async () => {
  const errors: unknown[] = [];
  const c = running.client();
  await c.publish("ai5", { type: "thread.message", message_id: "m1", role: "user", content: "Another agent's" });
  const cases: Record<string, ReturnType<typeof model>> = {
    "no thread": model(c, {}),
    "no precis": model(new Client("http://127.0.0.1:1", { retries: 0 }), { thread: "ai6", onError: (e) => errors.push(e) }),
    "another's thread": model(c, { thread: "ai5" }),
  };
  for (const [name, wrapped] of Object.entries(cases)) {
    provider.turns = [{ tool: "bash", calls: [{ command: "go test" }] }, "TestTotal.", "There."];
    const { response } = await generateText({ model: wrapped, messages: [user("Which?")], ...common });
    await generateText({ model: wrapped, messages: [user("Which?"), ...response.messages, user("Where?")], ...common });
    assert.ok(provider.said(-1).includes(whole), name);
  }
  assert.equal(errors.length, 1, "precis is left alone for a while after a failure");
});
