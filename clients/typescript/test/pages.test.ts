import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { Processor, free, root } from "./harness.js";

const run = promisify(execFile);
let running: Processor;
let provider: { url: string; child: ChildProcess; asked: string[] };
let gateway: string;
let packed: string;
const dirs: string[] = [];
before(async () => {
  const address = await free();
  const child = spawn(join(root, "build/provider"), ["--listen", address], { stdio: ["ignore", "pipe", "inherit"] });
  provider = { url: `http://${address}`, child, asked: [] };
  const lines = createInterface(child.stdout!);
  lines.on("line", (line) => provider.asked.push(line));
  await once(lines, "line");
  gateway = await free();
  running = await Processor.start({ config: `gateway: {listen: "${gateway}", mode: compact, anthropic: "${provider.url}"}\n` });
  const dir = mkdtempSync(join(tmpdir(), "precis-pack-"));
  dirs.push(dir);
  const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", dir], { cwd: root });
  packed = join(dir, (JSON.parse(stdout) as { filename: string }[])[0]!.filename);
});
after(async () => {
  provider?.child.kill();
  await running?.[Symbol.asyncDispose]();
  for (const dir of dirs) rmSync(dir, { recursive: true });
});

/** Installs the package in a new project, type-checks a page's program there, runs it and returns what it prints and what the page says. */
async function program(page: string, parent: string, env: Record<string, string> = {}, { behind = "", edit = (text: string, _dir: string) => text } = {}): Promise<{ printed: string; said: string }> {
  const whole = readFileSync(join(root, page), "utf8");
  const m = /```ts\n(.*?)```(?:.*?It prints\n\n```\n(.*?)```)?/s.exec(whole.slice(whole.indexOf(behind)));
  assert.ok(m?.[1], `${page} has no program`);
  const dir = mkdtempSync(join(parent, `${basename(page, ".md")}-`));
  dirs.push(dir);
  writeFileSync(join(dir, "package.json"), '{"type": "module"}');
  await install(packed, dir);
  writeFileSync(join(dir, "page.ts"), edit(m[1].replaceAll("http://127.0.0.1:8088", running.url).replaceAll("nats://127.0.0.1:4222", running.nats), dir));
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify({ files: ["page.ts"], compilerOptions: {
    strict: true, module: "nodenext", target: "es2022", skipLibCheck: true, types: ["node"], typeRoots: [join(root, "node_modules/@types")] } }));
  await run(join(root, "node_modules/.bin/tsc"), { cwd: dir })
    .catch((error: { stdout?: string }) => assert.fail(`${page}: ${error.stdout}`));
  const { stdout } = await run(process.execPath, ["page.js"], { cwd: dir, env: { PATH: process.env["PATH"], HOME: dir, ...env }, timeout: 60_000 });
  return { printed: stdout, said: m[2] ?? "" };
}

const install = (tarball: string, dir: string) => run("npm", ["install", "--offline", "--legacy-peer-deps", "--no-audit", "--no-fund", tarball], { cwd: dir });

/** The peer dependencies are found from here. */
const beside = (): string => {
  mkdirSync(join(root, "build/pages"), { recursive: true });
  return join(root, "build/pages");
};

test("what pages compile with TypeScript alone is what is built", async () => {
  await run("npm", ["run", "emit", "--", "--outDir", "build/emitted"], { cwd: root });
  const texts = (dir: string) => Object.fromEntries((readdirSync(join(root, dir), { recursive: true }) as string[])
    .filter((name) => name.endsWith(".ts") || name.endsWith(".js")).map((name) => [name, readFileSync(join(root, dir, name), "utf8")]));
  assert.deepEqual(texts("build/emitted"), texts("dist"));
});

