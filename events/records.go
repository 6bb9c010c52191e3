package events

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Head is common to all records in the SUMMARIES stream.
type Head struct {
	ThreadID      *string `json:"thread_id"` // null on config.applied and partition.claimed, which belong to a partition
	Partition     int     `json:"partition"`
	FirstEventSeq uint64  `json:"first_event_seq"` // the EVENTS sequence of the thread's first event; 0 on a partition's own records
	EventSeq      uint64  `json:"event_seq"`       // the EVENTS sequence at which the record was decided
	// EventAt is when EventSeq was stored, by the stream's clock: a sequence alone does not name an event, since a log
	// that is restored from an older backup gives it to another. Null on a partition's own records, and where it is not known.
	EventAt      *time.Time `json:"event_at"`
	EffectiveSeq uint64     `json:"effective_seq"` // the partition's last applied EVENTS sequence when it took effect
	Step         Step       `json:"step"`
	ChainSeq     uint64     `json:"chain_seq"` // counts up from 1 per thread
	Chain        string     `json:"chain,omitzero"`
}

// Step says which step of the processor decided a record. The records of a step belong to one thread, follow one another in its
// chain and are stored together; the header StepSize says how many there are.
type Step struct {
	Cause StepCause `json:"cause"`
	Index int       `json:"index"` // the record's place in the step, from 1
}

// StepCause is what made the processor take a step.
type StepCause string

// Causes of a step.
const (
	ByEvent         StepCause = "event"         // an event of the thread
	ByRequest       StepCause = "request"       // a request to the service
	ByIdle          StepCause = "idle"          // the thread has been idle for as long as its policy says
	BySweep         StepCause = "sweep"         // a summary conflicts with the configuration in force
	ByExpiry        StepCause = "expiry"        // a summary is older than its policy allows
	ByResult        StepCause = "result"        // of a job
	ByConfiguration StepCause = "configuration" // another configuration came into force
	ByClaim         StepCause = "claim"         // a processor takes the partition
	ByRecovery      StepCause = "recovery"      // a start, or an accepted loss, completes what is on record
)

// StepSize is the header that says how many records the step of a record has. Unlike Step it is not part of the sealed data: the
// number is known only once all of them are sealed.
const StepSize = "ce-stepsize"

// Summary kinds.
const (
	KindToolResult = "tool_result"
	KindCompaction = "compaction"
	KindHistory    = "history"
)

// Slots: each holds one current summary. The others are those of tool outputs, leaves and nodes.
const (
	SlotCurrent = "current"
	SlotHistory = "history"
	slotLeaf    = "leaf:"
)

// ToolSlot is the slot of a tool output's summary.
func ToolSlot(message string) string { return "tool:" + message }

// LeafSlot is the slot of a leaf, by the first message that it was made from.
func LeafSlot(message string) string { return slotLeaf + message }

// IsLeaf reports whether a slot is that of a leaf.
func IsLeaf(slot string) bool { return strings.HasPrefix(slot, slotLeaf) }

// NodeSlot is the slot of a node, by its level and the first message that it stands for.
func NodeSlot(level int, message string) string { return fmt.Sprintf("node:%d:%s", level, message) }

// SlotMessage returns the message that the slot of a tool output, a leaf or a node is named after; empty for any other slot.
func SlotMessage(slot string) string {
	kind, message, _ := strings.Cut(slot, ":")
	if kind == "node" {
		_, message, _ = strings.Cut(message, ":")
	}
	return message
}

// Methods by which a summary is made.
const (
	MethodRules      = "rules"
	MethodLLM        = "llm"
	MethodTruncation = "truncation"
)

// Why a fork began with nothing.
const (
	ForkUnknownParent  = "unknown_parent"  // the parent had no message at the fork's place in the log
	ForkUnknownMessage = "unknown_message" // the parent had no such message then
)

// Trigger reasons.
const (
	TriggerToolOutputChars  = "tool_output_chars"
	TriggerToolOutputTokens = "tool_output_tokens"
	TriggerThreadTokens     = "thread_tokens"
	TriggerThreadMessages   = "thread_messages"
	TriggerWindowFraction   = "window_fraction"
	TriggerIdle             = "idle"
	TriggerRequested        = "requested"
	TriggerRegenerated      = "regenerated"
)

