// Command gentypes writes the types of the clients in other languages from schemas/:
//
//	go run ./clients/gentypes
//
// A test holds the written files to the schemas. Schemas say more than types can: where members exclude each other, or depend on
// another's value, the types have all of them as optional, and the server's answer says what is wrong.
package main
