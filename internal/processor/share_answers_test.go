package processor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/api"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/broker/brokertest"
	"precis/internal/cluster"
	"precis/internal/processor"
	"precis/state"
)

// answering is a processor of a cluster that answers requests.
type answering struct {
	*processor.Processor
	stop context.CancelFunc
	ran  chan error
}

func (f *flock) serve() *answering { return f.serveOn(f.broker.URL()) }

// serveOn starts a processor that reaches the server at another address.
func (f *flock) serveOn(url string) *answering {
	f.t.Helper()
	c := *f.config
	c.DataDir, c.HTTP.Listen, c.API.Listen = f.t.TempDir(), "", f.pages
	o := processor.Options{
		Config: &c, Logger: logger(f.t), FS: state.Memory(), Lease: f.lease,
		Broker: openBrokerWith(f.t, broker.Options{URL: url, Logger: logger(f.t)}),
	}
	ctx, stop := context.WithCancel(within(f.t))
	m, started := &answering{stop: stop, ran: make(chan error, 1)}, make(chan *processor.Processor, 1)
	go func() { m.ran <- processor.Serve(ctx, o, func(p *processor.Processor) { started <- p }) }()
	select {
	case m.Processor = <-started:
	case err := <-m.ran:
		f.t.Fatal(err)
	}
	return m
}

