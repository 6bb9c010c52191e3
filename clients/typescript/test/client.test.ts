import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { connect } from "@nats-io/transport-node";
import { BadRequest, Client, EventsRejected, NotFound, type Precis, TooLarge, Unauthorized, Unreachable } from "precis";
import { NatsClient } from "precis/nats";

import { Processor, answer, output, question, result, until } from "./harness.js";

let running: Processor;
let connection: Awaited<ReturnType<typeof connect>>;
before(async () => {
  running = await Processor.start();
  connection = await connect({ servers: running.nats });
});
after(async () => {
  await connection?.close();
  await running?.[Symbol.asyncDispose]();
});

const transports: [string, () => Precis][] = [
  ["HTTP", () => running.client()],
  ["NATS", () => new NatsClient(connection)],
];

for (const [name, open] of transports) {
  describe(name, () => {
    const fresh = () => `ts/${randomUUID()} ü!'()*~.`;
    const session = (thread: string) => open().publish(thread, [question, result, answer]);

    test("a session", async () => {
      const [c, thread] = [open(), fresh()];
      const stored = await session(thread);
      assert.equal(stored.event_seqs.length, 3);
      assert.equal(stored.event_seq, Math.max(...stored.event_seqs));

      const prompt = await c.context(thread, { format: "openai", max_tokens: 8000, min_event_seq: stored.event_seq, explain: true });
      assert.ok(prompt.token_count < 400);
      assert.equal(prompt.summary_ids.length, 1);
      assert.ok(prompt.explain);

      const summary = await c.summary(prompt.summary_ids[0]!);
      assert.deepEqual([summary.status, summary.source_message_ids], ["active", ["m2"]]);

      assert.equal((await c.message(thread, "m2", { lines: [101, 101] })).content, "--- FAIL: TestTotal (0.00s)\n");
      assert.equal((await c.message(thread, "m2", { revision: 0 })).content, output);

      const counters = await c.thread(thread, { min_event_seq: stored.event_seq });
      assert.deepEqual([counters.messages, counters.tool_results], [2, 1]);
      assert.ok(counters.tokens_live < counters.tokens_total);

      assert.equal((await c.summarize(thread, { kind: "history" })).kind, "history");
    });

    test("an event alone, and one that would be taken for options", async () => {
      const [c, thread] = [open(), fresh()];
      const { event_seqs } = await c.publish(thread, question);
      assert.equal(event_seqs.length, 1);
      await assert.rejects(c.publish(thread, question, answer as object), TypeError);
      await assert.rejects(c.publish(thread, question, [answer] as object), TypeError);
    });

    test("the threads, by page", async () => {
      const [c, prefix] = [open(), fresh()];
      for (const n of [1, 2]) await session(`${prefix}${n}`);
      const list = async (after: string | null) => c.threads({ prefix, limit: 1, after });
      await until(async () => (await c.threads({ prefix })).threads.length === 2);
      const first = await list(null);
      const second = await list(first.next);
      assert.deepEqual([first, second].flatMap((p) => p.threads.map((t) => t.thread_id)).sort(), [`${prefix}1`, `${prefix}2`]);
      assert.equal(second.next, null);
    });

    test("what is published twice counts once", async () => {
      const thread = fresh();
      await session(thread);
      const stored = await session(thread);
      const counters = await open().thread(thread, { min_event_seq: stored.event_seq });
      assert.deepEqual([counters.messages, counters.tool_results, counters.duplicates], [2, 1, 3]);
    });

    test("conflicts are rejected later, and named", async () => {
      const [c, thread] = [open(), fresh()];
      await c.publish(thread, question);
      assert.deepEqual(await c.rejections(thread), []);
      const stored = await c.publish(thread, { ...question, content: "Another question" });
      const list = await until(async () => {
        const list = await c.rejections(thread);
        return list.length > 0 ? list : undefined;
      });
      assert.deepEqual(list.map((r) => [r.code, r.stream_seq]), [["message_conflict", stored.event_seq]]);
      assert.ok(Date.parse(list[0]!.rejected_at) > 0);
      assert.deepEqual(await c.rejections(thread, { after: list[0]!.seq }), []);
    });

    test("records continue behind the last one", async () => {
      const [c, thread] = [open(), fresh()];
      await session(thread);
      let first: number | undefined;
      let summary: string | undefined;
      for await (const record of c.records(thread)) {
        assert.ok(record.type === "summary.created");
        assert.equal(record.data.kind, "tool_result");
        [first, summary] = [record.id, record.data.id];
        break;
      }
      await c.publish(thread, { type: "message.edited", message_id: "m2", content: "PASS", edit_id: "e1" });
      for await (const record of c.records(thread, { lastEventId: first! })) {
        assert.ok(record.type === "summary.invalidated");
        assert.equal(record.data.summary_id, summary);
        assert.ok(record.id > first!);
        break;
      }
    });

    test("a signal ends a stream that waits", async () => {
      const stop = new AbortController();
      const records = open().records(fresh(), { from: "now", signal: stop.signal });
      const next = records.next();
      stop.abort(new Error("enough"));
      await assert.rejects(next, /enough/);
    });

    test("records from now on", async () => {
      const [c, thread] = [open(), fresh()];
      await session(thread);
      const before = c.records(thread);
      const first = await before.next();
      await before.return();
      const records = c.records(thread, { from: "now" });
      let got: typeof first | undefined;
      const next = records.next().then((r) => (got = r));
      // The stream is open at some edit; the records of those before it may be missed.
      for (let edits = 0; !got; edits++) {
        const { event_seq } = await c.publish(thread, { type: "message.edited", message_id: "m2", content: `${output}${edits}`, edit_id: `e${edits}` });
        await c.thread(thread, { min_event_seq: event_seq });
      }
      await next;
      await records.return();
      assert.ok(got.value!.id > first.value!.id);
    });

    test("problems have classes", async () => {
      const [c, thread] = [open(), fresh()];
      const stored = await session(thread);
      const cases: [new (...args: never[]) => Error, number, () => Promise<unknown>][] = [
        [NotFound, 404, () => c.thread(fresh())],
        [NotFound, 404, () => c.summary("sum_0")],
        [NotFound, 404, () => c.message(thread, "m9")],
        [BadRequest, 400, () => c.context(thread, { format: "morse" as "openai" })],
        [BadRequest, 400, () => c.thread(thread, { min_event_seq: stored.event_seq + 1_000_000 })],
        [BadRequest, 400, () => c.records(thread, { lastEventId: 1e9 }).next()],
        [TooLarge, 413, () => c.publish(thread, { ...result, message_id: "big", content: "x".repeat(17 << 20) })],
      ];
      for (const [kind, status, ask] of cases) {
        await assert.rejects(ask, (error) => error instanceof kind && (error as NotFound).status === status && (error as NotFound).detail !== "", `${ask}`);
      }
    });

    test("the gate opens at once where no summary is in progress", async () => {
      const [c, thread] = [open(), fresh()];
      await c.gate(thread);
      const stored = await session(thread);
      await c.gate(thread, { min_event_seq: stored.event_seq });
      assert.equal((await c.thread(thread)).event_seq, stored.event_seq);
      await assert.rejects(c.gate(thread, { signal: AbortSignal.abort(new Error("enough")) }), /enough/);
    });
  });
}