// Invalidation reasons.
const (
	ReasonSourceEdited      = "source_edited"
	ReasonSourceDeleted     = "source_deleted"
	ReasonPolicyChanged     = "policy_changed"
	ReasonPromptChanged     = "prompt_changed"
	ReasonModelChanged      = "model_changed"
	ReasonTTLExpired        = "ttl_expired"
	ReasonSourceInvalidated = "source_summary_invalidated"
)

// SettingAcceptedLoss is the setting that the cause of an invalidation names where the summary rests on lost events:
// its reason is ReasonSourceDeleted, old is the sequence at which it was decided, new AcceptedLoss.EventsSeq.
const SettingAcceptedLoss = "accepted_loss"

// Actions that a policy takes on a stale or failed summary.
const (
	ActionRegenerate = "regenerate"
	ActionTrim       = "trim"
	ActionFail       = "fail"
)

// Trigger says why work was decided: the value exceeds the threshold.
type Trigger struct {
	Reason    string   `json:"reason"`
	Threshold *float64 `json:"threshold"`
	Value     *float64 `json:"value"`
}

// OrNull is a string that is null in JSON if it is empty (not applicable).
type OrNull string

// MarshalJSON writes the string, or null.
func (s OrNull) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(s))
}

// Common returns the head of a record.
func (h *Head) Common() *Head { return h }

// Record is one record of the SUMMARIES stream.
type Record interface{ Common() *Head }

// Usage is the consumption of a summary's calls.
type Usage struct {
	InputTokens       int64 `json:"input_tokens"`
	OutputTokens      int64 `json:"output_tokens"`
	CachedInputTokens int64 `json:"cached_input_tokens"` // the part of the input read from a provider's cache
	// CacheCreationInputTokens is the part of the input written to a provider's cache, which has its own price.
	CacheCreationInputTokens int64  `json:"cache_creation_input_tokens"`
	Attempts                 int    `json:"attempts"`
	LatencyMS                int64  `json:"latency_ms"`
	Source                   OrNull `json:"source"` // "provider" or "estimate"; null if no call was made or none got an answer
}

// Cost is the cost of calls; a null amount is unknown, 0 is free.
type Cost struct {
	AmountMicroUSD *int64 `json:"amount_microusd"`
	Currency       string `json:"currency"`
	PriceTable     OrNull `json:"price_table"` // null if no call was made
}

// ToolSummary is the structured form of a rule summary of a tool output.
type ToolSummary struct {
	ToolName string         `json:"tool_name"`
	Category string         `json:"category"`
	Status   string         `json:"status"` // success, error or partial
	KeyFacts []string       `json:"key_facts"`
	Metadata map[string]any `json:"metadata"`
}

// Summary is the data of summary.created: the summary record.
type Summary struct {
	Head
	ID                string       `json:"id"`
	AsOfMessageID     *string      `json:"as_of_message_id"`
	Kind              string       `json:"kind"`
	Slot              string       `json:"slot"`
	Level             int          `json:"level"`
	Current           bool         `json:"current"`
	Version           uint64       `json:"version"`
	Replaces          *string      `json:"replaces"`
	SourceMessageIDs  []string     `json:"source_message_ids"`
	SourceSummaryIDs  []string     `json:"source_summary_ids"`
	SourceDigest      string       `json:"source_digest"`
	Content           string       `json:"content"`
	ToolSummary       *ToolSummary `json:"tool_summary"`
	TokenCountBefore  int64        `json:"token_count_before"`
	TokenCountAfter   int64        `json:"token_count_after"`
	Tokenizer         string       `json:"tokenizer"`
	CharsBefore       int64        `json:"chars_before"`
	CharsAfter        int64        `json:"chars_after"`
	Method            string       `json:"method"`
	FallbackReason    *string      `json:"fallback_reason"`
	Provider          *string      `json:"provider"`
	Model             *string      `json:"model"`
	PromptVersion     *string      `json:"prompt_version"`
	RulesVersion      *string      `json:"rules_version"`
	Policy            string       `json:"policy"`
	PolicyFingerprint string       `json:"policy_fingerprint"`
	PolicyUnresolved  *string      `json:"policy_unresolved"` // the name that an event requested and no policy has
	Trigger           Trigger      `json:"trigger"`
	Usage             Usage        `json:"usage"`
	Cost              Cost         `json:"cost"`
	CreatedAt         time.Time    `json:"created_at"`
	ExpiresAt         *time.Time   `json:"expires_at"`
}