test("a package that is packed and installed again is the new one", async () => {
  const [clone, dir] = [mkdtempSync(join(tmpdir(), "precis-clone-")), mkdtempSync(join(tmpdir(), "precis-update-"))];
  dirs.push(clone, dir);
  cpSync(join(root, "dist"), join(clone, "dist"), { recursive: true });
  cpSync(join(root, "package.json"), join(clone, "package.json"));
  for (const state of ["old", "new"]) {
    writeFileSync(join(clone, "dist/state.js"), state);
    await run("npm", ["pack", "--ignore-scripts", clone], { cwd: dir });
    await install("./precis-0.1.0.tgz", dir);
    assert.equal(readFileSync(join(dir, "node_modules/precis/dist/state.js"), "utf8"), state);
  }
});

test("the README's program runs in an empty project", async () => {
  const { printed, said } = await program("README.md", tmpdir());
  assert.equal(printed, said);
});

test("docs/integrations/typescript.md", async () => {
  const { printed, said } = await program("../../docs/integrations/typescript.md", beside());
  assert.equal(printed, said);
});

const sizes = (asked: string[]) => asked.map((line) => Number(/(\d+) bytes/.exec(line)?.[1]));

/** Runs a page whose agent calls a tool, reads its output and is asked once more, without a key as docs/integrations/README.md has it, and checks that the model got the summary then. */
async function agent(page: string, thread: string, edit?: (text: string, dir: string) => string): Promise<void> {
  provider.asked.length = 0;
  const env = { OPENAI_BASE_URL: `${provider.url}/v1`, OPENAI_API_KEY: "none", OPENAI_AGENTS_DISABLE_TRACING: "1" };
  const { printed } = await program(page, beside(), env, edit && { edit });
  const m = /^I am a script, .*\n(\d+) tokens, (\d+) in a prompt\n$/.exec(printed);
  assert.ok(m && Number(m[2]) * 3 < Number(m[1]), printed);
  const [, whole, compacted] = sizes(provider.asked);
  assert.ok(compacted! * 2 < whole!, `the last request has the summary: ${provider.asked.join("\n")}`);
  assert.equal((await running.client().thread(thread)).rejected, 0);
}

test("docs/integrations/langchain.md", () => agent("../../docs/integrations/langchain.md", "langchain-1"));
test("docs/integrations/ai-sdk.md", () => agent("../../docs/integrations/ai-sdk.md", "ai-sdk-1"));
test("docs/integrations/ai-sdk.md, with AI SDK 6 as the page says", () => agent("../../docs/integrations/ai-sdk.md", "ai-sdk-6", (text, dir) => {
  mkdirSync(join(dir, "node_modules/@ai-sdk"));
  symlinkSync(join(root, "node_modules/ai-sdk-6"), join(dir, "node_modules/ai"));
  symlinkSync(join(root, "node_modules/ai-sdk-6-openai"), join(dir, "node_modules/@ai-sdk/openai"));
  return text.replaceAll("isStepCount", "stepCountIs").replace("responseMessages", "response").replace("...responseMessages", "...response.messages").replaceAll("ai-sdk-1", "ai-sdk-6");
}));
test("docs/integrations/openai-agents.md", () => agent("../../docs/integrations/openai-agents.md", "agents-1"));
test("docs/integrations/claude-agent-sdk.md", async () => {
  provider.asked.length = 0;
  const env = { ANTHROPIC_API_KEY: "none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };
  const { printed } = await program("../../docs/integrations/claude-agent-sdk.md", beside(), { ...env, ANTHROPIC_BASE_URL: provider.url });
  assert.match(printed, /^It ends with: .*TestTotal.*\n3 messages, 1 tool output, 1 summary\n$/);
  const compacted = async () => /precis_gateway_compacted_total{outcome="(yes|prepared)"} (\d+)/.exec(await (await fetch(`http://${running.probes}/metrics`)).text());
  for (let times = 0; !(await compacted()); times++) { // a request does not wait for a precis that is slow
    assert.ok(times < 5, provider.asked.join("\n"));
    const turns = await program("../../docs/integrations/claude-agent-sdk.md", beside(), { ...env, ANTHROPIC_BASE_URL: `http://${gateway}` }, { behind: "## Compacted prompts" });
    assert.equal(turns.printed, "It ends with: --- FAIL: TestCheckout (0.00s)\n", provider.asked.join("\n"));
  }
});
