import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as tick } from "node:timers/promises";

import { Client, NotFound, type types } from "precis";

/** The root of the package; tests run in build/tests. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** An output that is summarized: 101 lines, of which the last one matters. */
export const output = "ok  \tshop/cart\t0.01s\n".repeat(100) + "--- FAIL: TestTotal (0.00s)\n";

export const question = { type: "thread.message", message_id: "m1", role: "user", content: "Which test fails?" } as const;
export const result = { type: "tool.result", message_id: "m2", tool_name: "bash", content: output } as const;
export const answer = { type: "thread.message", message_id: "m3", role: "assistant", content: "TestTotal." } as const;

/** A running program, with its data in a directory of its own. */
export class Processor {
  readonly #dir = mkdtempSync(join(tmpdir(), "precis-"));
  #child: ChildProcess | undefined;

  private constructor(readonly url: string, readonly nats: string, readonly probes: string) {}

  /** Starts the program. `config` is YAML beside the addresses; with a token the API takes no request without it. */
  static async start({ config = "", token }: { config?: string; token?: string } = {}): Promise<Processor> {
    const [api, nats, probes] = [await free(), await free(), await free()];
    const p = new Processor(`http://${api}`, `nats://${nats}`, probes);
    if (token) writeFileSync(join(p.#dir, "tokens.yaml"), `tokens:\n  - {name: tests, token: "${token}", role: agent}\n`, { mode: 0o600 });
    writeFileSync(join(p.#dir, "config.yaml"),
      `nats: {listen: "${nats}", sync: 2m}\ndata_dir: "${join(p.#dir, "data")}"\nhttp: {listen: "${probes}"}\napi: {listen: "${api}"${token ? ", tokens_file: tokens.yaml" : ""}}\n${config}`);
    await p.begin();
    return p;
  }

  async begin(): Promise<void> {
    const log = createWriteStream(join(this.#dir, "log"), { flags: "a" });
    await once(log, "open");
    const child = spawn(join(root, "build/processor"), ["run", "--config", "config.yaml"],
      { cwd: this.#dir, stdio: ["ignore", "ignore", log], env: { HOME: this.#dir, KEY: "none" } });
    this.#child = child;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`the program ended:\n${readFileSync(join(this.#dir, "log"), "utf8")}`);
      return (await fetch(`http://${this.probes}/readyz`).catch(() => undefined))?.ok;
    });
  }

  async end(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null], readFileSync(join(this.#dir, "log"), "utf8"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    rmSync(this.#dir, { recursive: true });
  }

  client(): Client {
    return new Client(this.url);
  }
}

/** Returns an address that nothing listens on. */
export async function free(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return `127.0.0.1:${port}`;
}

/** Asks until the answer is true, at most for half a minute, and returns it. */
export async function until<T>(ask: () => Promise<T>): Promise<NonNullable<T>> {
  const limit = AbortSignal.timeout(30_000);
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    await tick(20, undefined, { signal: limit });
  }
}

/** The counters of a thread when they are as said: what is stored is counted a moment later. After half a minute, as they are. */
export async function settled(c: Client, id: string, done: (t: types.ThreadReply) => unknown): Promise<types.ThreadReply> {
  const limit = AbortSignal.timeout(30_000);
  for (;;) {
    const thread = await c.thread(id).catch((error: unknown) => {
      if (error instanceof NotFound && !limit.aborted) return undefined;
      throw error;
    });
    if (thread && (done(thread) || limit.aborted)) return thread;
    await tick(20);
  }
}
