package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"precis/summarize"
)

// scalarKind is what a single value may be, as messages say it.
type scalarKind string

const (
	text     scalarKind = "text (in quotes, where it looks like a number)"
	boolean  scalarKind = "true or false"
	integer  scalarKind = "a whole number"
	number   scalarKind = "a number"
	duration scalarKind = "a duration, such as 30s"
	words    scalarKind = "a list of words"
	size     scalarKind = "auto or a whole number"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	wordsType    = reflect.TypeFor[[]string]()
	sizeType     = reflect.TypeFor[summarize.Size]()
)

func kindOf(v reflect.Value) scalarKind {
	switch {
	case v.Type() == durationType:
		return duration
	case v.Type() == wordsType:
		return words
	case v.Type() == sizeType:
		return size
	case v.Kind() == reflect.Int:
		return integer
	case v.Kind() == reflect.Float64:
		return number
	case v.Kind() == reflect.Bool:
		return boolean
	}
	return text
}

// setScalar parses text into a value of the configuration. Its error says what is allowed.
func setScalar(v reflect.Value, given string) error {
	switch kind := kindOf(v); kind {
	case duration:
		d, err := time.ParseDuration(given)
		if err != nil {
			return fmt.Errorf("%q is not a duration; allowed: a number with a unit, such as 500ms, 30s, 5m or 24h", given)
		}
		v.SetInt(int64(d))
	case words:
		list := []string{}
		for word := range strings.SplitSeq(given, ",") {
			if word = strings.TrimSpace(word); word != "" {
				list = append(list, word)
			}
		}
		v.Set(reflect.ValueOf(list))
	case boolean:
		if given != "true" && given != "false" {
			return fmt.Errorf("%q is not %s", given, kind)
		}
		v.SetBool(given == "true")
	case integer:
		n, err := strconv.Atoi(given)
		if err != nil {
			return fmt.Errorf("%q is not %s", given, kind)
		}
		v.SetInt(int64(n))
	case size:
		n, err := summarize.ParseSize(given)
		if err != nil {
			return err
		}
		v.SetInt(int64(n))
	case number:
		f, err := strconv.ParseFloat(given, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%q is not %s", given, kind)
		}
		v.SetFloat(f)
	default:
		v.SetString(given)
	}
	return nil
}
