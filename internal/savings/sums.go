package savings

// Sums adds up turns. An amount is null if none of its turns has a known price.
type Sums struct {
	Turns       uint64 `json:"turns"`
	HeldTokens  int64  `json:"held_tokens"`  // of precis's prompts
	WholeTokens int64  `json:"whole_tokens"` // of all messages instead
	SavedTokens int64  `json:"saved_tokens"` // whole - held; negative where summaries are longer than what they stand for
	// RewrittenTokens are those of precis's prompts that had stood at the same place the turn before, and went to the
	// provider's cache again because precis changed something before them.
	RewrittenTokens int64 `json:"rewritten_tokens"`

	// Turns without a known price are in no amount.
	TurnsUnpriced       uint64 `json:"turns_of_unknown_price"`
	SavedTokensUnpriced int64  `json:"saved_tokens_of_unknown_price"`

	WholeMicroUSD  *int64 `json:"whole_microusd"`  // what prompts of all messages would cost
	HeldMicroUSD   *int64 `json:"held_microusd"`   // what precis's prompts cost
	SavedMicroUSD  *int64 `json:"saved_microusd"`  // whole - held + prefix
	PrefixMicroUSD *int64 `json:"prefix_microusd"` // of held: for RewrittenTokens
	OwnMicroUSD    int64  `json:"own_microusd"`    // precis's own calls
	OwnUnknown     uint64 `json:"own_calls_of_unknown_cost"`
	OwnInput       int64  `json:"own_input_tokens"`
	OwnOutput      int64  `json:"own_output_tokens"`
	// OwnUnpricedMicroUSD is the part of OwnMicroUSD for threads none of whose turns has a known price: NetMicroUSD leaves it out.
	OwnUnpricedMicroUSD int64  `json:"own_microusd_of_unknown_price"`
	NetMicroUSD         *int64 `json:"net_microusd"` // saved - prefix - the rest of own

	// OverWindow are the turns, included in the others, whose whole prompt the policy's context window does not take. They were
	// not saved but made possible: without precis, the agent would have had to shorten its prompt itself.
	OverWindow OverWindow `json:"over_window"`
	Reported   Reported   `json:"reported"`
}

// OverWindow is the part of sums that prompts over the context window make up.
type OverWindow struct {
	Turns         uint64 `json:"turns"`
	SavedTokens   int64  `json:"saved_tokens"`
	SavedMicroUSD int64  `json:"saved_microusd"` // of those with a known price, the prefix's cost deducted
}

// Reported sets what providers reported beside what was computed for the same turns.
type Reported struct {
	Turns        uint64 `json:"turns"` // that have usage
	InputTokens  int64  `json:"input_tokens"`
	CachedTokens int64  `json:"cached_tokens"`

	HeldTokens  int64 `json:"held_tokens"`
	HeldCached  int64 `json:"held_cached_tokens"` // as computed
	WholeTokens int64 `json:"whole_tokens"`
	WholeCached int64 `json:"whole_cached_tokens"`

	// Turns whose growth since the last report tells which prompt the provider saw.
	FitPrecis uint64 `json:"turns_like_precis"`
	FitOwn    uint64 `json:"turns_like_whole"`
}

// Sent says which prompts the agent sent: one kind if at least nine of ten turns that tell are of it.
func (r *Reported) Sent() string {
	switch all := r.FitPrecis + r.FitOwn; {
	case all == 0:
		return SentUnknown
	case 10*r.FitPrecis >= 9*all:
		return SentPrecis
	case 10*r.FitOwn >= 9*all:
		return SentOwn
	}
	return SentMixed
}

// most is the largest integer that JSON keeps exact, where sums stop.
const most = 1<<53 - 1

func add(to *int64, n int64) {
	if n > 0 && *to > most-n {
		*to = most
		return
	}
	*to = max(*to+n, -most)
}

func addTo(to **int64, n int64) {
	if *to == nil {
		*to = new(int64)
	}
	add(*to, n)
}