// Started is the data of summary.started: a complete job.
type Started struct {
	Head
	SummaryID         string   `json:"summary_id"`
	Kind              string   `json:"kind"`
	Slot              string   `json:"slot"`
	Version           uint64   `json:"version"`
	Trigger           Trigger  `json:"trigger"`
	SourceMessageIDs  []string `json:"source_message_ids"`
	SourceSummaryIDs  []string `json:"source_summary_ids"`
	SourceDigest      string   `json:"source_digest"`
	Policy            string   `json:"policy"`
	PolicyFingerprint string   `json:"policy_fingerprint"`
	Model             *string  `json:"model"`
	PromptVersion     *string  `json:"prompt_version"`
}

// Failed is the data of summary.failed.
type Failed struct {
	Head
	SummaryID string `json:"summary_id"`
	Kind      string `json:"kind"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	Action    string `json:"action"` // trim or fail
	Usage     Usage  `json:"usage"`
	Cost      Cost   `json:"cost"`
}

// Cause names what made a summary stale; only the field that applies is set.
type Cause struct {
	MessageID *string `json:"message_id"`
	SummaryID *string `json:"summary_id"`
	Setting   *string `json:"setting"`
	Old       *string `json:"old"`
	New       *string `json:"new"`
}

// Invalidated is the data of summary.invalidated.
type Invalidated struct {
	Head
	SummaryID string `json:"summary_id"`
	Kind      string `json:"kind"`
	Reason    string `json:"reason"`
	Cause     Cause  `json:"cause"`
	Action    string `json:"action"`
	// Meanwhile says what prompts contain until the summary is recomputed: the stale summary (MeanwhileServe), or its
	// sources (MeanwhileRaw).
	Meanwhile     string    `json:"meanwhile"`
	InvalidatedAt time.Time `json:"invalidated_at"`
}

// FailedSuperseded is the code of a summary.failed whose source, policy, prompt or model changed during the call.
const FailedSuperseded = "superseded"

// FailedTooLarge is the code of a summary.failed whose summary.created would exceed the maximum record size.
const FailedTooLarge = "too_large"

// FailedUnavailable is the code of a summary.failed whose sources could not be read.
const FailedUnavailable = "source_unavailable"

// What prompts contain until a stale summary is recomputed.
const (
	MeanwhileServe = "serve"
	MeanwhileRaw   = "raw"
)

// UsageRecord is the data of usage.recorded: one paid call.
type UsageRecord struct {
	Head
	SummaryID string `json:"summary_id"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Attempt   int    `json:"attempt"`
	Outcome   string `json:"outcome"` // used, refused, failed, superseded, unknown
	Usage     Usage  `json:"usage"`
	Cost      Cost   `json:"cost"`
}

// Claimed is the data of partition.claimed: from here on Owner alone publishes records of the partition, on condition
// that this record is still the last one of its subject.
type Claimed struct {
	Head
	Epoch          uint64 `json:"epoch"` // counts up: the claim's ChainSeq
	Owner          string `json:"owner"` // host, process id and a random part: another one for each start
	ProgramVersion string `json:"program_version"`
	RulesVersion   string `json:"rules_version"`
	Fingerprint    string `json:"fingerprint"` // of the owner's configuration, as config.applied has it
}

