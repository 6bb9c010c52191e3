package rest

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/rs/zerolog"
)

// Roles of a token, as deploy/nats has them.
const (
	RoleAgent    = "agent"    // publishes, and asks everything
	RoleAuditor  = "auditor"  // every GET
	RoleOperator = "operator" // everything
)

const (
	// maxTokensFile bounds the file, in bytes.
	maxTokensFile = 1 << 20
	// minToken is the least length of a token in bytes: the SHA-256 of a shorter one can be found by guessing.
	minToken = 20
)

// ErrTokens is a tokens file that can't be used.
var ErrTokens = errors.New("tokens file")

// token is who may do what.
type token struct {
	name    string
	digest  [sha256.Size]byte
	role    string
	threads string // prefix of the threads' ids
	expires time.Time
}

// covers reports whether a thread is among the token's.
func (t *token) covers(thread string) bool { return strings.HasPrefix(thread, t.threads) }

// Tokens are the tokens of a file. Without a file everyone is an operator.
type Tokens struct {
	file string
	log  zerolog.Logger
	list atomic.Pointer[[]token]
}

// LoadTokens reads a file, or none where its name is empty.
func LoadTokens(file string, log zerolog.Logger) (*Tokens, error) {
	t := &Tokens{file: file, log: log}
	return t, t.Reload()
}

// Reload reads the file again. One that can't be used changes nothing.
func (t *Tokens) Reload() error {
	if t.file == "" {
		return nil
	}
	list, plain, err := readTokens(t.file)
	if err != nil {
		return fmt.Errorf("%w %s: %w", ErrTokens, t.file, err)
	}
	for _, name := range plain {
		t.log.Warn().Str("file", t.file).Str("token", name).Msg("the tokens file holds this token itself; give its sha256 instead")
	}
	t.list.Store(&list)
	return nil
}

// anyone is who asks where there is no file.
var anyone = token{role: RoleOperator}

// errExpired is a known token whose time is over.
var errExpired = errors.New("the token has expired")

// find returns who presents a token; nil for an unknown one. The time that it takes depends on the number of tokens alone.
func (t *Tokens) find(presented string, now time.Time) (*token, error) {
	if t.file == "" {
		return &anyone, nil
	}
	digest := sha256.Sum256([]byte(presented))
	var found *token
	list := *t.list.Load()
	for i := range list {
		if subtle.ConstantTimeCompare(digest[:], list[i].digest[:]) == 1 {
			found = &list[i]
		}
	}
	if found != nil && !found.expires.IsZero() && !now.Before(found.expires) {
		return nil, errExpired
	}
	return found, nil
}

// tokensFile is the file's form.
type tokensFile struct {
	Tokens []struct {
		Name    string `yaml:"name"`
		SHA256  string `yaml:"sha256"`
		Token   string `yaml:"token"`
		Role    string `yaml:"role"`
		Threads string `yaml:"threads"`
		Expires string `yaml:"expires"` // text: the YAML decoder reads an invalid time as the zero time
	} `yaml:"tokens"`
}

// readTokens returns the tokens of a file, and the names of those that it holds themselves.
func readTokens(name string) (list []token, plain []string, err error) {
	text, err := readPrivate(name)
	if err != nil {
		return nil, nil, err
	}
	var file tokensFile
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return nil, nil, errors.New(strings.TrimSpace(strings.SplitN(yaml.FormatError(err, false, false), "\n", 2)[0])) // what follows shows the line, and with it a token
	}
	if len(file.Tokens) == 0 {
		return nil, nil, errors.New("has no tokens: list at least one, or leave api.tokens_file empty")
	}
	names, digests := map[string]bool{}, map[[sha256.Size]byte]string{}
	for i, e := range file.Tokens {
		t := token{name: e.Name, role: e.Role, threads: e.Threads}
		where := cmp.Or(e.Name, fmt.Sprintf("number %d", i+1))
		if e.Expires != "" {
			if t.expires, err = time.Parse(time.RFC3339, e.Expires); err != nil {
				return nil, nil, fmt.Errorf("token %s: expires must be a time such as 2027-01-31T00:00:00Z", where)
			}
		}
		switch {
		case e.Name == "" || len(e.Name) > 64 || names[e.Name]:
			return nil, nil, fmt.Errorf("token %s: give each a name of its own, of 1 to 64 bytes", where)
		case e.Role != RoleAgent && e.Role != RoleAuditor && e.Role != RoleOperator:
			return nil, nil, fmt.Errorf("token %s: role %q; allowed: %s, %s, %s", where, e.Role, RoleAgent, RoleAuditor, RoleOperator)
		case (e.SHA256 == "") == (e.Token == ""):
			return nil, nil, fmt.Errorf("token %s: give either sha256 or token", where)
		case e.Token != "" && len(e.Token) < minToken:
			return nil, nil, fmt.Errorf("token %s: it has %d bytes; at least %d, such as of \"openssl rand -hex 32\"", where, len(e.Token), minToken)
		}
		if e.Token != "" {
			t.digest, plain = sha256.Sum256([]byte(e.Token)), append(plain, e.Name)
		} else if n, err := hex.Decode(t.digest[:], []byte(e.SHA256[:min(len(e.SHA256), 2*sha256.Size)])); err != nil || n != sha256.Size || len(e.SHA256) != 2*sha256.Size {
			return nil, nil, fmt.Errorf("token %s: sha256 must be the token's SHA-256 in 64 hex digits", where)
		}
		if other, taken := digests[t.digest]; taken {
			return nil, nil, fmt.Errorf("token %s: is the same as %s", where, other)
		}
		names[e.Name], digests[t.digest] = true, where
		list = append(list, t)
	}
	return list, plain, nil
}

// readPrivate reads a file that others must not be able to read or change.
func readPrivate(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		return nil, fmt.Errorf("every user of this machine may use it (mode %04o): chmod o= it", mode)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokensFile+1))
	if err == nil && len(text) > maxTokensFile {
		err = fmt.Errorf("is larger than %d bytes", maxTokensFile)
	}
	return text, err
}
