import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";

import { InMemorySessionStore, type Options, type PostToolUseHookInput, query } from "@anthropic-ai/claude-agent-sdk";
import { Client } from "precis";
import { ClaudeAdapter } from "precis/claude-agent-sdk";

import { Processor, free, output, settled } from "./harness.js";
import { Provider, type Turn } from "./provider.js";

let running: Processor;
let provider: Provider;
let dir: string;
before(async () => {
  running = await Processor.start();
  provider = await Provider.start();
  dir = mkdtempSync(join(tmpdir(), "precis-claude-"));
});
beforeEach(() => {
  provider.asked.length = 0;
  provider.turns = [];
});
after(async () => {
  provider?.end();
  await running?.[Symbol.asyncDispose]();
  if (dir) rmSync(dir, { recursive: true });
});

/** A command whose output is summarized: 101 lines, of which the last one matters. */
const command = "for i in $(seq 100); do printf 'ok  \\tshop/cart\\t0.01s\\n'; done; echo '--- FAIL: TestTotal (0.00s)'";

/** Runs the SDK, and the program that it ships, against the scripted provider, and returns the session's id and result. */
async function ask(prompt: string, options: Options, url = provider.url.replace("/v1", "")): Promise<{ session: string; result: string }> {
  const env = {
    PATH: process.env["PATH"], HOME: dir, CLAUDE_CONFIG_DIR: join(dir, "config"), ANTHROPIC_API_KEY: "none",
    ANTHROPIC_BASE_URL: url, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
  let [session, result] = ["", ""];
  for await (const m of query({ prompt, options: { cwd: dir, model: "claude-haiku-4-5", settingSources: [], allowedTools: ["Bash"], env, ...options } })) {
    if (m.type === "result" && m.subtype === "success") [session, result] = [m.session_id, m.result];
  }
  return { session, result };
}

test("the model gets a tool output's summary, and precis the whole of it", async () => {
  const c = running.client();
  const precis = new ClaudeAdapter(c);
  provider.turns = [{ tool: "Bash", calls: [{ command }, { command: "echo short" }] }, "TestTotal."];
  const { session, result } = await ask("Which test fails?", { hooks: { PostToolUse: [{ matcher: "Bash", hooks: [precis.postToolUse] }] } });
  assert.equal(result, "TestTotal.");
  const results = (provider.asked[1]!.body.messages as { content: { type: string; content: string; tool_use_id: string }[] }[]).flatMap((m) => m.content).filter((b) => b.type === "tool_result");
  const [long, short] = results.map((b) => JSON.stringify(b.content));
  assert.ok(long!.length < 800 && long!.includes("FAIL: TestTotal"), long);
  assert.ok(short!.includes("short"));
  const thread = await settled(c, session, (t) => t.messages === 2 && t.tool_results === 2);
  assert.equal((await c.message(session, `result-${results[0]!.tool_use_id}`)).content, output.trimEnd());
  assert.deepEqual([thread.messages, thread.tool_results, thread.summaries_active, thread.rejected], [2, 2, 1, 0]);
});

test("a session store publishes what is said, a session is resumed from it, and both ways together publish once", async () => {
  const c = running.client();
  const precis = new ClaudeAdapter(c, { thread: (id) => `claude/${id}` });
  const store = precis.sessionStore(new InMemorySessionStore());
  const hooks = { PostToolUse: [{ hooks: [precis.postToolUse] }] };
  provider.turns = [{ tool: "Bash", calls: [{ command }] }, "TestTotal.", "In cart.go."];
  const { session } = await ask("Which test fails?", { sessionStore: store, hooks });
  const first = await settled(c, `claude/${session}`, (t) => t.messages === 3 && t.tool_results === 1);
  assert.deepEqual([first.messages, first.tool_results, first.rejected], [3, 1, 0]);
  rmSync(join(dir, "config"), { recursive: true }); // another machine
  const again = await ask("Where?", { sessionStore: store, hooks, resume: session });
  assert.equal(again.result, "In cart.go.");
  assert.ok(provider.said(2).includes("Which test fails?"));
  const thread = await settled(c, `claude/${again.session}`, (t) => t.messages === 5 && t.reported?.total.output_tokens === 14);
  assert.deepEqual([thread.messages, thread.tool_results, thread.rejected], [5, 1, 0]);
  // The hook publishes a call before its line, which has the usage, is in the transcript.
  assert.equal(thread.reported?.total.output_tokens, 14);
  const prompt = await c.context(`claude/${session}`, { format: "anthropic" });
  assert.equal(prompt.summary_ids.length, 1);
});

const used = (session_id: string, tool_use_id: string, tool_response: unknown) =>
  ({ hook_event_name: "PostToolUse", session_id, tool_name: "mcp__x__y", tool_input: {}, tool_response, tool_use_id }) as PostToolUseHookInput;
const none = () => ({ signal: new AbortController().signal });

test("what precis could not take is published later", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const errors: unknown[] = [];
  let away = true;
  const c = new Client(running.url, { retries: 0, fetch: (...args) => (away ? Promise.reject(new Error("away")) : fetch(...args)) });
  const precis = new ClaudeAdapter(c, { onError: (e) => errors.push(e) });
  assert.deepEqual(await precis.postToolUse(used("cl4", "t1", output), undefined, none()), {});
  away = false;
  assert.deepEqual(await precis.postToolUse(used("cl4", "t2", output), undefined, none()), {});
  assert.equal(errors.length, 1, "precis is left alone for a while after a failure");
  t.mock.timers.tick(10_001);
  assert.notDeepEqual(await precis.postToolUse(used("cl4", "t3", output), undefined, none()), {});
  const thread = await settled(c, "cl4", (t) => t.messages === 3 && t.tool_results === 3);
  assert.deepEqual([thread.messages, thread.tool_results, thread.rejected], [3, 3, 0]);
});

