import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import * as openai7 from "@ai-sdk/openai";
import * as sdk7 from "ai";
import type { ModelMessage } from "ai";
import * as sdk6 from "ai-sdk-6";
import * as openai6 from "ai-sdk-6-openai";
import { Client, type Precis } from "precis";
import { type AiSdkOptions, precisMiddleware } from "precis/ai-sdk";

import { Processor, output, settled } from "./harness.js";
import { Provider, type Turn } from "./provider.js";

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
const user = (content: string): ModelMessage => ({ role: "user", content });
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";
/** The message with the same files as each version publishes it. */
const files: unknown[] = [];

/** Each version's own framework; their types differ in what no test is about. */
const versions = [
  { version: 6, sdk: sdk6 as unknown as typeof sdk7, openai: openai6 as unknown as typeof openai7 },
  { version: 7, sdk: sdk7, openai: openai7 },
];
for (const { version, sdk, openai } of versions) {
  const { generateText, jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } = sdk;
  const inputSchema = jsonSchema<{ command: string }>({ type: "object", properties: { command: { type: "string" } } });
  const bash = tool({ description: "Runs a command", inputSchema, execute: () => output });
  const model = (client: Precis, options: AiSdkOptions) =>
    wrapLanguageModel({ model: openai.createOpenAI({ baseURL: provider.url, apiKey: "none" }).chat("gpt-4.1-mini"), middleware: precisMiddleware(client, options) });
  /** The messages of all steps, as 7 and as 6 has them. */
  const answers = (made: { responseMessages?: ModelMessage[]; response: { messages: ModelMessage[] } }) => made.responseMessages ?? made.response.messages;
  const common = { tools: { bash }, stopWhen: stepCountIs(5), maxRetries: 0 };

  test(`AI SDK ${version}: messages are published with usage, and read outputs stand as their summaries`, async () => {
    const c = running.client();
    provider.turns = [{ tool: "bash", calls: [{ command: "a" }, { command: "b" }] }, "Both fail.", "In cart.go."];
    const first = await generateText({ model: model(c, { thread: `ai${version}-1` }), system: "Be brief.", messages: [user("Which test fails?")], ...common });
    assert.ok(provider.said(1).includes(whole), "an output stands whole until the model has read it");
    // Another process goes on with the same messages: what is there already counts once.
    const messages = [user("Which test fails?"), ...answers(first), user("Where?")];
    await generateText({ model: model(c, { thread: `ai${version}-1` }), system: "Be brief, please.", messages, ...common });

    const sent = provider.asked[2]!.body.messages as { role: string; content: string; tool_call_id?: string }[];
    assert.deepEqual(sent.map((m) => m.role), ["system", "user", "assistant", "tool", "tool", "assistant", "user"]);
    const before = provider.asked[1]!.body.messages as typeof sent;
    for (const i of [3, 4]) {
      assert.ok(sent[i]!.content.length < 800 && sent[i]!.content.includes("FAIL: TestTotal"));
      assert.equal(sent[i]!.tool_call_id, before[i]!.tool_call_id);
    }
    const thread = await settled(c, `ai${version}-1`, (t) => t.messages === 5 && t.tool_results === 2);
    assert.deepEqual([thread.messages, thread.tool_results, thread.rejected], [5, 2, 0]);
    assert.deepEqual([thread.reported?.total.input_tokens, thread.reported?.total.output_tokens], [33, 21]);
  });

  test(`AI SDK ${version}: streams are published when they end`, async () => {
    const c = running.client();
    provider.turns = [{ tool: "bash", calls: [{ command: "go test" }] }, "TestTotal.", "In cart.go."];
    const options = { providerOptions: { precis: { thread: `ai${version}-2` } } };
    const first = streamText({ model: model(c, {}), messages: [user("Which test fails?")], ...common, ...options });
    assert.equal(await first.text, "TestTotal.");
    const stored = await settled(c, `ai${version}-2`, (t) => t.messages === 3 && t.tool_results === 1);
    assert.deepEqual([stored.messages, stored.tool_results, stored.reported?.total.output_tokens], [3, 1, 14]);
    const second = streamText({ model: model(c, {}), messages: [user("Which test fails?"), ...((await first.responseMessages) ?? (await first.response).messages), user("Where?")], ...common, ...options });
    assert.equal(await second.text, "In cart.go.");
    assert.ok(!provider.said(2).includes(whole));
    const thread = await settled(c, `ai${version}-2`, (t) => t.messages === 5);
    assert.deepEqual([thread.messages, thread.tool_results, thread.rejected], [5, 1, 0]);
  });

  test(`AI SDK ${version}: older messages stand as a compaction`, async () => {
    const wrapped = model(running.client(), { thread: `ai${version}-3`, agentId: "short" });
    const messages: ModelMessage[] = [];
    for (const c of "abcdefgh") {
      provider.turns = [`Answer ${c}. ${"It is long. ".repeat(40)}`];
      messages.push(user(`Question ${c}. ${"It is long. ".repeat(40)}`));
      messages.push(...answers(await generateText({ model: wrapped, messages, ...common })));
    }
    const last = provider.asked.at(-1)!.body.messages as { role: string; content: string }[];
    assert.ok(last.length < 15, `${last.length} messages`);
    assert.ok(JSON.stringify(last[0]!.content).includes("[Previous Conversation Summary]"));
    assert.ok(JSON.stringify(last.at(-1)).includes("Question h."));
  });

  test(`AI SDK ${version}: failed tools, objects and files are published, and sent as they are`, async () => {
    const c = running.client();
    const tools = {
      bash: tool({ inputSchema, execute: (): string => { throw new Error("no such file"); } }),
      read: tool({ inputSchema, execute: () => ({ lines: 3 }) }),
      look: tool({ inputSchema, execute: () => png, toModelOutput: () => ({ type: "content", value: [{ type: "text", text: "A dot." }, { type: "image-data", mediaType: "image/png", data: png }] }) }),
    };
    provider.turns = ["bash", "read", "look"].map((name): Turn => ({ tool: name, calls: [{ command: "a" }] }));
    provider.turns.push("Done.");
    const content = [
      { type: "text" as const, text: "See." }, { type: "image" as const, image: new Uint8Array(Buffer.from(png, "base64")) },
      { type: "image" as const, image: new URL("https://example.com/dot.png") }, { type: "file" as const, mediaType: "application/pdf", data: "JVBERi0xLjQK" },
    ];
    await generateText({ model: model(c, { thread: `ai${version}-4` }), messages: [{ role: "user", content }], ...common, tools });
    const thread = await settled(c, `ai${version}-4`, (t) => t.messages === 5 && t.tool_results === 3);
    assert.deepEqual([thread.messages, thread.tool_results, thread.rejected], [5, 3, 0]);
    assert.ok(provider.said(3).includes("no such file") && provider.said(3).includes("image_url"));
    const { messages } = await c.context(`ai${version}-4`, { format: "messages" });
    files.push(messages[0]);
    const seen = (messages as { role: string; content: unknown }[]).find((m) => m.role === "tool" && Array.isArray(m.content))?.content as { data?: unknown }[];
    assert.equal(seen[1]!.data, png);
  });

  test(`AI SDK ${version}: without a thread, without precis, and in a thread that has other messages, the model gets what the application has`, async () => {
    const errors: unknown[] = [];
    const c = running.client();
    await c.publish(`ai${version}-5`, { type: "thread.message", message_id: "m1", role: "user", content: "Another agent's" });
    const cases: Record<string, ReturnType<typeof model>> = {
      "no thread": model(c, {}),
      "no precis": model(new Client("http://127.0.0.1:1", { retries: 0 }), { thread: `ai${version}-6`, onError: (e) => errors.push(e) }),
      "another's thread": model(c, { thread: `ai${version}-5` }),
    };
    for (const [name, wrapped] of Object.entries(cases)) {
      provider.turns = [{ tool: "bash", calls: [{ command: "go test" }] }, "TestTotal.", "There."];
      const first = await generateText({ model: wrapped, messages: [user("Which?")], ...common });
      await generateText({ model: wrapped, messages: [user("Which?"), ...answers(first), user("Where?")], ...common });
      assert.ok(provider.said(-1).includes(whole), name);
    }
    assert.equal(errors.length, 1, "precis is left alone for a while after a failure");
  });
}

test("AI SDK 6 and 7 publish files as the same parts, under the same id", () => {
  assert.equal(files.length, versions.length);
  assert.deepEqual(files[0], files[1]);
});
