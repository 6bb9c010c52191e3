package ui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/retry"
)

const (
	// shownRejections is how many a page has.
	shownRejections = 50
	// previewBytes of a rejected event are shown.
	previewBytes = 2000
	// lookedThrough bounds the rejections that are read to find those of a prefix.
	lookedThrough = 2000
)

// rejectionsBody is a list of rejections, the latest first.
type rejectionsBody struct {
	List    []rejection
	Thread  string
	Older   string // the address of earlier ones
	Newest  string
	Total   uint64
	Retried uint64 // the sequence of EVENTS of what was published again; 0: nothing was
	Acts    bool
}

type rejection struct {
	Seq     uint64
	At      time.Time
	Thread  string // empty: can't be told
	Agent   string // of the event, where it says so
	Type    string
	Preview string
	events.Rejected
}

func (u *UI) rejections(r *http.Request, v *Viewer) (*page, error) {
	ctx, cancel := context.WithTimeout(r.Context(), lookFor)
	defer cancel()
	in := r.URL.Query()
	b := &rejectionsBody{Thread: in.Get("thread"), Acts: v.Acts()}
	b.Retried, _ = strconv.ParseUint(in.Get("retried"), 10, 64) // anything but a number counts as 0
	if b.Thread != "" {
		if !v.Covers(b.Thread) {
			return nil, &failure{http.StatusForbidden, "The token " + v.Name + " is not for that thread."}
		}
		return u.rejectionsOf(ctx, b)
	}
	at, err := u.history.rejected.State(ctx)
	if err != nil {
		return nil, err
	}
	b.Total = at.Msgs
	from, err := strconv.ParseUint(in.Get("before"), 10, 64)
	if err != nil || from > at.Last {
		from = at.Last + 1
	} else {
		b.Newest = Path + "rejections"
	}
	low := from
	for looked := 0; low > at.First && low > 1 && len(b.List) < shownRejections && looked < lookedThrough; {
		n := min(shownRejections, low-max(at.First, 1))
		low, looked = low-n, looked+int(n)
		chunk := []rejection{}
		if err := u.readRejections(ctx, low, n, func(x rejection) { chunk = append(chunk, x) }); err != nil {
			return nil, err
		}
		for i := len(chunk) - 1; i >= 0; i-- {
			if x := chunk[i]; v.Whole() || x.Thread != "" && v.Covers(x.Thread) {
				b.List = append(b.List, x)
			}
		}
	}
	if low > max(at.First, 1) {
		b.Older = Path + "rejections?before=" + strconv.FormatUint(low, 10)
	}
	if !v.Whole() {
		b.Total = uint64(len(b.List))
	}
	return &page{Name: "rejections", Title: "Rejections", Nav: "rejections", Live: b.Newest == "", Body: b}, nil
}

// rejectionsOf lists the latest rejections of a thread.
func (u *UI) rejectionsOf(ctx context.Context, b *rejectionsBody) (*page, error) {
	client, err := api.NewClient(u.JetStream.Conn(), api.ClientOptions{Timeout: lookFor})
	if err != nil {
		return nil, err
	}
	list, err := client.Rejections(ctx, b.Thread, 0)
	if err != nil {
		return nil, err
	}
	for i := len(list) - 1; i >= 0 && len(b.List) < shownRejections; i-- {
		x := rejection{Seq: list[i].Seq, At: list[i].RejectedAt, Thread: b.Thread, Rejected: list[i].Rejected}
		u.preview(&x)
		b.List = append(b.List, x)
	}
	b.Total = uint64(len(list))
	return &page{Name: "rejections", Title: "Rejections of " + b.Thread, Nav: "rejections", Live: true, Body: b}, nil
}

func (u *UI) readRejections(ctx context.Context, from, n uint64, each func(rejection)) error {
	for next, end := from, from+n; next < end; {
		begin := next
		err := u.history.rejected.Several(ctx, next, int(end-next), func(m broker.Stored) {
			if next = m.Seq + 1; m.Seq < end {
				each(u.rejection(m))
			}
		})
		if err != nil {
			return err
		}
		if next > begin {
			continue
		}
		m, err := u.history.rejected.Get(ctx, next)
		if err == nil {
			each(u.rejection(m))
		} else if !errors.Is(err, broker.ErrGone) {
			return err
		}
		next++
	}
	return nil
}

func (u *UI) rejection(m broker.Stored) rejection {
	x := rejection{Seq: m.Seq, At: m.Time}
	if _, token, ok := events.ParseSubject(m.Subject); ok {
		x.Thread, _ = events.ThreadOf(token) // the place for events of no thread is none
	}
	if err := json.Unmarshal(m.Data, &x.Rejected); err != nil {
		x.Message = "The rejection can't be read."
	}
	u.preview(&x)
	return x
}

// preview fills in what the event itself says.
func (u *UI) preview(x *rejection) {
	if typ, _, ok := events.ParseSubject(x.Subject); ok {
		x.Type = string(typ)
	}
	raw, err := x.Raw()
	if err != nil {
		return // its body stands in EVENTS, or the rejection can't be read
	}
	var said struct {
		Agent string `json:"agent_id"`
	}
	if json.Unmarshal(raw.Body, &said) == nil {
		x.Agent = said.Agent
	}
	if !u.Contents {
		return
	}
	text := raw.Body[:min(len(raw.Body), previewBytes)]
	for len(text) > 0 && len(text) < len(raw.Body) && !utf8.RuneStart(raw.Body[len(text)]) {
		text = text[:len(text)-1]
	}
	x.Preview = string(text)
	if !utf8.Valid(text) {
		x.Preview = strconv.QuoteToASCII(x.Preview)
	}
	if len(text) < len(raw.Body) {
		x.Preview += " …"
	}
}

// retry publishes a rejected event again.
func (u *UI) retry(r *http.Request, v *Viewer) (*page, error) {
	if !v.Acts() || !v.Whole() { // an event may name another thread as its parent
		return nil, &failure{http.StatusForbidden, "This needs an agent's or an operator's token for all threads."}
	}
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 64)
	if err != nil || seq == 0 {
		return nil, &failure{http.StatusBadRequest, "A rejection is named by its number in REJECTED."}
	}
	ctx, cancel := context.WithTimeout(r.Context(), lookFor)
	defer cancel()
	original, err := retry.Read(ctx, u.JetStream, seq)
	var again *retry.Done
	if err == nil {
		again, err = original.Publish(ctx, u.JetStream)
	}
	if errors.Is(err, retry.ErrGone) || errors.Is(err, retry.ErrRejection) {
		return nil, &failure{http.StatusNotFound, sentence(err)}
	}
	if err != nil {
		return nil, err
	}
	u.Logger.Info().Uint64("rejection", seq).Uint64("seq", again.EventSeq).Str("token", v.Name).Msg("a rejected event was published again from a page")
	return &page{To: Path + "rejections?" + url.Values{"retried": {strconv.FormatUint(again.EventSeq, 10)}}.Encode()}, nil
}
