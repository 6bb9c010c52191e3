// Runs a session of each provider's SDK through a gateway that answers compactions, has it compacted, and goes on. Prints what came of it.
//
//   node compactions.mjs BASE

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const [base] = process.argv.slice(2);
const output = Array.from({ length: 120 }, (_, n) => `The ${n}th order of customer ${(n * 7919) % 1009} went to another street.`).join('\n');

async function responses() {
  const client = new OpenAI({ apiKey: 'sk-test', baseURL: `${base}/v1` });
  const request = { model: 'm', store: false, tools: [{ type: 'function', name: 'bash', parameters: { type: 'object' }, strict: false }] };
  const input = [{ role: 'user', content: 'Fix the test.' }];
  for (let turn = 0; turn < 8; turn++) {
    const { output: items } = await client.responses.create({ ...request, input });
    input.push(...items, { type: 'function_call_output', call_id: items.at(-1).call_id, output });
  }
  const compacted = await client.responses.compact({ model: 'm', input });
  const next = await client.responses.create({ ...request, input: [...compacted.output, { role: 'user', content: 'Go on.' }] });
  return { object: compacted.object, before: JSON.stringify(input).length, after: JSON.stringify(compacted.output).length, next: next.status };
}

async function messages() {
  const client = new Anthropic({ apiKey: 'sk-test', baseURL: base });
  const request = { model: 'm', max_tokens: 64, tools: [{ name: 'bash', input_schema: { type: 'object' } }] };
  const list = [{ role: 'user', content: 'Fix the test.' }];
  for (let turn = 0; turn < 8; turn++) {
    const { content } = await client.messages.create({ ...request, messages: list });
    list.push({ role: 'assistant', content }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: content.at(-1).id, content: output }] });
  }
  const betas = ['compact-2026-09-04'];
  const compacted = await client.beta.messages.create({ ...request, betas, messages: list, compaction: { type: 'summarize' } });
  const streamed = await client.beta.messages.stream({ ...request, betas, messages: list, compaction: { type: 'summarize' } }).finalMessage();
  const next = await client.beta.messages.create({ ...request, betas, messages: [{ role: 'assistant', content: streamed.content }, { role: 'user', content: 'Go on.' }] });
  return {
    object: compacted.stop_reason,
    same: JSON.stringify(Object.entries(streamed.content[0]).sort()) === JSON.stringify(Object.entries(compacted.content[0]).sort()),
    before: JSON.stringify(list).length,
    after: JSON.stringify(compacted.content).length,
    next: next.type,
  };
}

console.log(JSON.stringify({ responses: await responses(), messages: await messages() }));
