import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { Client } from "precis";
import { precisMiddleware } from "precis/langchain";

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

const bash = tool(() => output, { name: "bash", description: "Runs a command", schema: { type: "object", properties: { command: { type: "string" } } } });
const model = () => new ChatOpenAI({ model: "gpt-4.1-mini", apiKey: "none", maxRetries: 0, configuration: { baseURL: provider.url } });
const human = (content: string) => ({ messages: [{ role: "user", content }] });

test("messages are published with usage, and read outputs stand as their summaries", async () => {
  const c = running.client();
  const agent = createAgent({ model: model(), tools: [bash], middleware: [precisMiddleware(c)], checkpointer: new MemorySaver() });
  const run = { configurable: { thread_id: "lc1" } };
  provider.turns = [{ tool: "bash", calls: [{ command: "go test ./..." }] }, "TestTotal.", "In cart.go."];
  await agent.invoke(human("Which test fails?"), run);
  assert.ok(provider.said(1).includes(JSON.stringify(output).slice(1, -1)), "an output stands whole until the model has read it");
  const result = await agent.invoke(human("Where?"), run);

  const sent = provider.asked[2]!.body.messages as { role: string; content: string; tool_call_id?: string }[];
  assert.deepEqual(sent.map((m) => m.role), ["user", "assistant", "tool", "assistant", "user"]);
  assert.ok(sent[2]!.content.length < 800 && sent[2]!.content.includes("FAIL: TestTotal"));
  assert.equal(sent[2]!.tool_call_id, (provider.asked[1]!.body.messages as typeof sent)[2]!.tool_call_id);
  assert.equal(result.messages.find((m) => m.type === "tool")!.content, output, "the state keeps it whole");

  const thread = await settled(c, "lc1", (t) => t.messages === 5 && t.tool_results === 1);
  assert.deepEqual([thread.messages, thread.tool_results, thread.duplicates, thread.rejected], [5, 1, 0, 0]);
  assert.deepEqual([thread.reported?.total.input_tokens, thread.reported?.total.output_tokens], [33, 21]);
});

test("older messages stand as a compaction", async () => {
  const agent = createAgent({ model: model(), tools: [], middleware: [precisMiddleware(running.client(), { agentId: "short", thread: "lc2" })], checkpointer: new MemorySaver() });
  provider.turns = [..."abcdefgh"].map((c) => `Answer ${c}. ${"It is long. ".repeat(40)}`);
  for (const c of "abcdefgh") await agent.invoke(human(`Question ${c}. ${"It is long. ".repeat(40)}`), { configurable: { thread_id: "x" } });
  const last = provider.asked.at(-1)!.body.messages as { role: string; content: string }[];
  assert.ok(last.length < 15, `${last.length} messages`);
  assert.ok(last[0]!.content.startsWith("[Previous Conversation Summary]"));
  assert.ok(last.at(-1)!.content.startsWith("Question h."));
});

test("streaming, and several calls in one turn", async () => {
  const c = running.client();
  const agent = createAgent({ model: model(), tools: [bash], middleware: [precisMiddleware(c, { thread: "lc3" })] });
  provider.turns = [{ tool: "bash", calls: [{ command: "a" }, { command: "b" }] }, "Both fail."];
  let text = "";
  for await (const [chunk] of await agent.stream(human("Which?"), { streamMode: "messages" })) if (chunk.type === "ai") text += chunk.text;
  assert.equal(text, "Both fail.");
  assert.ok(provider.asked.every((a) => a.body.stream));
  const thread = await settled(c, "lc3", (t) => t.messages === 3 && t.tool_results === 2);
  assert.deepEqual([thread.messages, thread.tool_results, thread.rejected], [3, 2, 0]);
});

test("without a thread, without precis, and in a thread that has other messages, the model gets what the agent has", async () => {
  const errors: unknown[] = [];
  const c = running.client();
  await c.publish("lc5", { type: "thread.message", message_id: "m1", role: "user", content: "Another agent's" });
  const cases = {
    "no thread": precisMiddleware(c),
    "no precis": precisMiddleware(new Client("http://127.0.0.1:1", { retries: 0 }), { thread: "lc6", onError: (e) => errors.push(e) }),
    "another's thread": precisMiddleware(c, { thread: "lc5" }),
  };
  for (const [name, middleware] of Object.entries(cases)) {
    provider.turns = [{ tool: "bash", calls: [{ command: "go test" }] }, "TestTotal.", "There."];
    const agent = createAgent({ model: model(), tools: [bash], middleware: [middleware] });
    const { messages } = await agent.invoke(human("Which test fails?"));
    await agent.invoke({ messages: [...messages, { role: "user", content: "Where?" }] });
    assert.ok(provider.said(-1).includes(JSON.stringify(output).slice(1, -1)), name);
  }
  assert.equal(errors.length, 1, "precis is left alone for a while after a failure");
});