test("HTTP: an event that can't be accepted is named, and none is stored", async () => {
  const c = running.client();
  await assert.rejects(c.publish("ts-refused", [question, { ...question, message_id: "m2", role: "nobody" as "user" }]), (error) => {
    assert.ok(error instanceof EventsRejected);
    assert.deepEqual(error.rejections.map((r) => [r.index, r.code, r.field]), [[1, "schema", "role"]]);
    assert.match(error.message, /event 1: schema role/);
    return true;
  });
  await assert.rejects(c.publish("ts-refused", { ...question, content: "x".repeat(1 << 20) }), /event 0: too_large: body of/);
  await assert.rejects(c.thread("ts-refused"), NotFound);
});

test("NATS: a thread's id is one token", async () => {
  for (const id of ["a.b", "..", "*", "ü", " ", "x".repeat(256)]) {
    const c = new NatsClient(connection);
    const { event_seq } = await c.publish(id, { ...question, thread_id: id });
    assert.equal((await c.thread(id, { min_event_seq: event_seq })).thread_id, id);
  }
  for (const id of ["", "ü".repeat(129)]) await assert.rejects(new NatsClient(connection).thread(id), TypeError);
});

test("NATS: an unknown type is refused before it is sent", async () => {
  await assert.rejects(new NatsClient(connection).publish("t", { ...question, type: "thread.mesage" as "thread.message" }), /type must be one of/);
});

test("a restart is waited for, and records continue behind it", async () => {
  const own = await Processor.start();
  const nc = await connect({ servers: own.nats, maxReconnectAttempts: -1, reconnectTimeWait: 50, reconnectJitter: 10 });
  try {
    const clients: Precis[] = [new Client(own.url, { retries: 20 }), new NatsClient(nc, { retries: 20, timeoutMs: 1000 })];
    const streams = clients.map((c) => c.records("t"));
    await clients[0]!.publish("t", [question, result]);
    const first = await Promise.all(streams.map((s) => s.next()));
    await own.end();
    const publishing = clients.map((c, i) => c.publish("t", { ...result, message_id: `r${i}` }));
    await own.begin();
    assert.equal((await Promise.all(publishing)).length, 2);
    const later = await Promise.all(streams.map(async (s) => [await s.next(), await s.next()]));
    assert.deepEqual(first.map((f) => f.value?.id), [first[0]?.value?.id, first[0]?.value?.id]);
    for (const list of later) {
      assert.deepEqual(list.map((r) => r.value?.type), ["summary.created", "summary.created"]);
      assert.ok(list[0]!.value!.id > first[0]!.value!.id && list[1]!.value!.id > list[0]!.value!.id);
    }
    await Promise.all(streams.map((s) => s.return()));
    await nc.close();
    await assert.rejects(new NatsClient(nc, { retries: 0 }).thread("t"), Unreachable);
  } finally {
    await nc.close();
    await own[Symbol.asyncDispose]();
  }
});

test("HTTP: addresses", () => {
  for (const url of ["127.0.0.1:8088", "ftp://localhost", "http://", "http://a/?b", "http://user@a"]) {
    assert.throws(() => new Client(url), TypeError, url);
  }
});

test("HTTP: tokens", async () => {
  const token = "a-token-of-the-clients-tests";
  const own = await Processor.start({ token });
  try {
    await new Client(own.url, { token }).publish("t", question);
    for (const wrong of [undefined, "not the token, for sure"]) {
      await assert.rejects(new Client(own.url, { token: wrong }).thread("t"), (error) => error instanceof Unauthorized && error.status === 401);
    }
  } finally {
    await own[Symbol.asyncDispose]();
  }
});
