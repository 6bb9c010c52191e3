import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { InMemorySessionStore, type SessionStore, type SessionStoreEntry } from "@anthropic-ai/claude-agent-sdk";
import { ClaudeAdapter } from "precis/claude-agent-sdk";

import { Processor, root, settled } from "./harness.js";

let running: Processor;
before(async () => {
  running = await Processor.start();
});
after(async () => running?.[Symbol.asyncDispose]());

/** A fresh store of an application, wrapped. Each has its threads: the suites use the same session ids again and again. */
let made = 0;
function wrapped(): Required<SessionStore> {
  const store = ++made;
  return new ClaudeAdapter(running.client(), { thread: (id) => `store-${store}/${id}` }).sessionStore(new InMemorySessionStore()) as Required<SessionStore>;
}

const entry = (n: number, type = "user"): SessionStoreEntry => ({ type, uuid: `u${n}`, timestamp: "2026-01-01T00:00:00Z", message: { role: type, content: `Message ${n}`, extra: { ä: [1, null] } } });
const title: SessionStoreEntry = { type: "custom-title", customTitle: "A title" };

// What the SDK's documentation asks of a store. Where the SDK's own store in memory does the same, the two are compared.
test("a wrapped store does what the store alone does", async () => {
  const key = { projectKey: "p", sessionId: "5e4d4f0a-0000-4000-8000-000000000001" };
  const both: Required<SessionStore>[] = [new InMemorySessionStore(), wrapped()];
  const same = async (name: string, ask: (s: Required<SessionStore>) => Promise<unknown>) => {
    const [want, got] = await Promise.all(both.map(ask));
    assert.deepEqual(got, want, name);
    return got;
  };
  const ids = (list: { sessionId: string; mtime: number }[]) => list.map(({ sessionId, mtime }) => [sessionId, mtime > 1e12]);
  assert.equal(await same("never written", (s) => s.load(key)), null);
  for (const s of both) for (const batch of [[entry(1), entry(2, "assistant")], [title], [], [entry(3)]]) await s.append(key, batch);
  assert.deepEqual(await same("loaded in order", (s) => s.load(key)), [entry(1), entry(2, "assistant"), title, entry(3)]);
  const sub = { ...key, subpath: "subagents/agent-a1" };
  for (const s of both) await s.append(sub, [entry(4)]);
  await same("a sub-agent's is apart", async (s) => [await s.load(sub), (await s.load(key))?.length, await s.listSubkeys(key)]);
  await same("another project's is apart", async (s) => [await s.load({ ...key, projectKey: "q" }), await s.listSessions("q")]);
  assert.deepEqual(await same("listed", async (s) => ids(await s.listSessions("p"))), [[key.sessionId, true]]);
  await same("listed with summaries", async (s) => [ids(await s.listSessionSummaries("p")), (await s.listSessionSummaries("p")).map((e) => e.data)]);
  await same("deleted", async (s) => [await s.delete(key), await s.load(key), await s.load(sub), await s.listSessions("p"), await s.listSubkeys(key)]);
  const child = await settled(running.client(), `store-${made}/${key.sessionId}/a1`, (t) => t.messages === 1);
  assert.deepEqual([child.messages, child.parent_thread_id], [1, `store-${made}/${key.sessionId}`]);
});

test("what one key of a wrapped store holds is nothing to another", async () => {
  const store = wrapped();
  const main = { projectKey: "p", sessionId: "s" };
  const [a, b] = [{ ...main, subpath: "subagents/agent-a" }, { ...main, subpath: "subagents/agent-b" }];
  const [session, project] = [{ ...main, sessionId: "t" }, { ...main, projectKey: "q" }];
  await store.append(a, [entry(1)]);
  assert.deepEqual(await store.listSessions("p"), [], "a sub-agent alone is not a session");
  for (const [n, key] of [main, b, session, project].entries()) await store.append(key, [entry(n + 2)]);
  assert.deepEqual((await store.listSubkeys(main)).sort(), ["subagents/agent-a", "subagents/agent-b"]);
  assert.deepEqual(await store.listSubkeys(session), []);
  await store.delete(a);
  assert.deepEqual(await Promise.all([main, a, b].map((key) => store.load(key))), [[entry(2)], null, [entry(3)]]);
  await store.delete(main);
  await store.delete({ ...main, sessionId: "never" });
  assert.deepEqual(await Promise.all([main, b, session, project].map((key) => store.load(key))), [null, null, [entry(4)], [entry(5)]]);
  await store.append(main, []);
  assert.equal(await store.load(main), null, "a session does not begin with nothing");
});

test("a wrapped store has the methods of the store, and no others", () => {
  const minimal = new ClaudeAdapter(running.client()).sessionStore({ append: async () => undefined, load: async () => null });
  assert.deepEqual(Object.keys(minimal).sort(), ["append", "load"]);
});

// The SDK's repository has a suite for stores, in TypeScript for Bun, which no package holds and whose licence lets no copy stand here. CONTRIBUTING.md says how to run it.
const suite = process.env["SESSION_STORE_CONFORMANCE"];
describe("the SDK's conformance suite", { skip: !suite && "SESSION_STORE_CONFORMANCE does not name it" }, async () => {
  if (!suite) return;
  const dir = mkdtempSync(join(tmpdir(), "precis-suite-"));
  after(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, "package.json"), '{"type": "module"}');
  writeFileSync(join(dir, "bun-test.js"), `import assert from "node:assert/strict";
export { test } from "node:test";
export const expect = (got) => ({
  toBe: (want) => assert.equal(got, want), toBeNull: () => assert.equal(got, null), toEqual: (want) => assert.deepEqual(got, want),
  not: { toContain: (item) => assert.ok(!got.includes(item)) },
});
`);
  execFileSync(join(root, "node_modules/.bin/tsc"), ["--ignoreConfig", "--noCheck", "--target", "es2022", "--module", "esnext", "--outDir", dir, suite]);
  const file = join(dir, "conformance.js");
  writeFileSync(file, readFileSync(file, "utf8").replace(/(['"])bun:test\1/g, '"./bun-test.js"'));
  const { runSessionStoreConformance } = (await import(pathToFileURL(file).href)) as { runSessionStoreConformance: (make: () => SessionStore) => void };
  runSessionStoreConformance(wrapped);
});
