package gateway

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	lru "github.com/hashicorp/golang-lru/v2"

	"precis/events"
)

// key identifies a message within its conversation by what every client gives back alike.
type key [sha256.Size]byte

// message is one message of a conversation.
type message struct {
	raw     []jsontext.Value // the elements of the request that it is made of; nil for an answer
	shape   shape            // what they are to be
	data    object           // as it is published, without its id; nil until it is needed
	key     key
	linked  bool // its key is the ids of calls
	renamed bool // a prompt may have other ids for its calls: these may be those of others, or none that every provider takes
	apart   bool // it stands beside the conversation: instructions of the request
	id      string
	role    string
	sent    int // the bytes that this exchange has published of it; 0: it was known
}

// shape makes a message in its provider's shape of elements of a request; nil if they can't be one.
type shape struct {
	name string
	of   func(raw []jsontext.Value) object
}

// reader reads requests. A conversation's messages come with each of its requests: what was read of one is remembered.
type reader struct {
	memo    *lru.Cache[key, readMessage]
	scratch *scratch // of one request; nil: its memory is its own
}

// readMessage is what is read of a message.
type readMessage struct {
	role    string
	key     key
	linked  bool
	renamed bool
}

const memoMessages = 1 << 16

func newReader() *reader { return &reader{memo: cache[key, readMessage](memoMessages)} }

// into is the same reader for what is read into a scratch.
func (r *reader) into(s *scratch) *reader { return &reader{r.memo, s} }

// message reads one. It fails if precis would reject it.
func (r *reader) message(s shape, raw ...jsontext.Value) (*message, error) {
	d := newDigest().text(s.name)
	for _, v := range raw {
		d.bytes(v)
	}
	same := d.sum()
	m := r.scratch.message()
	m.raw, m.shape = raw, s
	if known, ok := r.memo.Get(same); ok {
		m.role, m.key, m.linked, m.renamed = known.role, known.key, known.linked, known.renamed
		return m, nil
	}
	data := s.of(raw)
	if data == nil {
		return nil, errRequest
	}
	if err := m.take(data); err != nil {
		return nil, err
	}
	r.memo.Add(same, readMessage{m.role, m.key, m.linked, m.renamed})
	return m, nil
}

// take reads a message's data.
func (m *message) take(data object) error {
	m.data = plain(data)
	ev, reject := events.Decode(events.Raw{Subject: string(events.ThreadMessage) + ".x", Body: m.body("x")}, events.Limits{})
	if reject != nil {
		return reject
	}
	m.role = ev.Message.Role
	m.key, m.linked, m.renamed = keyOf(ev.Message)
	return nil
}

// published is the data as it is published.
func (m *message) published() object {
	if m.data == nil {
		m.data = plain(m.shape.of(m.raw))
	}
	return m.data
}

// body is the event's data.
func (m *message) body(id string) []byte {
	quoted, _ := jsontext.AppendQuote(nil, id)
	data := make(object, len(m.published())+1)
	for name, value := range m.published() {
		data[name] = value
	}
	data["message_id"] = quoted
	return data.json()
}

// system reports whether the message instructs the model before the conversation begins.
func (m *message) system() bool {
	return m.role == events.RoleSystem || m.role == events.RoleDeveloper
}

// plain removes what clients change between two requests and what says nothing: cache marks, members that are null, and the list around
// a text that stands alone.
func plain(data object) object {
	out := make(object, len(data))
	for name, value := range data {
		if name != "cache_control" && name != "message_id" && name != "thread_id" {
			out[name] = value
		}
	}
	if content := out["content"]; content.Kind() == jsontext.KindBeginArray {
		out["content"] = plainParts(content, true)
	}
	return out
}

func plainParts(content jsontext.Value, alone bool) jsontext.Value {
	list := listOf(content)
	for i, raw := range list {
		part := objectOf(raw)
		if part == nil {
			continue
		}
		changed := part["cache_control"] != nil
		delete(part, "cache_control")
		for name, value := range part {
			if value.Kind() == jsontext.KindNull {
				delete(part, name)
				changed = true
			}
		}
		if inner := part["content"]; part.text("type") == "tool_result" && inner.Kind() == jsontext.KindBeginArray {
			part["content"], changed = plainParts(inner, true), true
		}
		if len(list) == 1 && alone && len(part) == 2 && part.text("type") == "text" && part["text"].Kind() == jsontext.KindString {
			return part["text"]
		}
		if changed {
			list[i] = part.json()
		}
	}
	return jsonOf(list)
}

