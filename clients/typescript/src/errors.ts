import type { RefusedEvent } from "./types.js";

/** The base of all errors of this package. */
export class PrecisError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No whole answer came: the connection failed, broke, or took longer than the timeout. */
export class Unreachable extends PrecisError {}

/** A gate's limit expired: a summary may still be in progress. */
export class GateTimeout extends PrecisError {}

/** A request is refused. `detail` says what to do; `status` is that of the HTTP answer, or the code of the NATS service. */
export class Problem extends PrecisError {
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  /** The events that can't be accepted. */
  readonly rejections: RefusedEvent[];

  constructor(
    readonly status: number,
    body: { type?: unknown; title?: unknown; detail?: unknown; rejections?: unknown },
    /** Milliseconds after which the server expects the request to succeed, where it says so. */
    readonly retryAfterMs?: number,
  ) {
    const rejections = Array.isArray(body.rejections) ? (body.rejections as RefusedEvent[]) : [];
    const [title, detail] = [String(body.title ?? ""), String(body.detail ?? "")];
    super(`${status} ${title}: ${detail}` + rejections.map((r) => `; event ${r.index}: ${r.code}${r.field ? ` ${r.field}` : ""}: ${r.message}`).join(""));
    this.type = String(body.type ?? "about:blank");
    this.title = title;
    this.detail = detail;
    this.rejections = rejections;
  }
}

/** 400: the request is wrong. */
export class BadRequest extends Problem {}
/** 401 and 403: the token is missing, unknown, expired or of another role or thread. */
export class Unauthorized extends Problem {}
/** 404: no such thread, message, revision or summary. */
export class NotFound extends Problem {}
/** 409: a summary is stale, and the thread's policy says fail. */
export class StaleSummary extends Problem {}
/** 413: the request or its answer is too large. */
export class TooLarge extends Problem {}
/** 422: events can't be accepted. `rejections` names each; none of the request is stored. */
export class EventsRejected extends Problem {}
/** 429 and 503: not caught up, or too many requests. A later request may succeed. */
export class Unavailable extends Problem {}

const classes: Record<number, typeof Problem> = {
  400: BadRequest, 401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: StaleSummary, 413: TooLarge,
  422: EventsRejected, 429: Unavailable, 503: Unavailable,
};

/** Returns the error for an answer. */
export function problem(status: number, body: ConstructorParameters<typeof Problem>[1], retryAfterMs?: number): Problem {
  return new (classes[status] ?? Problem)(status, body, retryAfterMs);
}

/** Reports whether the same request may succeed later. */
export function passing(error: unknown): error is Unreachable | Unavailable {
  return error instanceof Unreachable || error instanceof Unavailable;
}

/** What an adapter prints of an error where the application has no onError. The stack is left out: it is the adapter's, not the application's. */
export function warn(error: unknown): void {
  console.warn(`precis: ${error instanceof Error ? error.message : String(error)}; the agent goes on with its messages as they are`);
}
