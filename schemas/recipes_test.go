package schemas_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nkeys"

	"precis/events"
	"precis/internal/audit"
	"precis/state"
	"precis/summarize"
)

// The worked examples of the README are what the code computes.
func TestRecipes(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	shape := events.ShapeDigest(events.ThreadMessage, events.RoleUser, nil, "")
	input := "0e" + hex.EncodeToString([]byte("thread.message")) + "04" + hex.EncodeToString([]byte("user")) + "00" + "00"
	bytes, err := hex.DecodeString(input)
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(bytes) != shape {
		t.Errorf("the shape is not sha256 over %s", input)
	}
	content := events.RevisionDigest(shape, events.TextContent("Build it."))
	sources := summarize.SourceDigest([]summarize.Source{{ID: "m1", Digest: content}})
	row := fmt.Sprintf(`[["m1",0,"%x"]]`, content)
	above := fmt.Sprintf(`[["sum_1",0,"%s"]]`, strings.Repeat("0", 64))
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(above))); summarize.SourceDigest([]summarize.Source{{ID: "sum_1"}}) != want {
		t.Errorf("a summary as a source is not hashed as %s", above)
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(row))); sources != want {
		t.Errorf("source digest %s, by the recipe %s", sources, want)
	}
	policy := summarize.KindFingerprint(summarize.Default(), events.KindToolResult)
	lines := "mode=\"rules\"\ntokenizer=\"o200k_base\"\ntool_output.max_summary_chars=800\ntool_output.max_input_chars=50000\n" +
		"tool_output.preserve_errors=true\ntool_output.include_metadata=true\n"
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(lines))); policy != want {
		t.Errorf("fingerprint %s, by the recipe %s", policy, want)
	}
	id := summarize.Identity{
		Thread: "t1", Kind: events.KindToolResult, Slot: "tool:m1", Version: 1,
		SourceDigest: sources, PolicyFingerprint: policy, Method: "rules-1",
	}.ID()
	fields := fmt.Sprintf(`["t1","tool_result","tool:m1",1,"%s","%s","rules-1",""]`, sources, policy)
	sum := sha256.Sum256([]byte(fields))
	if want := "sum_" + hex.EncodeToString(sum[:16]); id != want {
		t.Errorf("id %s, by the recipe %s", id, want)
	}
	data, chain, err := events.Seal("", map[string]any{"thread_id": "t1", "chain_seq": 1})
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(`{"chain_seq":1,"thread_id":"t1"}`))); chain != want {
		t.Errorf("chain %s, by the recipe %s", chain, want)
	}
	ends := map[string]state.Link{"t1": {ChainSeq: 1, Chain: chain}}
	ended := "t1 1 " + chain
	head := audit.Head{
		Stream: "SUMMARIES", StreamCreated: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), LastSeq: 1, Time: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC),
		Chains: 1, Records: 1, Digest: audit.ChainsDigest(ends),
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(ended+"\n"))); head.Digest != want {
		t.Errorf("head digest %s, by the recipe %s", head.Digest, want)
	}
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteUser, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	if err := head.Sign(seed); err != nil {
		t.Fatal(err)
	}
	signed, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := audit.ParseHead(signed)
	if err != nil || len(parsed.CheckSignature(head.Signer)) > 0 {
		t.Errorf("the head of the example does not verify: %v", err)
	}
	covered := fmt.Sprintf(`{"chains":1,"digest":"%s","last_seq":1,"records":1,"signer":"%s","stream":"SUMMARIES",`+
		`"stream_created":"2026-01-02T03:04:05Z","time":"2026-01-03T00:00:00Z"}`, head.Digest, head.Signer)
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	if want := base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(covered))); head.Signature != want {
		t.Errorf("signature %s, by the recipe %s", head.Signature, want)
	}
	for name, want := range map[string]string{
		"chain's end": ended, "head": string(signed), "head without signature": covered, "shape input": input, "shape": hex.EncodeToString(shape[:]), "content digest": hex.EncodeToString(content[:]),
		"sources": row, "source digest": sources, "settings": strings.TrimSpace(lines), "fingerprint": policy,
		"identity": fields, "id": id, "record": string(data),
	} {
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md has no %s: %s", name, want)
		}
	}
}