test("what waits while precis is away is bounded, over all sessions", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  let away = true;
  const c = new Client(running.url, { retries: 0, fetch: (...args) => (away ? Promise.reject(new Error("away")) : fetch(...args)) });
  const precis = new ClaudeAdapter(c, { onError: () => undefined });
  for (let n = 0; n <= 5000; n++) await precis.postToolUse(used(`cl6-${n}`, `t${n}`, "short"), undefined, none()); // two events each
  away = false;
  t.mock.timers.tick(10_001);
  for (const n of [0, 1]) await precis.postToolUse(used(`cl6-${n}`, `again${n}`, "short"), undefined, none());
  const stored = await Promise.all([0, 1].map((n) => settled(c, `cl6-${n}`, (t) => t.tool_results > n)));
  assert.deepEqual(stored.map(({ messages, tool_results }) => [messages, tool_results]), [[1, 1], [2, 2]]);
});

test("outputs keep their shape", async () => {
  const c = running.client();
  const other = new ClaudeAdapter(c);
  assert.deepEqual(await other.postToolUse({ hook_event_name: "Stop" } as never, undefined, none()), {});
  const shaped = async (tool_response: unknown, id: string) => {
    const result = await other.postToolUse(used("cl5", id, tool_response), undefined, none());
    return (result as { hookSpecificOutput?: { updatedToolOutput?: unknown } }).hookSpecificOutput?.updatedToolOutput;
  };
  const text = await shaped(output, "a");
  assert.ok(typeof text === "string" && text.length < 800);
  assert.deepEqual(await shaped([{ type: "text", text: output }, { type: "text", text: "" }], "b"), [{ type: "text", text }, { type: "text", text: "" }]);
  assert.deepEqual(await shaped({ stdout: output, stderr: "", n: 1, o: null }, "c"), { stdout: text, stderr: "", n: 1, o: null });
  assert.equal(await shaped({ ok: true }, "d"), undefined);
  assert.equal((await settled(c, "cl5", (t) => t.tool_results >= 4)).rejected, 0);
});

test("through the gateway the model gets compacted prompts", async () => {
  const listen = await free();
  await using own = await Processor.start({ config: `gateway: {listen: "${listen}", mode: compact, anthropic: "${provider.url.replace("/v1", "")}"}
policies: [{name: default, compaction: {trigger: {any: [{messages: 6}]}, keep: {messages: 2}}}]
` });
  const turns = Array.from({ length: 5 }, (_, n): Turn => ({ tool: "Bash", calls: [{ command: `echo ${n}; ${command}` }] }));
  provider.turns = [...turns, "TestTotal."];
  const { session, result } = await ask("Which test fails?", {}, `http://${listen}`);
  assert.equal(result, "TestTotal.");
  let last = "";
  for (let n = 0; n < 20 && !last.includes("[Previous Conversation Summary]"); n++) { // requests go on without a prompt that comes late
    provider.turns = ["In cart.go."];
    assert.equal((await ask("Where?", { resume: session }, `http://${listen}`)).result, "In cart.go.");
    last = provider.said(-1);
  }
  const outcomes = await (await fetch(`http://${own.probes}/metrics`)).text();
  assert.match(outcomes, /precis_gateway_compacted_total\{outcome="(yes|prepared)"\} [1-9]/, outcomes);
  assert.doesNotMatch(outcomes, /compacted_total\{outcome="(?!yes|prepared|new_conversation|nothing_to_shrink|behind)/, outcomes);
  assert.ok(last.includes("[Previous Conversation Summary]") && last.includes("Where?"), last);
  // With the prompt of an earlier request, the newest stand whole behind it.
  const whole = last.split(output.slice(0, 1000).replaceAll("\n", "\\n").replaceAll("\t", "\\t")).length - 1;
  assert.ok(whole < turns.length, `${whole} of ${turns.length} outputs stand whole`);
});
