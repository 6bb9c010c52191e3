package rest

import (
	"net/http"
	"strings"
	"time"

	"precis/internal/ui"
)

// isPage reports whether a path is one of the pages for people.
func isPage(path string) bool {
	return path == "/" || path == strings.TrimSuffix(ui.Path, "/") || strings.HasPrefix(path, ui.Path)
}

// page hands a request to the pages, which guard themselves against other sites.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if p := s.guardHost(r); p != nil {
		s.refuse(w, ui.Path, p)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.opts.ReadTimeout + writeTimeout))
	counted := &counting{ResponseWriter: w, status: http.StatusOK}
	if !strings.HasPrefix(r.URL.Path, ui.Path) {
		http.Redirect(counted, r, ui.Path, http.StatusFound)
	} else {
		s.pages.ServeHTTP(counted, r)
	}
	s.opts.Observe(ui.Path, counted.status)
}

// gate is the tokens as the pages ask for them.
type gate struct{ s *Server }

// Open implements ui.Gate.
func (g gate) Open() bool { return g.s.opts.Tokens.file == "" }

// Enter implements ui.Gate.
func (g gate) Enter(presented string) (*ui.Viewer, error) {
	who, err := g.s.opts.Tokens.find(presented, g.s.opts.Now())
	if err != nil || who == nil {
		return nil, ui.ErrToken
	}
	if !g.s.rates.allow(who.name) {
		return nil, ui.ErrBusy
	}
	return &ui.Viewer{Name: who.name, Role: who.role, Prefix: who.threads}, nil
}

// Holds implements ui.Gate.
func (g gate) Holds(presented string) bool {
	who, err := g.s.opts.Tokens.find(presented, g.s.opts.Now())
	return err == nil && who != nil
}

// Stream implements ui.Gate.
func (g gate) Stream(v *ui.Viewer) (leave func()) { return g.s.streams.enter(v.Name, 1) }