// turn adds a turn; p is nil if its price is unknown.
func (s *Sums) turn(t *Turn, p *priced) {
	s.Turns++
	add(&s.HeldTokens, t.Held)
	add(&s.WholeTokens, t.Whole)
	add(&s.SavedTokens, t.Whole-t.Held)
	add(&s.RewrittenTokens, t.HeldSame-t.HeldKept)
	over := t.Window > 0 && t.Whole > t.Window
	if over {
		s.OverWindow.Turns++
		add(&s.OverWindow.SavedTokens, t.Whole-t.Held)
	}
	s.Reported.turn(t)
	if p == nil {
		s.TurnsUnpriced++
		add(&s.SavedTokensUnpriced, t.Whole-t.Held)
		return
	}
	addTo(&s.WholeMicroUSD, p.whole)
	addTo(&s.HeldMicroUSD, p.held)
	addTo(&s.PrefixMicroUSD, p.prefix)
	if over {
		add(&s.OverWindow.SavedMicroUSD, p.whole-p.held)
	}
}

func (r *Reported) turn(t *Turn) {
	if t.Reported.Input == 0 {
		return
	}
	r.Turns++
	add(&r.InputTokens, t.Reported.Input)
	add(&r.CachedTokens, t.Reported.Cached)
	add(&r.HeldTokens, t.Held)
	add(&r.HeldCached, t.HeldKept)
	add(&r.WholeTokens, t.Whole)
	add(&r.WholeCached, t.WholeKept)
	switch t.Fits {
	case SentPrecis:
		r.FitPrecis++
	case SentOwn:
		r.FitOwn++
	}
}

// add adds other sums.
func (s *Sums) add(o *Sums) {
	s.Turns += o.Turns
	s.TurnsUnpriced += o.TurnsUnpriced
	s.OwnUnknown += o.OwnUnknown
	s.OverWindow.Turns += o.OverWindow.Turns
	s.Reported.Turns += o.Reported.Turns
	s.Reported.FitPrecis += o.Reported.FitPrecis
	s.Reported.FitOwn += o.Reported.FitOwn
	for _, n := range [][2]*int64{
		{&s.HeldTokens, &o.HeldTokens}, {&s.WholeTokens, &o.WholeTokens}, {&s.SavedTokens, &o.SavedTokens},
		{&s.RewrittenTokens, &o.RewrittenTokens}, {&s.SavedTokensUnpriced, &o.SavedTokensUnpriced},
		{&s.OwnMicroUSD, &o.OwnMicroUSD}, {&s.OwnUnpricedMicroUSD, &o.OwnUnpricedMicroUSD}, {&s.OwnInput, &o.OwnInput}, {&s.OwnOutput, &o.OwnOutput},
		{&s.OverWindow.SavedTokens, &o.OverWindow.SavedTokens}, {&s.OverWindow.SavedMicroUSD, &o.OverWindow.SavedMicroUSD},
		{&s.Reported.InputTokens, &o.Reported.InputTokens}, {&s.Reported.CachedTokens, &o.Reported.CachedTokens},
		{&s.Reported.HeldTokens, &o.Reported.HeldTokens}, {&s.Reported.HeldCached, &o.Reported.HeldCached},
		{&s.Reported.WholeTokens, &o.Reported.WholeTokens}, {&s.Reported.WholeCached, &o.Reported.WholeCached},
	} {
		add(n[0], *n[1])
	}
	for _, n := range []struct {
		to   **int64
		from *int64
	}{{&s.WholeMicroUSD, o.WholeMicroUSD}, {&s.HeldMicroUSD, o.HeldMicroUSD}, {&s.PrefixMicroUSD, o.PrefixMicroUSD}} {
		if n.from != nil {
			addTo(n.to, *n.from)
		}
	}
}

// end computes the amounts that follow from others. Where no turn has been, what precis spent is known all the same.
func (s *Sums) end() {
	s.SavedMicroUSD, s.NetMicroUSD = nil, nil
	if s.Turns == 0 {
		s.WholeMicroUSD, s.HeldMicroUSD, s.PrefixMicroUSD = new(int64), new(int64), new(int64)
	}
	if s.WholeMicroUSD == nil {
		return
	}
	addTo(&s.SavedMicroUSD, *s.WholeMicroUSD-*s.HeldMicroUSD+*s.PrefixMicroUSD)
	addTo(&s.NetMicroUSD, *s.SavedMicroUSD-*s.PrefixMicroUSD-(s.OwnMicroUSD-s.OwnUnpricedMicroUSD))
}
