package gateway

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// news counts what each thread has that its last prompt lacks. A question costs a millisecond or two of a core, and the prompt at hand
// lacks only the summaries of what is new.
type news struct {
	mu   sync.Mutex
	list *simplelru.LRU[string, *newsOf]
}

type newsOf struct {
	bytes int // published since the last question
	owed  int // questions that are worth it whatever comes
}

const (
	// newsBytes of texts are worth a question: a compaction may stand for what was said before, and is in the prompt so many bytes later at most.
	newsBytes = 4 << 10
	// newsOwed is how many questions a call or a result is worth, the one behind its own exchange included: a model may take a while to
	// summarize it.
	newsOwed = 4
	// newsBegun is how many the messages are worth with which a thread is seen first: most of them have their summaries by then.
	newsBegun = 2
)

func newNews() *news {
	list, err := simplelru.NewLRU[string, *newsOf](preparedThreads, nil)
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return &news{list: list}
}

// of is called with n.mu held.
func (n *news) of(thread string) *newsOf {
	of, there := n.list.Get(thread)
	if !there {
		of = &newsOf{owed: newsBegun}
		n.list.Add(thread, of)
	}
	return of
}

// add notes what an exchange has published.
func (n *news) add(thread string, messages []*message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := n.list.Contains(thread)
	of := n.of(thread)
	for _, m := range messages {
		if of.bytes += m.sent; known && m.sent > 0 && (m.linked || m.renamed) {
			of.owed = newsOwed
		}
	}
}

// worth reports whether there is enough for a question, which takes it, and whether it is for a call or a result.
func (n *news) worth(thread string) (worth, soon bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of := n.of(thread)
	if of.owed == 0 && of.bytes < newsBytes {
		return false, false
	}
	soon = of.owed > 0
	of.owed, of.bytes = max(0, of.owed-1), 0
	return true, soon
}

// missed notes that a question had no answer.
func (n *news) missed(thread string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of := n.of(thread)
	of.owed = max(1, of.owed)
}