// Config is the data of config.applied: the configuration in force after EffectiveSeq.
type Config struct {
	Head
	ConfigVersion  int               `json:"config_version"` // 0: a record from before versions, Version() is 1
	Policies       jsontext.Value    `json:"policies"`
	Limits         jsontext.Value    `json:"limits"`
	Retention      Retention         `json:"retention"`
	Prompts        map[string]string `json:"prompts"`
	PriceTable     jsontext.Value    `json:"price_table"`
	Providers      jsontext.Value    `json:"providers"` // kind and model of each, by name
	ProgramVersion string            `json:"program_version"`
	RulesVersion   string            `json:"rules_version"`
	Fingerprint    string            `json:"fingerprint"`
	AppliedAt      time.Time         `json:"applied_at"` // the same in every partition that applies it
	// AcceptedLoss is set where an operator goes on from an EVENTS that lacks events which were applied.
	AcceptedLoss *AcceptedLoss `json:"accepted_loss"`
}

// AcceptedLoss voids the partition's records before it that took effect behind EventsSeq: they rest on events that
// EVENTS no longer holds. They keep their places in their chains, and are part of no state.
type AcceptedLoss struct {
	EventsSeq     uint64    `json:"events_seq"`     // the last EVENTS sequence that holds what was applied
	EventsDigest  OrNull    `json:"events_digest"`  // of the message there; null where it is gone
	AppliedSeq    uint64    `json:"applied_seq"`    // the last EVENTS sequence that the partition is known to have applied
	RejectedSeq   uint64    `json:"rejected_seq"`   // where REJECTED ended: up to there, what is about later events is void too
	RecordsVoided uint64    `json:"records_voided"` // of the partition, those of the acceptance itself included
	AcceptedAt    time.Time `json:"accepted_at"`    // the same in every partition
}

// Retention is how long a stream keeps its messages, as configured on the stream when the record was made.
type Retention struct {
	Events string `json:"events"` // a Go duration; "0s": no limit
}

// Rejection codes.
const (
	CodeInvalidJSON     = "invalid_json"
	CodeSchema          = "schema"
	CodeThreadMismatch  = "thread_mismatch"
	CodeTypeMismatch    = "type_mismatch"
	CodeMessageConflict = "message_conflict"
	CodeUnknownMessage  = "unknown_message"
	CodeTooLarge        = "too_large"
)

// Rejected is the data of event.rejected: the rejected event, byte for byte, and the reason.
type Rejected struct {
	Code       string              `json:"code"`
	Message    string              `json:"message"`
	Field      *string             `json:"field"`
	Subject    string              `json:"subject"`
	StreamSeq  uint64              `json:"stream_seq"`
	Headers    map[string][]string `json:"headers"`
	BodyBase64 *string             `json:"body_base64"` // null, with BodySHA256 set, if the body does not fit
	BodySHA256 *string             `json:"body_sha256"`

	// JSON can't hold invalid UTF-8: such names and values are repeated here in base64.
	SubjectBase64 *string             `json:"subject_base64,omitzero"`
	HeadersBase64 map[string][]string `json:"headers_base64,omitzero"`
}

// ConfigVersion is the version of the configurations that this program records (Config.ConfigVersion). A new key
// anywhere in the record raises it, and so does a new value or another meaning of a key: a program that takes what it
// does not know for absent decides something else than the one that wrote it.
const ConfigVersion = 6

// ErrNewerConfig: a configuration on record has something that this program does not know.
var ErrNewerConfig = errors.New("configuration on record of a newer program")

// Version is the record's version; records from before it was noted have 1.
func (c *Config) Version() int {
	if c.ConfigVersion == 0 {
		return 1
	}
	return c.ConfigVersion
}

// KnownConfig fails with ErrNewerConfig where the data of a config.applied has a version, or a member beside those of
// Config, that this program does not know. What is inside policies, limits and providers it does not look at.
func KnownConfig(data []byte) error {
	var version struct { // by itself: a newer record may have other types
		N int `json:"config_version"`
	}
	if err := json.Unmarshal(data, &version); err == nil && version.N > ConfigVersion {
		return fmt.Errorf("%w: config_version %d, this program reads up to %d", ErrNewerConfig, version.N, ConfigVersion)
	}
	err := json.Unmarshal(data, new(Config), json.RejectUnknownMembers(true))
	if at, ok := errors.AsType[*json.SemanticError](err); ok && errors.Is(err, json.ErrUnknownName) {
		return fmt.Errorf("%w: this program does not know its key %s", ErrNewerConfig, at.JSONPointer)
	}
	return err
}
