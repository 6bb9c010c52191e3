package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"precis/api"
	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/prompt"
)

const (
	// maxChildren bounds the children that an answer lists.
	maxChildren = 100
	// maxNamed bounds the running children that a prompt names.
	maxNamed = 20
	// fewRows is how many messages are read at a time to find the one that a thread ends with.
	fewRows = 16
)

// addTo adds what a thread cost to a sum.
func addTo(d *api.Descendants, h *thread.Header) {
	d.Threads++
	d.LLMInput += h.LLMInput
	d.LLMOutput += h.LLMOutput
	d.CostMicroUSD += h.CostMicroUSD
	d.CostUnknown += h.CostUnknown
}

// kin reads children, which may be in any partition; the store knows in which to look. Each partition is read as it is when the reading comes to it.
type kin struct {
	view  func(partition int) state.View
	where func(parent string) []int // its children may be
	read  map[int]bool              // those with something in the answer
	// others returns the children in the partitions of other processors; nil: this one has all.
	others func(ctx context.Context, parents []string) ([]Relative, error)
}

func (s *Service) kin() *kin {
	k := &kin{view: s.backend.View, where: s.backend.ChildPartitions, read: map[int]bool{}}
	if s.shared != nil {
		k.others = s.shared.Children
		k.where = func(parent string) (mine []int) {
			for _, partition := range s.backend.ChildPartitions(parent) {
				if s.place(partition) == Here {
					mine = append(mine, partition)
				}
			}
			return mine
		}
	}
	return k
}

// durable returns when what was read is durable.
func (k *kin) durable(ctx context.Context, s *Service) error {
	for partition := range k.read {
		if err := s.backend.Durable(ctx, partition); err != nil {
			return err
		}
	}
	return nil
}

// relative is a thread and where it is.
type relative struct {
	header    *thread.Header
	partition int
	away      *Relative // as another processor says; nil: it is here
}

// children returns the children of threads in the order in which they began.
func (k *kin) children(ctx context.Context, names ...string) (list []relative, err error) {
	for _, name := range names {
		if err := k.here(ctx, name, &list); err != nil {
			return nil, err
		}
	}
	for _, c := range list {
		k.read[c.partition] = true
	}
	if k.others != nil && len(names) > 0 {
		away, err := k.others(ctx, names)
		if err != nil {
			return nil, err
		}
		for i := range away {
			list = append(list, relative{away[i].Header, away[i].Partition, &away[i]})
		}
	}
	slices.SortFunc(list, func(a, b relative) int {
		return cmp.Or(cmp.Compare(a.header.FirstSeq, b.header.FirstSeq), cmp.Compare(a.header.Thread, b.header.Thread))
	})
	return list, nil
}

// here adds the children that a thread has in partitions of this processor.
func (k *kin) here(ctx context.Context, name string, list *[]relative) error {
	for _, partition := range k.where(name) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := k.view(partition).Children(name, func(h *thread.Header) (bool, error) {
			*list = append(*list, relative{header: h, partition: partition})
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// descendants sums up the children of a thread and what they have led to. Threads that name each other count once.
func (k *kin) descendants(ctx context.Context, name string, children []relative) (sum api.Descendants, err error) {
	seen := map[string]bool{name: true}
	for list := children; len(list) > 0; {
		var names []string
		for _, c := range list {
			if seen[c.header.Thread] {
				continue
			}
			seen[c.header.Thread] = true
			addTo(&sum, c.header)
			names = append(names, c.header.Thread)
		}
		if list, err = k.children(ctx, names...); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// running says whether a thread's agent is still at work: whether the thread ends with anything but what an assistant says
// without a call.
func (k *kin) running(c relative) (bool, error) {
	if c.away != nil {
		return c.away.Running, nil
	}
	view := k.view(c.partition)
	for to := c.header.Ordinals + 1; to > 1; {
		from := max(to, fewRows+1) - fewRows
		rows, err := view.Messages(c.header.Thread, from, to)
		if err != nil {
			return false, err
		}
		for _, m := range slices.Backward(rows) {
			if !m.Deleted {
				return m.Role != events.RoleAssistant || len(m.Calls()) > 0, nil
			}
		}
		to = from
	}
	return true, nil // it has nothing to end with
}

func (k *kin) child(c relative) (api.Child, error) {
	h := c.header
	running, err := k.running(c)
	return api.Child{
		ThreadID: h.Thread, AgentID: h.FirstAgentID, Running: running, Messages: h.Messages, ToolResults: h.ToolResults,
		LLMInput: h.LLMInput, LLMOutput: h.LLMOutput, CostMicroUSD: h.CostMicroUSD, CostUnknown: h.CostUnknown,
		EventSeq: h.EventSeq, LastEventAt: time.Unix(0, h.LastAt).UTC(),
	}, err
}

// lineage adds to an answer what the thread comes from, and what its agent started.
func (k *kin) lineage(ctx context.Context, h *thread.Header, r *api.ThreadReply) error {
	if h.Parent != "" {
		r.ParentThreadID = &h.Parent
	}
	children, err := k.children(ctx, h.Thread)
	if err != nil {
		return err
	}
	if r.Descendants, err = k.descendants(ctx, h.Thread, children); err != nil {
		return err
	}
	r.Children, r.ChildrenCount = []api.Child{}, len(children)
	for _, c := range children[max(len(children)-maxChildren, 0):] {
		child, err := k.child(c)
		if err != nil {
			return err
		}
		r.Children = append(r.Children, child)
	}
	return nil
}

// runningThreads returns the ids of a thread's children that still run and begin with a prefix, in the order in which they began:
// the last 1,000.
func (k *kin) runningThreads(ctx context.Context, name, prefix string) ([]string, error) {
	children, err := k.children(ctx, name)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, c := range children {
		if !strings.HasPrefix(c.header.Thread, prefix) {
			continue
		}
		running, err := k.running(c)
		if err != nil {
			return nil, err
		}
		if running {
			ids = append(ids, c.header.Thread)
		}
	}
	return ids[max(len(ids)-namedAtMost, 0):], nil
}

// naming returns a compaction with a line that names running threads: it may stand for the messages that started them. Their ids
// stand as in subjects, so that none reads as another text.
func naming(current *prompt.Summary, running []string) *prompt.Summary {
	if current == nil || len(running) == 0 {
		return current
	}
	var tokens []string
	for _, id := range running[max(len(running)-maxNamed, 0):] {
		if token, err := events.Token(id); err == nil { // the id of a thread that stands
			tokens = append(tokens, token)
		}
	}
	line := "Sub-agents that still run, by thread: " + strings.Join(tokens, ", ")
	if more := len(running) - len(tokens); more > 0 {
		line += fmt.Sprintf(", and %d more", more)
	}
	return &prompt.Summary{ID: current.ID, Content: current.Content + "\n\n" + line + "."}
}
