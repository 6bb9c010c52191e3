package api

// Source is what a message of a prompt is made of.
type Source struct {
	// MessageIDs are the thread's messages that stand in it: whole, as their summary, or as a mark. A format that joins
	// what one role says in a row has several in one; a text that no message has has none.
	MessageIDs []string `json:"message_ids"`
	SummaryIDs []string `json:"summary_ids"` // of the summaries in it
	Tokens     int      `json:"tokens"`      // including provider framing
}

// Explanation says why a prompt is as it is.
type Explanation struct {
	Tokens Parts `json:"tokens"` // token_count by what takes them
	// PromptTokens is what the prompt without a limit weighs at the thread's provider, by what it reported last, as in ThreadReply;
	// null where no usage was reported.
	PromptTokens *int64             `json:"prompt_tokens"`
	Summaries    []ExplainedSummary `json:"summaries"` // those of summary_ids
	// LeftOut are messages of the thread that stand in the prompt as a mark or not at all, at most 1,000 of them. Those
	// of a compaction without room are not named one by one.
	LeftOut []LeftOut `json:"left_out"`
	// Compaction is how far the next one is.
	Compaction NextCompaction `json:"compaction"`
}

// ExplainedSummary is a summary with the messages that it stands for.
type ExplainedSummary struct {
	ID               string           `json:"summary_id"`
	Kind             string           `json:"kind"`
	Slot             string           `json:"slot"`
	SourceSummaryIDs []string         `json:"source_summary_ids"` // what it was made from itself
	MessageCount     int              `json:"message_count"`
	MessageIDs       Nullable[string] `json:"message_ids"` // through all levels; null where they are more than 1,000
	TokensBefore     int64            `json:"token_count_before"`
	TokensAfter      int64            `json:"token_count_after"`
}

// LeftOut is a message, or the summary, that a prompt does without.
type LeftOut struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// NextCompaction is what decides on the thread's next compaction, and the work under way.
type NextCompaction struct {
	Policy            string `json:"policy"`           // whose compaction.trigger decides
	RemovableTokens   int64  `json:"removable_tokens"` // what a compaction could replace now, which is what triggers count
	RemovableMessages int64  `json:"removable_messages"`
	// Jobs are those of the thread that a model works on, or that wait for one.
	Jobs []JobStatus `json:"jobs"`
}

// JobStatus is a summary in the making.
type JobStatus struct {
	SummaryID string `json:"summary_id"`
	Kind      string `json:"kind"`
	Slot      string `json:"slot"`
	Attempts  int    `json:"attempts"` // calls so far
	Calling   bool   `json:"calling"`  // one has no answer yet
}

// Parts are the tokens of a prompt by what takes them.
type Parts struct {
	System     int `json:"system"`     // system and developer messages
	Compaction int `json:"compaction"` // the current summary
	Messages   int `json:"messages"`   // what users and the assistant say, and its calls
	Outputs    int `json:"outputs"`    // results that stand whole, or as a mark
	Summaries  int `json:"summaries"`  // results that stand as their summary
	Frame      int `json:"frame"`      // what a provider adds to the prompt, and a line that opens it
}
