# Generated from schemas/ by clients/gentypes. Do not edit.

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union


class ConfigApplied(TypedDict):
    """What is in force from here on in a partition. Its ce-subject and the last token of its subject are =p<partition>. Every member always stands; what does not apply is null."""

    thread_id: None
    partition: int
    # The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records.
    first_event_seq: int
    # The EVENTS sequence at which it was decided.
    event_seq: int
    # When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known.
    event_at: Union[str, None]
    # The partition's last applied EVENTS sequence when it took effect.
    effective_seq: int
    # The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are.
    step: HeadStep
    # Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition.
    chain_seq: int
    # Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain.
    chain: str
    # The version of the configuration's keys; absent in records from before it was noted, which have 1. A new key, a new value or another meaning of a key raises it. A program that meets a higher version, or a key that it does not know, can't tell what was decided by it.
    config_version: int
    # The policies, in order, as the configuration has them.
    policies: List[Dict[str, Any]]
    limits: Dict[str, Any]
    # Prompt texts by version.
    prompts: Dict[str, str]
    price_table: Union[Dict[str, Any], None]
    # The kind and model of each provider, by name: never a key.
    providers: Union[Dict[str, Dict[str, Any]], None]
    program_version: str
    rules_version: str
    # How long the streams keep what they hold, as they had it when the record was made.
    retention: ConfigAppliedRetention
    # Hash of all of the above that can change a decision.
    fingerprint: str
    # Since when it is to be in force: when the configuration was read, the same in every partition.
    applied_at: str
    # Set where an operator goes on from an EVENTS that lacks events which were applied (processor recover --accept-loss): the partition's records before this one whose effective_seq is beyond events_seq are void. They keep their places in their chains, and are part of no state.
    accepted_loss: Union[ConfigAppliedAcceptedLoss, None]


class HeadStep(TypedDict):
    """The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are."""

    # What made the processor take the step: an event of the thread; a request to the service; an idle thread; a sweep, which compares summaries with the configuration in force; the age of a summary; the result of a job; another configuration; a claim of the partition; or a recovery, which completes what is on record.
    cause: Union[Literal["event"], Literal["request"], Literal["idle"], Literal["sweep"], Literal["expiry"], Literal["result"], Literal["configuration"], Literal["claim"], Literal["recovery"]]
    # The record's place in the step.
    index: int


class ConfigAppliedRetention(TypedDict):
    """How long the streams keep what they hold, as they had it when the record was made."""

    # A Go duration (720h0m0s); 0s keeps all. What an audit misses at the start of EVENTS is excused only where a retention on record may have removed it.
    events: str


class ConfigAppliedAcceptedLoss(TypedDict):
    """Set where an operator goes on from an EVENTS that lacks events which were applied (processor recover --accept-loss): the partition's records before this one whose effective_seq is beyond events_seq are void. They keep their places in their chains, and are part of no state."""

    # The last EVENTS sequence that holds what was applied.
    events_seq: int
    # Of the message there: the first 16 bytes, in hex, of a SHA-256 over its sequence, its time in Unix nanoseconds and the length of its subject, of 8 bytes each, big-endian, its subject as stored and its data. Null where it is gone.
    events_digest: Union[str, None]
    # The last EVENTS sequence that the partition is known to have applied before.
    applied_seq: int
    # Where REJECTED ended then: what it says up to there of events beyond events_seq is void too.
    rejected_seq: int
    # How many of the partition's records are void by it.
    records_voided: int
    # The same in every partition.
    accepted_at: str


class _EventRejected(TypedDict):
    code: Union[Literal["invalid_json"], Literal["schema"], Literal["thread_mismatch"], Literal["type_mismatch"], Literal["message_conflict"], Literal["unknown_message"], Literal["too_large"]]
    # For people.
    message: str
    # A member's path, a header's name or subject; null for the event as a whole.
    field: Union[str, None]
    # As published: what EVENTS stores without the partition.
    subject: str
    stream_seq: int
    headers: Dict[str, List[str]]
    body_base64: Union[str, None]
    # Lower-case hex, where the body did not fit.
    body_sha256: Union[str, None]


class EventRejected(_EventRejected, total=False):
    """An event that can't be accepted, byte for byte, and why."""

    # Only where the subject is not valid UTF-8, which subject then shows with U+FFFD.
    subject_base64: str
    # Only where a header is not valid UTF-8: all headers, names and values in base64.
    headers_base64: Dict[str, List[str]]


class _MessageEdited(TypedDict):
    message_id: MessageId


class MessageEdited(_MessageEdited, total=False):
    """A message's content is another one from here on, or the message is deleted, or everything after it is (a rewind), or it is pinned or unpinned, which leaves its content as it is. An edit is the same edit again by its edit_id, else by its ce-id, else by what it says and created_at. Members it does not name are kept and ignored; a null optional member counts as absent."""

    # May repeat the event's type.
    type: Union[Literal["message.edited"], None]
    thread_id: ThreadId
    content: Content
    # The content as Gemini names it; read where there is no content.
    parts: Any
    # True: the message is deleted. It stands alone: beside a content other than null the edit is rejected.
    deleted: Union[bool, None]
    # True: the thread goes back to the message. Every message after it is deleted, as one event. It stands alone, as pinned does.
    rewind: Union[bool, None]
    # Pins the message, or unpins it. It stands alone: beside a content or a deletion the edit is rejected.
    pinned: Union[bool, None]
    edit_id: Union[str, None]
    agent_id: Union[str, None]
    created_at: Time

