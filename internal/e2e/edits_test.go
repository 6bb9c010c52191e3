package e2e_test

import (
	"fmt"
	"testing"
)

// content is what the current revision of a message says; deleted for a deletion.
func (w *world) content(thread, id string) (content any, revision int64) {
	w.t.Helper()
	m := w.answer("precis.message.get."+token(thread), object{"message_id": id})
	if m["deleted"] == true {
		return "deleted", number(w.t, m, "revision")
	}
	return m["content"], number(w.t, m, "revision")
}

// A step is an event of one thread; an edit has no role.
type step struct {
	id, content string
	edit        bool
	deleted     bool
	editID, at  string
	ce          string // ce-id
}

func (w *world) step(thread string, s step) uint64 {
	w.t.Helper()
	if !s.edit {
		return w.message(thread, s.id, s.content)
	}
	data := object{"message_id": s.id}
	if s.deleted {
		data["deleted"] = true
	} else {
		data["content"] = s.content
	}
	if s.editID != "" {
		data["edit_id"] = s.editID
	}
	if s.at != "" {
		data["created_at"] = s.at
	}
	if s.ce == "" {
		return w.say("message.edited", thread, data)
	}
	return w.publish("message.edited."+token(thread), cloud("ce-id", s.ce, "ce-type", "message.edited"), encode(w.t, data))
}

func TestEdits(t *testing.T) {
	w := begin(t, "partitions: 2\nlimits: {pending_edit_events: 3}\n")
	const t1, t2 = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"
	for i, c := range []struct {
		name  string
		steps []step
		want  any // content of m
		rev   int64
		count map[string]int64
	}{
		{"an edit", []step{{id: "m", content: "a"}, {edit: true, id: "m", content: "b"}}, "b", 1, map[string]int64{"edits": 1}},
		{
			"the same edit again by its edit_id, whatever it says", []step{{id: "m", content: "a"}, {edit: true, id: "m", content: "b", editID: "e"}, {edit: true, id: "m", content: "c", editID: "e"}},
			"b", 1, map[string]int64{"edits": 1, "duplicates": 1},
		},
		{
			"the edit_id counts, not the ce-id", []step{{id: "m", content: "a"}, {edit: true, id: "m", content: "b", editID: "e1", ce: "x"}, {edit: true, id: "m", content: "c", editID: "e2", ce: "x"}},
			"c", 2, map[string]int64{"edits": 2, "duplicates": 0},
		},
		{
			"the same edit by its ce-id", []step{{id: "m", content: "a"}, {edit: true, id: "m", content: "b", ce: "x"}, {edit: true, id: "m", content: "c", ce: "x"}},
			"b", 1, map[string]int64{"edits": 1, "duplicates": 1},
		},
		{
			"the same edit by content and time", []step{{id: "m", content: "a"}, {edit: true, id: "m", content: "b", at: t1}, {edit: true, id: "m", content: "c", at: t1}, {edit: true, id: "m", content: "b", at: t1}},
			"c", 2, map[string]int64{"edits": 2, "duplicates": 1},
		},
		{
			"back and forth", []step{{id: "m", content: "a"}, {edit: true, id: "m", content: "b", at: t1}, {edit: true, id: "m", content: "a", at: t1}, {edit: true, id: "m", content: "b", at: t2}},
			"b", 3, map[string]int64{"edits": 3},
		},
		{"one that changes nothing", []step{{id: "m", content: "a"}, {edit: true, id: "m", content: "a"}}, "a", 0, map[string]int64{"edits": 0}},
		{"a deletion", []step{{id: "m", content: "a"}, {edit: true, id: "m", deleted: true}}, "deleted", 1, map[string]int64{"edits": 1, "bytes": 0, "tokens_total": 0}},
		{
			"a deletion twice", []step{{id: "m", content: "a"}, {edit: true, id: "m", deleted: true, editID: "1"}, {edit: true, id: "m", deleted: true, editID: "2"}},
			"deleted", 1, map[string]int64{"edits": 1},
		},
		{
			"deleted and restored", []step{{id: "m", content: "a"}, {edit: true, id: "m", deleted: true}, {edit: true, id: "m", content: "a", at: t2}},
			"a", 2, map[string]int64{"edits": 2, "bytes": 1},
		},
		{"emptied is not deleted", []step{{id: "m", content: "a"}, {edit: true, id: "m", content: ""}}, "", 1, map[string]int64{"edits": 1, "bytes": 0}},
		{
			"one edit_id for two messages", []step{{id: "m", content: "a"}, {id: "n", content: "a"}, {edit: true, id: "n", content: "b", editID: "e"}, {edit: true, id: "m", content: "b", editID: "e"}},
			"b", 1, map[string]int64{"edits": 2},
		},
		{"before its message", []step{{edit: true, id: "m", content: "b"}, {id: "m", content: "a"}}, "b", 1, map[string]int64{"edits": 1, "messages": 1, "rejected": 0}},
		{
			"two before their message, in order", []step{{edit: true, id: "m", content: "b"}, {edit: true, id: "m", content: "c"}, {id: "m", content: "a"}},
			"c", 2, map[string]int64{"edits": 2, "rejected": 0},
		},
		{
			"before its message, twice the same", []step{{edit: true, id: "m", content: "b", editID: "e"}, {edit: true, id: "m", content: "b", editID: "e"}, {id: "m", content: "a"}},
			"b", 1, map[string]int64{"edits": 1, "duplicates": 1, "rejected": 0},
		},
		{
			"before its message, just in time", []step{{edit: true, id: "m", content: "b"}, {id: "1"}, {id: "2"}, {id: "m", content: "a"}},
			"b", 1, map[string]int64{"edits": 1, "messages": 3, "rejected": 0},
		},
		{
			"before its message, an event too late", []step{{edit: true, id: "m", content: "b"}, {id: "1"}, {id: "2"}, {id: "3"}, {id: "m", content: "a"}},
			"a", 0, map[string]int64{"edits": 0, "messages": 4, "rejected": 1},
		},
		{
			"given up, and sent again", []step{{edit: true, id: "m", content: "b", editID: "e"}, {id: "1"}, {id: "2"}, {id: "3"}, {id: "m", content: "a"}, {edit: true, id: "m", content: "b", editID: "e"}},
			"b", 1, map[string]int64{"edits": 1, "messages": 4, "rejected": 1},
		},
		{
			"a deletion before its message", []step{{edit: true, id: "m", deleted: true}, {id: "m", content: "a"}},
			"deleted", 1, map[string]int64{"edits": 1, "messages": 1, "bytes": 0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			thread := fmt.Sprintf("edits %d", i)
			var seq uint64
			for _, s := range c.steps {
				seq = w.step(thread, s)
			}
			w.counters(thread, seq, c.count)
			if got, rev := w.content(thread, "m"); got != c.want || rev != c.rev {
				t.Errorf("m is %q in revision %d, want %q in %d", got, rev, c.want, c.rev)
			}
		})
	}
}

