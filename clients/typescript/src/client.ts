import { Problem, Unreachable, passing, problem } from "./errors.js";
import { type AgentEvent, type CallOptions, Precis, type RecordsOptions, type ThreadRecord, optionsOf } from "./precis.js";
import { type ServerSentEvent, parse } from "./sse.js";
import type {
  ContextReply, ContextRequest, EventsReply, MessageReply, MessageRequest, Rejection, RejectionsReply, SummarizeReply, SummarizeRequest,
  SummaryReply, ThreadReply, ThreadRequest, ThreadsReply, ThreadsRequest,
} from "./types.js";
import { delay, pause, retry } from "./wait.js";

export interface ClientOptions {
  /** A bearer token, where the API wants one. */
  token?: string | undefined;
  /** The longest wait, in milliseconds, for a whole answer. Default: 30,000. */
  timeoutMs?: number;
  /** How often a request that can't be answered now (429, 503, a broken connection) is repeated. Default: 4. */
  retries?: number;
  /** The fetch to use. Default: the global one. */
  fetch?: typeof fetch;
}

/** A stream that is silent for longer, in milliseconds, is broken: the server writes every 15 s. */
const silence = 45_000;

type Query = Record<string, string | number | boolean | null | undefined>;

/** Asks a processor over HTTP. */
export class Client extends Precis {
  readonly #base: string;
  readonly #token: string | undefined;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(url = "http://127.0.0.1:8088", { token, timeoutMs = 30_000, retries = 4, fetch = globalThis.fetch }: ClientOptions = {}) {
    super();
    const parts = URL.canParse(url) ? new URL(url) : undefined;
    if (!parts || !/^https?:$/.test(parts.protocol) || parts.search || parts.hash || parts.username) {
      throw new TypeError(`url must be http://HOST:PORT or https://HOST:PORT, not ${JSON.stringify(url)}`);
    }
    this.#base = parts.origin + parts.pathname.replace(/\/+$/, "");
    [this.#token, this.#timeoutMs, this.#retries, this.#fetch] = [token, timeoutMs, retries, fetch];
  }

  /** As of Precis. Where an event can't be accepted it throws EventsRejected, and none is stored. */
  async publish(thread: string, events: AgentEvent | readonly AgentEvent[], options: CallOptions = {}): Promise<EventsReply> {
    return this.#ask("POST", `/v1/threads/${segment(thread)}/events`, optionsOf(options), {}, events);
  }

  async thread(thread: string, request: ThreadRequest = {}, options: CallOptions = {}): Promise<ThreadReply> {
    return this.#ask("GET", `/v1/threads/${segment(thread)}`, options, { ...request });
  }

  async threads(request: ThreadsRequest = {}, options: CallOptions = {}): Promise<ThreadsReply> {
    return this.#ask("GET", "/v1/threads", options, { ...request });
  }

  async context(thread: string, request: ContextRequest = {}, options: CallOptions = {}): Promise<ContextReply> {
    return this.#ask("POST", `/v1/threads/${segment(thread)}/context`, options, {}, request);
  }

  async summarize(thread: string, request: SummarizeRequest = {}, options: CallOptions = {}): Promise<SummarizeReply> {
    return this.#ask("POST", `/v1/threads/${segment(thread)}/summarize`, options, {}, request);
  }

  async message(thread: string, id: string, request: Omit<MessageRequest, "message_id"> = {}, options: CallOptions = {}): Promise<MessageReply> {
    const lines = request.lines?.length ? request.lines.join("-") : undefined;
    return this.#ask("GET", `/v1/threads/${segment(thread)}/messages/${segment(id)}`, options, { ...request, lines });
  }

  async summary(id: string, options: CallOptions = {}): Promise<SummaryReply> {
    return this.#ask("GET", `/v1/summaries/${segment(id)}`, options);
  }

