package state_test

import (
	"fmt"
	"slices"
	"testing"

	"precis/internal/thread"
	"precis/state"
)

// family saves the first event of threads that name a parent, in partitions, and commits.
func family(t testing.TB, s *state.Store, partition int, parent string, names ...string) {
	t.Helper()
	p, err := s.Partition(partition)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		p.Save(&thread.State{Header: thread.Header{Thread: name, Parent: parent, Events: 1}, Changes: thread.Changes{Child: true}})
	}
	if _, err := p.Commit(state.NoSync); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// childrenOf looks for a thread's children as the service does.
func childrenOf(t testing.TB, s *state.Store, parent string, partitions []int) (names []string) {
	t.Helper()
	for _, id := range partitions {
		err := s.View(id).Children(parent, func(h *thread.Header) (bool, error) {
			names = append(names, h.Thread)
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	return names
}

// Where children are is known as soon as they are saved, and again when the store is opened again; of threads without any, nothing is
// looked for.
func TestWhereChildrenAre(t *testing.T) {
	fs := state.Memory()
	open := func() *state.Store {
		s, err := state.Open("store", state.Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	family(t, s, 3, "lead", "a", "b")
	family(t, s, 700, "lead", "c")
	family(t, s, 3, "", "odd")
	family(t, s, 64, "lea", "d")
	check := func(s *state.Store) {
		t.Helper()
		for parent, want := range map[string][]string{"lead": {"a", "b", "c"}, "lea": {"d"}, "a": nil, "leader": nil} {
			where := s.ChildPartitions(parent)
			if got := childrenOf(t, s, parent, where); !slices.Equal(got, want) {
				t.Errorf("children of %q: %q in %v, want %q", parent, got, where, want)
			}
			if len(where) > 4 {
				t.Errorf("looks in %v for children of %q", where, parent)
			}
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	for _, id := range []int{3, 64, 700} {
		p, err := s.Partition(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkChildren looks for the children of a thread without any and of one with three, where others have some in every partition.
func BenchmarkChildren(b *testing.B) {
	for _, partitions := range []int{16, 1024} {
		s, err := state.Open("", state.Options{FS: state.Memory()})
		if err != nil {
			b.Fatal(err)
		}
		all := make([]int, partitions)
		for id := range partitions {
			all[id] = id
			family(b, s, id, fmt.Sprint("other", id), fmt.Sprint("child", id))
		}
		family(b, s, 1, "lead", "x")
		family(b, s, partitions/2, "lead", "y")
		family(b, s, partitions-1, "lead", "z")
		for _, c := range []struct {
			parent string
			want   int
		}{{"alone", 0}, {"lead", 3}} {
			for how, where := range map[string]func() []int{
				"each partition": func() []int { return all }, "where they are": func() []int { return s.ChildPartitions(c.parent) },
			} {
				b.Run(fmt.Sprintf("%d partitions/%d children/%s", partitions, c.want, how), func(b *testing.B) {
					for b.Loop() {
						if got := childrenOf(b, s, c.parent, where()); len(got) != c.want {
							b.Fatal(got)
						}
					}
				})
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
