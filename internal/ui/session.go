package ui

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"precis/internal/slash"
)

const (
	cookieName = "precis_session"
	sessionFor = 12 * time.Hour
	// maxSessions bounds what is remembered; the one that ends first gives way.
	maxSessions = 10_000
)

// sessions are tokens by the digest of the cookie that stands for them. They end with the process.
type sessions struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]session
}

type session struct {
	token string
	until time.Time
}

// begin returns the cookie of a new session.
func (s *sessions) begin(token string, now time.Time) string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[[sha256.Size]byte]session{}
	}
	if len(s.of) >= maxSessions {
		var first [sha256.Size]byte
		for k, other := range s.of {
			if have, ok := s.of[first]; !ok || other.until.Before(have.until) {
				first = k
			}
		}
		delete(s.of, first)
	}
	s.of[sha256.Sum256([]byte(id))] = session{token, now.Add(sessionFor)}
	return id
}

func (s *sessions) token(id string, now time.Time) string {
	key := sha256.Sum256([]byte(id))
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.of[key]
	if now.After(have.until) {
		delete(s.of, key)
		return ""
	}
	return have.token
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, sha256.Sum256([]byte(id)))
}

// errNoToken is a request of someone who has not signed in.
var errNoToken = errors.New("")

// viewer is who makes a request: by its session, or like other clients of the API by its token.
func (u *UI) viewer(r *http.Request) (*Viewer, error) {
	token := u.presented(r)
	if token == "" && !u.Gate.Open() {
		return nil, errNoToken
	}
	return u.Gate.Enter(token)
}

// presented is the token of a request; empty: it has none, or its session is over.
func (u *UI) presented(r *http.Request) string {
	if u.Gate.Open() {
		return ""
	}
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	if c, err := r.Cookie(cookieName); err == nil {
		return u.sessions.token(c.Value, u.Backend.Now())
	}
	return ""
}

// stays reports whether who made a request may go on with it. It is no request of its own, and takes nothing of the token's rate.
func (u *UI) stays(r *http.Request) bool {
	token := u.presented(r)
	return u.Gate.Open() || token != "" && u.Gate.Holds(token)
}

// signIn is the page that asks for a token.
func (u *UI) signIn(r *http.Request, err error) *page {
	p := &page{Name: "login", Title: "Sign in", Status: http.StatusUnauthorized}
	if errors.Is(err, ErrBusy) {
		p.Status = http.StatusTooManyRequests
	}
	p.Body = struct{ Problem, To string }{err.Error(), u.returns(r)}
	return p
}

// returns is the address to which a sign-in leads: that of the page, or of the page whose form was sent. What the form was to do is not
// done: it is sent again there.
func (u *UI) returns(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return local(r.URL.RequestURI())
	}
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host {
		return Path
	}
	if _, pattern := slash.Handler(u.mux, &http.Request{Method: http.MethodGet, Host: r.Host, URL: from}); pattern == Path {
		return Path // it was the answer to a form itself
	}
	return local(from.RequestURI())
}

// local is an address of these pages, or that of the first one.
func local(to string) string {
	address, err := url.Parse(to)
	if err == nil && address.Host == "" && address.Scheme == "" && strings.HasPrefix(path.Clean(address.Path)+"/", Path) && !strings.HasPrefix(address.Path, Path+"log") {
		return to
	}
	return Path
}

// maxLogin bounds the body of a sign-in.
const maxLogin = 8 << 10

func (u *UI) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	token := strings.TrimSpace(r.PostFormValue("token"))
	_, err := u.Gate.Enter(token)
	if err != nil {
		p := u.signIn(r, err)
		p.Body = struct{ Problem, To string }{sentence(err), local(r.PostFormValue("to"))}
		u.show(w, r, nil, p)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: u.sessions.begin(token, u.Backend.Now()), Path: Path, MaxAge: int(sessionFor.Seconds()), HttpOnly: true, Secure: u.Secure, SameSite: http.SameSiteLaxMode,
	})
	http.Redirect(w, r, local(r.PostFormValue("to")), http.StatusSeeOther)
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func (u *UI) logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(cookieName); err == nil {
		u.sessions.end(c.Value)
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: Path, MaxAge: -1, HttpOnly: true, Secure: u.Secure, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, Path, http.StatusSeeOther)
}