# The thread's id, 1 to 256 bytes of UTF-8; the schema can only count characters. In an event it may be left out, since the subject says it; where it stands it must be the subject's.
ThreadId = Union[str, None]

# A message's id, unique within its thread. 1 to 256 bytes of UTF-8; the schema can only count characters.
MessageId = str

# A text, nothing, or a list of parts in the shape of any provider, which are kept as they are. In texts, what is neither a text nor a result is a mark such as [image_url part].
Content = Union[str, None, List["Part"]]


class Part(TypedDict, total=False):
    """A part of any provider. One without a type is Gemini's, or a message of the Responses API."""

    type: str

# RFC 3339.
Time = Union[str, None]


class PartitionClaimed(TypedDict):
    """A processor has taken a partition: from here on it alone publishes the partition's records, each on condition that this record is still the last one of its subject. Its ce-subject and the last token of its subject are =p<partition>. It is published at each start, and where an answer of the server is lost. Every member always stands."""

    thread_id: None
    partition: int
    # The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records.
    first_event_seq: int
    # The EVENTS sequence at which it was decided.
    event_seq: int
    # When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known.
    event_at: Union[str, None]
    # The partition's last applied EVENTS sequence when it took effect.
    effective_seq: int
    # The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are.
    step: HeadStep
    # Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition.
    chain_seq: int
    # Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain.
    chain: str
    # Counts up with each claim of the partition: it is the record's chain_seq.
    epoch: int
    # The process that has claimed the partition: host, process id and a random part, another one for each start.
    owner: str
    program_version: str
    rules_version: str
    # That of the owner's configuration, as config.applied has it.
    fingerprint: str


class SummaryCreated(TypedDict):
    """The summary record. Every member always stands; what does not apply is null."""

    thread_id: str
    partition: int
    # The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records.
    first_event_seq: int
    # The EVENTS sequence at which it was decided.
    event_seq: int
    # When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known.
    event_at: Union[str, None]
    # The partition's last applied EVENTS sequence when it took effect.
    effective_seq: int
    # The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are.
    step: HeadStep
    # Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition.
    chain_seq: int
    # Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain.
    chain: str
    # By a hash of what it was made from and how: the same work at the same place in the log has the same id wherever and however often it is done.
    id: SummaryId
    # The newest message when it was decided.
    as_of_message_id: Union[MessageId, None]
    kind: Kind
    slot: Slot
    # 0 made from messages, higher from summaries.
    level: int
    # Whether prompts use it now.
    current: bool
    version: Version
    # The summary it takes the place of.
    replaces: Union[SummaryId, None]
    source_message_ids: MessageIds
    source_summary_ids: SummaryIds
    source_digest: SourceDigest
    # The text, ready to stand where its sources stood.
    content: str
    # For tool_result by rules: the same in fields.
    tool_summary: Union[SummaryCreatedToolSummary, None]
    # Tokens of what stood in the prompt in its place: of a tool output that has a summary, the summary's.
    token_count_before: int
    token_count_after: int
    tokenizer: str
    # Unicode code points of the originals: of the messages themselves, also where a summary of theirs stood in the prompt.
    chars_before: int
    chars_after: int
    method: Union[Literal["rules"], Literal["llm"], Literal["truncation"]]
    # Why it is not the method the policy asked for.
    fallback_reason: Union[str, None]
    provider: Union[str, None]
    model: Union[str, None]
    prompt_version: Union[str, None]
    rules_version: Union[str, None]
    policy: str
    # Hash of the settings that can change the result.
    policy_fingerprint: str
    # The policy's name that an event asked for and nobody knows.
    policy_unresolved: Union[str, None]
    trigger: Trigger
    usage: Usage
    cost: Cost
    # Stream time of the deciding event for rules, the clock for models.
    created_at: str
    expires_at: Union[str, None]

SummaryId = str

Kind = Union[Literal["tool_result"], Literal["compaction"], Literal["history"]]

# The place a summary holds.
Slot = str

# 1 for the first in its slot; taken when decided, never reused.
Version = int

MessageIds = List["MessageId"]

SummaryIds = List["SummaryId"]

# Over the ordered sources' ids, revisions and content digests.
SourceDigest = str


class SummaryCreatedToolSummary(TypedDict):
    """For tool_result by rules: the same in fields."""

    tool_name: str
    category: str
    status: Union[Literal["success"], Literal["error"], Literal["partial"]]
    key_facts: List[str]
    metadata: Dict[str, Any]


class Trigger(TypedDict):
    """Why work was decided; a threshold is passed by more than its value."""

    reason: Union[Literal["tool_output_chars"], Literal["tool_output_tokens"], Literal["thread_tokens"], Literal["thread_messages"], Literal["window_fraction"], Literal["idle"], Literal["requested"], Literal["regenerated"]]
    threshold: Union[float, None]
    value: Union[float, None]


