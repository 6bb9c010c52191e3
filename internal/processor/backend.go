package processor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"precis/internal/broker"
	"precis/internal/roster"
	"precis/internal/service"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// The processor implements service.Backend.

// View implements service.Backend.
func (p *Processor) View(partition int) state.View { return p.store.View(partition) }

// Partitions implements service.Backend.
func (p *Processor) Partitions() int { return p.opts.Config.Partitions }

// ChildPartitions implements service.Backend.
func (p *Processor) ChildPartitions(parent string) []int { return p.store.ChildPartitions(parent) }

// Threads implements service.Backend.
func (p *Processor) Threads() *roster.Index { return p.threads }

// newThreads makes the index of threads, which reads none before it is asked.
func (p *Processor) newThreads() *roster.Index {
	return roster.New(roster.Options{
		Partitions: p.opts.Config.Partitions,
		Read: func(partition int, each func(*thread.Header) (bool, error)) error {
			if p.part(partition) == nil {
				return nil
			}
			snapshot := p.store.Snapshot(partition)
			defer snapshot.Close()
			return snapshot.HeadersAlone(each)
		},
		Policy: func(h *thread.Header) string {
			policy, _ := summarize.Resolve(p.config.Load().Policies, h.Policy, h.FirstAgentID, h.Thread)
			return policy.Name
		},
	})
}

// wrote has the index of threads note what a batch has written, unless another processor has the partition.
func (p *Processor) wrote(partition int, headers iter.Seq[*thread.Header]) {
	if p.part(partition) != nil {
		p.threads.Wrote(partition, headers)
	}
}

// Snapshot implements service.Backend.
func (p *Processor) Snapshot(partition int) *state.Snapshot { return p.store.Snapshot(partition) }

// Policies implements service.Backend.
func (p *Processor) Policies() []summarize.Policy { return p.config.Load().Policies }

// Log implements service.Backend.
func (p *Processor) Log() *broker.LogReader { return p.events }

// Records implements service.Backend.
func (p *Processor) Records() *broker.LogReader { return p.summaries }

// CaughtUp implements service.Backend.
func (p *Processor) CaughtUp() bool { return p.ready.ready() }

// Holds implements service.Backend.
func (p *Processor) Holds(partition int, seq uint64) bool {
	part := p.part(partition)
	return part != nil && part.position.now() >= seq
}

// Wait implements service.Backend.
func (p *Processor) Wait(ctx context.Context, partition int, seq uint64) error {
	part := p.part(partition)
	if part == nil {
		return errElsewhere
	}
	return p.wait(ctx, part, seq)
}

// Durable implements service.Backend.
func (p *Processor) Durable(ctx context.Context, partition int) error {
	part := p.part(partition)
	if part == nil {
		return errElsewhere
	}
	return part.position.seen(ctx)
}

// Summarize implements service.Backend.
func (p *Processor) Summarize(ctx context.Context, partition int, name, kind string) (id string, err error) {
	part := p.part(partition)
	if part == nil {
		return "", errElsewhere
	}
	// Recompute what waits first, and stale summaries that the new one would build on, a few at a time: a lane must
	// not stand still for all of it.
	for more := true; more; {
		if more, err = part.renew(ctx, renewal{thread: name}); err != nil {
			return "", err
		}
	}
	for more := true; more; {
		if more, err = answer(ctx, part, func() (bool, error) { return part.fold.Freshen(ctx, name, part.now()) }); err != nil {
			return "", err
		}
	}
	for more := true; more; {
		id, err = answer(ctx, part, func() (id string, err error) {
			id, more, err = part.fold.Summarize(ctx, name, kind, part.now())
			return id, err
		})
		if err != nil {
			return "", err
		}
	}
	return id, nil
}

// Now implements service.Backend.
func (p *Processor) Now() time.Time { return p.opts.Now() }

// Renew implements service.Backend.
func (p *Processor) Renew(partition int, name string, expired []string) {
	if part := p.part(partition); part != nil {
		part.renewals.add(renewal{name, expired})
	}
}

// gatherTimeout bounds how long a processor waits for what the others of its cluster have.
const gatherTimeout = time.Second

// askSubject is where the processors of a cluster ask each other. It lies outside precis.>, which clients may publish to.
func (p *Processor) askSubject() string { return "precis_cluster." + p.opts.Config.Cluster.Name }

// question is what a processor asks all others.
type question struct {
	Summary string   `json:"summary,omitzero"` // whether they have it
	Parents []string `json:"parents,omitzero"` // whose children they have
}

// told is what one of them says, of the partitions that it has.
type told struct {
	Member     string             `json:"member"`
	Partitions []int              `json:"partitions"`
	Found      bool               `json:"found,omitzero"`
	Children   []service.Relative `json:"children,omitzero"`
	Error      string             `json:"error,omitzero"`
}

// errMoving: no processor, or two, say that they have some partition.
var errMoving = errors.New("partitions move from one processor to another")

// here reports whether this processor answers for a partition.
func (p *Processor) here(id int) bool {
	part := p.part(id)
	return part != nil && part.current.Load() && p.shares.member.Holds(id)
}

