package ledger

// Ledger is the record of a span of a thread. The zero Ledger is that of an empty span. The order of lists is
// irrelevant, except for Lines; ordinals give ages.
type Ledger struct {
	From     uint64 `json:"from"` // first and last ordinal of the span
	To       uint64 `json:"to"`
	Messages int    `json:"messages"`
	Calls    int    `json:"calls"`

	Files    []File    `json:"files,omitempty"`
	Commands []Command `json:"commands,omitempty"`
	Errors   []Error   `json:"errors,omitempty"`
	Tasks    []Task    `json:"tasks,omitempty"`
	Requests []Request `json:"requests,omitempty"`
	Lines    []Line    `json:"lines,omitempty"` // in thread order, oldest first
	Words    []Word    `json:"words,omitempty"`
	Omitted  Omitted   `json:"omitted,omitzero"` // what Trim dropped
}

// File is a file and the operations on it.
type File struct {
	Path    string `json:"path"`
	Read    int    `json:"read,omitempty"`    // how many times
	Written int    `json:"written,omitempty"` // written or edited
	Created bool   `json:"created,omitempty"`
	Viewed  bool   `json:"viewed,omitempty"`  // read with a tool that also edits
	Deleted uint64 `json:"deleted,omitempty"` // ordinal of the call; a later write recreates it
	Failed  int    `json:"failed,omitempty"`  // calls on it that ended in an error
	Touched uint64 `json:"touched"`           // newest ordinal
	Changed uint64 `json:"changed,omitempty"` // newest ordinal of a write
}

// Command is a command line and its last outcome.
type Command struct {
	Line   string `json:"line"`
	Runs   int    `json:"runs"`
	Failed int    `json:"failed,omitempty"` // of the runs
	Bad    bool   `json:"bad,omitempty"`    // the last one failed
	Open   bool   `json:"open,omitempty"`   // the last one has no result in the span
	Result string `json:"result,omitempty"` // a line of the last one's output
	At     uint64 `json:"at"`               // of the last run
}

// Error is an error message; messages that differ only in numbers are one error.
type Error struct {
	Form  string `json:"form"`
	Text  string `json:"text"` // as last seen
	Where string `json:"where,omitempty"`
	Seen  int    `json:"seen"` // in how many results
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// Task is an entry of the agent's own list.
type Task struct {
	ID     string `json:"id"` // the list's own, or the title
	Title  string `json:"title,omitempty"`
	Status string `json:"status,omitempty"` // as the agent calls it
	List   uint64 `json:"list,omitempty"`   // ordinal of the call that set the whole list; 0: added individually
	At     uint64 `json:"at"`
}

// Request is a statement of the user.
type Request struct {
	Text     string `json:"text"`
	Long     bool   `json:"long,omitempty"`     // the message was very long
	Standing bool   `json:"standing,omitempty"` // an instruction that remains in force
	At       uint64 `json:"at"`
}

// Line is a source line that may be worth quoting. The JSON names are short here and in Word, since a
// stored ledger holds hundreds of both.
type Line struct {
	Text string `json:"t"`
	Kind string `json:"k"`           // see the Kind… constants
	In   string `json:"i,omitempty"` // the file, command or tool of the line
	At   uint64 `json:"a"`
}

// Sources of a line.
const (
	KindSaid   = "s" // the assistant's text
	KindUser   = "u" // the user's text
	KindChange = "c" // what the assistant wrote in a call
	KindResult = "r" // a tool's output
)

// Word is an identifier and its statistics in the span.
type Word struct {
	Text    string    `json:"w"`
	Seen    int       `json:"n"`           // messages
	Said    int       `json:"s,omitempty"` // of these, the assistant's
	Results int       `json:"r,omitempty"` // and tool results
	Written bool      `json:"p,omitempty"` // in a path that was written to
	First   uint64    `json:"f"`
	Last    uint64    `json:"l"`
	SaidAt  uint64    `json:"a,omitempty"`
	Near    [4]uint64 `json:"m"` // the newest messages that contain it, newest first
}

// Omitted counts what a trimmed ledger no longer holds.
type Omitted struct {
	Files    int `json:"files,omitempty"`
	Commands int `json:"commands,omitempty"`
	Errors   int `json:"errors,omitempty"`
	Tasks    int `json:"tasks,omitempty"`
	Requests int `json:"requests,omitempty"`
}
