// Generated from schemas/ by clients/gentypes. Do not edit.

/** What is in force from here on in a partition. Its ce-subject and the last token of its subject are =p<partition>. Every member always stands; what does not apply is null. */
export interface ConfigApplied {
  thread_id: null;
  partition: number;
  /** The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records. */
  first_event_seq: number;
  /** The EVENTS sequence at which it was decided. */
  event_seq: number;
  /** When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known. */
  event_at: string | null;
  /** The partition's last applied EVENTS sequence when it took effect. */
  effective_seq: number;
  /** The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are. */
  step: HeadStep;
  /** Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition. */
  chain_seq: number;
  /** Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain. */
  chain: string;
  /** The version of the configuration's keys; absent in records from before it was noted, which have 1. A new key, a new value or another meaning of a key raises it. A program that meets a higher version, or a key that it does not know, can't tell what was decided by it. */
  config_version: number;
  /** The policies, in order, as the configuration has them. */
  policies: Array<Record<string, unknown>>;
  limits: Record<string, unknown>;
  /** Prompt texts by version. */
  prompts: Record<string, string>;
  price_table: Record<string, unknown> | null;
  /** The kind and model of each provider, by name: never a key. */
  providers: Record<string, Record<string, unknown>> | null;
  program_version: string;
  rules_version: string;
  /** How long the streams keep what they hold, as they had it when the record was made. */
  retention: ConfigAppliedRetention;
  /** Hash of all of the above that can change a decision. */
  fingerprint: string;
  /** Since when it is to be in force: when the configuration was read, the same in every partition. */
  applied_at: string;
  /** Set where an operator goes on from an EVENTS that lacks events which were applied (processor recover --accept-loss): the partition's records before this one whose effective_seq is beyond events_seq are void. They keep their places in their chains, and are part of no state. */
  accepted_loss: ConfigAppliedAcceptedLoss | null;
}

/** The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are. */
export interface HeadStep {
  /** What made the processor take the step: an event of the thread; a request to the service; an idle thread; a sweep, which compares summaries with the configuration in force; the age of a summary; the result of a job; another configuration; a claim of the partition; or a recovery, which completes what is on record. */
  cause: "event" | "request" | "idle" | "sweep" | "expiry" | "result" | "configuration" | "claim" | "recovery";
  /** The record's place in the step. */
  index: number;
}

/** How long the streams keep what they hold, as they had it when the record was made. */
export interface ConfigAppliedRetention {
  /** A Go duration (720h0m0s); 0s keeps all. What an audit misses at the start of EVENTS is excused only where a retention on record may have removed it. */
  events: string;
}

/** Set where an operator goes on from an EVENTS that lacks events which were applied (processor recover --accept-loss): the partition's records before this one whose effective_seq is beyond events_seq are void. They keep their places in their chains, and are part of no state. */
export interface ConfigAppliedAcceptedLoss {
  /** The last EVENTS sequence that holds what was applied. */
  events_seq: number;
  /** Of the message there: the first 16 bytes, in hex, of a SHA-256 over its sequence, its time in Unix nanoseconds and the length of its subject, of 8 bytes each, big-endian, its subject as stored and its data. Null where it is gone. */
  events_digest: string | null;
  /** The last EVENTS sequence that the partition is known to have applied before. */
  applied_seq: number;
  /** Where REJECTED ended then: what it says up to there of events beyond events_seq is void too. */
  rejected_seq: number;
  /** How many of the partition's records are void by it. */
  records_voided: number;
  /** The same in every partition. */
  accepted_at: string;
}

/** An event that can't be accepted, byte for byte, and why. */
export interface EventRejected {
  code: "invalid_json" | "schema" | "thread_mismatch" | "type_mismatch" | "message_conflict" | "unknown_message" | "too_large";
  /** For people. */
  message: string;
  /** A member's path, a header's name or subject; null for the event as a whole. */
  field: string | null;
  /** As published: what EVENTS stores without the partition. */
  subject: string;
  stream_seq: number;
  headers: Record<string, Array<string>>;
  body_base64: string | null;
  /** Lower-case hex, where the body did not fit. */
  body_sha256: string | null;
  /** Only where the subject is not valid UTF-8, which subject then shows with U+FFFD. */
  subject_base64?: string;
  /** Only where a header is not valid UTF-8: all headers, names and values in base64. */
  headers_base64?: Record<string, Array<string>>;
}

/** A message's content is another one from here on, or the message is deleted, or everything after it is (a rewind), or it is pinned or unpinned, which leaves its content as it is. An edit is the same edit again by its edit_id, else by its ce-id, else by what it says and created_at. Members it does not name are kept and ignored; a null optional member counts as absent. */
export interface MessageEdited {
  /** May repeat the event's type. */
  type?: "message.edited" | null;
  thread_id?: ThreadId;
  message_id: MessageId;
  content?: Content;
  /** The content as Gemini names it; read where there is no content. */
  parts?: unknown;
  /** True: the message is deleted. It stands alone: beside a content other than null the edit is rejected. */
  deleted?: boolean | null;
  /** True: the thread goes back to the message. Every message after it is deleted, as one event. It stands alone, as pinned does. */
  rewind?: boolean | null;
  /** Pins the message, or unpins it. It stands alone: beside a content or a deletion the edit is rejected. */
  pinned?: boolean | null;
  edit_id?: string | null;
  agent_id?: string | null;
  created_at?: Time;
  [member: string]: unknown;
}

