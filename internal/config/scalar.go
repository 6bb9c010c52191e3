package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	wordsType    = reflect.TypeFor[[]string]()
)

// setScalar parses text into a value of the configuration. Its error names what is allowed.
func setScalar(v reflect.Value, text string) error {
	switch {
	case v.Type() == durationType:
		return setDuration(v, text)
	case v.Type() == wordsType:
		v.Set(reflect.ValueOf(splitWords(text)))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return nil
	case reflect.Bool:
		return setBool(v, text)
	case reflect.Int:
		return setInt(v, text)
	case reflect.Float64:
		return setFloat(v, text)
	default:
		return fmt.Errorf("can't be set from one value")
	}
}

func setDuration(v reflect.Value, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration; allowed: a number with a unit, such as 500ms, 30s, 5m or 24h", text)
	}
	v.SetInt(int64(d))
	return nil
}

func setBool(v reflect.Value, text string) error {
	switch text {
	case "true", "false":
		v.SetBool(text == "true")
		return nil
	}
	return fmt.Errorf("%q is not a truth value; allowed: true or false", text)
}

func setInt(v reflect.Value, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%q is not a whole number", text)
	}
	v.SetInt(int64(n))
	return nil
}

func setFloat(v reflect.Value, text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != f {
		return fmt.Errorf("%q is not a number", text)
	}
	v.SetFloat(f)
	return nil
}

func splitWords(text string) []string {
	words := []string{}
	for _, word := range strings.Split(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}
