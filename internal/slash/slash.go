package slash

import (
	"net/http"
	"net/url"
	"strings"
)

// Serve has mux answer a request.
func Serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	if _, found := routable(r.URL); !found {
		mux.ServeHTTP(w, r)
		return
	}
	handler, pattern := Handler(mux, r)
	_, names, _ := strings.Cut(pattern, "/") // behind the method
	given := strings.Split(r.URL.EscapedPath(), "/")[1:]
	for i, name := range strings.Split(names, "/") {
		if strings.HasPrefix(name, "{") && i < len(given) {
			if id, err := url.PathUnescape(given[i]); err == nil {
				r.SetPathValue(strings.Trim(name, "{}"), id)
			}
		}
	}
	handler.ServeHTTP(w, r)
}

// Handler returns the handler of a request, and its pattern, as that of mux does.
func Handler(mux *http.ServeMux, r *http.Request) (http.Handler, string) {
	address, _ := routable(r.URL)
	return mux.Handler(&http.Request{Method: r.Method, Host: r.Host, URL: address})
}

// routable returns an address in which other ids stand for those that are a slash; found reports whether there are any.
func routable(address *url.URL) (routed *url.URL, found bool) {
	segments := strings.Split(address.EscapedPath(), "/")
	for i, segment := range segments {
		switch {
		case strings.EqualFold(segment, "%2F"):
			segments[i], found = "%2F%2F", true // no pattern has it
		case segment == "" && 0 < i && i < len(segments)-1, segment == ".", segment == "..":
			return address, false // it is redirected
		}
	}
	if !found {
		return address, false
	}
	other := *address
	other.RawPath = strings.Join(segments, "/")
	var err error
	if other.Path, err = url.PathUnescape(other.RawPath); err != nil {
		return address, false
	}
	return &other, true
}