class Usage(TypedDict):
    """What calls consumed; all zero where none was made, and source null then. source says whether the provider reported the counts or they are estimated."""

    input_tokens: int
    output_tokens: int
    # The part of the input that the provider's cache held.
    cached_input_tokens: int
    # The part of the input that was written to the provider's cache.
    cache_creation_input_tokens: int
    attempts: int
    latency_ms: int
    source: Union[Literal["provider"], Literal["estimate"], None]


class Cost(TypedDict):
    """What calls cost in millionths of a dollar, rounded half up per call. A null amount is unknown, 0 is free."""

    amount_microusd: Union[int, None]
    currency: Literal["USD"]
    price_table: Union[str, None]


class SummaryFailed(TypedDict):
    """A summary that was started is not made. Every member always stands; what does not apply is null."""

    thread_id: str
    partition: int
    # The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records.
    first_event_seq: int
    # The EVENTS sequence at which it was decided.
    event_seq: int
    # When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known.
    event_at: Union[str, None]
    # The partition's last applied EVENTS sequence when it took effect.
    effective_seq: int
    # The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are.
    step: HeadStep
    # Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition.
    chain_seq: int
    # Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain.
    chain: str
    summary_id: SummaryId
    kind: Kind
    # Such as superseded, source_unavailable, too_large (no record may be that large), or what the last provider said.
    code: str
    message: str
    action: Union[Literal["trim"], Literal["fail"]]
    usage: Usage
    cost: Cost


class SummaryInvalidated(TypedDict):
    """A summary that was true is not any more. Every member always stands; what does not apply is null."""

    thread_id: str
    partition: int
    # The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records.
    first_event_seq: int
    # The EVENTS sequence at which it was decided.
    event_seq: int
    # When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known.
    event_at: Union[str, None]
    # The partition's last applied EVENTS sequence when it took effect.
    effective_seq: int
    # The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are.
    step: HeadStep
    # Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition.
    chain_seq: int
    # Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain.
    chain: str
    summary_id: SummaryId
    kind: Kind
    reason: Union[Literal["source_edited"], Literal["source_deleted"], Literal["policy_changed"], Literal["prompt_changed"], Literal["model_changed"], Literal["ttl_expired"], Literal["source_summary_invalidated"]]
    # The message, the summary, or the setting with its old and new value. A rewind is the message that the thread went back to, with the setting rewind: the same for all that it invalidates.
    cause: SummaryInvalidatedCause
    action: Union[Literal["regenerate"], Literal["trim"], Literal["fail"]]
    # What stands in prompts until the summary is made again: serve, the summary itself (renewing_summary_ids of precis.thread.context names it); raw, what it was made from. serve only where a policy, a prompt, a model or an age has made it stale, and the action is regenerate; a later edit of what it was made from ends that without another record.
    meanwhile: Union[Literal["serve"], Literal["raw"]]
    invalidated_at: str


class SummaryInvalidatedCause(TypedDict):
    """The message, the summary, or the setting with its old and new value. A rewind is the message that the thread went back to, with the setting rewind: the same for all that it invalidates."""

    message_id: Union[MessageId, None]
    summary_id: Union[SummaryId, None]
    setting: Union[str, None]
    old: Union[str, None]
    new: Union[str, None]


class SummaryStarted(TypedDict):
    """A job whole, sent when work begins that outlasts its event. A summary.created or summary.failed with the same id always follows. Every member always stands; what does not apply is null."""

    thread_id: str
    partition: int
    # The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records.
    first_event_seq: int
    # The EVENTS sequence at which it was decided.
    event_seq: int
    # When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known.
    event_at: Union[str, None]
    # The partition's last applied EVENTS sequence when it took effect.
    effective_seq: int
    # The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are.
    step: HeadStep
    # Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition.
    chain_seq: int
    # Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain.
    chain: str
    summary_id: SummaryId
    kind: Kind
    slot: Slot
    version: Version
    trigger: Trigger
    source_message_ids: MessageIds
    source_summary_ids: SummaryIds
    source_digest: SourceDigest
    policy: str
    policy_fingerprint: str
    model: Union[str, None]
    prompt_version: Union[str, None]


class _ThreadForked(TypedDict):
    # The thread that is forked, 1 to 256 bytes; not the thread itself. It is not the parent_thread_id of a first message, which names the thread whose agent started this one.
    parent_thread_id: str


class ThreadForked(_ThreadForked, total=False):
    """The thread begins with another thread's messages as they stand at this event's place in the log, and with every summary that stands for nothing else. It must be the thread's first event; later changes of the parent do not reach it. A fork is the same fork again by its fork_id, else by its ce-id, else by what it says and created_at. Whoever may publish it can read the parent. Members it does not name are kept and ignored; a null optional member counts as absent."""

    # May repeat the event's type.
    type: Union[Literal["thread.forked"], None]
    thread_id: ThreadId
    # The last message that the fork begins with, 1 to 256 bytes. Absent: the parent's last one.
    at_message_id: Union[str, None]
    fork_id: Union[str, None]
    # Absent: the parent's.
    agent_id: Union[str, None]
    created_at: Time


