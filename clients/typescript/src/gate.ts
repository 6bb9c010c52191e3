import { GateTimeout, NotFound, passing } from "./errors.js";
import type { CallOptions, Precis, ThreadRecord } from "./precis.js";
import { pause } from "./wait.js";

export interface GateOptions extends CallOptions {
  /** The sequence of the newest publish. Without it only summaries that have already started are waited for. */
  min_event_seq?: number;
  /** The longest wait, in milliseconds. Default: 30,000, the processor's own limit of a model's call. */
  maxWaitMs?: number;
}

/** How long, in milliseconds, the end of a summary can go unnoticed where its record is missed. */
const again = 1000;
/** The hints of records that have ended: what is left is to ask again. */
const never = new Promise<never>(() => undefined);

export async function gate(client: Precis, thread: string, { min_event_seq, maxWaitMs = 30_000, signal }: GateOptions): Promise<void> {
  const ended = new AbortController(); // ends what is still open when the gate is
  const limit = AbortSignal.timeout(maxWaitMs);
  const bound = AbortSignal.any(signal ? [signal, limit, ended.signal] : [limit, ended.signal]);
  const records = client.records(thread, { from: "now", signal: bound });
  try {
    await untilIdle(client, thread, records, min_event_seq, bound);
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.aborted) throw new GateTimeout(`a summary of ${thread} is still in progress after ${maxWaitMs} ms`, { cause: error });
    throw error;
  } finally {
    ended.abort();
    void records.return().catch(() => undefined);
  }
}

/** Asks until no summary is in progress. A record of the thread is a hint to ask again: it is published after the commit that the answer is read from. */
async function untilIdle(client: Precis, thread: string, records: AsyncGenerator<ThreadRecord, void>, min_event_seq: number | undefined, signal: AbortSignal): Promise<void> {
  let hint: Promise<unknown> | undefined;
  for (;;) {
    try {
      const counters = await client.thread(thread, { min_event_seq: min_event_seq ?? null }, { signal });
      if (counters.summaries_started === 0) return;
    } catch (error) {
      if (error instanceof NotFound) return; // every event of the thread is decided, and none has created anything
      if (!passing(error)) throw error;
      await pause(50, signal);
      continue;
    }
    hint ??= records.next().then(
      ({ done }) => (done ? never : (hint = undefined)),
      () => never, // the answer to the next request says why
    );
    await Promise.race([hint, pause(again, signal)]);
  }
}
