package rest

// Route is a route, for tests.
type Route struct {
	Method, Path string
	Query        []string
}

// Routes are those of the server.
func Routes() (list []Route) {
	for _, r := range routes() {
		list = append(list, Route{r.method, r.path, r.query})
	}
	return list
}
