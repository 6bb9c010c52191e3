package summarize

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// PolicyFingerprint hashes the settings of a policy that can change the text or the counts of a summary of given
// sources. Two policies with the same fingerprint compute the same summaries, whatever their names.
//
// Not included, so that changing them makes nothing stale: name, enabled and match (which threads),
// thresholds, triggers and keep (when, and from which sources: those have their own digest), the
// context's role and heading (they surround a summary), its keep_outputs (when a summary stands in for its output), staleness itself. Provider, model
// and prompts have their own staleness reasons and enter a summary's id separately.
func PolicyFingerprint(p Policy) string {
	return hashOf(slices.Concat(shared(p), toolSettings(p), compactionSettings(p), historySettings(p)))
}

// KindFingerprint is PolicyFingerprint for the summaries of one kind ("tool_result", "compaction" or
// "history"): a new budget for histories does not make a million tool outputs stale.
func KindFingerprint(p Policy, kind string) string {
	settings := shared(p)
	switch kind {
	case "tool_result":
		settings = append(settings, toolSettings(p)...)
	case "compaction":
		settings = append(settings, compactionSettings(p)...)
	case "history":
		settings = append(settings, historySettings(p)...)
	}
	return hashOf(settings)
}

// shared are the settings that every kind depends on. Rules don't fail, so on_failure only counts
// with a model.
func shared(p Policy) []string {
	settings := []string{setting("mode", p.Mode), setting("tokenizer", p.Tokenizer)}
	if p.Mode == ModeLLM {
		settings = append(settings, setting("on_failure", p.OnFailure))
	}
	return settings
}

func toolSettings(p Policy) []string {
	t := p.ToolOutput
	settings := []string{
		setting("tool_output.max_summary_chars", t.MaxSummaryChars.fixed()),
		setting("tool_output.max_input_chars", t.MaxInputChars),
		setting("tool_output.preserve_errors", t.PreserveErrors),
		setting("tool_output.include_metadata", t.IncludeMetadata),
	}
	if r := p.Context.Retrieval; r != RetrievalCLI { // which was all there was before the key existed
		settings = append(settings, setting("context.retrieval", r))
	}
	for _, t := range p.Tools { // if there are none, the hash is that from before the key existed
		settings = append(settings, setting("tools.match", t.Match), setting("tools.category", t.Category),
			setting("tools.keep", t.Keep), setting("tools.drop", t.Drop))
	}
	return settings
}

func compactionSettings(p Policy) []string {
	settings := []string{
		setting("compaction.max_summary_tokens", p.Compaction.MaxSummaryTokens.within(p.Compaction.WindowShare())),
		setting("compaction.summarize_system", p.Compaction.SummarizeSystem),
	}
	if n := p.Compaction.MaxSummaryChars; n > 0 { // if unset, the hash is that from before the key existed
		settings = append(settings, setting("compaction.max_summary_chars", n))
	}
	return settings
}

func historySettings(p Policy) []string {
	return []string{setting("history.max_summary_tokens", p.History.MaxSummaryTokens)}
}

func setting(key string, value any) string { return fmt.Sprintf("%s=%#v", key, value) }

// hashOf is sha256 over the settings, each terminated by a newline: %#v escapes newlines in a text.
func hashOf(settings []string) string {
	h := sha256.New()
	for _, s := range settings {
		h.Write([]byte(s + "\n"))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
