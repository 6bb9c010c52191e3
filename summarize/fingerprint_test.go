package summarize_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"precis/summarize"
)

// changes lists every setting of a policy with the kinds whose summaries it can change, so that a new
// setting can't be forgotten in the fingerprint.
var changes = map[string]struct {
	change func(*summarize.Policy)
	kinds  string
}{
	"name":                          {func(p *summarize.Policy) { p.Name = "x" }, ""},
	"enabled":                       {func(p *summarize.Policy) { p.Enabled = false }, ""},
	"match.agent_id":                {func(p *summarize.Policy) { p.Match.AgentID = "x" }, ""},
	"match.thread_id":               {func(p *summarize.Policy) { p.Match.ThreadID = "x" }, ""},
	"mode":                          {func(p *summarize.Policy) { p.Mode = summarize.ModeLLM }, "tool_result compaction history"},
	"tokenizer":                     {func(p *summarize.Policy) { p.Tokenizer = "estimate" }, "tool_result compaction history"},
	"tool_output.over_chars":        {func(p *summarize.Policy) { p.ToolOutput.OverChars++ }, ""},
	"tool_output.over_tokens":       {func(p *summarize.Policy) { p.ToolOutput.OverTokens++ }, ""},
	"tool_output.max_summary_chars": {func(p *summarize.Policy) { p.ToolOutput.MaxSummaryChars++ }, "tool_result"},
	"tool_output.max_input_chars":   {func(p *summarize.Policy) { p.ToolOutput.MaxInputChars++ }, "tool_result"},
	"tool_output.preserve_errors":   {func(p *summarize.Policy) { p.ToolOutput.PreserveErrors = false }, "tool_result"},
	"tools":                         {func(p *summarize.Policy) { p.Tools = []summarize.Tool{{Match: "x"}} }, "tool_result"},
	"tool_output.include_metadata":  {func(p *summarize.Policy) { p.ToolOutput.IncludeMetadata = false }, "tool_result"},
	"compaction.trigger":            {func(p *summarize.Policy) { p.Compaction.Trigger = summarize.Condition{Tokens: 1} }, ""},
	"compaction.window":             {func(p *summarize.Policy) { p.Compaction.Window = "tokenizer" }, ""},
	"compaction.context_window":     {func(p *summarize.Policy) { p.Compaction.ContextWindow++ }, ""},
	"compaction.keep.messages":      {func(p *summarize.Policy) { p.Compaction.Keep.Messages++ }, ""},
	"compaction.keep.tokens":        {func(p *summarize.Policy) { p.Compaction.Keep.Tokens++ }, ""},
	"compaction.max_summary_tokens": {func(p *summarize.Policy) { p.Compaction.MaxSummaryTokens++ }, "compaction"},
	"compaction.summarize_system":   {func(p *summarize.Policy) { p.Compaction.SummarizeSystem = true }, "compaction"},
	"history.enabled":               {func(p *summarize.Policy) { p.History.Enabled = true }, ""},
	"history.every_messages":        {func(p *summarize.Policy) { p.History.EveryMessages++ }, ""},
	"compaction.max_summary_chars":  {func(p *summarize.Policy) { p.Compaction.MaxSummaryChars++ }, "compaction"},
	"history.max_summary_tokens":    {func(p *summarize.Policy) { p.History.MaxSummaryTokens++ }, "history"},
	"context.summary_role":          {func(p *summarize.Policy) { p.Context.SummaryRole = "system" }, ""},
	"context.summary_heading":       {func(p *summarize.Policy) { p.Context.SummaryHeading = "x" }, ""},
	"context.retrieval":             {func(p *summarize.Policy) { p.Context.Retrieval = "none" }, "tool_result"},
	"context.keep_outputs.turns":    {func(p *summarize.Policy) { p.Context.KeepOutputs.Turns++ }, ""},
	"context.keep_outputs.tokens":   {func(p *summarize.Policy) { p.Context.KeepOutputs.Tokens++ }, ""},
	"staleness.on":                  {func(p *summarize.Policy) { p.Staleness.On = nil }, ""},
	"staleness.ttl":                 {func(p *summarize.Policy) { p.Staleness.TTL = time.Hour }, ""},
	"staleness.action":              {func(p *summarize.Policy) { p.Staleness.Action = summarize.ActionFail }, ""},
	"staleness.meanwhile":           {func(p *summarize.Policy) { p.Staleness.Meanwhile = summarize.MeanwhileRaw }, ""},
	"on_failure":                    {func(p *summarize.Policy) { p.OnFailure = "fail" }, ""}, // with rules; with a model see below
	"provider":                      {func(p *summarize.Policy) { p.Provider = "x" }, ""},
	"prompts":                       {func(p *summarize.Policy) { p.Prompts = map[string]string{"history": "x"} }, ""},
}

func TestFingerprintChangesWithTheResultAlone(t *testing.T) {
	for key, c := range changes {
		t.Run(key, func(t *testing.T) {
			p := summarize.Default()
			c.change(&p)
			if reflect.DeepEqual(p, summarize.Default()) {
				t.Fatal("the case changes nothing")
			}
			for _, kind := range []string{"tool_result", "compaction", "history"} {
				got := summarize.KindFingerprint(p, kind) != summarize.KindFingerprint(summarize.Default(), kind)
				if want := strings.Contains(c.kinds, kind); got != want {
					t.Errorf("%s: changed %v, want %v", kind, got, want)
				}
			}
			got := summarize.PolicyFingerprint(p) != summarize.PolicyFingerprint(summarize.Default())
			if want := c.kinds != ""; got != want {
				t.Errorf("changed %v, want %v", got, want)
			}
		})
	}
}

// A size by the source is another setting than any number, the number of its constant included.
func TestFingerprintOfSizesBySource(t *testing.T) {
	got := map[string]summarize.Size{}
	for _, n := range []summarize.Size{summarize.Auto, 1, 800, 4000} {
		p := summarize.Default()
		p.ToolOutput.MaxSummaryChars = n
		f := summarize.KindFingerprint(p, "tool_result")
		if other, ok := got[f]; ok {
			t.Errorf("%s and %s have one fingerprint", other, n)
		}
		got[f] = n
	}
}

func TestFingerprintOfAModelCountsOnFailure(t *testing.T) {
	p := summarize.Default()
	p.Mode = summarize.ModeLLM
	strict := p
	strict.OnFailure = summarize.OnFailureFail
	if summarize.PolicyFingerprint(p) == summarize.PolicyFingerprint(strict) {
		t.Error("with a model, a failure ends in rules or in none: the results differ")
	}
}

// A stored fingerprint must be stable across program versions, or every summary would become stale.
func TestFingerprintIsStable(t *testing.T) {
	const want = "sha256:824a1af80744e03f1a84749deec02017dc83b37760e6ba76b7b227b2694ca393"
	got := summarize.PolicyFingerprint(summarize.Default())
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEverySettingIsNamed(t *testing.T) {
	for _, key := range settingKeys(reflect.TypeFor[summarize.Policy](), "") {
		if _, ok := changes[key]; !ok {
			t.Errorf("%s: can it change a result? say so above", key)
		}
	}
}

func settingKeys(typ reflect.Type, prefix string) []string {
	var keys []string
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
		field := typ.Field(i).Type
		if field.Kind() == reflect.Struct && field != reflect.TypeFor[summarize.Condition]() {
			keys = append(keys, settingKeys(field, prefix+name+".")...)
			continue
		}
		keys = append(keys, prefix+name)
	}
	return keys
}
