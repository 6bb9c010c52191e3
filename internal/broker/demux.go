package broker

import "strings"

// demux finds the lane of a stored subject. Partition filters ("3.>") are looked
// up by their first token; other filters are compared one by one.
type demux struct {
	byFirst  map[string]*lane
	patterns []pattern
}

type pattern struct {
	filter string
	lane   *lane
}

func newDemux(lanes []*lane) *demux {
	d := &demux{byFirst: make(map[string]*lane, len(lanes))}
	for _, l := range lanes {
		for _, f := range l.Filters {
			first, rest, _ := strings.Cut(f, ".")
			if rest == ">" && first != "*" && first != ">" {
				d.byFirst[first] = l
			} else {
				d.patterns = append(d.patterns, pattern{filter: f, lane: l})
			}
		}
	}
	return d
}

// laneOf returns nil if no lane matches the subject.
func (d *demux) laneOf(subject string) *lane {
	if first, _, more := strings.Cut(subject, "."); more {
		if l := d.byFirst[first]; l != nil {
			return l
		}
	}
	for _, p := range d.patterns {
		if subjectMatches(p.filter, subject) {
			return p.lane
		}
	}
	return nil
}

// subjectMatches reports whether filter matches subject by the server's rules. A
// stored subject may contain "*" and ">" as literal tokens.
func subjectMatches(filter, subject string) bool {
	for {
		f, restF, moreF := strings.Cut(filter, ".")
		if f == ">" && !moreF {
			return subject != ""
		}
		s, restS, moreS := strings.Cut(subject, ".")
		if f != "*" && f != s || moreF != moreS {
			return false
		}
		if !moreF {
			return true
		}
		filter, subject = restF, restS
	}
}