/** The thread's id, 1 to 256 bytes of UTF-8; the schema can only count characters. In an event it may be left out, since the subject says it; where it stands it must be the subject's. */
export type ThreadId = string | null;

/** A message's id, unique within its thread. 1 to 256 bytes of UTF-8; the schema can only count characters. */
export type MessageId = string;

/** A text, nothing, or a list of parts in the shape of any provider, which are kept as they are. In texts, what is neither a text nor a result is a mark such as [image_url part]. */
export type Content = string | null | Array<Part>;

/** A part of any provider. One without a type is Gemini's, or a message of the Responses API. */
export interface Part {
  type?: string;
  [member: string]: unknown;
}

/** RFC 3339. */
export type Time = string | null;

/** A processor has taken a partition: from here on it alone publishes the partition's records, each on condition that this record is still the last one of its subject. Its ce-subject and the last token of its subject are =p<partition>. It is published at each start, and where an answer of the server is lost. Every member always stands. */
export interface PartitionClaimed {
  thread_id: null;
  partition: number;
  /** The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records. */
  first_event_seq: number;
  /** The EVENTS sequence at which it was decided. */
  event_seq: number;
  /** When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known. */
  event_at: string | null;
  /** The partition's last applied EVENTS sequence when it took effect. */
  effective_seq: number;
  /** The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are. */
  step: HeadStep;
  /** Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition. */
  chain_seq: number;
  /** Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain. */
  chain: string;
  /** Counts up with each claim of the partition: it is the record's chain_seq. */
  epoch: number;
  /** The process that has claimed the partition: host, process id and a random part, another one for each start. */
  owner: string;
  program_version: string;
  rules_version: string;
  /** That of the owner's configuration, as config.applied has it. */
  fingerprint: string;
}

/** The summary record. Every member always stands; what does not apply is null. */
export interface SummaryCreated {
  thread_id: string;
  partition: number;
  /** The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records. */
  first_event_seq: number;
  /** The EVENTS sequence at which it was decided. */
  event_seq: number;
  /** When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known. */
  event_at: string | null;
  /** The partition's last applied EVENTS sequence when it took effect. */
  effective_seq: number;
  /** The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are. */
  step: HeadStep;
  /** Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition. */
  chain_seq: number;
  /** Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain. */
  chain: string;
  /** By a hash of what it was made from and how: the same work at the same place in the log has the same id wherever and however often it is done. */
  id: SummaryId;
  /** The newest message when it was decided. */
  as_of_message_id: MessageId | null;
  kind: Kind;
  slot: Slot;
  /** 0 made from messages, higher from summaries. */
  level: number;
  /** Whether prompts use it now. */
  current: boolean;
  version: Version;
  /** The summary it takes the place of. */
  replaces: SummaryId | null;
  source_message_ids: MessageIds;
  source_summary_ids: SummaryIds;
  source_digest: SourceDigest;
  /** The text, ready to stand where its sources stood. */
  content: string;
  /** For tool_result by rules: the same in fields. */
  tool_summary: SummaryCreatedToolSummary | null;
  /** Tokens of what stood in the prompt in its place: of a tool output that has a summary, the summary's. */
  token_count_before: number;
  token_count_after: number;
  tokenizer: string;
  /** Unicode code points of the originals: of the messages themselves, also where a summary of theirs stood in the prompt. */
  chars_before: number;
  chars_after: number;
  method: "rules" | "llm" | "truncation";
  /** Why it is not the method the policy asked for. */
  fallback_reason: string | null;
  provider: string | null;
  model: string | null;
  prompt_version: string | null;
  rules_version: string | null;
  policy: string;
  /** Hash of the settings that can change the result. */
  policy_fingerprint: string;
  /** The policy's name that an event asked for and nobody knows. */
  policy_unresolved: string | null;
  trigger: Trigger;
  usage: Usage;
  cost: Cost;
  /** Stream time of the deciding event for rules, the clock for models. */
  created_at: string;
  expires_at: string | null;
}

export type SummaryId = string;

export type Kind = "tool_result" | "compaction" | "history";

/** The place a summary holds. */
export type Slot = string;

/** 1 for the first in its slot; taken when decided, never reused. */
export type Version = number;

export type MessageIds = Array<MessageId>;

export type SummaryIds = Array<SummaryId>;

/** Over the ordered sources' ids, revisions and content digests. */
export type SourceDigest = string;

/** For tool_result by rules: the same in fields. */
export interface SummaryCreatedToolSummary {
  tool_name: string;
  category: string;
  status: "success" | "error" | "partial";
  key_facts: Array<string>;
  metadata: Record<string, unknown>;
}

