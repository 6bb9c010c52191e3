// Package slash routes paths in which an id is a single slash. For net/http a segment %2F is the slash that ends a path, so that no
// pattern of a ServeMux matches such an id.
package slash
