// The TypeScript SDK of the Model Context Protocol as a client of the tools. It holds every answer to the protocol's schemas, and the tools' own schemas
// to JSON Schema, and prints what it got, a line each.
//
//   node client.mjs stdio COMMAND ARGUMENT…
//   node client.mjs http URL

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Ajv2020 } from 'ajv/dist/2020.js';

const [way, target, ...args] = process.argv.slice(2);
const transport = way === 'stdio' ? new StdioClientTransport({ command: target, args, env: process.env }) : new StreamableHTTPClientTransport(new URL(target));
const client = new Client({ name: 'test', version: '1' });
client.onerror = (err) => console.error(err); // an answer that breaks the protocol
await client.connect(transport);

const { name, version } = client.getServerVersion();
console.log('server', name, typeof version);
const { tools } = await client.listTools();
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
for (const tool of tools) {
  ajv.compile(tool.inputSchema);
  if (tool.outputSchema) ajv.compile(tool.outputSchema);
  console.log('tool', tool.name, Object.keys(tool.inputSchema.properties ?? {}).sort().join(','), Boolean(tool.description));
}
const said = (result) => JSON.stringify([Boolean(result.isError), result.content.map((part) => part.text).join('')]);
for (const [tool, given] of [
  ['read_original', { message_id: 'm2', from_line: 101, to_line: 101 }],
  ['read_original', { message_id: 'nowhere' }],
  ['search_thread', { query: 'TestTotal' }],
  ['explain_prompt', {}],
  ['thread_status', {}],
  ['thread_status', { thread: 'other' }],
  ['read_original', { message_id: 7 }],
]) {
  const shown = { ...given };
  if (way === 'http' && !given.thread) given.thread = 'mcp1';
  console.log('call', tool, JSON.stringify(shown), said(await client.callTool({ name: tool, arguments: given }).catch((err) => ({ isError: true, content: [{ text: String(err) }] }))));
}
await client.close();
