// Package columns shows tables that programs print in columns, `docker ps`, `kubectl get`, `gh pr checks`, psql, so that as many rows as possible fit: cells
// are clipped, the widest columns first, and a column with the same value in all rows is said once.
package columns
