// Package ui is a page to look at precis with: what runs, what it costs and saves, threads, rejections, partitions, the configuration.
//
// It is rendered by the server from html/template, with one style and a small script of its own; nothing comes from another host. A page works
// without the script, which only brings it up to date: Server-sent events say that something has changed, and the script fetches the page again and
// puts the parts that differ in place.
//
// Who may see what: a token of the API (package rest) opens a session, a cookie that only this server reads. Without tokens, everyone on this machine is
// an operator. A token with a prefix sees its threads alone, and no page about the whole. What messages, summaries and rejected events say is shown
// where ui.contents is true; ids, names and numbers always are.
//
// Invariants:
//   - Everything that agents, tools and models have said reaches a page through html/template, as text; the Content-Security-Policy allows the two files of this
//     package as script and style and nothing else.
//   - A page of a thread waits 40 ms for the log before it shows what the store has: as an outline, behind which the page comes in the same answer.
//   - A GET changes nothing. A POST comes from a page of this server: its Origin says so.
//   - Nothing here is on the path of an event: threads are listed by package roster, stories are folded in a store in memory, and records are read when
//     a page is looked at.
//
// Limits: a story is folded from the log for each look at a changed thread, at most two at once, and not of more than 50,000 events.
package ui
