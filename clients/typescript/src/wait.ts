import { Unavailable, passing } from "./errors.js";

/** Waits, unless the signal ends it: then its reason is thrown. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** The pause before an attempt: a tenth of a second, doubled each time, at most 5 s; not before the server says. Half of it is random, so that clients spread. */
export function delay(attempt: number, error?: unknown): number {
  const wait = Math.min(100 * 2 ** attempt, 5000) * (0.5 + Math.random() / 2);
  return Math.max(wait, (error instanceof Unavailable && error.retryAfterMs) || 0);
}

/** Runs a request, and again up to `retries` times where it may succeed later. */
export async function retry<T>(retries: number, signal: AbortSignal | undefined, ask: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (attempt >= retries || !passing(error)) throw error;
      await pause(delay(attempt, error), signal);
    }
  }
}