class _ThreadMessage(TypedDict):
    message_id: MessageId


class ThreadMessage(_ThreadMessage, total=False):
    """One message of a thread. One of role tool is treated as a tool.result in everything, and may carry what a tool.result has. Members it does not name are kept and ignored; a null optional member counts as absent."""

    # May repeat the event's type, or be that of an item of the Responses API and of Anthropic's response.
    type: Union[Literal["thread.message"], Literal["message"], None]
    thread_id: ThreadId
    # model is Gemini's word for assistant; without a role its parts are the user's. function is the role of results in chat completions before tools, and in older clients of Gemini. A user's message of nothing but results of calls is treated as a tool's.
    role: Union[Literal["system"], Literal["developer"], Literal["user"], Literal["assistant"], Literal["tool"], Literal["model"], Literal["function"], None]
    content: Content
    # The content as Gemini names it; read where there is no content.
    parts: Any
    tool_calls: Union[List[Union[ToolCall, ThreadMessageToolCallsItem2, ThreadMessageToolCallsItem3]], None]
    tool_call_id: Union[str, None]
    pinned: Union[bool, None]
    agent_id: Union[str, None]
    # A policy's name; one that nobody knows is no reason to reject, the records say policy_unresolved.
    policy: Union[str, None]
    # What the provider reported for the call that made this message, in this form or as OpenAI, Anthropic and Gemini report it. On an assistant's message, input_tokens measures the thread's prompt.
    usage: Union[ThreadMessageUsage, None]
    # On a thread's first message: the thread of the agent that started this one. At most 256 bytes; empty counts as absent. It counts nowhere else, and a thread is never its own parent.
    parent_thread_id: Union[str, None]
    # The model that made this message, as its provider names it; one with a name of more than 256 bytes counts as none.
    model: Union[str, None]
    created_at: Time
    metadata: Union[Dict[str, Any], None]
    tool_name: Union[str, None]
    arguments: Arguments
    is_error: Union[bool, None]
    exit_code: Integer
    # The lines its caller is after, 1-based, both ends included; end is not before start, which the schema can't say.
    relevant_range: Union[ToolResultRelevantRange, None]


class _ToolCall(TypedDict):
    id: str
    name: str


class ToolCall(_ToolCall, total=False):
    arguments: Arguments

# A call's arguments: an object, or a string that holds one as JSON. The string's content is not checked: models write what they write.
Arguments = Union[Dict[str, Any], str, None]


class ThreadMessageToolCallsItem2(TypedDict):
    id: str
    custom: ThreadMessageToolCallsItem2Custom


class _ThreadMessageToolCallsItem2Custom(TypedDict):
    name: str


class ThreadMessageToolCallsItem2Custom(_ThreadMessageToolCallsItem2Custom, total=False):
    input: Union[Dict[str, Any], str, None]


class ThreadMessageToolCallsItem3(TypedDict):
    id: str
    function: ThreadMessageToolCallsItem3Function


class _ThreadMessageToolCallsItem3Function(TypedDict):
    name: str


class ThreadMessageToolCallsItem3Function(_ThreadMessageToolCallsItem3Function, total=False):
    arguments: Union[Dict[str, Any], str, None]


class ThreadMessageUsage(TypedDict, total=False):
    """What the provider reported for the call that made this message, in this form or as OpenAI, Anthropic and Gemini report it. On an assistant's message, input_tokens measures the thread's prompt."""

    input_tokens: Union[int, None]
    output_tokens: Union[int, None]
    # The part of input_tokens that was read from the provider's cache.
    cached_input_tokens: Union[int, None]
    # The part of input_tokens that was written to the provider's cache. Beside cache_read_input_tokens, Anthropic's, both are added to input_tokens.
    cache_creation_input_tokens: Union[int, None]

# An integer that a double holds exactly (RFC 7493, 2.2).
Integer = Union[int, None]


class ToolResultRelevantRange(TypedDict):
    """The lines its caller is after, 1-based, both ends included; end is not before start, which the schema can't say."""

    start: int
    end: int


class _ToolResult(TypedDict):
    message_id: MessageId
    content: Content


class ToolResult(_ToolResult, total=False):
    """What a tool gave back. Members it does not name are kept and ignored; a null optional member counts as absent."""

    tool_name: Union[str, None]
    arguments: Arguments
    is_error: Union[bool, None]
    exit_code: Integer
    # The lines its caller is after, 1-based, both ends included; end is not before start, which the schema can't say.
    relevant_range: Union[ToolResultRelevantRange, None]
    # May repeat the event's type.
    type: Union[Literal["tool.result"], None]
    thread_id: ThreadId
    tool_call_id: Union[str, None]
    pinned: Union[bool, None]
    agent_id: Union[str, None]
    # A policy's name; one that nobody knows is no reason to reject, the records say policy_unresolved.
    policy: Union[str, None]
    # On a thread's first message: the thread of the agent that started this one. At most 256 bytes; empty counts as absent. It counts nowhere else, and a thread is never its own parent.
    parent_thread_id: Union[str, None]
    created_at: Time
    metadata: Union[Dict[str, Any], None]