// An edit that nobody has sent a message for is rejected byte for byte, once, at the event that is too late.
func TestEditsOfNothing(t *testing.T) {
	w := begin(t, "partitions: 2\nlimits: {pending_edit_events: 3}\n")
	rejections := w.follow("REJECTED", ">")
	edit := bad{thread: "n", subject: "message.edited.n", header: cloud("ce-type", "message.edited", "X-Two", "1"), body: ` {"message_id" : "m", "content":"b"}`, code: "unknown_message", field: "message_id"}
	edit.header["X-Two"] = []string{"1", "2"}
	seq := w.publish(edit.subject, edit.header, []byte(edit.body))
	w.publish("thread.message.n", nil, []byte("no JSON")) // it is an event of the thread as well
	w.message("n", "1", "x")
	last := w.message("n", "1", "x")
	if code := rejections.next().data(t)["code"]; code != "invalid_json" {
		t.Errorf("first rejection is %v", code)
	}
	holdRejection(t, edit, seq, rejections.next())
	w.counters("n", last, map[string]int64{"messages": 1, "duplicates": 1, "rejected": 2, "edits": 0})
	w.eventually("metrics", func() error {
		if got := w.metrics("precis_rejected_events_total")[`code="unknown_message"`]; got != 1 {
			return fmt.Errorf("%v rejections as unknown_message, want 1", got)
		}
		return nil
	})
}
