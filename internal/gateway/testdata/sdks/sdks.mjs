// Runs the providers' own SDKs against a provider, directly and through the gateway, and prints what came of it, one scenario a line:
// what the program that uses the SDK gets, and the bytes that the SDK got. The provider (sdks_test.go) answers by the header X-Scenario.
//
//   node sdks.mjs DIRECT THROUGH

import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import OpenAI from 'openai';

const [direct, through] = process.argv.slice(2);

// recording is fetch, and keeps what came back.
function recording(exchanges) {
  return async (url, init) => {
    const exchange = {};
    exchanges.push(exchange);
    const response = await fetch(url, init);
    exchange.status = response.status;
    exchange.headers = [...response.headers].filter(([name]) => name !== 'date');
    if (!response.body) return response;
    const chunks = [];
    const recorder = new TransformStream({
      transform(chunk, out) {
        chunks.push(chunk);
        exchange.body = Buffer.concat(chunks).toString('base64');
        out.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(recorder), { status: response.status, headers: response.headers });
  };
}

const hello = [{ role: 'user', content: 'Hello.' }];
const chat = { model: 'gpt-test', messages: hello };
const reply = { model: 'gpt-test', input: 'Hello.' };
const message = { model: 'claude-test', max_tokens: 64, messages: hello };
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };

async function all(stream) {
  const list = [];
  for await (const event of stream) list.push(event);
  return list;
}

const weather = {
  type: 'function',
  function: { name: 'weather', description: 'The weather of a city.', parameters, parse: JSON.parse, function: ({ city }) => `Rain in ${city}.` },
};
const betaWeather = betaTool({ name: 'weather', description: 'The weather of a city.', inputSchema: parameters, run: ({ city }) => `Rain in ${city}.` });

// aborted leaves a stream behind its first event.
async function aborted(stream) {
  for await (const event of stream) {
    stream.controller.abort();
    return event;
  }
}

const openai = {
  chat: (c) => c.chat.completions.create(chat),
  'chat stream': async (c) => all(await c.chat.completions.create({ ...chat, stream: true, stream_options: { include_usage: true } })),
  'chat helper': async (c) => {
    const events = [];
    const stream = c.chat.completions.stream(chat).on('content', (delta) => events.push(delta));
    return [await stream.finalChatCompletion(), events];
  },
  'chat tools': async (c) => {
    const runner = c.chat.completions.runTools({ ...chat, tools: [weather] });
    return [await runner.finalContent(), runner.messages];
  },
  'chat tools stream': async (c) => {
    const runner = c.chat.completions.runTools({ ...chat, stream: true, tools: [weather] });
    return [await runner.finalContent(), runner.messages];
  },
  'chat whole thread': (c) => c.chat.completions.create({ ...chat, messages: [...hello, { role: 'assistant', content: 'Hi.' }, { role: 'user', content: 'Go on.' }] }),
  'chat packed': (c) => c.chat.completions.create(chat),
  'chat brotli': (c) => c.chat.completions.create(chat),
  'chat headers': async (c) => {
    const { data, response, request_id } = await c.chat.completions.create(chat).withResponse();
    return [data, [...response.headers].filter(([name]) => name !== 'date'), request_id];
  },
  responses: (c) => c.responses.create(reply),
  'responses stream': async (c) => all(await c.responses.create({ ...reply, stream: true })),
  'responses helper': async (c) => (await c.responses.stream(reply).finalResponse()).output_text,
  'responses tools': async (c) => {
    const tools = [{ type: 'function', name: 'weather', parameters, strict: true }];
    const input = [{ role: 'user', content: 'Weather?' }];
    const first = await c.responses.create({ model: 'gpt-test', input, tools, store: false });
    const call = first.output.find((item) => item.type === 'function_call');
    input.push(...first.output, { type: 'function_call_output', call_id: call.call_id, output: `Rain in ${JSON.parse(call.arguments).city}.` });
    return (await c.responses.create({ model: 'gpt-test', input, tools, store: false })).output_text;
  },
  'responses compact': (c) => c.responses.compact({ model: 'gpt-test', input: hello }),
  models: async (c) => all(await c.models.list()),
  embeddings: (c) => c.embeddings.create({ model: 'gpt-test', input: 'Hello.' }),
  'error 400': (c) => c.chat.completions.create(chat),
  'error 401': (c) => c.chat.completions.create(chat),
  'error 403': (c) => c.responses.create(reply),
  'error 404': (c) => c.responses.create({ ...reply, model: 'no-such-model' }),
  'error 422': (c) => c.chat.completions.create(chat),
  'error html': (c) => c.chat.completions.create(chat),
  'retry 429': (c) => c.chat.completions.create(chat),
  'retry 500': (c) => c.responses.create(reply),
  'retry stream 503': async (c) => all(await c.chat.completions.create({ ...chat, stream: true })),
  'exhausted 429': (c) => c.chat.completions.create(chat, { maxRetries: 1 }),
  'stream error': async (c) => all(await c.chat.completions.create({ ...chat, stream: true })),
  'responses stream failed': async (c) => all(await c.responses.create({ ...reply, stream: true })),
  'broken stream': async (c) => all(await c.chat.completions.create({ ...chat, stream: true }, { maxRetries: 0 })),
  'hang abort': async (c) => aborted(await c.chat.completions.create({ ...chat, stream: true })),
  'hang responses abort': async (c) => aborted(await c.responses.create({ ...reply, stream: true })),
  'hang timeout': (c) => c.chat.completions.create(chat, { timeout: 300, maxRetries: 0 }),
  'hang signal': (c) => c.chat.completions.create(chat, { signal: AbortSignal.timeout(300), maxRetries: 0 }),
};

const anthropic = {
  message: (c) => c.messages.create(message),
  'message stream': async (c) => all(await c.messages.create({ ...message, stream: true })),
  'message helper': async (c) => {
    const texts = [];
    const stream = c.messages.stream(message).on('text', (text) => texts.push(text));
    return [await stream.finalMessage(), texts];
  },
  'message cached': (c) =>
    c.messages.create({ ...message, system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }], metadata: { user_id: 'user_1_session_2' } }),
  'message whole thread': (c) => c.messages.create({ ...message, messages: [...hello, { role: 'assistant', content: 'Hi.' }, { role: 'user', content: 'Go on.' }] }),
  'message tools': async (c) => {
    const runner = c.beta.messages.toolRunner({ ...message, tools: [betaWeather] });
    return [await runner, runner.params.messages];
  },
  'message tools stream': async (c) => {
    const runner = c.beta.messages.toolRunner({ ...message, tools: [betaWeather], stream: true });
    const list = [];
    for await (const stream of runner) list.push(await stream.finalMessage());
    return list;
  },
  'message compaction': (c) => c.beta.messages.create({ ...message, betas: ['compact-2026-09-04'], compaction: { type: 'summarize' } }),
  'count tokens': (c) => c.messages.countTokens({ model: message.model, messages: hello }),
  models: async (c) => all(await c.models.list()),
  'message packed': (c) => c.messages.create(message),
  'error 400': (c) => c.messages.create(message),
  'error 401': (c) => c.messages.create(message),
  'error 404': (c) => c.messages.create({ ...message, model: 'no-such-model' }),
  'error 413': (c) => c.messages.create(message),
  'retry 429': (c) => c.messages.create(message),
  'retry 529': (c) => c.messages.create(message),
  'retry stream 529': async (c) => c.messages.stream(message).finalMessage(),
  'exhausted 529': (c) => c.messages.create(message, { maxRetries: 1 }),
  'message stream error': async (c) => all(await c.messages.create({ ...message, stream: true })),
  'message broken stream': async (c) => c.messages.stream(message, { maxRetries: 0 }).finalMessage(),
  'hang abort': async (c) => aborted(await c.messages.create({ ...message, stream: true })),
  'hang timeout': (c) => c.messages.create(message, { timeout: 300, maxRetries: 0 }),
};

// attempt is what the program gets: a value, or an error in all that it can tell of it.
async function attempt(run) {
  try {
    return { value: await run() };
  } catch (e) {
    const { status, code, type, param, requestID, error } = e;
    return { error: { name: e.constructor.name, message: e.message, status, code, type, param, requestID, error } };
  }
}

// Bytes of streams that break off, or are left, come as far as they came.
const partial = /^hang|broken/;

async function scenario(sdk, name, run) {
  const out = { name: `${sdk}: ${name}` };
  for (const [side, base] of [['direct', direct], ['through', through]]) {
    const exchanges = [];
    const options = { apiKey: 'sk-test', fetch: recording(exchanges), defaultHeaders: { 'X-Scenario': `${sdk}: ${name}` } };
    const client = sdk === 'openai' ? new OpenAI({ ...options, baseURL: `${base}/v1` }) : new Anthropic({ ...options, baseURL: base });
    out[side] = { ...(await attempt(() => run(client))), exchanges: partial.test(name) ? exchanges.length : exchanges };
  }
  process.stdout.write(JSON.stringify(out) + '\n');
}

for (const [name, run] of Object.entries(openai)) await scenario('openai', name, run);
for (const [name, run] of Object.entries(anthropic)) await scenario('anthropic', name, run);
