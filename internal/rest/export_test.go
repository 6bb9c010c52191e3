package rest

// Route is a route, for tests.
type Route struct {
	Method, Path string
	Query        []string
}

// Routes are those of the server that OpenAPI describes: MCP describes its own.
func Routes() (list []Route) {
	for _, r := range routes() {
		if r.path == mcpPath {
			continue
		}
		list = append(list, Route{r.method, r.path, r.query})
	}
	return list
}