class UsageRecorded(TypedDict):
    """One paid call, also one that failed or whose result was not used. Every member always stands; what does not apply is null."""

    thread_id: str
    partition: int
    # The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records.
    first_event_seq: int
    # The EVENTS sequence at which it was decided.
    event_seq: int
    # When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known.
    event_at: Union[str, None]
    # The partition's last applied EVENTS sequence when it took effect.
    effective_seq: int
    # The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are.
    step: HeadStep
    # Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition.
    chain_seq: int
    # Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain.
    chain: str
    summary_id: SummaryId
    provider: str
    model: str
    attempt: int
    # unknown: its answer was lost, and its usage and cost are estimates of its input.
    outcome: Union[Literal["used"], Literal["refused"], Literal["failed"], Literal["superseded"], Literal["unknown"]]
    usage: Usage
    cost: Cost


class ThreadsRequest(TypedDict, total=False):
    """The body of precis.threads.list; it may be empty. What is given must hold of a thread all together."""

    # Of the threads' ids.
    prefix: Union[str, None]
    # A part of the ids; ASCII letters match in either case.
    search: Union[str, None]
    # The agent of the thread's first message; an empty one: threads whose first message names none.
    agent_id: Union[str, None]
    # The policy that serves the thread.
    policy: Union[str, None]
    # Only threads with a stale summary.
    stale: Union[bool, None]
    # The most first: of the last event's time by the second (recent), tokens_total (size), tokens_live (prompt), cost_microusd (cost) or summaries_stale (stale).
    sort: Union[Literal["recent"], Literal["size"], Literal["prompt"], Literal["cost"], Literal["stale"], Literal[""], None]
    # The least first.
    ascending: Union[bool, None]
    # The most threads of a page; 0: 100.
    limit: Union[int, None]
    # next of the page before, with the same request otherwise.
    after: Union[str, None]


class ThreadsReply(TypedDict):
    """The answer of precis.threads.list."""

    threads: List[ThreadRow]
    # after of the next page; null: this is the last one.
    next: Union[str, None]
    # Threads that the request asks for, on all pages.
    matched: int
    # Threads with the prefix.
    total: int
    # Those whose threads the answer has: all, or those of the processor that answered.
    partitions: List[int]


class ThreadRow(TypedDict):
    """A thread in a list; the numbers are those of ThreadReply."""

    thread_id: str
    partition: int
    # Of its first message; null where that names none.
    agent_id: Union[str, None]
    # The policy that serves it; none: there is no such one.
    policy: str
    # The thread whose agent started this one; null without one.
    parent_thread_id: Union[str, None]
    messages: int
    tool_results: int
    edits: int
    rejected: int
    # As in ThreadReply: texts and arguments only.
    tokens_total: int
    # As in ThreadReply: less than token_count of the thread's prompt.
    tokens_live: int
    summaries_active: int
    summaries_stale: int
    summaries_started: int
    cost_microusd: int
    calls_of_unknown_cost: int
    event_seq: int
    last_event_at: str


class ThreadRequest(TypedDict, total=False):
    """The body of precis.thread.get; it may be empty."""

    # The sequence of a publish ack: the answer waits until that event is in it.
    min_event_seq: Union[int, None]


class ThreadReply(TypedDict):
    """The answer of precis.thread.get."""

    thread_id: str
    # The partition of EVENTS that holds the thread.
    partition: int
    # Accepted messages.
    messages: int
    # Accepted tool results.
    tool_results: int
    # Accepted edits.
    edits: int
    # Events that were already known, or changed nothing.
    duplicates: int
    # Rejected events.
    rejected: int
    # Edits that wait for their message.
    waiting_edits: int
    # Tokens of all current revisions, texts and arguments only.
    tokens_total: int
    # Bytes of all current revisions, texts and arguments.
    bytes: int
    # What a compacted prompt holds now, by the policy's tokenizer: texts and arguments only. token_count of a ContextReply adds names and what a provider adds to each message and call, and is larger for the same prompt.
    tokens_live: int
    # What that prompt weighs at its provider: what the provider reported last, corrected by what the thread has gained and lost since. Null where no usage was reported.
    prompt_tokens: Union[int, None]
    # Null where no usage was reported.
    reported: Union[Reported, None]
    # Summaries that prompts may use.
    summaries_active: int
    # Summaries that no longer hold.
    summaries_stale: int
    # Summaries that are being made: summary.started without its end.
    summaries_started: int
    # What precis's own calls of models read.
    llm_input_tokens: int
    # What they wrote.
    llm_output_tokens: int
    # What they cost, in millionths of a US dollar, as far as it is known.
    cost_microusd: int
    # Calls without a price.
    calls_of_unknown_cost: int
    # The thread's last event in EVENTS.
    event_seq: int
    # The thread's last record.
    chain_seq: int
    # Its chain value; null before the first.
    chain_head: Union[str, None]
    # Where a fork comes from; null for any other thread.
    fork: Union[Lineage, None]
    # The thread whose agent started this one; null without one.
    parent_thread_id: Union[str, None]
    # The threads that this one's agent started, in the order in which they began: the last 100.
    children: List[Child]
    # How many there are.
    children_count: int
    # The children, theirs, and so on, in sum.
    descendants: Descendants