func (m *answering) end(t *testing.T) {
	m.stop()
	if err := <-m.ran; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// shared waits until each of the processors has partitions, and all of them together have all.
func (f *flock) shared(members ...*answering) {
	f.t.Helper()
	ctx, every := within(f.t), time.NewTicker(10*time.Millisecond)
	defer every.Stop()
	for {
		total, idle := 0, false
		for _, m := range members {
			n := len(m.Owned())
			total, idle = total+n, idle || n == 0 || m.Moving()
		}
		if total == f.config.Partitions+1 && !idle {
			return
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			f.t.Fatal("the partitions are not shared")
		}
	}
}

// answers asks on a subject, and returns everything that comes back within a while after the first answer.
func (f *flock) answers(subject, body string) (list []*nats.Msg) {
	f.t.Helper()
	nc := f.broker.Conn()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(subject, inbox, []byte(body)); err != nil {
		f.t.Fatal(err)
	}
	for wait := 10 * time.Second; ; wait = 30 * time.Millisecond {
		m, err := sub.NextMsg(wait)
		if err != nil {
			return list
		}
		list = append(list, m)
	}
}

// one is the single answer to a request.
func (f *flock) one(subject, body string, into any) (code string) {
	f.t.Helper()
	list := f.answers(subject, body)
	if len(list) != 1 {
		f.t.Fatalf("%s has %d answers", subject, len(list))
	}
	if code = list[0].Header.Get("Nats-Service-Error-Code"); code == "" {
		if err := json.Unmarshal(list[0].Data, into); err != nil {
			f.t.Fatal(err)
		}
	}
	return code
}

// A processor that has taken no partition yet doesn't say that there are no threads.
func TestThreadsOfAProcessorWithoutPartitions(t *testing.T) {
	f := newFlock(t, 1)
	a := f.serve()
	f.shared(a)
	put(t, f.broker.Conn(), "thread.message.t1", `{"message_id":"m","role":"user","content":"Begin."}`)
	a.end(t)
	a = f.serve()
	defer func() { a.end(t) }()
	for refused, tries := 0, within(t); ; refused++ {
		var list api.ThreadsReply
		switch code := f.one("precis.threads.list", "", &list); {
		case tries.Err() != nil:
			t.Fatal("no answer names the thread")
		case code == "" && len(list.Partitions) == 0:
			t.Fatalf("after %d refusals: %+v", refused, list)
		case code != "" && code != "503":
			t.Fatalf("the request is refused with %s", code)
		case list.Total == 1:
			return
		}
	}
}

// A request goes to the processor that has the thread's partition, from any client, and what is in the partitions of others is in its
// answer.
func TestClusterAnswers(t *testing.T) {
	f := newFlock(t, 1)
	a := f.serve()
	f.shared(a)
	const children = 20
	put(t, f.broker.Conn(), "thread.message.parent", `{"message_id":"m","role":"user","content":"Begin."}`)
	last := uint64(0)
	for i := range children {
		last = put(t, f.broker.Conn(), fmt.Sprint("tool.result.child", i), fmt.Sprintf(`{"message_id":"m","tool_name":"bash","content":%q,"parent_thread_id":"parent"}`, longOutput(i)))
	}
	b := f.serve()
	f.shared(a, b)
	check := func() {
		t.Helper()
		after := fmt.Sprintf(`{"min_event_seq":%d}`, last)
		var parent api.ThreadReply
		if code := f.one(api.ThreadGet+"parent", after, &parent); code != "" || parent.ChildrenCount != children || parent.Descendants.Threads != children {
			t.Errorf("code %q, %d children, %d descendants", code, parent.ChildrenCount, parent.Descendants.Threads)
		}
		for i := range children {
			var child api.ThreadReply
			if code := f.one(fmt.Sprint(api.ThreadGet, "child", i), after, &child); code != "" || child.ToolResults != 1 {
				t.Errorf("child %d: code %q, %+v", i, code, child)
			}
		}
		for _, id := range f.summaries() {
			var s map[string]any
			if code := f.one(api.SummaryGet+id, "", &s); code != "" || s["id"] != id {
				t.Errorf("summary %s: code %q, %v", id, code, s["id"])
			}
		}
		if code := f.one(api.SummaryGet+"sum_none", "", nil); code != "404" {
			t.Errorf("a summary that does not exist: code %q", code)
		}
		if code := f.one(api.ThreadGet+"none", "", nil); code != "404" {
			t.Errorf("a thread that does not exist: code %q", code)
		}
	}
	check()
	a.end(t)
	f.shared(b)
	check()
	b.end(t)
}

// longOutput is a tool output that is summarized.
func longOutput(i int) string {
	var text []byte
	for line := range 100 {
		text = fmt.Appendf(text, "line %d of output %d: nothing to see\n", line, i)
	}
	return string(text)
}

// summaries lists the ids of the summaries on record.
func (f *flock) summaries() (ids []string) {
	err := broker.NewLogReader(f.broker.JetStream(), broker.StreamSummaries).Scan(within(f.t), 1, []string{"summary.created.*"}, func(m broker.Stored) error {
		var s events.Summary
		if err := json.Unmarshal(m.Data, &s); err != nil {
			return err
		}
		ids = append(ids, s.ID)
		return nil
	}, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if len(ids) == 0 {
		f.t.Error("no summary is on record")
	}
	return ids
}

// A processor that has given partitions up, or has none, is not behind with them, and no series tells how they stood.
func TestSeriesOfGivenUpPartitions(t *testing.T) {
	f := newFlock(t, 1)
	f.lease = time.Second
	first := f.serve()
	f.shared(first)
	for n := range 20 {
		put(t, f.broker.Conn(), fmt.Sprint("tool.result.t", n), toolResult("m", 10))
	}
	second := f.serve()
	f.shared(first, second)
	for _, m := range []*answering{first, second} {
		for name, more := range map[string]int{"precis_lag_messages": 1, "precis_outbox_rows": 0, "precis_position": 0} { // and events that are not read
			await(t, "series of the partitions that "+name+" is to have", func() bool {
				families, err := m.Registry().Gather()
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for _, family := range families {
					if family.GetName() == name {
						n = len(family.GetMetric())
					}
				}
				return n <= len(m.Owned())+more && (more == 0 || n == len(m.Owned())+more)
			})
		}
	}
	second.end(t)
	first.end(t)
}

// The owner of partitions dies, and clients ask at once, while its lease has yet to end: each request has one answer, late, by the next owner, and
// that answer has everything that was published before; or it is 503, to be asked again.
func TestDeadOwnersRequestsAreAnswered(t *testing.T) {
	for _, standbys := range []int{1, 0} {
		t.Run(fmt.Sprint("standbys=", standbys), func(t *testing.T) {
			t.Parallel()
			f := newFlock(t, 1)
			f.config.Cluster.Standbys, f.lease = standbys, cluster.DefaultLease
			faults := brokertest.StartFaults(t, f.broker.URL(), 1, 0)
			a := f.serveOn(faults.URL())
			f.shared(a)
			b := f.serve()
			f.shared(a, b)
			names := f.threadsOf(a.Owned(), 1)
			for _, name := range names {
				put(t, f.broker.Conn(), "tool.result."+name, toolResult("m1", 3), toolResult("m2", 3))
			}
			if err := a.Settled(within(t)); err != nil {
				t.Fatal(err)
			}
			faults.Cut()
			began := time.Now()
			var asking sync.WaitGroup
			for _, name := range names {
				last := put(t, f.broker.Conn(), "tool.result."+name, toolResult("m3", 3))
				asking.Go(func() { f.oneAnswer(t, name, last, 3) })
			}
			asking.Wait()
			t.Logf("%d answers after %s", len(names), time.Since(began))
			b.end(t)
			faults.Restore()
			a.stop()
			if err := <-a.ran; err != nil && !errors.Is(err, processor.ErrOtherWriter) {
				t.Error(err)
			}
		})
	}
}

// oneAnswer asks for a thread as it is behind an event, when it has so many outputs: each request has one answer, though 503 may be it.
func (f *flock) oneAnswer(t *testing.T, name string, last, outputs uint64) {
	for ctx := within(t); ; {
		list := f.answers(api.ThreadGet+name, fmt.Sprintf(`{"min_event_seq":%d}`, last))
		if len(list) != 1 {
			t.Errorf("%s has %d answers: %+v", name, len(list), list)
			return
		}
		code := list[0].Header.Get("Nats-Service-Error-Code")
		if code == "503" && ctx.Err() == nil { // on a slow machine the next owner takes longer than a request is kept
			continue
		}
		var got api.ThreadReply
		if code != "" || json.Unmarshal(list[0].Data, &got) != nil || got.ToolResults != outputs {
			t.Errorf("%s: code %q, %s", name, code, list[0].Data)
		}
		return
	}
}

// All members of a cluster die, and another one comes while their leases last: it is in no plan yet, and the one that writes plans is dead. What is asked
// of it from its beginning on has an answer all the same.
func TestFirstBehindDeadMembersAnswers(t *testing.T) {
	t.Parallel()
	f := newFlock(t, 1)
	f.config.Cluster.Standbys, f.lease = 1, cluster.DefaultLease
	var dead []*answering
	var proxies []*brokertest.Faults
	for range 2 {
		faults := brokertest.StartFaults(t, f.broker.URL(), 1, 0)
		dead, proxies = append(dead, f.serveOn(faults.URL())), append(proxies, faults)
		f.shared(dead...)
	}
	names := f.threadsOf(append(dead[0].Owned(), dead[1].Owned()...), 1)
	last := map[string]uint64{}
	for _, name := range names {
		last[name] = put(t, f.broker.Conn(), "tool.result."+name, toolResult("m1", 3))
	}
	for _, m := range dead {
		if err := m.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	for _, faults := range proxies {
		faults.Cut()
	}
	next := f.serve()
	var asking sync.WaitGroup
	for _, name := range names {
		asking.Go(func() { f.oneAnswer(t, name, last[name], 1) })
	}
	asking.Wait()
	next.end(t)
	for i, m := range dead {
		proxies[i].Restore()
		m.stop()
		if err := <-m.ran; err != nil && !errors.Is(err, processor.ErrOtherWriter) {
			t.Error(err)
		}
	}
}

// The page of a thread that another processor has says which one, also where the store has rows of the thread, which a stand-by folded.
func TestPageOfAnothersThread(t *testing.T) {
	t.Parallel()
	f := newFlock(t, 1)
	f.config.Cluster.Standbys, f.config.Cluster.Snapshots = 1, 0
	a := f.serve()
	f.shared(a)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.pages = l.Addr().String()
	_ = l.Close()
	b := f.serve()
	f.shared(a, b)
	ours, others := f.threadsOf(b.Owned(), 1), f.threadsOf(a.Owned(), 1)
	for _, name := range append(ours, others...) {
		put(t, f.broker.Conn(), "tool.result."+name, toolResult("m1", 3))
	}
	visit := func(path string) (status int, body string) {
		req, err := http.NewRequestWithContext(within(t), http.MethodGet, "http://"+f.pages+"/ui/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(data)
	}
	get := func(name string) (status int, body string) { return visit("threads/" + name) }
	for _, name := range append(ours, others...) {
		until(t, name+" has no page", func() bool { status, _ := get(name); return status != http.StatusNotFound })
		status, body := get(name)
		if want := http.StatusOK; slices.Contains(ours, name) && status != want {
			t.Errorf("%s: %d: %s", name, status, body)
		}
		if slices.Contains(others, name) && (status != http.StatusMisdirectedRequest || !strings.Contains(body, "the processor "+a.Process().Owner)) {
			t.Errorf("%s of another: %d: %s", name, status, body)
		}
	}
	if status, body := visit(""); status != http.StatusOK || !strings.Contains(body, "One of 2 processors, with 3 of 6 partitions") && !strings.Contains(body, "One of 2 processors, with 2 of 6 partitions") {
		t.Errorf("the overview does not say that it is about a part: %d: %s", status, body)
	}
	other := a.Process().Owner
	if status, body := visit("partitions"); status != http.StatusOK || strings.Count(body, other) < 1+len(a.Owned()) || !strings.Contains(body, "elsewhere") || !strings.Contains(body, "followed here") {
		t.Errorf("the partitions of %s: %d: %s", other, status, body)
	}
	a.end(t)
	until(t, "the page does not say that the other left, and what moved", func() bool {
		_, body := visit("partitions")
		return strings.Contains(body, ">left<") && strings.Contains(body, other+"</span> → ") && !strings.Contains(body, "elsewhere")
	})
	b.end(t)
}