/** Why work was decided; a threshold is passed by more than its value. */
export interface Trigger {
  reason: "tool_output_chars" | "tool_output_tokens" | "thread_tokens" | "thread_messages" | "window_fraction" | "idle" | "requested" | "regenerated";
  threshold: number | null;
  value: number | null;
}

/** What calls consumed; all zero where none was made, and source null then. source says whether the provider reported the counts or they are estimated. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  /** The part of the input that the provider's cache held. */
  cached_input_tokens: number;
  /** The part of the input that was written to the provider's cache. */
  cache_creation_input_tokens: number;
  attempts: number;
  latency_ms: number;
  source: "provider" | "estimate" | null;
}

/** What calls cost in millionths of a dollar, rounded half up per call. A null amount is unknown, 0 is free. */
export interface Cost {
  amount_microusd: number | null;
  currency: "USD";
  price_table: string | null;
}

/** A summary that was started is not made. Every member always stands; what does not apply is null. */
export interface SummaryFailed {
  thread_id: string;
  partition: number;
  /** The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records. */
  first_event_seq: number;
  /** The EVENTS sequence at which it was decided. */
  event_seq: number;
  /** When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known. */
  event_at: string | null;
  /** The partition's last applied EVENTS sequence when it took effect. */
  effective_seq: number;
  /** The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are. */
  step: HeadStep;
  /** Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition. */
  chain_seq: number;
  /** Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain. */
  chain: string;
  summary_id: SummaryId;
  kind: Kind;
  /** Such as superseded, source_unavailable, too_large (no record may be that large), or what the last provider said. */
  code: string;
  message: string;
  action: "trim" | "fail";
  usage: Usage;
  cost: Cost;
}

/** A summary that was true is not any more. Every member always stands; what does not apply is null. */
export interface SummaryInvalidated {
  thread_id: string;
  partition: number;
  /** The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records. */
  first_event_seq: number;
  /** The EVENTS sequence at which it was decided. */
  event_seq: number;
  /** When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known. */
  event_at: string | null;
  /** The partition's last applied EVENTS sequence when it took effect. */
  effective_seq: number;
  /** The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are. */
  step: HeadStep;
  /** Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition. */
  chain_seq: number;
  /** Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain. */
  chain: string;
  summary_id: SummaryId;
  kind: Kind;
  reason: "source_edited" | "source_deleted" | "policy_changed" | "prompt_changed" | "model_changed" | "ttl_expired" | "source_summary_invalidated";
  /** The message, the summary, or the setting with its old and new value. A rewind is the message that the thread went back to, with the setting rewind: the same for all that it invalidates. */
  cause: SummaryInvalidatedCause;
  action: "regenerate" | "trim" | "fail";
  /** What stands in prompts until the summary is made again: serve, the summary itself (renewing_summary_ids of precis.thread.context names it); raw, what it was made from. serve only where a policy, a prompt, a model or an age has made it stale, and the action is regenerate; a later edit of what it was made from ends that without another record. */
  meanwhile: "serve" | "raw";
  invalidated_at: string;
}

/** The message, the summary, or the setting with its old and new value. A rewind is the message that the thread went back to, with the setting rewind: the same for all that it invalidates. */
export interface SummaryInvalidatedCause {
  message_id: MessageId | null;
  summary_id: SummaryId | null;
  setting: string | null;
  old: string | null;
  new: string | null;
}

/** A job whole, sent when work begins that outlasts its event. A summary.created or summary.failed with the same id always follows. Every member always stands; what does not apply is null. */
export interface SummaryStarted {
  thread_id: string;
  partition: number;
  /** The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records. */
  first_event_seq: number;
  /** The EVENTS sequence at which it was decided. */
  event_seq: number;
  /** When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known. */
  event_at: string | null;
  /** The partition's last applied EVENTS sequence when it took effect. */
  effective_seq: number;
  /** The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are. */
  step: HeadStep;
  /** Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition. */
  chain_seq: number;
  /** Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain. */
  chain: string;
  summary_id: SummaryId;
  kind: Kind;
  slot: Slot;
  version: Version;
  trigger: Trigger;
  source_message_ids: MessageIds;
  source_summary_ids: SummaryIds;
  source_digest: SourceDigest;
  policy: string;
  policy_fingerprint: string;
  model: string | null;
  prompt_version: string | null;
}

/** The thread begins with another thread's messages as they stand at this event's place in the log, and with every summary that stands for nothing else. It must be the thread's first event; later changes of the parent do not reach it. A fork is the same fork again by its fork_id, else by its ce-id, else by what it says and created_at. Whoever may publish it can read the parent. Members it does not name are kept and ignored; a null optional member counts as absent. */
export interface ThreadForked {
  /** May repeat the event's type. */
  type?: "thread.forked" | null;
  thread_id?: ThreadId;
  /** The thread that is forked, 1 to 256 bytes; not the thread itself. It is not the parent_thread_id of a first message, which names the thread whose agent started this one. */
  parent_thread_id: string;
  /** The last message that the fork begins with, 1 to 256 bytes. Absent: the parent's last one. */
  at_message_id?: string | null;
  fork_id?: string | null;
  /** Absent: the parent's. */
  agent_id?: string | null;
  created_at?: Time;
  [member: string]: unknown;
}