class Reported(TypedDict):
    """What a thread's provider said of its calls, in the usage of the assistant's messages."""

    # Of the last call that reported.
    message_id: str
    # Of that call, if the message names it.
    model: Union[str, None]
    # Of that call.
    usage: ProviderUsage
    calls: int
    # Of all calls.
    total: ProviderUsage


class ProviderUsage(TypedDict):
    """The usage of calls."""

    # What was read from and written to a cache included.
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_creation_input_tokens: int


class Lineage(TypedDict):
    """Where a fork comes from."""

    # Empty over HTTP where the token is not for that thread.
    parent_thread_id: str
    # Null: the parent's end.
    at_message_id: Union[str, None]
    # The parent's last event before the fork; null if it had none.
    parent_event_seq: Union[int, None]
    # Of the fork.
    event_seq: int
    # Deleted ones included.
    inherited_messages: int
    # Why it began with nothing; null if it did not.
    reason: Union[Literal["unknown_parent"], Literal["unknown_message"], None]


class Child(TypedDict):
    """A thread that another one's agent started: its first message names that thread as its parent."""

    thread_id: str
    # Of its first message.
    agent_id: str
    # The thread does not end with what its assistant says without a call. One that was given up counts as running; last_event_at tells.
    running: bool
    messages: int
    tool_results: int
    llm_input_tokens: int
    llm_output_tokens: int
    cost_microusd: int
    calls_of_unknown_cost: int
    event_seq: int
    last_event_at: Time


class Descendants(TypedDict):
    """A thread's children, theirs, and so on, in sum."""

    threads: int
    llm_input_tokens: int
    llm_output_tokens: int
    cost_microusd: int
    calls_of_unknown_cost: int


class ContextRequest(TypedDict, total=False):
    """The body of precis.thread.context; it may be empty."""

    # The most tokens that the prompt may have; 0, the default: no limit.
    max_tokens: Union[int, None]
    # The shape of the messages: precis's own, or a provider's.
    format: Union[Literal["messages"], Literal["openai"], Literal["responses"], Literal["anthropic"], Literal["gemini"], None]
    # The sequence of a publish ack: the answer waits until that event is in it.
    min_event_seq: Union[int, None]
    # Explain the prompt: explain of the reply.
    explain: Union[bool, None]
    # Name the threads that the thread's agent started and that still run: running_thread_ids of the reply, and a line behind the compaction, which may stand for the messages that started them.
    children: Union[bool, None]
    # Put null in the place of each of messages that stands without a summary, for a caller that has the thread's messages itself; sources names them.
    only_summaries: Union[bool, None]


class ContextReply(TypedDict):
    """The answer: the compacted prompt, and what it is made of."""

    # Anthropic's list of system blocks, Gemini's system instruction; else null.
    system: Union[List[Any], Dict[str, Any], None]
    # The messages, in the shape of the format; null for one that a request with only_summaries leaves out.
    messages: List[Any]
    # What the prompt weighs, by the policy's tokenizer: texts, names and arguments, and what a provider adds to each message and call. tokens_live of a ThreadReply has the texts and arguments only.
    token_count: int
    # It weighs at most max_tokens.
    within_budget: bool
    # How many messages had to go to hold max_tokens, or are gone from the log.
    dropped_count: int
    # Their ids, in the thread's order; null where they are more than 1,000, and dropped_ranges has them.
    dropped_message_ids: Union[List[str], None]
    # Null where dropped_message_ids has them.
    dropped_ranges: Union[List[DroppedRange], None]
    # The summaries in the prompt.
    summary_ids: List[str]
    # Those of summary_ids that are stale by a policy, a prompt, a model or their age, and serve until they are made again.
    renewing_summary_ids: List[str]
    # Held back until their calls' results are there.
    waiting_message_ids: List[str]
    # Parts of the messages in the prompt that the format has no counterpart of: a mark stands there instead, or nothing where it is another provider's reasoning.
    omitted_parts: List[OmittedPart]
    # Tool outputs that would stand whole (context.keep_outputs), and stand as their summaries to hold max_tokens.
    shortened_message_ids: List[str]
    # What each message of the prompt is made of, in order.
    sources: List[Source]
    # The same of system; null without one.
    system_source: Union[Source, None]
    # Null unless the request says explain.
    explain: Union[Explanation, None]
    # The threads that the thread's agent started and that still run; null unless the request says children.
    running_thread_ids: Union[List[str], None]
    # Where a fork comes from; null for any other thread.
    fork: Union[Lineage, None]
    # The thread's last event in EVENTS when the prompt was made.
    event_seq: int


class DroppedRange(TypedDict):
    """A run of dropped messages: nothing of the thread that stands in the prompt, in a summary or waits lies between the first and the last. Between two ranges something does, so that ranges are few where a prompt is small."""

    first_message_id: str
    last_message_id: str
    count: int


