package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"precis/internal/thread"
	"precis/summarize/cut"
)

// Whatever a Compaction holds comes back, fields that are yet to be thought of too: they are drawn by
// reflection.
func TestCompactionComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := draw(t)
		got, err := decodeCompaction("t", encodeCompaction(want))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestNoFieldOfCompactionIsForgotten(t *testing.T) {
	var want thread.Compaction
	fill(reflect.ValueOf(&want).Elem(), new(int64))
	got, err := decodeCompaction("t", encodeCompaction(&want))
	if err != nil || !reflect.DeepEqual(got, &want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
}

// fill gives every field a value of its own.
func fill(v reflect.Value, n *int64) {
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*n++
		*at = time.Unix(*n, *n).UTC()
		return
	}
	switch *n++; v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Uint8:
		v.SetUint(uint64(*n)%255 + 1)
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(*n)
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	default:
		panic(v.Kind())
	}
}

// draw makes a Compaction as threads have them: of empty lists there is one kind.
func draw(t *rapid.T) *thread.Compaction {
	c := &thread.Compaction{Cut: cut.State{
		Count: rapid.Uint64().Draw(t, "count"), LastAt: rapid.Uint64().Draw(t, "last"),
		User: rapid.Make[cut.Turn]().Draw(t, "user"), Assistant: rapid.Make[cut.Turn]().Draw(t, "assistant"),
		BestUser: rapid.Make[cut.Position]().Draw(t, "best user"), BestAny: rapid.Make[cut.Position]().Draw(t, "best"),
		Open:    rapid.SliceOfN(rapid.Make[cut.Call](), 0, 5).Draw(t, "open"),
		Early:   rapid.SliceOfN(rapid.Make[cut.Call](), 0, 5).Draw(t, "early"),
		Pending: rapid.SliceOfN(rapid.Make[cut.Position](), 0, 5).Draw(t, "pending"),
	}}
	for range rapid.IntRange(0, 3).Draw(t, "tops") {
		top := rapid.Make[thread.Top]().Draw(t, "top")
		top.Level = max(top.Level, -top.Level, 0)
		c.Tops = append(c.Tops, top)
	}
	c.Held = rapid.SliceOf(rapid.Uint64()).Draw(t, "held")
	c.Fixed = rapid.SliceOf(rapid.Uint64()).Draw(t, "fixed")
	for _, list := range []*[]uint64{&c.Held, &c.Fixed, &c.Cut.User.Members, &c.Cut.Assistant.Members} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	unempty(&c.Cut.Open)
	unempty(&c.Cut.Early)
	unempty(&c.Cut.Pending)
	return c
}

func unempty[T any](list *[]T) {
	if len(*list) == 0 {
		*list = nil
	}
}

// A row that is cut short, goes on, or is of another version is told as such, never read as another one.
func TestDamagedCompactionIsTold(t *testing.T) {
	var c thread.Compaction
	fill(reflect.ValueOf(&c).Elem(), new(int64))
	whole := encodeCompaction(&c)
	old, err := json.Marshal(&c)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := decodeCompaction("t", whole[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	for name, tt := range map[string]struct {
		row  []byte
		want error
	}{
		"more behind it":  {append(whole[:len(whole):len(whole)], 0), ErrDamaged},
		"JSON, as once":   {old, ErrDamaged},
		"another version": {append([]byte{9}, whole[1:]...), ErrDamaged},
		"a list of 2^60":  {append([]byte{compactionVersion, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f), ErrDamaged},
	} {
		if _, err := decodeCompaction("t", tt.row); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What decodes at all is what encodes to a row that decodes to the same.
func FuzzDecodeCompaction(f *testing.F) {
	var c thread.Compaction
	f.Add(encodeCompaction(&c))
	fill(reflect.ValueOf(&c).Elem(), new(int64))
	f.Add(encodeCompaction(&c))
	f.Fuzz(func(t *testing.T, row []byte) {
		c, err := decodeCompaction("t", row)
		if err != nil {
			return
		}
		again, err := decodeCompaction("t", encodeCompaction(c))
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("%+v came back as %+v, %v", c, again, err)
		}
	})
}

func encodeCompaction(k *thread.Compaction) []byte {
	c := writing(nil)
	compactionRow(&c, k)
	return c.b
}

func decodeCompaction(name string, b []byte) (*thread.Compaction, error) {
	k, c := &thread.Compaction{}, reading(b)
	compactionRow(&c, k)
	return k, c.end("compaction", name)
}