/** One message of a thread. One of role tool is treated as a tool.result in everything, and may carry what a tool.result has. Members it does not name are kept and ignored; a null optional member counts as absent. */
export interface ThreadMessage {
  /** May repeat the event's type, or be that of an item of the Responses API and of Anthropic's response. */
  type?: "thread.message" | "message" | null;
  thread_id?: ThreadId;
  message_id: MessageId;
  /** model is Gemini's word for assistant; without a role its parts are the user's. function is the role of results in chat completions before tools, and in older clients of Gemini. A user's message of nothing but results of calls is treated as a tool's. */
  role?: "system" | "developer" | "user" | "assistant" | "tool" | "model" | "function" | null;
  content?: Content;
  /** The content as Gemini names it; read where there is no content. */
  parts?: unknown;
  tool_calls?: Array<ToolCall | ThreadMessageToolCallsItem2 | ThreadMessageToolCallsItem3> | null;
  tool_call_id?: string | null;
  pinned?: boolean | null;
  agent_id?: string | null;
  /** A policy's name; one that nobody knows is no reason to reject, the records say policy_unresolved. */
  policy?: string | null;
  /** What the provider reported for the call that made this message, in this form or as OpenAI, Anthropic and Gemini report it. On an assistant's message, input_tokens measures the thread's prompt. */
  usage?: ThreadMessageUsage | null;
  /** On a thread's first message: the thread of the agent that started this one. At most 256 bytes; empty counts as absent. It counts nowhere else, and a thread is never its own parent. */
  parent_thread_id?: string | null;
  /** The model that made this message, as its provider names it; one with a name of more than 256 bytes counts as none. */
  model?: string | null;
  created_at?: Time;
  metadata?: Record<string, unknown> | null;
  tool_name?: string | null;
  arguments?: Arguments;
  is_error?: boolean | null;
  exit_code?: Integer;
  /** The lines its caller is after, 1-based, both ends included; end is not before start, which the schema can't say. */
  relevant_range?: ToolResultRelevantRange | null;
  [member: string]: unknown;
}

export interface ToolCall {
  id: string;
  name: string;
  arguments?: Arguments;
}

/** A call's arguments: an object, or a string that holds one as JSON. The string's content is not checked: models write what they write. */
export type Arguments = Record<string, unknown> | string | null;

export interface ThreadMessageToolCallsItem2 {
  id: string;
  custom: ThreadMessageToolCallsItem2Custom;
}

export interface ThreadMessageToolCallsItem2Custom {
  name: string;
  input?: Record<string, unknown> | string | null;
}

export interface ThreadMessageToolCallsItem3 {
  id: string;
  function: ThreadMessageToolCallsItem3Function;
}

export interface ThreadMessageToolCallsItem3Function {
  name: string;
  arguments?: Record<string, unknown> | string | null;
}

/** What the provider reported for the call that made this message, in this form or as OpenAI, Anthropic and Gemini report it. On an assistant's message, input_tokens measures the thread's prompt. */
export interface ThreadMessageUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  /** The part of input_tokens that was read from the provider's cache. */
  cached_input_tokens?: number | null;
  /** The part of input_tokens that was written to the provider's cache. Beside cache_read_input_tokens, Anthropic's, both are added to input_tokens. */
  cache_creation_input_tokens?: number | null;
}

/** An integer that a double holds exactly (RFC 7493, 2.2). */
export type Integer = number | null;

/** The lines its caller is after, 1-based, both ends included; end is not before start, which the schema can't say. */
export interface ToolResultRelevantRange {
  start: number;
  end: number;
}

/** What a tool gave back. Members it does not name are kept and ignored; a null optional member counts as absent. */
export interface ToolResult {
  tool_name?: string | null;
  arguments?: Arguments;
  is_error?: boolean | null;
  exit_code?: Integer;
  /** The lines its caller is after, 1-based, both ends included; end is not before start, which the schema can't say. */
  relevant_range?: ToolResultRelevantRange | null;
  /** May repeat the event's type. */
  type?: "tool.result" | null;
  thread_id?: ThreadId;
  message_id: MessageId;
  tool_call_id?: string | null;
  content: Content;
  pinned?: boolean | null;
  agent_id?: string | null;
  /** A policy's name; one that nobody knows is no reason to reject, the records say policy_unresolved. */
  policy?: string | null;
  /** On a thread's first message: the thread of the agent that started this one. At most 256 bytes; empty counts as absent. It counts nowhere else, and a thread is never its own parent. */
  parent_thread_id?: string | null;
  created_at?: Time;
  metadata?: Record<string, unknown> | null;
  [member: string]: unknown;
}