// keyOf makes the key of a message. Calls and results are known by their ids: clients drop and shorten the texts beside them. Some servers count
// calls, from the same number in every answer or conversation: with such ids, calls are known by their arguments and results by their content, or one
// call's result would stand for another's. Reasoning takes no part, since many clients don't give it back. renamed: precis may give the calls other ids, since
// these are counted, or not such as every provider takes.
func keyOf(m *events.Message) (k key, linked, renamed bool) {
	d := newDigest().text(m.Role)
	linked = true
	calls := m.Calls()
	for _, c := range calls {
		d.text("call").text(c.ID)
		linked, renamed = linked && unique(c.ID), renamed || !plainID.MatchString(c.ID)
	}
	answers := m.Answers()
	for _, id := range answers {
		d.text("result").text(id)
		linked, renamed = linked && unique(id), renamed || !plainID.MatchString(id)
	}
	if len(calls)+len(answers) > 0 {
		if linked {
			return d.sum(), true, renamed
		}
		for _, c := range calls {
			d.text(c.Name).bytes(canonical(jsontext.Value(c.Arguments)))
		}
		if len(answers) > 0 {
			d.bytes(canonical(jsonOf(m.Content)))
		}
		return d.sum(), false, true
	}
	parts := m.Content.Parts()
	if len(parts) == 0 {
		d.text("text").text(strings.TrimSpace(m.Content.Text()))
	}
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case events.PartReasoning:
		case events.PartText:
			if t := strings.TrimSpace(p.Text); t != "" {
				d.text("text").text(t)
			}
		case events.PartItem:
			d.text("text").text(strings.TrimSpace(p.Item.Text))
		default:
			d.text("part").bytes(canonical(p.Raw))
		}
	}
	return d.sum(), false, false
}

// plainID is an id of a call that every provider takes, so that a prompt has it too.
var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// countedID is what ids are made of that a server counts, or a client writes by hand.
var countedID = regexp.MustCompile(`^[a-z]*[0-9]{0,8}$`)

// unique reports whether the id of a call is one of its own: a part of it is long enough, and neither a word nor a counter. Where that is wrong the
// call is known by its content.
func unique(id string) bool {
	for part := range strings.FieldsFuncSeq(id, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(part) >= 8 && !countedID.MatchString(part) {
			return true
		}
	}
	return false
}

// textKey is the key of a message that has one text.
func textKey(role, text string) key { return digestOf(role, "text", text) }

func canonical(v jsontext.Value) jsontext.Value {
	c := slices.Clone(v)
	_ = c.Canonicalize() // it has been read before
	return c
}

// digest hashes length-prefixed texts.
type digest struct {
	hash hash.Hash
	buf  [512]byte
}

var digests = sync.Pool{New: func() any { return &digest{hash: sha256.New()} }}

// newDigest begins a digest, which sum ends.
func newDigest() *digest {
	d, ok := digests.Get().(*digest)
	if !ok {
		panic("the pool has only digests")
	}
	d.hash.Reset()
	return d
}

func (d *digest) length(n int) {
	_, _ = d.hash.Write(binary.BigEndian.AppendUint64(d.buf[:0], uint64(n)))
}

// text copies a text by pieces, which takes no memory.
func (d *digest) text(s string) *digest {
	d.length(len(s))
	for len(s) > 0 {
		n := copy(d.buf[:], s)
		_, _ = d.hash.Write(d.buf[:n])
		s = s[n:]
	}
	return d
}

func (d *digest) bytes(b []byte) *digest {
	d.length(len(b))
	_, _ = d.hash.Write(b)
	return d
}

// key and number are bytes that take no memory either.
func (d *digest) key(k key) *digest {
	d.length(len(k))
	_, _ = d.hash.Write(append(d.buf[:0], k[:]...))
	return d
}

func (d *digest) number(n int) *digest {
	d.length(8)
	d.length(n)
	return d
}

func (d *digest) sum() (k key) {
	copy(k[:], d.hash.Sum(d.buf[:0]))
	digests.Put(d)
	return k
}

// digestOf is the key of texts.
func digestOf(texts ...string) key {
	d := newDigest()
	for _, t := range texts {
		d.text(t)
	}
	return d.sum()
}

// short is the first 128 bits in hex.
func (k key) short() string { return hex.EncodeToString(k[:16]) }

// idBytes is the length of a message's id: the first 128 bits of a key in hex.
const idBytes = len("gw_") + 32

func (k key) appendID(b []byte) []byte { return hex.AppendEncode(append(b, "gw_"...), k[:16]) }

// identities are how far a conversation's messages have their ids.
type identities struct {
	seed, before key // before is the key of the last of them
	counts       map[key]int
	systems      int
	done         int
}

// identify gives every message its id. Messages with ids of calls are known by these, others by their text and the message before
// them; equal ones are counted. So a message keeps its id when the client drops others, and a retried request has the same ids. What has its ids by the same
// seed keeps them: the answer of a request that was compacted is all that is new when the exchange ends.
func (c *conversation) identify(seed key) {
	ids := &c.ids
	if ids.counts == nil || ids.seed != seed {
		*ids = identities{seed: seed, before: seed, counts: c.scratch.countsOf(len(c.messages) + 1)}
	}
	var text strings.Builder // all of the ids, which share its memory
	text.Grow((len(c.messages) - ids.done) * idBytes)
	var buf [idBytes]byte
	for _, m := range c.messages[ids.done:] {
		if m.apart || m.system() && ids.before == (key{}) {
			ids.systems++
			m.id = systemID(ids.systems)
			continue
		}
		k := m.key
		if !m.linked {
			k = newDigest().key(seed).key(ids.before).key(k).sum()
		}
		ids.before = m.key
		n := ids.counts[k]
		ids.counts[k]++
		text.Write(newDigest().key(k).number(n).sum().appendID(buf[:0]))
		m.id = text.String()[text.Len()-idBytes:]
	}
	ids.done = len(c.messages)
}

// systemID is the id of the nth message that instructs the model before the conversation: it stays when the text changes, since clients
// put times and counters in it.
func systemID(n int) string {
	if n == 1 {
		return "gw_system"
	}
	return "gw_system_" + strconv.Itoa(n)
}
