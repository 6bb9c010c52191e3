package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Cluster is a cluster of processors, as one of them sees it.
type Cluster struct {
	Name    string
	Members []Member // live ones
	Owners  []string // process by partition; empty: none that lives
	Changes []Change // the latest first
}

// Member is a live processor of a cluster.
type Member struct {
	Process string
	Self    bool
	Weight  int
	Aside   bool // it can't have partitions for now
	Owns    []int
	Follows []int // as the plan says
}

// Change is something that happened to a cluster.
type Change struct {
	At         time.Time
	Kind       string // joined, left, died, moved
	Process    string // that joined, left or died; the next owner
	From       string // the owner before, where it is known
	Partitions []int
	After      time.Duration // for how long a partition had no live owner
}

// version differs when a member, an owner or what happened does.
func (c *Cluster) version() string {
	if c == nil {
		return ""
	}
	latest := Change{}
	if len(c.Changes) > 0 {
		latest = c.Changes[0]
	}
	return fmt.Sprint(c.Members, c.Owners, latest.At.UnixNano(), latest.Partitions)
}

// shared says which part of the threads this processor has; empty: all of them.
func (c *Cluster) shared() string {
	if c == nil || len(c.Members) < 2 {
		return ""
	}
	own := 0
	for _, m := range c.Members {
		if m.Self {
			own = len(m.Owns)
		}
	}
	return fmt.Sprintf("One of %d processors, with %d of %d partitions: what this page says of threads, prompts and what waits is about these.", len(c.Members), own, len(c.Owners))
}

// ranges is a list of ascending numbers in few characters.
func ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		switch {
		case end == i:
			parts = append(parts, strconv.Itoa(list[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d–%d", list[i], list[end]))
		}
		i = end + 1
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// seconds is a duration to a tenth of a second.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
