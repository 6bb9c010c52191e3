package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"precis/api"
	"precis/events"
)

// The Go client has every request, and each reply has what the raw one has.
func TestGoClient(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	client := apiClient(t, w)
	const name = "nightly/build 42"
	w.message(name, "u1", "Which test fails?")
	w.result(name, "r1", output("x"))
	w.say("thread.message", name, object{"message_id": "a1", "role": "assistant", "content": "TestTotal.", "usage": object{"input_tokens": 900, "output_tokens": 3}, "model": "m"})
	w.edit(name, "u1", "Which tests fail?")
	w.message(name, "u1", "another") // a conflict
	child := w.say("thread.message", "child", object{"message_id": "c1", "role": "user", "content": "look", "parent_thread_id": name})
	w.say("thread.forked", "fork", object{"parent_thread_id": name, "at_message_id": "a1"})
	seq := w.publish("thread.message."+token(name), nil, []byte(`{"role":"user"}`))

	ctx := within(t)
	// The child is in another partition than its parent: a reply waits for the events of its own.
	if _, err := client.Thread(ctx, "child", api.ThreadRequest{MinEventSeq: child}); err != nil {
		t.Fatal(err)
	}
	thread, err := client.Thread(ctx, name, api.ThreadRequest{MinEventSeq: seq})
	if err != nil {
		t.Fatal(err)
	}
	if thread.Messages != 2 || thread.ToolResults != 1 || thread.Edits != 1 || thread.Rejected != 2 || thread.ChildrenCount != 1 || *thread.PromptTokens == 0 {
		t.Errorf("%+v", thread)
	}
	prompt, err := client.Context(ctx, name, api.ContextRequest{Format: api.FormatAnthropic, Explain: true, Children: true, MinEventSeq: seq})
	if err != nil {
		t.Fatal(err)
	}
	if len(prompt.SummaryIDs) != 1 || prompt.Explain == nil || len(prompt.RunningThreadIDs) != 1 || !strings.Contains(string(prompt.Messages), "TestTotal.") {
		t.Errorf("%+v", prompt)
	}
	sum, err := client.Summary(ctx, prompt.SummaryIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum.ThreadID == nil || *sum.ThreadID != name || sum.Status != api.StatusActive || sum.SourceMessageIDs[0] != "r1" || sum.Content == "" || sum.Invalidated != nil {
		t.Errorf("%+v", sum)
	}
	message, err := client.Message(ctx, name, api.MessageRequest{MessageID: "r1", Lines: []int{1, 1}})
	if err != nil || *message.Content != strings.SplitAfter(output("x"), "\n")[0] {
		t.Errorf("%+v, %v", message, err)
	}
	made, err := client.Summarize(ctx, name, api.SummarizeRequest{Kind: events.KindHistory})
	if err != nil || made.Reason != api.ReasonTooLittle && made.SummaryID == "" {
		t.Errorf("%+v, %v", made, err)
	}
	rejections(ctx, t, client, name)
	list, err := client.Threads(ctx, api.ThreadsRequest{Search: name, Sort: api.SortPrompt, Limit: 1})
	if err != nil || list.Matched == 0 || list.Threads[0].ThreadID == "" {
		t.Errorf("%+v, %v", list, err)
	}

	for what, c := range map[string]struct {
		err  error
		want error
	}{
		"no thread":    {second(client.Thread(ctx, "nobody", api.ThreadRequest{})), api.ErrNotFound},
		"no id":        {second(client.Thread(ctx, "", api.ThreadRequest{})), events.ErrThreadID},
		"no format":    {second(client.Context(ctx, name, api.ContextRequest{Format: "xml"})), api.ErrBadRequest},
		"no message":   {second(client.Message(ctx, name, api.MessageRequest{MessageID: "r9"})), api.ErrNotFound},
		"no summary":   {second(client.Summary(ctx, "sum_0")), api.ErrNotFound},
		"no order":     {second(client.Threads(ctx, api.ThreadsRequest{Sort: "name"})), api.ErrBadRequest},
		"no page":      {second(client.Threads(ctx, api.ThreadsRequest{After: "x"})), api.ErrBadRequest},
		"too many":     {second(client.Threads(ctx, api.ThreadsRequest{Limit: 1001})), api.ErrBadRequest},
		"no such kind": {second(client.Summarize(ctx, name, api.SummarizeRequest{Kind: "tool_result"})), api.ErrBadRequest},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
	w.raws(name, sum.ID)
}

// A mark has the end of a long id, by which its message is found; one that ends several ids names none of them.
func TestMessageByTheEndOfItsID(t *testing.T) {
	w := begin(t, "")
	client := apiClient(t, w)
	w.message("t", "2e8846ae-d2f5-46d9-9a03-2aa32ff880f5", "first")
	w.message("t", "run-1-step-0000042", "second")
	w.message("t", "ff880f5", "short")
	seq := w.message("t", "run-2-step-0000042", "third")
	for id, want := range map[string]string{"…2ff880f5": "first", "...2ff880f5": "first", "2ff880f5": "first", "ff880f5": "short", "1-step-0000042": "second", "run-2-step-0000042": "third"} {
		m, err := client.Message(within(t), "t", api.MessageRequest{MessageID: id, MinEventSeq: seq})
		if err != nil || *m.Content != want {
			t.Errorf("%s: %+v, %v", id, m, err)
		}
	}
	for id, want := range map[string]error{"…f880f5": api.ErrNotFound, "…1ff880f5": api.ErrNotFound, "…-0000042": api.ErrBadRequest, "…": api.ErrNotFound} {
		if _, err := client.Message(within(t), "t", api.MessageRequest{MessageID: id, MinEventSeq: seq}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
	_, err := client.Message(within(t), "t", api.MessageRequest{MessageID: "…-0000042", MinEventSeq: seq})
	if err == nil || !strings.Contains(err.Error(), "run-1-step-0000042, run-2-step-0000042") {
		t.Errorf("%v names no id", err)
	}
}

// raws holds replies against their schemas that have what few have: a stale summary, a fork, a child, a deleted message.
func (w *world) raws(name, sum string) {
	seq := w.say("message.edited", name, object{"message_id": "r1", "deleted": true})
	w.thread(name, seq)
	for subject, data := range map[string]any{
		"precis.threads.list": object{"sort": "size"}, "precis.thread.get.fork": nil, "precis.thread.get.child": nil, "precis.summary.get." + sum: nil, "precis.thread.context.fork": object{"format": "gemini", "explain": true},
		"precis.thread.context." + token(name): object{"max_tokens": 1}, "precis.message.get." + token(name): object{"message_id": "r1"},
		"precis.thread.summarize." + token(name): nil,
	} {
		w.answer(subject, data)
	}
}

func second[T any](_ T, err error) error { return err }

func apiClient(t *testing.T, w *world) *api.Client {
	t.Helper()
	client, err := api.NewClient(w.nc, api.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// rejections reads those of a thread: all, those behind the first, and those of a thread without any.
func rejections(ctx context.Context, t *testing.T, client *api.Client, name string) {
	t.Helper()
	all, err := client.Rejections(ctx, name, 0)
	if err != nil || len(all) != 2 || all[0].Code != events.CodeMessageConflict || all[1].Code != events.CodeSchema {
		t.Fatalf("%+v, %v", all, err)
	}
	rest, err := client.Rejections(ctx, name, all[0].Seq)
	if err != nil || len(rest) != 1 || rest[0].Seq != all[1].Seq {
		t.Errorf("behind %d: %+v, %v", all[0].Seq, rest, err)
	}
	for what, got := range map[string][]api.Rejection{
		"behind the last": read(t, client, name, all[1].Seq), "of another": read(t, client, "other", 0), "behind the end": read(t, client, name, 1<<40),
	} {
		if len(got) != 0 {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func read(t *testing.T, client *api.Client, name string, after uint64) []api.Rejection {
	t.Helper()
	got, err := client.Rejections(within(t), name, after)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Without a processor, a request fails at once; with a deadline of its own, it holds that.
func TestGoClientWithoutProcessor(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	client := apiClient(t, w)
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Thread(short, "t", api.ThreadRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := client.Rejections(short, "t", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := api.NewClient(w.nc, api.ClientOptions{Timeout: -1}); err == nil {
		t.Error("a negative timeout is accepted")
	}
	alone, err := api.NewClient(startServer(t, nil).js.Conn(), api.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alone.Thread(within(t), "t", api.ThreadRequest{}); !errors.Is(err, api.ErrNoProcessor) {
		t.Errorf("no processor: %v", err)
	}
}

// $SRV.INFO says where the schemas are, and which version of the contract is spoken.
func TestServiceInfo(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	var info micro.Info
	if err := json.Unmarshal(w.ask("$SRV.INFO.precis", nil).body, &info); err != nil {
		t.Fatal(err)
	}
	if info.Metadata["contract_version"] != api.ContractVersion || len(info.Endpoints) != len(replies) {
		t.Errorf("%+v", info)
	}
	for _, e := range info.Endpoints {
		want := "schemas/service.json#/$defs/" + replies[strings.TrimSuffix(e.Subject, ".*")]
		if e.Metadata["reply_schema"] != want || e.Metadata["request_schema"] != strings.TrimSuffix(want, "Reply")+"Request" {
			t.Errorf("%s: %v", e.Subject, e.Metadata)
		}
		for _, address := range e.Metadata {
			schemaAt(t, strings.TrimPrefix(address, "schemas/"))
		}
	}
}