/** One paid call, also one that failed or whose result was not used. Every member always stands; what does not apply is null. */
export interface UsageRecorded {
  thread_id: string;
  partition: number;
  /** The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records. */
  first_event_seq: number;
  /** The EVENTS sequence at which it was decided. */
  event_seq: number;
  /** When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known. */
  event_at: string | null;
  /** The partition's last applied EVENTS sequence when it took effect. */
  effective_seq: number;
  /** The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are. */
  step: HeadStep;
  /** Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition. */
  chain_seq: number;
  /** Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain. */
  chain: string;
  summary_id: SummaryId;
  provider: string;
  model: string;
  attempt: number;
  /** unknown: its answer was lost, and its usage and cost are estimates of its input. */
  outcome: "used" | "refused" | "failed" | "superseded" | "unknown";
  usage: Usage;
  cost: Cost;
}

/** The body of precis.threads.list; it may be empty. What is given must hold of a thread all together. */
export interface ThreadsRequest {
  /** Of the threads' ids. */
  prefix?: string | null;
  /** A part of the ids; ASCII letters match in either case. */
  search?: string | null;
  /** The agent of the thread's first message; an empty one: threads whose first message names none. */
  agent_id?: string | null;
  /** The policy that serves the thread. */
  policy?: string | null;
  /** Only threads with a stale summary. */
  stale?: boolean | null;
  /** The most first: of the last event's time by the second (recent), tokens_total (size), tokens_live (prompt), cost_microusd (cost) or summaries_stale (stale). */
  sort?: "recent" | "size" | "prompt" | "cost" | "stale" | "" | null;
  /** The least first. */
  ascending?: boolean | null;
  /** The most threads of a page; 0: 100. */
  limit?: number | null;
  /** next of the page before, with the same request otherwise. */
  after?: string | null;
}

/** The answer of precis.threads.list. */
export interface ThreadsReply {
  threads: Array<ThreadRow>;
  /** after of the next page; null: this is the last one. */
  next: string | null;
  /** Threads that the request asks for, on all pages. */
  matched: number;
  /** Threads with the prefix. */
  total: number;
  /** Those whose threads the answer has: all, or those of the processor that answered. */
  partitions: Array<number>;
}

/** A thread in a list; the numbers are those of ThreadReply. */
export interface ThreadRow {
  thread_id: string;
  partition: number;
  /** Of its first message; null where that names none. */
  agent_id: string | null;
  /** The policy that serves it; none: there is no such one. */
  policy: string;
  /** The thread whose agent started this one; null without one. */
  parent_thread_id: string | null;
  messages: number;
  tool_results: number;
  edits: number;
  rejected: number;
  /** As in ThreadReply: texts and arguments only. */
  tokens_total: number;
  /** As in ThreadReply: less than token_count of the thread's prompt. */
  tokens_live: number;
  summaries_active: number;
  summaries_stale: number;
  summaries_started: number;
  cost_microusd: number;
  calls_of_unknown_cost: number;
  event_seq: number;
  last_event_at: string;
}

/** The body of precis.thread.get; it may be empty. */
export interface ThreadRequest {
  /** The sequence of a publish ack: the answer waits until that event is in it. */
  min_event_seq?: number | null;
}

/** The answer of precis.thread.get. */
export interface ThreadReply {
  thread_id: string;
  /** The partition of EVENTS that holds the thread. */
  partition: number;
  /** Accepted messages. */
  messages: number;
  /** Accepted tool results. */
  tool_results: number;
  /** Accepted edits. */
  edits: number;
  /** Events that were already known, or changed nothing. */
  duplicates: number;
  /** Rejected events. */
  rejected: number;
  /** Edits that wait for their message. */
  waiting_edits: number;
  /** Tokens of all current revisions, texts and arguments only. */
  tokens_total: number;
  /** Bytes of all current revisions, texts and arguments. */
  bytes: number;
  /** What a compacted prompt holds now, by the policy's tokenizer: texts and arguments only. token_count of a ContextReply adds names and what a provider adds to each message and call, and is larger for the same prompt. */
  tokens_live: number;
  /** What that prompt weighs at its provider: what the provider reported last, corrected by what the thread has gained and lost since. Null where no usage was reported. */
  prompt_tokens: number | null;
  /** Null where no usage was reported. */
  reported: Reported | null;
  /** Summaries that prompts may use. */
  summaries_active: number;
  /** Summaries that no longer hold. */
  summaries_stale: number;
  /** Summaries that are being made: summary.started without its end. */
  summaries_started: number;
  /** What precis's own calls of models read. */
  llm_input_tokens: number;
  /** What they wrote. */
  llm_output_tokens: number;
  /** What they cost, in millionths of a US dollar, as far as it is known. */
  cost_microusd: number;
  /** Calls without a price. */
  calls_of_unknown_cost: number;
  /** The thread's last event in EVENTS. */
  event_seq: number;
  /** The thread's last record. */
  chain_seq: number;
  /** Its chain value; null before the first. */
  chain_head: string | null;
  /** Where a fork comes from; null for any other thread. */
  fork: Lineage | null;
  /** The thread whose agent started this one; null without one. */
  parent_thread_id: string | null;
  /** The threads that this one's agent started, in the order in which they began: the last 100. */
  children: Array<Child>;
  /** How many there are. */
  children_count: number;
  /** The children, theirs, and so on, in sum. */
  descendants: Descendants;
}

