// Runs the scenarios of the MCP project's conformance suite that need nothing of a server but the protocol. The others want the suite's own tools, resources
// and prompts.
//
//   node mcp.mjs URL

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

// The suite wants globSync of Node.js 22, for what it does not do here.
const fs = 'data:text/javascript,' + encodeURIComponent("export * from 'node:fs'; export const globSync = () => [];");
const hooks = 'data:text/javascript,' + encodeURIComponent(
  `export const resolve = (name, context, next) => name === 'fs' && context.parentURL?.includes('/conformance/') ? { url: ${JSON.stringify(fs)}, shortCircuit: true } : next(name, context);`);
const register = 'data:text/javascript,' + encodeURIComponent(`import { register } from 'node:module'; register(${JSON.stringify(hooks)});`);
const suite = fileURLToPath(new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url));
for (const scenario of ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', register, suite, 'server', '--url', process.argv[2], '--scenario', scenario], { encoding: 'utf8' });
  const passed = /Passed: (\d+)\/\1, 0 failed, 0 warnings/.test(stdout);
  console.log(scenario, passed ? 'passed' : `${status}\n${stdout}${stderr}`);
  if (!passed) process.exitCode = 1;
}
