package pricing

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var day = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestCost(t *testing.T) {
	own, err := Builtin().With([]byte("prices:\n  - {model: llama, input: 0, output: 0}\n  - {model: gpt-4o, input: 1, output: 2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	unknown := int64(-1)
	for _, c := range []struct {
		name   string
		table  *Table
		models []string
		day    time.Time
		tokens Tokens
		want   int64
	}{
		{"default openai", Builtin(), []string{"gpt-4.1-mini"}, day, Tokens{Input: 1000, Output: 100}, 560},
		{"default anthropic, dated name", Builtin(), []string{"claude-haiku-4-5-20251001"}, day, Tokens{Input: 1000, Output: 100}, 1500},
		{"cached part is cheaper", Builtin(), []string{"gpt-4.1-mini"}, day, Tokens{Input: 1000, CachedInput: 600, Output: 0}, 220},
		{"written part is dearer", Builtin(), []string{"claude-haiku-4-5"}, day, Tokens{Input: 1000, CacheWrite: 400}, 1100},
		{"half a micro-dollar rounds up", Builtin(), []string{"gpt-5-nano"}, day, Tokens{Input: 10}, 1},
		{"below half rounds down", Builtin(), []string{"gpt-5-nano"}, day, Tokens{Input: 9}, 0},
		{"long input, at the limit", Builtin(), []string{"claude-haiku-5-5"}, day, Tokens{Input: 100_000}, 10_000},
		{"long input, past it", Builtin(), []string{"claude-haiku-5-5"}, day, Tokens{Input: 100_001}, 50_001},
		{"a price before it changed", Builtin(), []string{"gpt-5.6-luna"}, day.AddDate(0, -5, 0), Tokens{Input: 1000}, 1000},
		{"and after", Builtin(), []string{"gpt-5.6-luna"}, day, Tokens{Input: 1000}, 200},
		{"the provider's name where the asked one is unknown", Builtin(), []string{"my-deployment", "gpt-4.1-mini-2025-04-14"}, day, Tokens{Input: 1000}, 400},
		{"unknown is not 0", Builtin(), []string{"llama"}, day, Tokens{Input: 1000}, unknown},
		{"0 is free", own, []string{"llama"}, day, Tokens{Input: 1000}, 0},
		{"own prices win", own, []string{"gpt-4o"}, day, Tokens{Input: 1000}, 1000},
		{"and leave the others", own, []string{"gpt-4o-mini"}, day, Tokens{Input: 1000}, 150},
		{"more cached than input is capped", Builtin(), []string{"gpt-4o"}, day, Tokens{Input: 10, CachedInput: 99}, 13},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := unknown
			if micro := c.table.Cost(c.tokens, c.day, c.models...); micro != nil {
				got = *micro
			}
			if got != c.want {
				t.Fatalf("cost %d, want %d", got, c.want)
			}
		})
	}
}

func TestNameSaysWhichPrices(t *testing.T) {
	own, err := Builtin().With([]byte("prices: []"))
	if err != nil {
		t.Fatal(err)
	}
	if Builtin().Name() != "2026-11-20" || len(own.Name()) != len("2026-11-20+00000000") {
		t.Fatalf("names %q %q", Builtin().Name(), own.Name())
	}
}

func TestBuiltinRowsSayTheirSource(t *testing.T) {
	for model, rows := range Builtin().rows {
		for _, row := range rows {
			if row.Source == "" {
				t.Errorf("%s from %q has no source", model, row.From)
			}
			if row.CachedInput != nil && *row.CachedInput > *row.Input {
				t.Errorf("%s: cached input is dearer than input", model)
			}
		}
	}
}

func TestWrongTables(t *testing.T) {
	for name, text := range map[string]string{
		"not yaml":           "prices: [",
		"unknown key":        "prices:\n  - {model: a, input: 1, output: 1, colour: red}",
		"no model":           "prices:\n  - {input: 1, output: 1}",
		"no output":          "prices:\n  - {model: a, input: 1}",
		"negative":           "prices:\n  - {model: a, input: -1, output: 1}",
		"exponent":           "prices:\n  - {model: a, input: 1e-3, output: 1}",
		"seven decimals":     "prices:\n  - {model: a, input: 0.0000001, output: 1}",
		"from is not a day":  "prices:\n  - {model: a, from: yesterday, input: 1, output: 1}",
		"twice":              "prices:\n  - {model: a, input: 1, output: 1}\n  - {model: a, input: 2, output: 1}",
		"long without limit": "prices:\n  - {model: a, input: 1, output: 1, long: {input: 1, output: 1}}",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Builtin().With([]byte(text)); !errors.Is(err, ErrTable) {
				t.Fatalf("error %v", err)
			}
		})
	}
}

// The cost is the exact rational sum, rounded half up, whatever the numbers.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := func(name string) *MicroUSD {
			p := MicroUSD(rapid.Int64Range(0, 1e15).Draw(t, name))
			return &p
		}
		r := Rates{Input: price("in"), CachedInput: price("cached"), CacheWrite: price("write"), Output: price("out")}
		tok := Tokens{Input: rapid.Int64Range(0, 1e12).Draw(t, "input"), Output: rapid.Int64Range(0, 1e12).Draw(t, "output")}
		tok.CachedInput = rapid.Int64Range(0, tok.Input).Draw(t, "cachedInput")
		tok.CacheWrite = rapid.Int64Range(0, tok.Input-tok.CachedInput).Draw(t, "cacheWrite")

		sum := new(big.Int)
		for _, part := range [][2]int64{
			{tok.Input - tok.CachedInput - tok.CacheWrite, int64(*r.Input)}, {tok.CachedInput, int64(*r.CachedInput)},
			{tok.CacheWrite, int64(*r.CacheWrite)}, {tok.Output, int64(*r.Output)},
		} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(part[0]), big.NewInt(part[1])))
		}
		want := sum.Add(sum, big.NewInt(500_000)).Div(sum, big.NewInt(1_000_000))
		if want.Cmp(big.NewInt(math.MaxInt64)) > 0 {
			want = big.NewInt(math.MaxInt64)
		}
		if got := int64(r.cost(tok)); want.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("cost %d, want %s", got, want)
		}
	})
}

func FuzzParseUSD(f *testing.F) {
	for _, s := range []string{"0", "0.075", "12.5", "1e3", "-1", "", ".", "1.", "999999999999.999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseUSD(s)
		if err != nil {
			return
		}
		again, err := ParseUSD(n.String())
		if err != nil || again != n || n < 0 {
			t.Fatalf("%q reads as %d, written %q, read again %d (%v)", s, n, n.String(), again, err)
		}
	})
}