/** What a thread's provider said of its calls, in the usage of the assistant's messages. */
export interface Reported {
  /** Of the last call that reported. */
  message_id: string;
  /** Of that call, if the message names it. */
  model: string | null;
  /** Of that call. */
  usage: ProviderUsage;
  calls: number;
  /** Of all calls. */
  total: ProviderUsage;
}

/** The usage of calls. */
export interface ProviderUsage {
  /** What was read from and written to a cache included. */
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cache_creation_input_tokens: number;
}

/** Where a fork comes from. */
export interface Lineage {
  /** Empty over HTTP where the token is not for that thread. */
  parent_thread_id: string;
  /** Null: the parent's end. */
  at_message_id: string | null;
  /** The parent's last event before the fork; null if it had none. */
  parent_event_seq: number | null;
  /** Of the fork. */
  event_seq: number;
  /** Deleted ones included. */
  inherited_messages: number;
  /** Why it began with nothing; null if it did not. */
  reason: "unknown_parent" | "unknown_message" | null;
}

/** A thread that another one's agent started: its first message names that thread as its parent. */
export interface Child {
  thread_id: string;
  /** Of its first message. */
  agent_id: string;
  /** The thread does not end with what its assistant says without a call. One that was given up counts as running; last_event_at tells. */
  running: boolean;
  messages: number;
  tool_results: number;
  llm_input_tokens: number;
  llm_output_tokens: number;
  cost_microusd: number;
  calls_of_unknown_cost: number;
  event_seq: number;
  last_event_at: Time;
}

/** A thread's children, theirs, and so on, in sum. */
export interface Descendants {
  threads: number;
  llm_input_tokens: number;
  llm_output_tokens: number;
  cost_microusd: number;
  calls_of_unknown_cost: number;
}

/** The body of precis.thread.context; it may be empty. */
export interface ContextRequest {
  /** The most tokens that the prompt may have; 0, the default: no limit. */
  max_tokens?: number | null;
  /** The shape of the messages: precis's own, or a provider's. */
  format?: "messages" | "openai" | "responses" | "anthropic" | "gemini" | null;
  /** The sequence of a publish ack: the answer waits until that event is in it. */
  min_event_seq?: number | null;
  /** Explain the prompt: explain of the reply. */
  explain?: boolean | null;
  /** Name the threads that the thread's agent started and that still run: running_thread_ids of the reply, and a line behind the compaction, which may stand for the messages that started them. */
  children?: boolean | null;
  /** Put null in the place of each of messages that stands without a summary, for a caller that has the thread's messages itself; sources names them. */
  only_summaries?: boolean | null;
}

/** The answer: the compacted prompt, and what it is made of. */
export interface ContextReply {
  /** Anthropic's list of system blocks, Gemini's system instruction; else null. */
  system: Array<unknown> | Record<string, unknown> | null;
  /** The messages, in the shape of the format; null for one that a request with only_summaries leaves out. */
  messages: Array<unknown>;
  /** What the prompt weighs, by the policy's tokenizer: texts, names and arguments, and what a provider adds to each message and call. tokens_live of a ThreadReply has the texts and arguments only. */
  token_count: number;
  /** It weighs at most max_tokens. */
  within_budget: boolean;
  /** How many messages had to go to hold max_tokens, or are gone from the log. */
  dropped_count: number;
  /** Their ids, in the thread's order; null where they are more than 1,000, and dropped_ranges has them. */
  dropped_message_ids: Array<string> | null;
  /** Null where dropped_message_ids has them. */
  dropped_ranges: Array<DroppedRange> | null;
  /** The summaries in the prompt. */
  summary_ids: Array<string>;
  /** Those of summary_ids that are stale by a policy, a prompt, a model or their age, and serve until they are made again. */
  renewing_summary_ids: Array<string>;
  /** Held back until their calls' results are there. */
  waiting_message_ids: Array<string>;
  /** Parts of the messages in the prompt that the format has no counterpart of: a mark stands there instead, or nothing where it is another provider's reasoning. */
  omitted_parts: Array<OmittedPart>;
  /** Tool outputs that would stand whole (context.keep_outputs), and stand as their summaries to hold max_tokens. */
  shortened_message_ids: Array<string>;
  /** What each message of the prompt is made of, in order. */
  sources: Array<Source>;
  /** The same of system; null without one. */
  system_source: Source | null;
  /** Null unless the request says explain. */
  explain: Explanation | null;
  /** The threads that the thread's agent started and that still run; null unless the request says children. */
  running_thread_ids: Array<string> | null;
  /** Where a fork comes from; null for any other thread. */
  fork: Lineage | null;
  /** The thread's last event in EVENTS when the prompt was made. */
  event_seq: number;
}

