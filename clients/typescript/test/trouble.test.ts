import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { test } from "node:test";

import { BadRequest, Client, type ClientOptions, GateTimeout, Unavailable, Unreachable } from "precis";

const event = { type: "thread.message", message_id: "m1", role: "user", content: "Hi" } as const;

interface Seen {
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

type Answer = (reply: ServerResponse) => void;

/** Runs a test against a server that gives one answer after the other, the last one for good. */
async function against(answers: Answer[], run: (url: string, seen: Seen[]) => Promise<void>): Promise<void> {
  const seen: Seen[] = [];
  const server = createServer(async (request, reply) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    seen.push({ path: request.url ?? "", headers: request.headers, body });
    answers[Math.min(seen.length, answers.length) - 1]?.(reply);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await run(`http://127.0.0.1:${(server.address() as { port: number }).port}`, seen);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => (reply) => {
  reply.writeHead(status, { "Content-Type": "application/json", ...headers });
  reply.end(typeof body === "string" ? body : JSON.stringify(body));
};
const stream = (...chunks: string[]): Answer => (reply) => {
  reply.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const chunk of chunks) reply.write(chunk);
  reply.end();
};
const record = (n: number) => `id: ${n}\nevent: summary.created\ndata: {"version":${n}}\n\n`;
const notReady = json(503, { title: "Not ready", detail: "retry" }, { "Retry-After": "0" });
const hangUp: Answer = (reply) => reply.destroy();
const half: Answer = (reply) => {
  reply.writeHead(200, { "Content-Length": "60" });
  reply.write('{"event_seqs":[1],');
  reply.destroy();
};

test("what may succeed later is repeated, with the same body", () =>
  against([notReady, hangUp, half, json(200, "[not JSON"), json(200, { event_seqs: [1], event_seq: 1 })], async (url, seen) => {
    assert.equal((await new Client(url).publish("t", event)).event_seq, 1);
    assert.equal(seen.length, 5);
    assert.equal(new Set(seen.map((s) => s.body)).size, 1);
  }));

test("it gives up after its retries", () =>
  against([notReady], async (url, seen) => {
    await assert.rejects(new Client(url, { retries: 1 }).thread("t"), (e) => e instanceof Unavailable && e.retryAfterMs === 0);
    assert.equal(seen.length, 2);
  }));

test("a refusal is not repeated, whoever gives it", () =>
  against([json(400, "<html>from a proxy")], async (url, seen) => {
    await assert.rejects(new Client(url).thread("t"), (e) => e instanceof BadRequest && e.detail === "<html>from a proxy");
    assert.equal(seen.length, 1);
  }));

test("a redirection is not followed: the token is for this server", () =>
  against([(reply) => reply.writeHead(302, { Location: "http://127.0.0.1:1/" }).end()], async (url, seen) => {
    await assert.rejects(new Client(url, { token: "secret" }).thread("t"), { status: 302 });
    assert.equal(seen.length, 1);
  }));

test("a wait has an end, and a signal ends it sooner", () =>
  against([() => undefined], async (url) => {
    await assert.rejects(new Client(url, { timeoutMs: 50, retries: 0 }).thread("t"), Unreachable);
    await assert.rejects(new Client(url).thread("t", {}, { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  }));

test("where nothing listens, the error says what to start", async () => {
  await assert.rejects(new Client("http://127.0.0.1:2", { retries: 0 }).thread("t"), {
    name: "Unreachable", message: 'GET /v1/threads/t: connect ECONNREFUSED 127.0.0.1:2 (is "processor run" started? Its API listens on http://127.0.0.1:8088 by default)',
  });
  await against([(reply) => reply.socket?.destroy()], async (url) => {
    await assert.rejects(new Client(url, { retries: 0 }).thread("t"), (e: Error) => e instanceof Unreachable && !e.message.includes("started"));
  });
});

test("paths, queries and the token", () =>
  against([json(200, {})], async (url, seen) => {
    const c = new Client(`${url}/under/`, { token: "secret" });
    await c.thread("a/b ü?");
    await c.message("...", "!'()*", { lines: [1, 2], revision: 0 });
    assert.deepEqual(seen.map((s) => s.path), ["/under/v1/threads/a%2Fb%20%C3%BC%3F", "/under/v1/threads/.../messages/%21%27%28%29%2A?lines=1-2&revision=0"]);
    assert.deepEqual(new Set(seen.map((s) => s.headers.authorization)), new Set(["Bearer secret"]));
    await assert.rejects(c.thread(".."), /use NATS/);
  }));

test("a stream that breaks is continued behind its last record", () =>
  against([stream(": open\n\n", record(7), 'id: 8\nevent: summary.created\ndata: {"ver'), notReady, stream(record(8), ": alive\n\n", record(11).replaceAll("\n", "\r\n"))], async (url, seen) => {
    const got: number[] = [];
    for await (const r of new Client(url).records("t", { from: "now" })) if (got.push(r.id) === 3) break;
    assert.deepEqual(got, [7, 8, 11]);
    assert.deepEqual(seen.map((s) => [s.path, s.headers["last-event-id"]]), [
      ["/v1/threads/t/records?from=now", undefined], ["/v1/threads/t/records?from=now", "7"], ["/v1/threads/t/records?from=now", "7"]]);
  }));

test("text is decoded across the edges of chunks", () =>
  against([(reply) => {
    const bytes = Buffer.from('id: 1\nevent: summary.failed\ndata: {"message":"zu groß"}\n\n');
    reply.writeHead(200);
    for (const byte of bytes) reply.write(Buffer.of(byte));
    reply.end();
  }], async (url) => {
    const records = new Client(url).records("t", { reconnect: false });
    const { value } = await records.next();
    await records.return();
    assert.deepEqual(value, { id: 1, type: "summary.failed", data: { message: "zu groß" } });
  }));

test("a stream ends with its connection where that is wanted", () =>
  against([stream(record(7))], async (url, seen) => {
    const got = [];
    for await (const r of new Client(url).records("t", { reconnect: false })) got.push(r.id);
    assert.deepEqual([got, seen.length], [[7], 1]);
  }));

test("a stream that fails again and again ends with the error", () =>
  against([hangUp], async (url, seen) => {
    const options: ClientOptions = { retries: 2 };
    await assert.rejects(new Client(url, options).records("t").next(), Unreachable);
    assert.equal(seen.length, 3);
  }));

test("a gate whose records are refused asks again after a pause each time", () =>
  against([(reply) => (reply.req.url?.includes("/records") ? json(403, { title: "Forbidden" }) : json(200, { summaries_started: 1 }))(reply)], async (url, seen) => {
    await assert.rejects(new Client(url).gate("t", { maxWaitMs: 2500 }), GateTimeout);
    assert.equal(seen.filter((s) => s.path.includes("/records")).length, 1);
    assert.ok(seen.length <= 5, `${seen.length} requests`);
  }));
