import assert from "node:assert/strict";
import { once } from "node:events";
import { type Server, createServer } from "node:http";
import { after, before, test } from "node:test";

import { connect } from "@nats-io/transport-node";
import { GateTimeout, type Precis } from "precis";
import { NatsClient } from "precis/nats";

import { Processor, answer, question, result } from "./harness.js";

/** A model that answers when it is told to. */
let asked: (() => void)[] = [];
let provider: Server;
let running: Processor;
before(async () => {
  provider = createServer((request, reply) => {
    request.resume().on("end", () => asked.push(() => {
      reply.setHeader("Content-Type", "application/json");
      reply.end(JSON.stringify({ choices: [{ message: { role: "assistant", content: "TestTotal fails." }, finish_reason: "stop" }], usage: { prompt_tokens: 9, completion_tokens: 3 } }));
      reply.socket?.end();
    }));
    provider.emit("asked");
  }).listen(0, "127.0.0.1");
  await once(provider, "listening");
  const { port } = provider.address() as { port: number };
  running = await Processor.start({
    config: `policies: [{name: default, mode: llm, provider: main}]\nproviders: {main: {kind: openai, base_url: "http://127.0.0.1:${port}/v1", model: gpt-4.1-mini, api_key_env: KEY}}\n`,
  });
});
after(async () => {
  await running?.[Symbol.asyncDispose]();
  provider?.closeAllConnections();
  provider?.close();
});

const transports: [string, () => Promise<Precis & Partial<AsyncDisposable>>][] = [
  ["HTTP", async () => running.client()],
  ["NATS", async () => {
    const nc = await connect({ servers: running.nats });
    return Object.assign(new NatsClient(nc), { [Symbol.asyncDispose]: () => nc.close() });
  }],
];

for (const [name, open] of transports) {
  test(`${name}: the gate opens when the summary is made, and not before`, async () => {
    const c = await open();
    try {
      asked = [];
      const call = once(provider, "asked");
      const { event_seq } = await c.publish(`gate-${name}`, [question, result, answer]);
      await call;
      await assert.rejects(c.gate(`gate-${name}`, { min_event_seq: event_seq, maxWaitMs: 300 }), GateTimeout);
      let open = false;
      const gate = c.gate(`gate-${name}`, { min_event_seq: event_seq }).then(() => (open = true));
      assert.equal((await c.thread(`gate-${name}`)).summaries_started, 1);
      assert.equal(open, false);
      for (const reply of asked) reply();
      await gate;
      const prompt = await c.context(`gate-${name}`);
      assert.ok(JSON.stringify(prompt.messages).includes("TestTotal fails."));
    } finally {
      await c[Symbol.asyncDispose]?.();
    }
  });
}
