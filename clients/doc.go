// Package clients holds the clients in other languages, and no Go of its own but tests:
//
//   - typescript is a package of npm, with adapters for frameworks. Its own tests are run by npm test, against the real frameworks.
//   - python is a package of pip. The tests here run it.
//   - gentypes writes the types of both from schemas/.
//
// The tests here also hold the pages of docs/integrations to the tests that run their programs.
package clients