  async rejections(thread: string, { after = 0 }: { after?: number } = {}, options: CallOptions = {}): Promise<Rejection[]> {
    return (await this.#ask<RejectionsReply>("GET", `/v1/threads/${segment(thread)}/rejections`, options, { after })).rejections;
  }

  async *records(thread: string, { from, lastEventId, reconnect = true, signal }: RecordsOptions = {}): AsyncGenerator<ThreadRecord, void> {
    const path = `/v1/threads/${segment(thread)}/records`;
    for (let failures = 0; ; ) {
      let wait: number;
      try {
        for await (const event of this.#stream(path, { from }, lastEventId, signal)) {
          failures = 0;
          if (event === "open") continue;
          lastEventId = Number(event.id);
          yield { id: lastEventId, type: event.event, data: JSON.parse(event.data) } as ThreadRecord;
        }
        if (!reconnect) return;
        wait = delay(0); // the processor stopped, or the token ended
      } catch (error) {
        if (!passing(error) || !reconnect || failures >= this.#retries) throw error;
        wait = delay(failures++, error);
      }
      await pause(wait, signal);
    }
  }

  async *#stream(path: string, query: Query, lastEventId: number | undefined, signal: AbortSignal | undefined): AsyncGenerator<ServerSentEvent | "open", void> {
    const broken = new AbortController();
    const bound = signal ? AbortSignal.any([signal, broken.signal]) : broken.signal;
    let timer: NodeJS.Timeout | undefined;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => broken.abort(new Unreachable(`GET ${path}: silent for ${silence} ms`)), silence).unref();
    };
    async function* watched(body: AsyncIterable<Uint8Array>) {
      for await (const chunk of body) {
        alive();
        yield chunk;
      }
    }
    try {
      alive();
      const headers = lastEventId === undefined ? {} : { "Last-Event-ID": String(lastEventId) };
      const answer = await this.#send("GET", path, query, undefined, { Accept: "text/event-stream", ...headers }, bound);
      if (answer.status !== 200) throw await refused(answer);
      yield "open";
      if (answer.body) yield* parse(watched(answer.body));
    } catch (error) {
      throw failed(error, `GET ${path}`, signal);
    } finally {
      clearTimeout(timer);
      broken.abort();
    }
  }

  #ask<T>(method: string, path: string, { signal }: CallOptions, query: Query = {}, body?: unknown): Promise<T> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return retry(this.#retries, signal, async () => {
      const limit = AbortSignal.timeout(this.#timeoutMs);
      try {
        const answer = await this.#send(method, path, query, text, { Accept: "application/json" }, signal ? AbortSignal.any([signal, limit]) : limit);
        if (answer.status !== 200) throw await refused(answer);
        return (await answer.json()) as T;
      } catch (error) {
        throw failed(error, `${method} ${path}`, signal);
      }
    });
  }

  #send(method: string, path: string, query: Query, body: string | undefined, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const given = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined) given.set(name, String(value));
    const target = this.#base + path + (given.size > 0 ? `?${given}` : "");
    if (this.#token !== undefined) headers["Authorization"] = `Bearer ${this.#token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return this.#fetch(target, { method, headers, body: body ?? null, signal, redirect: "manual" });
  }
}

async function refused(answer: Response): Promise<Problem> {
  const text = await answer.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // Of a proxy in between.
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) body = { title: answer.statusText, detail: text.slice(0, 200) };
  const after = answer.headers.get("Retry-After") ?? "";
  return problem(answer.status, body as object, /^\d+$/.test(after) ? Number(after) * 1000 : undefined);
}

/** What Node says where there is nothing to connect to. */
const unconnected = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"];

/** Says of an error of fetch what it means. The caller's own signal stays the caller's. */
function failed(error: unknown, request: string, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof Problem || error instanceof Unreachable) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { code?: string } | null | undefined)?.code;
  const hint = code && unconnected.includes(code) ? ' (is "processor run" started? Its API listens on http://127.0.0.1:8088 by default)' : "";
  return new Unreachable(`${request}: ${cause instanceof Error ? cause.message || (code ?? cause.name) : String(cause)}${hint}`, { cause: error });
}

/** A path segment: every byte but A-Z a-z 0-9 - . _ ~ as %HH. */
function segment(text: string): string {
  if (text === "." || text === "..") throw new TypeError(`the id ${JSON.stringify(text)} can't stand in a URL: fetch removes it; use NATS`);
  return encodeURIComponent(text).replace(/[!*'()]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
