package timeline

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
)

// Funcs are the functions of the templates.
func Funcs() template.FuncMap {
	return template.FuncMap{
		"n": Number, "usd": Dollars, "less": Less, "clock": Clock, "day": Day, "stamp": Stamp, "short": Short, "plural": Plural,
	}
}

// Number groups the digits of an integer by threes.
func Number(v any) string {
	text := fmt.Sprint(v)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return sign + text
}

// Dollars is an amount in micro-dollars: two digits behind the point, or as many as a small one needs.
func Dollars(micro any) string {
	usd := float(micro) / 1e6
	switch {
	case usd < 0:
		return "−" + Dollars(int64(-usd*1e6+0.5))
	case usd == 0:
		return "$0"
	case usd < 0.01:
		return "$" + strconv.FormatFloat(usd, 'f', 6, 64)
	case usd < 1:
		return "$" + strconv.FormatFloat(usd, 'f', 4, 64)
	}
	return "$" + Number(int64(usd)) + fmt.Sprintf("%.2f", usd-float64(int64(usd)))[1:]
}

// Less is by how much b is less than a, in percent; empty without an a.
func Less(a, b any) string {
	x, y := float(a), float(b)
	if x == 0 {
		return ""
	}
	p := 100 * (y - x) / x
	digits := 0
	if p < -99 && y > 0 { // only what is gone whole is 100 % less
		digits = 2
	}
	text := strconv.FormatFloat(p, 'f', digits, 64)
	if text == "-0" || text == "0" {
		return "0 %"
	}
	if text, negative := strings.CutPrefix(text, "-"); negative {
		return "−" + text + " %"
	}
	return "+" + text + " %"
}

func float(v any) float64 {
	if p, ok := v.(*int64); ok && p != nil {
		v = *p
	}
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		return 0
	}
	return f
}

// Stamp is a time as machines read it.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Clock is a time of day, UTC; Day has its day before it.
func Clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// Day is a time with its day, UTC.
func Day(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// Short is the beginning of a long id.
func Short(id string) string {
	if r := []rune(id); len(r) > 14 {
		return string(r[:12]) + "…"
	}
	return id
}

// Plural is a number with the name of what it counts.
func Plural(v any, one, many string) string {
	if text := Number(v); text != "1" {
		return text + " " + many
	}
	return "1 " + one
}
