// Package timeline shows a thread's story (audit.Story) as HTML: what happened, in order, and which summaries stand on what.
//
// WritePage writes it as one self-contained page, for "processor audit --html"; New makes the View that the template "story" shows within
// another page, for internal/ui. Both have the same template, style and script.
//
// Everything from the story reaches the page through html/template, as text. The script finds what belongs together by data attributes, and
// the page can be read without it.
package timeline
