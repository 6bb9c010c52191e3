import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { Agent, type AgentInputItem, MemorySession, OpenAIProvider, Runner, type Session, setTracingDisabled, tool } from "@openai/agents";
import { Client, Unreachable } from "precis";
import { PrecisSession } from "precis/openai-agents";

import { Processor, output, settled } from "./harness.js";
import { Provider } from "./provider.js";

let running: Processor;
let provider: Provider;
before(async () => {
  setTracingDisabled(true);
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
const bash = tool({ name: "bash", description: "Runs a command", strict: false, parameters: { type: "object", properties: { command: { type: "string" } }, required: [], additionalProperties: true }, execute: () => output });
const agent = new Agent({ name: "fixer", instructions: "Be brief.", model: "gpt-4.1-mini", tools: [bash] });
const runner = () => new Runner({ modelProvider: new OpenAIProvider({ apiKey: "none", baseURL: provider.url, useResponses: true }) });
const ask = (session: PrecisSession, input: string) => runner().run(agent, input, { session, callModelInputFilter: session.filter });
type Sent = { type?: string; role?: string; call_id?: string; output?: string; content?: unknown }[];
const kinds = (i: number) => (provider.asked.at(i)!.body.input as Sent).map((item) => item.type ?? item.role);

test("a session is a thread, and read outputs stand as their summaries within a run and after it", async () => {
  const c = running.client();
  provider.turns = [{ tool: "bash", calls: [{ command: "a" }, { command: "b" }] }, { tool: "bash", calls: [{ command: "c" }] }, "All fail.", "In cart.go."];
  const result = await ask(new PrecisSession(c, "oa1"), "Which test fails?");
  assert.equal(result.finalOutput, "All fail.");
  const count = (i: number) => provider.said(i).split(whole).length - 1;
  assert.equal(count(1), 2, "outputs stand whole until the model has read them");
  assert.equal(count(2), 1, "and then as their summaries");

  // Another process goes on with the thread alone.
  await ask(new PrecisSession(c, "oa1"), "Where?");
  assert.equal(count(3), 0);
  const sent = provider.asked[3]!.body.input as Sent;
  assert.deepEqual(kinds(3), ["user", "function_call", "function_call", "function_call_output", "function_call_output", "function_call", "function_call_output", "message", "user"]);
  assert.deepEqual(sent.filter((i) => i.type === "function_call").map((i) => i.call_id), sent.filter((i) => i.type === "function_call_output").map((i) => i.call_id));
  const thread = await settled(c, "oa1", (t) => t.messages === 6 && t.tool_results === 3);
  assert.deepEqual([thread.messages, thread.tool_results, thread.duplicates, thread.rejected], [6, 3, 0, 0]);
});

test("older items stand as a compaction", async () => {
  const session = new PrecisSession(running.client(), "oa2", { agentId: "short" });
  provider.turns = [..."abcdefgh"].map((c) => `Answer ${c}. ${"It is long. ".repeat(40)}`);
  for (const c of "abcdefgh") await ask(session, `Question ${c}. ${"It is long. ".repeat(40)}`);
  assert.ok((provider.asked.at(-1)!.body.input as Sent).length < 15);
  assert.ok(provider.said(-1).includes("[Previous Conversation Summary]"));
  assert.ok(JSON.stringify((provider.asked.at(-1)!.body.input as Sent).at(-1)).includes("Question h."));
  assert.equal((await settled(running.client(), "oa2", (t) => t.messages === 16)).messages, 16);
});

test("streaming", async () => {
  const session = new PrecisSession(running.client(), "oa3");
  provider.turns = [{ tool: "bash", calls: [{ command: "a" }] }, "It fails."];
  const stream = await runner().run(agent, "Which?", { session, callModelInputFilter: session.filter, stream: true });
  let text = "";
  for await (const chunk of stream.toTextStream()) text += chunk;
  await stream.completed;
  assert.equal(text, "It fails.");
  const thread = await settled(running.client(), "oa3", (t) => t.messages === 3 && t.tool_results === 1);
  assert.deepEqual([thread.messages, thread.tool_results, thread.duplicates, thread.rejected], [3, 1, 0, 0]);
});

test("a run that fails and is repeated asks once", async () => {
  const session = new PrecisSession(running.client(), "oa4");
  await assert.rejects(ask(session, "Which?"));
  provider.turns = ["That one.", "Yes."];
  await ask(session, "Which?");
  assert.deepEqual(kinds(-1), ["user"]);
  await ask(session, "Really?");
  assert.deepEqual(kinds(-1), ["user", "message", "user"]);
});

/** What the SDK's own session in memory does with the same calls. */
test("getItems, popItem and clearSession do what the SDK's MemorySession does", async () => {
  const items: AgentInputItem[] = [
    { role: "user", content: [{ type: "input_text", text: "Which test fails?" }] },
    { type: "reasoning", id: "rs_1", content: [], providerData: { encrypted_content: "gAAAAB" } },
    { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Let me see." }] },
    { type: "function_call", callId: "c1", name: "bash", arguments: '{"command":"go test"}', status: "completed" },
    { type: "function_call", callId: "c2", name: "bash", arguments: '{"command":"go vet"}', status: "completed" },
    { type: "function_call_result", callId: "c1", name: "bash", status: "completed", output: { type: "text", text: "FAIL" } },
    { type: "function_call_result", callId: "c2", name: "bash", status: "completed", output: { type: "text", text: "ok" } },
    { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "TestTotal." }] },
  ];
  const both: Session[] = [new MemorySession(), new PrecisSession(running.client(), "oa5")];
  const same = async (name: string, ask: (s: Session) => Promise<unknown>) => {
    const [want, got] = await Promise.all(both.map(ask));
    assert.deepEqual(got, want, name);
  };
  await same("of nothing", async (s) => [await s.getItems(), await s.popItem()]);
  for (const s of both) await s.addItems(items);
  await same("all", (s) => s.getItems());
  await same("the last", async (s) => [await s.getItems(2), await s.getItems(0), await s.getItems(100)]);
  await same("popped", async (s) => [await s.popItem(), await s.getItems()]);
  await same("what was popped is added again", async (s) => [await s.addItems(items.slice(-1)), await s.getItems()]);
  await same("cleared", async (s) => [await s.clearSession(), await s.getItems(), await s.popItem()]);
  for (const s of both) await s.addItems(items);
  await same("rebuilt", (s) => s.getItems());
  await same("cleared again", async (s) => [await s.clearSession(), await s.getItems()]);
  await same("begun again", async (s) => [await s.addItems([{ role: "user", content: [{ type: "input_text", text: "Hello" }] }]), await s.getItems()]);
});

test("of a turn with several calls the last one is removed", async () => {
  const session = new PrecisSession(running.client(), "oa6");
  const call = (callId: string): AgentInputItem => ({ type: "function_call", callId, name: "bash", arguments: "{}", status: "completed" });
  await session.addItems([{ role: "user", content: "Hi" }, call("c1"), call("c2")]);
  assert.deepEqual(await session.popItem(), call("c2"));
  await session.addItems([{ type: "function_call_result", callId: "c1", name: "bash", status: "completed", output: output }]);
  assert.deepEqual((await session.getItems()).map((i) => ("callId" in i ? i.callId : i.type)), [undefined, "c1", "c1"]);
  await session.addItems([{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "So." }] }]);
  await session.popItem();
  assert.ok(JSON.stringify(await session.popItem()).includes(whole), "a result is removed whole, whatever stood for it");
});

test("without precis the session fails, and the filter leaves the input", async () => {
  const errors: unknown[] = [];
  const session = new PrecisSession(new Client("http://127.0.0.1:1", { retries: 0 }), "t", { onError: (e) => errors.push(e) });
  await assert.rejects(session.getItems(), Unreachable);
  provider.turns = ["Hello."];
  const result = await runner().run(agent, "Hi", { callModelInputFilter: session.filter });
  assert.equal(result.finalOutput, "Hello.");
  assert.equal(errors.length, 1);
});