class OmittedPart(TypedDict):
    """A part of a message's content that the prompt does not hold."""

    message_id: str
    # In the message's list of parts, from 0; -1: a member beside the content.
    index: int
    type: str
    reason: str


class Source(TypedDict):
    """What a message of a prompt is made of."""

    # The thread's messages that stand in it: whole, as their summary, or as a mark. A format that joins what one role says in a row has several in one; a text that no message has has none.
    message_ids: List[str]
    # Of the summaries in it.
    summary_ids: List[str]
    # With what a provider adds.
    tokens: int


class Explanation(TypedDict):
    """Says why a prompt is as it is."""

    # token_count by what takes them.
    tokens: Parts
    # What the prompt without a limit weighs at the thread's provider, by what it reported last, as in the reply of precis.thread.get; null where no usage was reported.
    prompt_tokens: Union[int, None]
    # Those of summary_ids.
    summaries: List[ExplainedSummary]
    # Messages of the thread that stand in the prompt as a mark or not at all, at most 1,000 of them. Those of a compaction without room are not named one by one.
    left_out: List[LeftOut]
    # How far the next one is.
    compaction: NextCompaction


class Parts(TypedDict):
    """The tokens of a prompt by what takes them."""

    # System and developer messages.
    system: int
    # The current summary.
    compaction: int
    # What users and the assistant say, and its calls.
    messages: int
    # Results that stand whole, or as a mark.
    outputs: int
    # Results that stand as their summary.
    summaries: int
    # What a provider adds to the prompt, and a line that opens it.
    frame: int


class ExplainedSummary(TypedDict):
    """A summary with the messages that it stands for."""

    summary_id: SummaryId
    kind: Kind
    slot: Slot
    # What it was made from itself.
    source_summary_ids: List[str]
    message_count: int
    # Through all levels; null where they are more than 1,000.
    message_ids: Union[List[str], None]
    token_count_before: int
    token_count_after: int


class LeftOut(TypedDict):
    """A message, or the summary, that a prompt does without."""

    id: str
    # Why: no room (max_tokens), no longer in the log (retention), its summary is stale and the policy says trim (stale), or it waits for the results of its calls (waiting).
    reason: Union[Literal["max_tokens"], Literal["retention"], Literal["stale"], Literal["waiting"]]


class NextCompaction(TypedDict):
    """What decides on the thread's next compaction, and the work under way."""

    # Whose compaction.trigger decides.
    policy: str
    # What a compaction could replace now, which is what triggers count.
    removable_tokens: int
    removable_messages: int
    # The jobs of the thread that a model works on, or that wait for one.
    jobs: List[JobStatus]


class JobStatus(TypedDict):
    """A summary in the making."""

    summary_id: SummaryId
    kind: Kind
    slot: Slot
    # Calls so far.
    attempts: int
    # One has no answer yet.
    calling: bool


class SummarizeRequest(TypedDict, total=False):
    """The body of precis.thread.summarize; it may be empty."""

    # What to make.
    kind: Union[Literal["compaction"], Literal["history"], None]
    # The sequence of a publish ack: the summary is made behind that event.
    min_event_seq: Union[int, None]


class SummarizeReply(TypedDict):
    """The answer of precis.thread.summarize."""

    thread_id: str
    kind: Union[Literal["compaction"], Literal["history"]]
    # The summary that stands for the thread now: made on this request, or before it where there was nothing more to summarize; null where there is nothing at all. A model may still be at work on it: summary.created or summary.failed with that id follows.
    summary_id: Union[str, None]
    # The same as summary_id.
    id: Union[str, None]
    # Why there is none: the thread's policy makes none (disabled), or what it could stand for is not worth one (too_little); null where there is one.
    reason: Union[Literal["disabled"], Literal["too_little"], None]


class _MessageRequest(TypedDict):
    # The message.
    message_id: str


class MessageRequest(_MessageRequest, total=False):
    """The body of precis.message.get."""

    # Null: the current one; 0: as first published.
    revision: Union[int, None]
    # [from, to]: lines counted from 1, both included; absent or empty: all of them.
    lines: Union[List[int], None]
    # The sequence of a publish ack: the answer waits until that event is in it.
    min_event_seq: Union[int, None]


class MessageReply(TypedDict):
    """The answer of precis.message.get: the original text, which every omission mark points to."""

    thread_id: str
    message_id: str
    role: Union[Literal["system"], Literal["developer"], Literal["user"], Literal["assistant"], Literal["tool"]]
    # As the message says it, or its call.
    tool_name: Union[str, None]
    # Which revision this is; 0: as first published.
    revision: int
    # Edits so far.
    revisions: int
    # This revision is a deletion; its content is null.
    deleted: bool
    # The text; null where the revision is a deletion, or was published with null.
    content: Union[str, None]
    # The calls of an assistant's message.
    tool_calls: List[ToolCall]
    # Content parts that are no text, by type.
    other_parts: Dict[str, int]
    # What of the text this is, as [from, to]; empty: no line of it.
    lines: List[int]
    lines_total: int
    # Of the revision.
    event_seq: int


class SummaryRequest(TypedDict):
    """The body of precis.summary.get; it has no members."""

    pass


