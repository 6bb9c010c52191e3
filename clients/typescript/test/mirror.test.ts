import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Entry, Mirror, splice } from "#mirror";
import { Recent } from "#recent";
import { type AgentEvent, Client, NotFound } from "precis";

import { Processor, answer, output, question, result, settled } from "./harness.js";

let running: Processor;
before(async () => {
  running = await Processor.start();
});
after(() => running?.[Symbol.asyncDispose]());

const entry = (event: AgentEvent & { message_id: string }): Entry<string> => ({ event, message: event.message_id });
const said = (n: number, content = `Message ${n}. ${"It is long. ".repeat(20)}`) =>
  entry({ type: "thread.message", message_id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", content });
const session = [entry(question), entry(result), entry(answer)];
const make = ({ text }: { text: string }, of: string | undefined) => `${of}: ${text.slice(0, 20)}`;

test("a prompt accounts for exactly the agent's messages, or there is none", async () => {
  const mirror = new Mirror(running.client());
  await mirror.publish("mi1", session);
  const shorter = await mirror.compact("mi1", session, make);
  assert.deepEqual([shorter?.[0], shorter?.at(-1)], ["m1", "m3"]);
  assert.ok(shorter?.some((m) => m.startsWith("m2: ")));
  assert.equal(await mirror.compact("mi1", session.slice(1), make), undefined, "the thread has a message more");
  assert.equal(await mirror.compact("mi1", [...session, said(9)], make), undefined, "the agent has a message more");
});

test("a prompt is not used where it can't be told what it is made of", async () => {
  const c = running.client();
  const mirror = new Mirror(c);
  await mirror.publish("mi2", session);
  const reply = await c.context("mi2", { explain: true, min_event_seq: mirror.seq("mi2") });
  assert.ok(splice(reply, session, make));
  for (const doubt of [{ explain: null }, { dropped_message_ids: null }, { waiting_message_ids: ["m3"] }, { sources: reply.sources.slice(1) }, { summary_ids: [] }]) {
    assert.equal(splice({ ...reply, ...doubt }, session, make), undefined, JSON.stringify(doubt));
  }
  const summaries = reply.explain!.summaries.map((s) => ({ ...s, message_ids: null }));
  assert.equal(splice({ ...reply, explain: { ...reply.explain!, summaries } }, session, make), undefined);
  const messages = reply.messages.map((m) => ({ ...(m as object), content: [{ type: "image" }] }));
  assert.equal(splice({ ...reply, messages }, session, make), undefined, "a compaction that holds more than text");
});

test("maxTokens holds", async () => {
  const mirror = new Mirror(running.client(), { maxTokens: 300 });
  const entries = Array.from({ length: 20 }, (_, n) => said(n));
  await mirror.publish("mi3", entries);
  const shorter = await mirror.compact("mi3", entries, make);
  assert.ok(shorter && shorter.length < 10 && shorter.at(-1) === "m19", shorter?.join());
});

test("what precis can't accept is reported once, and keeps nothing else out", async () => {
  const errors: unknown[] = [];
  const mirror = new Mirror(running.client(), { onError: (e) => errors.push(e) });
  const entries = [entry(question), entry({ ...result, message_id: "bad", tool_call_id: 7 as unknown as string }), ...session.slice(1)];
  await mirror.publish("mi4", entries);
  await mirror.publish("mi4", [...entries, said(8)]);
  const thread = await settled(running.client(), "mi4", (t) => t.messages === 3 && t.tool_results === 1);
  assert.deepEqual([errors.length, thread.messages, thread.tool_results], [1, 3, 1]);
  assert.equal(await mirror.compact("mi4", entries, make), undefined);
});

test("a long history goes in parts, in order, and parallel calls keep theirs", async () => {
  const c = running.client();
  const mirror = new Mirror(c);
  const many = Array.from({ length: 2200 }, (_, n) => said(n, `Message ${n}`));
  const big = [1, 2, 3].map((n) => entry({ ...result, message_id: `big${n}`, content: output.repeat(300) }));
  await Promise.all([mirror.publish("mi5", many), mirror.publish("mi5", [...many, ...big])]);
  const thread = await c.thread("mi5", { min_event_seq: mirror.seq("mi5") });
  assert.deepEqual([thread.messages, thread.tool_results, thread.duplicates, thread.rejected], [2200, 3, 0, 0]);
  const { messages } = await c.context("mi5");
  assert.equal((messages.at(-1) as { message_id: string }).message_id, "big3");
});

test("a slow precis is waited for as long as said, and then left alone", async () => {
  const errors: unknown[] = [];
  let asked = 0;
  const slow = new Client(running.url, { fetch: (_, init) => new Promise((_, reject) => {
    asked++;
    init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
  }) });
  const mirror = new Mirror(slow, { waitMs: 50, onError: (e) => errors.push(e) });
  await mirror.publish("t", session);
  assert.equal(await mirror.compact("t", session, make), undefined);
  assert.equal(await mirror.compact("another", session, make), undefined);
  assert.deepEqual([asked, errors.length], [1, 1]);
});

test("a refusal that is one thread's leaves that thread alone, and no other", async () => {
  const errors: unknown[] = [];
  const mirror = new Mirror(running.client(), { onError: (e) => errors.push(e) });
  await mirror.publish("mi6", session);
  for (let i = 0; i < 2; i++) assert.equal(await mirror.compact("mi6-unknown", session, make), undefined);
  assert.ok(errors.length === 1 && errors[0] instanceof NotFound, String(errors));
  assert.ok(await mirror.compact("mi6", session, make));
  await mirror.publish("mi6-unknown", session.slice(0, 1));
  assert.equal(mirror.has("mi6-unknown", "m1"), false, "it is left alone for a while");
});

test("what is known of threads is bounded, and what was forgotten is published once more", async () => {
  const c = running.client();
  const mirror = new Mirror(c, {}, { threads: 2, messages: 6 });
  for (const thread of ["mi7-a", "mi7-b", "mi7-c"]) await mirror.publish(thread, session);
  assert.deepEqual(["mi7-a", "mi7-b", "mi7-c"].map((t) => mirror.has(t, "m1")), [false, true, true]);
  const many = Array.from({ length: 9 }, (_, n) => said(n, `Message ${n}`));
  await mirror.publish("mi7-d", many);
  assert.deepEqual(many.map(({ event }) => mirror.has("mi7-d", event.message_id)), [false, false, false, true, true, true, true, true, true]);
  await mirror.publish("mi7-a", session);
  assert.ok(await mirror.compact("mi7-a", session, make));
  const thread = await c.thread("mi7-a", { min_event_seq: mirror.seq("mi7-a") });
  assert.deepEqual([thread.messages, thread.tool_results, thread.duplicates], [2, 1, 3]);
});

test("the newest entries are kept", () => {
  const recent = new Recent<string, number>(2);
  for (const [i, key] of ["a", "b", "a", "c"].entries()) recent.set(key, i);
  assert.deepEqual([...recent], [["a", 2], ["c", 3]]);
  assert.equal(recent.get("a"), 2); // and is the newest then
  recent.set("d", 4);
  assert.deepEqual([[...recent], recent.has("c"), recent.size], [[["a", 2], ["d", 4]], false, 2]);
});

test("without onError a line says what failed, and that the agent goes on", async (t) => {
  const said = t.mock.method(console, "warn", () => undefined);
  assert.equal(await new Mirror(new Client("http://127.0.0.1:2", { retries: 0 })).attempt("t", (signal) => new Client("http://127.0.0.1:2", { retries: 0 }).thread("t", {}, { signal })), undefined);
  assert.equal(said.mock.callCount(), 1);
  assert.match(String(said.mock.calls[0]!.arguments[0]), /^precis: GET .* \(is "processor run" started\? .*\); the agent goes on with its messages as they are$/);
});
