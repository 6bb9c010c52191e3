import { type GateOptions, gate } from "./gate.js";
import type {
  ContextReply, ContextRequest, EventsReply, MessageEdited, MessageReply, MessageRequest, Rejection, SummarizeReply, SummarizeRequest,
  SummaryCreated, SummaryFailed, SummaryInvalidated, SummaryReply, SummaryStarted, ThreadForked, ThreadMessage, ThreadReply, ThreadRequest,
  ThreadsReply, ThreadsRequest, ToolResult, UsageRecorded,
} from "./types.js";

/** An event that an agent publishes. */
export type AgentEvent =
  | (ThreadMessage & { type: "thread.message" })
  | (ToolResult & { type: "tool.result" })
  | (MessageEdited & { type: "message.edited" })
  | (ThreadForked & { type: "thread.forked" });

/** A record of a thread. `id` is its sequence in SUMMARIES: `records(thread, {lastEventId: id})` continues behind it. */
export type ThreadRecord = { id: number } & (
  | { type: "summary.created"; data: SummaryCreated }
  | { type: "summary.started"; data: SummaryStarted }
  | { type: "summary.failed"; data: SummaryFailed }
  | { type: "summary.invalidated"; data: SummaryInvalidated }
  | { type: "usage.recorded"; data: UsageRecorded }
);

export interface CallOptions {
  /** Ends the call, which then throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface RecordsOptions extends CallOptions {
  /** Where to begin: at the thread's first record, the default, or with those from now on. */
  from?: "start" | "now";
  /** Begin behind this record instead. */
  lastEventId?: number;
  /** False: end when the connection does. */
  reconnect?: boolean;
}

/** The options of a call that publishes: not a further event, which would be lost. Those stand in a list. */
export function optionsOf(options: CallOptions): CallOptions {
  if (Array.isArray(options) || "type" in options) throw new TypeError("publish takes an event or a list of events: publish(thread, [event, event])");
  return options;
}

/** What agents ask of precis, over HTTP (`Client`) or NATS (`NatsClient`). */
export abstract class Precis {
  /**
   * Publishes an event, or up to 1,000, and returns their sequences when all are stored. An event counts once, by its `message_id`, so a
   * call may be repeated; give a `message.edited` an `edit_id`. What conflicts with an earlier event is rejected later: see `rejections`.
   */
  abstract publish(thread: string, events: AgentEvent | readonly AgentEvent[], options?: CallOptions): Promise<EventsReply>;
  /** Returns a thread's counters. */
  abstract thread(thread: string, request?: ThreadRequest, options?: CallOptions): Promise<ThreadReply>;
  /** Returns a page of the threads; the next one is `after: next`. */
  abstract threads(request?: ThreadsRequest, options?: CallOptions): Promise<ThreadsReply>;
  /** Returns the compacted prompt. With `min_event_seq` (`event_seq` of `publish`) it waits until that event is in it. */
  abstract context(thread: string, request?: ContextRequest, options?: CallOptions): Promise<ContextReply>;
  /** Summarizes a thread now. Where a model does it, `summary.created` or `summary.failed` with the id follows. */
  abstract summarize(thread: string, request?: SummarizeRequest, options?: CallOptions): Promise<SummarizeReply>;
  /** Returns the original text of a message: `lines: [from, to]` counts from 1, `revision: 0` is the one first published. */
  abstract message(thread: string, id: string, request?: Omit<MessageRequest, "message_id">, options?: CallOptions): Promise<MessageReply>;
  /** Returns a summary's record and what became of it. */
  abstract summary(id: string, options?: CallOptions): Promise<SummaryReply>;
  /** Returns the thread's rejected events behind a sequence of REJECTED, at most 1,000. */
  abstract rejections(thread: string, request?: { after?: number }, options?: CallOptions): Promise<Rejection[]>;
  /**
   * Follows a thread's records. A connection that breaks is opened again behind the last record, so that none is missed and none comes
   * twice. With `from: "now"`, records before the first one received may be missed then.
   */
  abstract records(thread: string, options?: RecordsOptions): AsyncGenerator<ThreadRecord, void>;

  /**
   * Returns when no summary of the thread is in progress, so that the next prompt contains them: hold the user's input until then.
   * With `min_event_seq` it first waits until that event is decided. Throws GateTimeout after `maxWaitMs`, by default 30 s.
   */
  gate(thread: string, options: GateOptions = {}): Promise<void> {
    return gate(this, thread, options);
  }
}
