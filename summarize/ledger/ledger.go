package ledger

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
)

// Ledger is the record of a span of a thread. The zero Ledger is that of an empty span. Lists are in no particular
// order; ordinals give ages.
type Ledger struct {
	From     uint64 `json:"from"` // first and last ordinal of the span
	To       uint64 `json:"to"`
	Messages int    `json:"messages"`

	Requests     []Note `json:"requests,omitempty"`     // the user's, in their words
	Instructions []Note `json:"instructions,omitempty"` // sentences of the user that remain in force
	Decisions    []Note `json:"decisions,omitempty"`    // the assistant's, and refusals of the user
	Plans        []Note `json:"plans,omitempty"`        // what the assistant says that it is doing
	Answers      []Note `json:"answers,omitempty"`      // what it says when it hands back to the user
	Branches     []Note `json:"branches,omitempty"`
	Commits      []Note `json:"commits,omitempty"` // abbreviated hash and subject
	Events       []Note `json:"events,omitempty"`  // what takes back or settles what stands in the other lists, by rank
	Calls        []Note `json:"calls,omitempty"`   // calls of tools that are neither a shell's nor on files, in order, with what came of them; Rank: how often in a row
	Shown        []Note `json:"shown,omitempty"`   // short outputs of commands, with the commands
	Rules        []Note `json:"rules,omitempty"`   // sentences of files with rules for agents that were shown or read, with the names of the files
	Runs         []Run  `json:"runs,omitempty"`
	Tasks        []Task `json:"tasks,omitempty"`
	Files        []File `json:"files,omitempty"`
	Acted        uint64 `json:"acted,omitempty"`  // ordinal of the first call that may have changed files
	Omitted      Counts `json:"omitted,omitzero"` // what Trim dropped

	Ends     []uint64 `json:"ends,omitempty"`      // ordinals of the messages with which the assistant hands back to the user, ascending
	EndsFrom uint64   `json:"ends_from,omitempty"` // from which on they are known
	GoesOn   bool     `json:"goes_on,omitempty"`   // the first message is the assistant's: it had not handed back with the one before
}

// Note is a statement, verbatim.
type Note struct {
	Text  string `json:"text"`
	Rank  int    `json:"rank,omitempty"` // of statements of one kind, the higher is kept
	First uint64 `json:"first"`          // ordinal of the first and the last message that makes it
	Last  uint64 `json:"last"`
	Until uint64 `json:"until,omitempty"` // of a request: where the turn of a later one begins that Trim dropped
}

// Run is a command line, or the call of a tool that is neither a shell's nor on files, with its last outcome.
type Run struct {
	Line   string `json:"line"`
	Dir    string `json:"dir,omitempty"`  // in which it ran, if it says so
	Kind   string `json:"kind,omitempty"` // "test", "lint", "build", several of them as in "lint+test"; "look"; "call" of a tool; or none
	Runs   int    `json:"runs"`
	End    string `json:"end,omitempty"`   // of the last one whose end is known: "passed", "failed", "failed in part"
	Ended  uint64 `json:"ended,omitempty"` // its ordinal
	Error  string `json:"error,omitempty"` // what the last one that failed reported
	First  uint64 `json:"first"`           // ordinal of the first run and the last
	Last   uint64 `json:"last"`
	Failed uint64 `json:"failed,omitempty"` // of the last one that failed
	Good   uint64 `json:"good,omitempty"`   // of the first success after it
	Clean  uint64 `json:"clean,omitempty"`  // of the last one whose end is unknown and whose output tells no error
	Result uint64 `json:"result,omitempty"` // digest of the last result
	Same   int    `json:"same,omitempty"`   // how many runs in a row ended with it
}

// Task is an entry of the assistant's own list, or a process in the background.
type Task struct {
	ID     string `json:"id"` // the list's own, or the title
	Title  string `json:"title,omitempty"`
	Status string `json:"status,omitempty"` // as the assistant calls it
	List   uint64 `json:"list,omitempty"`   // ordinal of the call that set or showed the whole list at last; 0: added individually
	At     uint64 `json:"at"`
}

// File is a file and the operations on it.
type File struct {
	Path    string   `json:"path"`
	Read    int      `json:"read,omitempty"`    // how many times
	Written int      `json:"written,omitempty"` // written or edited
	Tried   int      `json:"tried,omitempty"`   // written or edited in vain
	Told    uint64   `json:"told,omitempty"`    // ordinal of the newest output of git, or report, that tells a change by others
	Made    uint64   `json:"made,omitempty"`    // ordinal of the newest output of a command that says that it wrote the file
	Dirty   uint64   `json:"dirty,omitempty"`   // ordinal of the first output of git that tells it as changed
	Created bool     `json:"created,omitempty"`
	Deleted uint64   `json:"deleted,omitempty"` // ordinal of the call; a later write recreates it
	Left    uint64   `json:"left,omitempty"`    // ordinal of the newest output of git that tells it as deleted or renamed
	Moved   string   `json:"moved,omitempty"`   // its path since, by that output or the call
	Diffs   int      `json:"diffs,omitempty"`   // of the writes, how many replaced a known text
	Net     uint64   `json:"net,omitempty"`     // what they come to; 0: each was taken back
	Whole   uint64   `json:"whole,omitempty"`   // ordinal of the newest write that set all of it
	Seen    uint64   `json:"seen,omitempty"`    // ordinal of the newest call that read it
	Touched uint64   `json:"touched"`           // newest ordinal
	Changed []uint64 `json:"changed,omitempty"` // ordinals of the newest writes, newest first
	What    []string `json:"what,omitempty"`    // what the newest writes declare, newest first
	Gone    []string `json:"gone,omitempty"`    // what they took out
}

// Counts are numbers of entries.
type Counts struct {
	Requests int `json:"requests,omitempty"`
	Runs     int `json:"runs,omitempty"`
	Tasks    int `json:"tasks,omitempty"`
	Files    int `json:"files,omitempty"`
	Commits  int `json:"commits,omitempty"`
}

// ErrFormat is data that is not a stored ledger.
var ErrFormat = errors.New("not a stored ledger")

// plain has the fields of a ledger without its methods.
type plain Ledger

// MarshalBinary returns the ledger in its stored form, JSON.
func (l Ledger) MarshalBinary() ([]byte, error) { return json.Marshal(plain(l)) }

// UnmarshalBinary reads a stored ledger. Members of other versions are ignored.
func (l *Ledger) UnmarshalBinary(data []byte) error {
	*l = Ledger{}
	if err := json.Unmarshal(data, (*plain)(l)); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}
