// Package schemas holds what precis publishes and accepts, for machines: a JSON Schema (2020-12) for the data of
// every event type, an AsyncAPI 3.0 document over them, an OpenAPI 3.1 document of the HTTP API, and examples that tests hold to them.
//
// A schema says what JSON Schema can say; what it can't (bytes instead of characters, an order of two numbers,
// agreement with the subject) stands in its descriptions and in README.md. The decoder in package events is
// tested to agree with the schemas on everything else.
package schemas