// Place implements service.Shared.
func (p *Processor) Place(id int) service.Place {
	if p.here(id) {
		return service.Here
	}
	v := p.shares.member.View()
	owner := v.Owners[id]
	// Members learn of a change one after the other. So the one that gives a partition up waits for its next owner to be known, and
	// the one that is to have it does not rely on the one before once that may give it up: a request that both took for the other's
	// would have no answer.
	_, live := v.Members[owner]
	keeps := live && owner != v.Self && !v.Near[id]
	if v.Left[id] || v.Self != "" && (owner == v.Self || v.Planned[id] == v.Self && !keeps) {
		return service.Moving
	}
	if owner != "" {
		return service.Elsewhere
	}
	if planned := v.Planned[id]; planned != "" && planned != v.Self {
		if _, live := v.Members[planned]; live {
			return service.Elsewhere
		}
	}
	return service.Moving
}

// Silent implements service.Shared.
func (p *Processor) Silent(id int, since time.Time) bool {
	v := p.shares.member.View()
	return v.Next[id] && !v.Heard[id].After(since)
}

// Summary implements service.Shared. That there is none the processor of the partition of strays says, which has no summaries.
func (p *Processor) Summary(ctx context.Context, id string) (service.Place, error) {
	switch p.Place(p.strays()) {
	case service.Elsewhere:
		return service.Elsewhere, nil
	case service.Moving:
		return service.Here, errMoving
	}
	answers, err := p.gather(ctx, question{Summary: id})
	if err != nil {
		return service.Here, err
	}
	if slices.ContainsFunc(answers, func(a told) bool { return a.Found }) {
		return service.Elsewhere, nil
	}
	return service.Here, nil
}

// Children implements service.Shared.
func (p *Processor) Children(ctx context.Context, parents []string) (list []service.Relative, err error) {
	answers, err := p.gather(ctx, question{Parents: parents})
	if err != nil {
		return nil, &service.Fault{Code: "503", Message: err.Error() + "; retry in a second"}
	}
	for _, a := range answers {
		list = append(list, a.Children...)
	}
	return list, nil
}

// Forward implements service.Shared.
func (p *Processor) Forward(ctx context.Context, subject string, body []byte) ([]byte, *service.Fault) {
	m, err := p.broker.Conn().RequestWithContext(ctx, subject, body)
	if err != nil {
		return nil, &service.Fault{Code: "503", Message: fmt.Sprintf("ask the processor of the partition: %v; retry in a second", err)}
	}
	if code := m.Header.Get(micro.ErrorCodeHeader); code != "" {
		return nil, &service.Fault{Code: code, Message: m.Header.Get(micro.ErrorHeader)}
	}
	return m.Data, nil
}

// gather asks all other processors, until they have answered for all partitions that this one does not have.
func (p *Processor) gather(ctx context.Context, q question) ([]told, error) {
	missing := map[int]bool{}
	for _, id := range p.all() {
		missing[id] = !p.here(id)
	}
	others := func() (n int) {
		for _, is := range missing {
			if is {
				n++
			}
		}
		return n
	}
	if others() == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	nc := p.broker.Conn()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if err := nc.PublishRequest(p.askSubject(), inbox, body); err != nil {
		return nil, err
	}
	var list []told
	for others() > 0 {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: no answer for %d of them", errMoving, others())
		}
		var a told
		if err := json.Unmarshal(m.Data, &a); err != nil || a.Error != "" {
			return nil, errors.Join(err, errors.New(a.Error))
		}
		if a.Member == p.owner {
			continue
		}
		for _, id := range a.Partitions {
			if !missing[id] {
				return nil, errMoving
			}
			missing[id] = false
		}
		list = append(list, a)
	}
	return list, nil
}

// heed answers the others of the cluster until the returned function is called.
func (p *Processor) heed(svc *service.Service) (end func() error, err error) {
	sub, err := p.broker.Conn().Subscribe(p.askSubject(), func(m *nats.Msg) {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), gatherTimeout)
			defer cancel()
			a := p.tells(ctx, svc, m.Data)
			body, err := json.Marshal(a)
			if err == nil && len(body) > int(p.broker.Conn().MaxPayload()) {
				body, err = json.Marshal(told{Member: p.owner, Error: "the answer is larger than the server takes"})
			}
			if err == nil {
				err = m.Respond(body)
			}
			if err != nil {
				p.log.Warn().Err(err).Msg("another processor of the cluster has no answer")
			}
		}()
	})
	if err != nil {
		return nil, fmt.Errorf("answer the cluster: %w", err)
	}
	return sub.Unsubscribe, nil
}

// tells answers another processor.
func (p *Processor) tells(ctx context.Context, svc *service.Service, body []byte) (a told) {
	a.Member = p.owner
	var q question
	err := json.Unmarshal(body, &q)
	var mine []int
	for _, part := range p.parts() {
		if p.here(part.id) {
			mine = append(mine, part.id)
		}
	}
	if err == nil && len(q.Parents) > 0 {
		a.Children, err = svc.ChildrenHere(ctx, q.Parents, func(id int) bool { return slices.Contains(mine, id) })
	}
	for _, id := range mine {
		var has bool
		if err == nil && q.Summary != "" && id != p.strays() {
			has, err = svc.HasSummary(id, q.Summary)
			a.Found = a.Found || has
		}
	}
	if err != nil {
		a.Error = err.Error()
	}
	for _, id := range mine { // what has moved meanwhile another processor answers for
		if !p.here(id) && a.Error == "" {
			a.Error = errMoving.Error()
		}
	}
	a.Partitions = mine
	return a
}
