package cluster

// Layout is a plan, and who has the units.
type Layout struct {
	Owners, Planned []string
	Standbys        [][]string
}

// Next plans for live members, by weight, with so many standbys.
func Next(before Layout, live map[string]int, standbys, idle int) Layout {
	m := &Member{opts: Options{Standbys: standbys, Idle: idle}, members: map[string]*member{}, units: make([]unit, len(before.Owners)), plan: plan{before.Planned, before.Standbys}}
	for id, weight := range live {
		m.members[id] = &member{record: record{Weight: weight}}
	}
	for n, owner := range before.Owners {
		m.units[n].owner = owner
	}
	next := m.next()
	return Layout{before.Owners, next.Owners, next.Standbys}
}
