package broker

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// MaxAtomic is the server's limit of messages per atomic batch.
const MaxAtomic = 1000

// Headers of an atomic batch (ADR-50).
const (
	headerBatchID     = "Nats-Batch-Id"
	headerBatchSeq    = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// PublishAtomic publishes 1 to MaxAtomic messages of one stream so that all are
// stored, contiguously, or none: with one sync for all of them, if
// the server syncs every write. On failure every Ack holds the same error. The
// server refuses a batch with a known Nats-Msg-Id (ErrBatchDuplicate), and one for a
// stream that does not allow batches (ErrRefused). A guard by subject must be the only one for that
// subject in the batch.
func (p *Publisher) PublishAtomic(ctx context.Context, msgs []*nats.Msg) []Ack {
	if len(msgs) == 1 {
		return p.PublishBatch(ctx, msgs)
	}
	if len(msgs) > MaxAtomic {
		return failAll(len(msgs), fmt.Errorf("%w: %d messages in an atomic batch", ErrRefused, len(msgs)))
	}
	set, prefix, release, err := p.register(1)
	if err != nil {
		return failAll(len(msgs), err)
	}
	defer release()
	lost := p.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer p.nc.RemoveStatusListener(lost)
	for i, m := range batchOf(msgs, prefix+"0") {
		if err := p.nc.PublishMsg(m); err != nil {
			// The server discards a batch that never ends.
			return failAll(len(msgs), fmt.Errorf("message %d: %w", i, classifySend(err)))
		}
	}
	return spread(set.wait(ctx, lost, p.cfg.AckTimeout)[0], len(msgs))
}

// batchOf marks copies of msgs as one batch; the server answers only its last message.
func batchOf(msgs []*nats.Msg, reply string) []*nats.Msg {
	id := nuid.Next()
	batch := make([]*nats.Msg, len(msgs))
	for i, m := range msgs {
		header := make(nats.Header, len(m.Header)+3)
		maps.Copy(header, m.Header)
		header[headerBatchID] = []string{id}
		header[headerBatchSeq] = []string{strconv.Itoa(i + 1)}
		batch[i] = &nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}
	}
	last := batch[len(batch)-1]
	last.Header[headerBatchCommit] = []string{"1"}
	last.Reply = reply
	return batch
}

// spread turns the answer to the batch into one per message: their
// sequences are contiguous, and the answer holds the last.
func spread(a Ack, n int) []Ack {
	acks := make([]Ack, n)
	for i := range acks {
		acks[i] = a
		if a.Err == nil {
			acks[i].Seq = a.Seq - uint64(n-1-i)
		}
	}
	return acks
}
