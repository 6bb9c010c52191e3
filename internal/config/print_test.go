package config_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"precis/internal/config"
	"precis/summarize"
)

// The printed configuration loads and gives the same configuration.
func TestPrintedIsLoadable(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		cfg := drawConfig(rt)
		var out bytes.Buffer
		if err := cfg.WriteYAML(&out); err != nil {
			rt.Fatal(err)
		}
		again, err := config.Load(config.Sources{File: writeIn(t, dir, out.String())})
		if err != nil {
			rt.Fatalf("load what was printed: %v\n%s", err, out.String())
		}
		again.Origins = cfg.Origins
		if !reflect.DeepEqual(again, cfg) {
			rt.Fatalf("got %+v\nwant %+v\nfrom\n%s", again, cfg, out.String())
		}
	})
}

func drawConfig(rt *rapid.T) *config.Config {
	cfg := config.Default()
	text := rapid.OneOf(rapid.StringMatching(`[\PC\n\t]{1,12}`), rapid.SampledFrom([]string{"true", "False", "null", "NULL", "on", "no", "y"}))
	cfg.DataDir = text.Draw(rt, "data_dir")
	cfg.NATS.Creds = text.Draw(rt, "creds")
	cfg.Retention.Events = time.Duration(rapid.Int64Range(int64(time.Minute), 1<<50).Draw(rt, "retention"))
	p := &cfg.Policies[0]
	p.Name = text.Draw(rt, "name")
	p.Context.SummaryHeading = text.Draw(rt, "heading")
	p.Compaction.Trigger = drawCondition(rt, 0)
	p.ToolOutput.MaxSummaryChars = rapid.SampledFrom([]summarize.Size{summarize.Auto, 1, 700}).Draw(rt, "max_summary_chars")
	p.Compaction.MaxSummaryTokens = rapid.SampledFrom([]summarize.Size{summarize.Auto, 1, 700}).Draw(rt, "max_summary_tokens")
	p.Staleness.On = rapid.SliceOfN(rapid.SampledFrom([]string{"source", "policy", "ttl"}), 0, 3).Draw(rt, "on")
	p.Tools = []summarize.Tool{}
	for range rapid.IntRange(0, 2).Draw(rt, "tools") {
		names := rapid.SliceOfN(rapid.StringMatching(`[\PC]{0,8}x`), 0, 2)
		p.Tools = append(p.Tools, summarize.Tool{
			Match: fmt.Sprint("tool", len(p.Tools), "*"), Category: rapid.SampledFrom(summarize.Categories).Draw(rt, "category"),
			Keep: names.Draw(rt, "keep"), Drop: []string{},
		})
	}
	if rapid.Bool().Draw(rt, "own prompt") {
		p.Prompts = map[string]string{"history": "Tell " + text.Draw(rt, "prompt")}
	} else {
		p.Prompts = map[string]string{}
	}
	return cfg
}

func drawCondition(rt *rapid.T, depth int) summarize.Condition {
	kinds := []string{"tokens", "fraction", "idle", "any", "all"}
	if depth == 2 {
		kinds = kinds[:3]
	}
	switch rapid.SampledFrom(kinds).Draw(rt, "condition") {
	case "tokens":
		return summarize.Condition{Tokens: rapid.IntRange(1, 1<<30).Draw(rt, "tokens")}
	case "fraction":
		return summarize.Condition{Fraction: rapid.Float64Range(1e-9, 1).Draw(rt, "fraction")}
	case "idle":
		return summarize.Condition{Idle: time.Duration(rapid.Int64Range(1, 1<<60).Draw(rt, "idle"))}
	case "any":
		return summarize.Condition{Any: []summarize.Condition{drawCondition(rt, depth+1), drawCondition(rt, depth+1)}}
	default:
		return summarize.Condition{All: []summarize.Condition{drawCondition(rt, depth+1)}}
	}
}

func TestOriginsArePrintedAndSecretsAreNot(t *testing.T) {
	cfg := load(t, config.Sources{
		File: write(t, "policies: [{mode: llm, provider: main}]\n"),
		Env:  []string{"OPENAI_API_KEY=very-secret", "PRECIS_DATA_DIR=/srv/precis"},
	})
	var yaml, lines bytes.Buffer
	if err := cfg.WriteYAML(&yaml); err != nil {
		t.Fatal(err)
	}
	if err := cfg.WriteJSON(&lines); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# env PRECIS_DATA_DIR", "precis.yaml:1", "# default"} {
		if !strings.Contains(yaml.String(), want) {
			t.Errorf("%q is not in\n%s", want, yaml.String())
		}
	}
	if want := `{"key":"data_dir","value":"/srv/precis","origin":"env PRECIS_DATA_DIR"}`; !strings.Contains(lines.String(), want) {
		t.Errorf("%s is not in\n%s", want, lines.String())
	}
	if strings.Contains(yaml.String()+lines.String(), "very-secret") {
		t.Error("a secret was printed")
	}
}

func writeIn(t *testing.T, dir, text string) string {
	t.Helper()
	name := dir + "/precis.yaml"
	if err := writeFile(name, text); err != nil {
		t.Fatal(err)
	}
	return name
}
