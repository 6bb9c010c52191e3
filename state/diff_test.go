package state

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"precis/internal/thread"
)

// Whatever is altered in a row that the log determines, a comparison reports that row.
func TestEveryFieldOfARowIsCompared(t *testing.T) {
	header, message, cut := &thread.Header{}, &thread.Message{}, &thread.Compaction{}
	for _, v := range []any{header, message, cut} {
		fill(reflect.ValueOf(v).Elem(), new(int64))
	}
	header.Thread, header.Chain = "t", "sha256:0"
	slot, sum := &thread.Slot{Name: "s", Version: 1, Holder: "h", Serving: "v"}, whole()
	waiting := &thread.Waiting{MessageID: "m", Key: "k", Seq: 1, Deadline: 2, Subject: "s", Header: map[string][]string{"h": {"v"}}, Body: []byte("b")}
	job := &thread.Job{AsOf: "m", Unresolved: "u"}
	for _, c := range []struct {
		kind   byte
		row    any
		encode func(p *Partition) (key, []byte)
		free   []string // fields that say how far a process is, not what the log holds, and those that stand in the key
	}{
		{kindHeader, header, func(p *Partition) (key, []byte) { return p.key(kindHeader).rest("t"), encodeThread(nil, header, cut) }, []string{"Thread", "SummariesSeq"}},
		{kindMessage, message, func(p *Partition) (key, []byte) {
			return p.key(kindMessage).part("t").rest("m"), encodeMessage(nil, message)
		}, []string{"ID"}},
		{kindHeader, cut, func(p *Partition) (key, []byte) { return p.key(kindHeader).rest("t"), encodeThread(nil, header, cut) }, nil},
		{kindSlot, slot, func(p *Partition) (key, []byte) { return p.key(kindSlot).part("t").rest("s"), encodeJSON(slot) }, nil},
		{kindWaiting, waiting, func(p *Partition) (key, []byte) {
			return p.key(kindWaiting).part("t").part("m").number(1), encodeJSON(waiting)
		}, []string{"Edit"}},
		{kindSummary, sum, func(p *Partition) (key, []byte) { return p.key(kindSummary).part("t").rest("s"), encodeSummary(sum) }, nil},
		{kindJob, job, func(p *Partition) (key, []byte) { return p.key(kindJob).part("t").rest("s"), encodeJSON(job) }, []string{"Calls"}},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			want, got := storeWith(t, c.encode), 0
			eachChange(reflect.ValueOf(c.row).Elem(), "", c.free, func(field string) {
				got++
				var found []Problem
				if err := storeWith(t, c.encode).Diff(want, 0, func(p Problem) { found = append(found, p) }); err != nil {
					t.Fatal(err)
				}
				if len(found) != 1 || found[0].Want == found[0].Got {
					t.Errorf("%s is altered, and reported is %+v", field, found)
				}
			})
			if got < reflect.TypeOf(c.row).Elem().NumField()-len(c.free) {
				t.Errorf("%d alterations", got)
			}
		})
	}
	spent := func(sum int64) func(*Partition) (key, []byte) {
		return func(p *Partition) (key, []byte) {
			c := writing(nil)
			c.ints(&sum)
			return p.key(kindSpent).part("main").rest("2026-01-02"), c.b
		}
	}
	var found []Problem
	if err := storeWith(t, spent(2)).Diff(storeWith(t, spent(1)), 0, func(p Problem) { found = append(found, p) }); err != nil || len(found) != 1 {
		t.Errorf("spending is altered, and reported is %+v, %v", found, err)
	}
}

// A row whose texts are damaged is reported like any other.
func TestDamagedTextIsCompared(t *testing.T) {
	sum := whole()
	row := func(p *Partition) (key, []byte) { return p.key(kindSummary).part("t").rest("s"), encodeSummary(sum) }
	want := storeWith(t, row)
	for _, damage := range []func(){func() { sum.ID = "s\xff" }, func() { sum.Record = jsontext.Value(`{"id":`) }} {
		damage()
		var found []Problem
		if err := storeWith(t, row).Diff(want, 0, func(p Problem) { found = append(found, p) }); err != nil || len(found) != 1 {
			t.Errorf("reported is %+v, %v", found, err)
		}
	}
}

// storeWith is a store with one row.
func storeWith(t *testing.T, row func(*Partition) (key, []byte)) *Store {
	t.Helper()
	s, err := Open("store", Options{FS: Memory(), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	part, err := s.Partition(0)
	if err != nil {
		t.Fatal(err)
	}
	part.set(row(part))
	if _, err := part.Commit(NoSync); err != nil {
		t.Fatal(err)
	}
	if err := part.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// eachChange alters every value in a struct, one at a time, and calls each while it is altered.
func eachChange(v reflect.Value, path string, free []string, each func(field string)) {
	altered := func(to any, how string) {
		was := reflect.ValueOf(v.Interface())
		v.Set(reflect.ValueOf(to).Convert(v.Type()))
		each(path + how)
		v.Set(was)
	}
	if at, ok := v.Interface().(time.Time); ok {
		altered(at.Add(1), "")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !slices.Contains(free, name) && v.Field(i).CanSet() {
				eachChange(v.Field(i), path+"."+name, nil, each)
			}
		}
	case reflect.Array:
		eachChange(v.Index(v.Len()-1), fmt.Sprintf("%s[%d]", path, v.Len()-1), nil, each)
	case reflect.Slice:
		if raw, ok := v.Interface().(jsontext.Value); ok {
			altered(append(raw[:len(raw)-1:len(raw)-1], `,"x":1}`...), "")
			return
		}
		altered(reflect.Append(v, reflect.Zero(v.Type().Elem())).Interface(), " of more")
		if list, ok := v.Interface().([]string); ok && len(list) == 2 {
			altered([]string{list[0] + " " + list[1]}, " joined")
		}
		for i := range v.Len() {
			eachChange(v.Index(i), fmt.Sprintf("%s[%d]", path, i), nil, each)
		}
	case reflect.Map:
		if m, ok := v.Interface().(map[string][]string); ok {
			m = maps.Clone(m)
			m["x"] = nil
			altered(m, " of more")
		}
	case reflect.Pointer:
		altered(reflect.New(v.Type().Elem()).Interface(), " set")
	case reflect.String:
		altered(v.String()+"x", "")
	case reflect.Bool:
		altered(!v.Bool(), "")
	case reflect.Int, reflect.Int64:
		altered(v.Int()+1, "")
	case reflect.Uint64, reflect.Uint8:
		altered(v.Uint()+1, "")
	case reflect.Float64:
		altered(v.Float()+1, "")
	default:
		panic(fmt.Sprint(path, " is a ", v.Kind()))
	}
}

// A kind of row in neither list would never be compared, in silence.
func TestEveryKindIsComparedOrNot(t *testing.T) {
	own := []byte{ // of the store alone, or what can be read or made again from the rest
		kindMeta, kindLedger, kindSeen, kindOutbox, kindStaged, kindStagedTo, kindRejected, kindIdle, kindIdleDue, kindSweep, kindChild, kindHanded, kindPlace, kindParked, kindUnparked,
	}
	for _, kind := range kinds(t) {
		if slices.Contains(folded, kind) == slices.Contains(own, kind) {
			t.Errorf("say of kind %q whether the log determines its rows: in folded, or here", kind)
		}
	}
}