/** A run of dropped messages: nothing of the thread that stands in the prompt, in a summary or waits lies between the first and the last. Between two ranges something does, so that ranges are few where a prompt is small. */
export interface DroppedRange {
  first_message_id: string;
  last_message_id: string;
  count: number;
}

/** A part of a message's content that the prompt does not hold. */
export interface OmittedPart {
  message_id: string;
  /** In the message's list of parts, from 0; -1: a member beside the content. */
  index: number;
  type: string;
  reason: string;
}

/** What a message of a prompt is made of. */
export interface Source {
  /** The thread's messages that stand in it: whole, as their summary, or as a mark. A format that joins what one role says in a row has several in one; a text that no message has has none. */
  message_ids: Array<string>;
  /** Of the summaries in it. */
  summary_ids: Array<string>;
  /** With what a provider adds. */
  tokens: number;
}

/** Says why a prompt is as it is. */
export interface Explanation {
  /** token_count by what takes them. */
  tokens: Parts;
  /** What the prompt without a limit weighs at the thread's provider, by what it reported last, as in the reply of precis.thread.get; null where no usage was reported. */
  prompt_tokens: number | null;
  /** Those of summary_ids. */
  summaries: Array<ExplainedSummary>;
  /** Messages of the thread that stand in the prompt as a mark or not at all, at most 1,000 of them. Those of a compaction without room are not named one by one. */
  left_out: Array<LeftOut>;
  /** How far the next one is. */
  compaction: NextCompaction;
}

/** The tokens of a prompt by what takes them. */
export interface Parts {
  /** System and developer messages. */
  system: number;
  /** The current summary. */
  compaction: number;
  /** What users and the assistant say, and its calls. */
  messages: number;
  /** Results that stand whole, or as a mark. */
  outputs: number;
  /** Results that stand as their summary. */
  summaries: number;
  /** What a provider adds to the prompt, and a line that opens it. */
  frame: number;
}

/** A summary with the messages that it stands for. */
export interface ExplainedSummary {
  summary_id: SummaryId;
  kind: Kind;
  slot: Slot;
  /** What it was made from itself. */
  source_summary_ids: Array<string>;
  message_count: number;
  /** Through all levels; null where they are more than 1,000. */
  message_ids: Array<string> | null;
  token_count_before: number;
  token_count_after: number;
}

/** A message, or the summary, that a prompt does without. */
export interface LeftOut {
  id: string;
  /** Why: no room (max_tokens), no longer in the log (retention), its summary is stale and the policy says trim (stale), or it waits for the results of its calls (waiting). */
  reason: "max_tokens" | "retention" | "stale" | "waiting";
}

/** What decides on the thread's next compaction, and the work under way. */
export interface NextCompaction {
  /** Whose compaction.trigger decides. */
  policy: string;
  /** What a compaction could replace now, which is what triggers count. */
  removable_tokens: number;
  removable_messages: number;
  /** The jobs of the thread that a model works on, or that wait for one. */
  jobs: Array<JobStatus>;
}

/** A summary in the making. */
export interface JobStatus {
  summary_id: SummaryId;
  kind: Kind;
  slot: Slot;
  /** Calls so far. */
  attempts: number;
  /** One has no answer yet. */
  calling: boolean;
}

/** The body of precis.thread.summarize; it may be empty. */
export interface SummarizeRequest {
  /** What to make. */
  kind?: "compaction" | "history" | null;
  /** The sequence of a publish ack: the summary is made behind that event. */
  min_event_seq?: number | null;
}

/** The answer of precis.thread.summarize. */
export interface SummarizeReply {
  thread_id: string;
  kind: "compaction" | "history";
  /** The summary that stands for the thread now: made on this request, or before it where there was nothing more to summarize; null where there is nothing at all. A model may still be at work on it: summary.created or summary.failed with that id follows. */
  summary_id: string | null;
  /** The same as summary_id. */
  id: string | null;
  /** Why there is none: the thread's policy makes none (disabled), or what it could stand for is not worth one (too_little); null where there is one. */
  reason: "disabled" | "too_little" | null;
}

/** The body of precis.message.get. */
export interface MessageRequest {
  /** The message. */
  message_id: string;
  /** Null: the current one; 0: as first published. */
  revision?: number | null;
  /** [from, to]: lines counted from 1, both included; absent or empty: all of them. */
  lines?: Array<number> | null;
  /** The sequence of a publish ack: the answer waits until that event is in it. */
  min_event_seq?: number | null;
}

/** The answer of precis.message.get: the original text, which every omission mark points to. */
export interface MessageReply {
  thread_id: string;
  message_id: string;
  role: "system" | "developer" | "user" | "assistant" | "tool";
  /** As the message says it, or its call. */
  tool_name: string | null;
  /** Which revision this is; 0: as first published. */
  revision: number;
  /** Edits so far. */
  revisions: number;
  /** This revision is a deletion; its content is null. */
  deleted: boolean;
  /** The text; null where the revision is a deletion, or was published with null. */
  content: string | null;
  /** The calls of an assistant's message. */
  tool_calls: Array<ToolCall>;
  /** Content parts that are no text, by type. */
  other_parts: Record<string, number>;
  /** What of the text this is, as [from, to]; empty: no line of it. */
  lines: Array<number>;
  lines_total: number;
  /** Of the revision. */
  event_seq: number;
}

