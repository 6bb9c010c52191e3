import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { Processor, root } from "./harness.js";
import { Provider } from "./provider.js";

const run = promisify(execFile);
let running: Processor;
let provider: Provider;
let packed: string;
const dirs: string[] = [];
before(async () => {
  running = await Processor.start();
  provider = await Provider.start();
  const dir = mkdtempSync(join(tmpdir(), "precis-pack-"));
  dirs.push(dir);
  const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", dir], { cwd: root });
  packed = join(dir, (JSON.parse(stdout) as { filename: string }[])[0]!.filename);
});
after(async () => {
  provider?.end();
  await running?.[Symbol.asyncDispose]();
  for (const dir of dirs) rmSync(dir, { recursive: true });
});

/** Installs the package in a new project, type-checks a page's program there, runs it and returns what it prints and what the page says. */
async function program(page: string, parent: string, env: Record<string, string> = {}): Promise<{ printed: string; said: string }> {
  const m = /```ts\n(.*?)```(?:.*?It prints\n\n```\n(.*?)```)?/s.exec(readFileSync(join(root, page), "utf8"));
  assert.ok(m?.[1], `${page} has no program`);
  const text = m[1].replaceAll("http://127.0.0.1:8088", running.url).replaceAll("nats://127.0.0.1:4222", running.nats);
  const dir = mkdtempSync(join(parent, `${basename(page, ".md")}-`));
  dirs.push(dir);
  writeFileSync(join(dir, "package.json"), '{"type": "module"}');
  writeFileSync(join(dir, "page.ts"), text);
  await run("npm", ["install", "--offline", "--legacy-peer-deps", "--no-audit", "--no-fund", packed], { cwd: dir });
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify({ files: ["page.ts"], compilerOptions: {
    strict: true, module: "nodenext", target: "es2022", skipLibCheck: true, types: ["node"], typeRoots: [join(root, "node_modules/@types")] } }));
  await run(join(root, "node_modules/.bin/tsc"), { cwd: dir })
    .catch((error: { stdout?: string }) => assert.fail(`${page}: ${error.stdout}`));
  const { stdout } = await run(process.execPath, ["page.js"], { cwd: dir, env: { PATH: process.env["PATH"], HOME: dir, ...env }, timeout: 60_000 });
  return { printed: stdout, said: m[2] ?? "" };
}

/** The peer dependencies are found from here. */
const beside = (): string => {
  mkdirSync(join(root, "build/pages"), { recursive: true });
  return join(root, "build/pages");
};

test("the README's program runs in an empty project", async () => {
  const { printed, said } = await program("README.md", tmpdir());
  assert.equal(printed, said);
});

test("docs/integrations/typescript.md", async () => {
  const { printed, said } = await program("../../docs/integrations/typescript.md", beside());
  assert.equal(printed, said);
});

/** Runs a page whose agent calls a tool, reads its output and is asked once more, and checks that it got the summary then. */
async function agent(page: string, thread: string): Promise<void> {
  provider.asked.length = 0;
  provider.turns = [{ tool: "bash", calls: [{ command: "go test ./..." }] }, "TestTotal.", "In shop/cart."];
  const { printed } = await program(page, beside(), { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: "none", OPENAI_AGENTS_DISABLE_TRACING: "1" });
  const m = /^In shop\/cart\.\n(\d+) tokens, (\d+) in a prompt\n$/.exec(printed);
  assert.ok(m && Number(m[2]) * 3 < Number(m[1]), printed);
  assert.ok(provider.said(2).length * 2 < provider.said(1).length, "the last request has the summary");
  assert.equal((await running.client().thread(thread)).rejected, 0);
}

test("docs/integrations/langchain.md", () => agent("../../docs/integrations/langchain.md", "langchain-1"));
test("docs/integrations/ai-sdk.md", () => agent("../../docs/integrations/ai-sdk.md", "ai-sdk-1"));
test("docs/integrations/openai-agents.md", () => agent("../../docs/integrations/openai-agents.md", "agents-1"));
test("docs/integrations/claude-agent-sdk.md", async () => {
  provider.asked.length = 0;
  const command = "for i in $(seq 100); do echo 'ok  shop/cart  0.01s'; done; echo '--- FAIL: TestTotal'";
  provider.turns = [{ tool: "Bash", calls: [{ command }] }, "TestTotal."];
  const { printed } = await program("../../docs/integrations/claude-agent-sdk.md", beside(), {
    ANTHROPIC_BASE_URL: provider.url.replace("/v1", ""), ANTHROPIC_API_KEY: "none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" });
  assert.match(printed, /^TestTotal\.\n3 messages, 1 tool output, 1 summary\n$/);
  assert.ok(!provider.said(1).includes("0.01s\\nok"), "the model has the summary");
});