class SummaryReply(TypedDict):
    """The answer of precis.summary.get: the members of the record, and what became of it."""

    thread_id: str
    partition: int
    # The EVENTS sequence of the thread's first event, also where retention has removed it since. 0 on a partition's own records.
    first_event_seq: int
    # The EVENTS sequence at which it was decided.
    event_seq: int
    # When event_seq was stored, by the stream's clock: what tells the event from another that has its sequence in a log restored from an older backup. Null on a partition's own records, and where it is not known.
    event_at: Union[str, None]
    # The partition's last applied EVENTS sequence when it took effect.
    effective_seq: int
    # The step of the processor that decided it. The records of a step follow one another in their thread's chain and are stored together; the header ce-stepsize says how many there are.
    step: HeadStep
    # Counts up from 1 per thread; config.applied and partition.claimed are one chain per partition.
    chain_seq: int
    # Lower-case hex of sha256 over the previous record's chain, as text (the empty string for the first), and the RFC 8785 form of this data without chain.
    chain: str
    # By a hash of what it was made from and how: the same work at the same place in the log has the same id wherever and however often it is done.
    id: SummaryId
    # The newest message when it was decided.
    as_of_message_id: Union[MessageId, None]
    kind: Kind
    slot: Slot
    # 0 made from messages, higher from summaries.
    level: int
    # Whether prompts use it now.
    current: bool
    version: Version
    # The summary it takes the place of.
    replaces: Union[SummaryId, None]
    source_message_ids: MessageIds
    source_summary_ids: SummaryIds
    source_digest: SourceDigest
    # The text, ready to stand where its sources stood.
    content: str
    # For tool_result by rules: the same in fields.
    tool_summary: Union[SummaryCreatedToolSummary, None]
    # Tokens of what stood in the prompt in its place: of a tool output that has a summary, the summary's.
    token_count_before: int
    token_count_after: int
    tokenizer: str
    # Unicode code points of the originals: of the messages themselves, also where a summary of theirs stood in the prompt.
    chars_before: int
    chars_after: int
    method: Union[Literal["rules"], Literal["llm"], Literal["truncation"]]
    # Why it is not the method the policy asked for.
    fallback_reason: Union[str, None]
    provider: Union[str, None]
    model: Union[str, None]
    prompt_version: Union[str, None]
    rules_version: Union[str, None]
    policy: str
    # Hash of the settings that can change the result.
    policy_fingerprint: str
    # The policy's name that an event asked for and nobody knows.
    policy_unresolved: Union[str, None]
    trigger: Trigger
    usage: Usage
    cost: Cost
    # Stream time of the deciding event for rules, the clock for models.
    created_at: str
    expires_at: Union[str, None]
    # Whether prompts may use it.
    status: Union[Literal["active"], Literal["stale"], Literal["replaced"]]
    # The summary in its place.
    replaced_by: Union[str, None]
    # What made it stale; null where nothing has.
    invalidated: Union[SummaryInvalidated, None]


class EventsReply(TypedDict):
    """The answer of POST /v1/threads/{thread}/events: all of them are stored."""

    # Their sequences in EVENTS, in the order of the request.
    event_seqs: List[int]
    # The highest: a min_event_seq for what is asked next.
    event_seq: int


class RejectionsReply(TypedDict):
    """The answer of GET /v1/threads/{thread}/rejections."""

    # The first 1,000 behind a sequence, in order.
    rejections: List[Rejection]


class _Rejection(TypedDict):
    code: Union[Literal["invalid_json"], Literal["schema"], Literal["thread_mismatch"], Literal["type_mismatch"], Literal["message_conflict"], Literal["unknown_message"], Literal["too_large"]]
    # For people.
    message: str
    # A member's path, a header's name or subject; null for the event as a whole.
    field: Union[str, None]
    # As published: what EVENTS stores without the partition.
    subject: str
    stream_seq: int
    headers: Dict[str, List[str]]
    body_base64: Union[str, None]
    # Lower-case hex, where the body did not fit.
    body_sha256: Union[str, None]
    # Its sequence in REJECTED.
    seq: int
    # When it was stored there.
    rejected_at: str


class Rejection(_Rejection, total=False):
    """A rejected event of a thread: the members of event.rejected, and its place."""

    # Only where the subject is not valid UTF-8, which subject then shows with U+FFFD.
    subject_base64: str
    # Only where a header is not valid UTF-8: all headers, names and values in base64.
    headers_base64: Dict[str, List[str]]


class _Problem(TypedDict):
    # The same for every problem of a title.
    type: str
    title: str
    # That of the answer.
    status: int
    # What is wrong, and what to do.
    detail: str


class Problem(_Problem, total=False):
    """An error of the HTTP API (RFC 9457)."""

    # The events that are refused; none of the request is stored then.
    rejections: List[RefusedEvent]


class RefusedEvent(TypedDict):
    """An event of a request that can't be accepted."""

    # Its place in the request, from 0.
    index: int
    # As of event.rejected.
    code: str
    # The member that is wrong; null for the event as a whole.
    field: Union[str, None]
    message: str