/** The body of precis.summary.get; it has no members. */
export interface SummaryRequest {
}

/** The answer of precis.summary.get: the members of the record, and what became of it. */
export interface SummaryReply {
  thread_id: string;
  partition: number;
  /** The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records. */
  first_event_seq: number;
  /** The EVENTS sequence at which it was decided. */
  event_seq: number;
  /** When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known. */
  event_at: string | null;
  /** The partition's last applied EVENTS sequence when it took effect. */
  effective_seq: number;
  /** The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are. */
  step: HeadStep;
  /** Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition. */
  chain_seq: number;
  /** Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain. */
  chain: string;
  /** By a hash of what it was made from and how: the same work at the same place in the log has the same id wherever and however often it is done. */
  id: SummaryId;
  /** The newest message when it was decided. */
  as_of_message_id: MessageId | null;
  kind: Kind;
  slot: Slot;
  /** 0 made from messages, higher from summaries. */
  level: number;
  /** Whether prompts use it now. */
  current: boolean;
  version: Version;
  /** The summary it takes the place of. */
  replaces: SummaryId | null;
  source_message_ids: MessageIds;
  source_summary_ids: SummaryIds;
  source_digest: SourceDigest;
  /** The text, ready to stand where its sources stood. */
  content: string;
  /** For tool_result by rules: the same in fields. */
  tool_summary: SummaryCreatedToolSummary | null;
  /** Tokens of what stood in the prompt in its place: of a tool output that has a summary, the summary's. */
  token_count_before: number;
  token_count_after: number;
  tokenizer: string;
  /** Unicode code points of the originals: of the messages themselves, also where a summary of theirs stood in the prompt. */
  chars_before: number;
  chars_after: number;
  method: "rules" | "llm" | "truncation";
  /** Why it is not the method the policy asked for. */
  fallback_reason: string | null;
  provider: string | null;
  model: string | null;
  prompt_version: string | null;
  rules_version: string | null;
  policy: string;
  /** Hash of the settings that can change the result. */
  policy_fingerprint: string;
  /** The policy's name that an event asked for and nobody knows. */
  policy_unresolved: string | null;
  trigger: Trigger;
  usage: Usage;
  cost: Cost;
  /** Stream time of the deciding event for rules, the clock for models. */
  created_at: string;
  expires_at: string | null;
  /** Whether prompts may use it. */
  status: "active" | "stale" | "replaced";
  /** The summary in its place. */
  replaced_by: string | null;
  /** What made it stale; null where nothing has. */
  invalidated: SummaryInvalidated | null;
}

/** The answer of POST /v1/threads/{thread}/events: all of them are stored. */
export interface EventsReply {
  /** Their sequences in EVENTS, in the order of the request. */
  event_seqs: Array<number>;
  /** The highest: a min_event_seq for what is asked next. */
  event_seq: number;
}

/** The answer of GET /v1/threads/{thread}/rejections. */
export interface RejectionsReply {
  /** The first 1,000 behind a sequence, in order. */
  rejections: Array<Rejection>;
}

/** A rejected event of a thread: the members of event.rejected, and its place. */
export interface Rejection {
  code: "invalid_json" | "schema" | "thread_mismatch" | "type_mismatch" | "message_conflict" | "unknown_message" | "too_large";
  /** For people. */
  message: string;
  /** A member's path, a header's name or subject; null for the event as a whole. */
  field: string | null;
  /** As published: what EVENTS stores without the partition. */
  subject: string;
  stream_seq: number;
  headers: Record<string, Array<string>>;
  body_base64: string | null;
  /** Lower-case hex, where the body did not fit. */
  body_sha256: string | null;
  /** Only where the subject is not valid UTF-8, which subject then shows with U+FFFD. */
  subject_base64?: string;
  /** Only where a header is not valid UTF-8: all headers, names and values in base64. */
  headers_base64?: Record<string, Array<string>>;
  /** Its sequence in REJECTED. */
  seq: number;
  /** When it was stored there. */
  rejected_at: string;
}

/** An error of the HTTP API (RFC 9457). */
export interface Problem {
  /** The same for every problem of a title. */
  type: string;
  title: string;
  /** That of the answer. */
  status: number;
  /** What is wrong, and what to do. */
  detail: string;
  /** The events that are refused; none of the request is stored then. */
  rejections?: Array<RefusedEvent>;
}

/** An event of a request that can't be accepted. */
export interface RefusedEvent {
  /** Its place in the request, from 0. */
  index: number;
  /** As of event.rejected. */
  code: string;
  /** The member that is wrong; null for the event as a whole. */
  field: string | null;
  message: string;
}
