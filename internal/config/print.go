package config

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"precis/internal/natsurl"
)

// WriteYAML prints the configuration in force as a file that Load accepts, each value followed by its origin. It prints
// no secrets, only the names of the variables that hold them, and masks a password in nats.url.
func (c *Config) WriteYAML(w io.Writer) error {
	shown := *c
	shown.NATS.URL = natsurl.Redacted(c.NATS.URL)
	out, err := yaml.MarshalWithOptions(shown, yaml.IndentSequence(true), yaml.CustomMarshaler(plainFloat),
		yaml.CustomMarshaler(quoted), yaml.CustomMarshaler(onOneLine[[]string]), yaml.CustomMarshaler(onOneLine[map[string]string]))
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	file, err := parser.ParseBytes(out, 0)
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	at, lines := keyOrigins(file.Docs[0].Body, ""), strings.Split(string(out), "\n")
	last := 0 // the prompts of a policy are on one line
	for _, l := range leaves(c) {
		if line := at[l.key].Line; line > last {
			last = line
			lines[line-1] = fmt.Sprintf("%-*s # %s", originColumn, lines[line-1], c.Origins.Of(l.key))
		}
	}
	_, err = io.WriteString(w, strings.Join(lines, "\n"))
	return err
}

// originColumn is the column of the origins, wide enough for most values.
const originColumn = 56

// plainFloat writes a number that the parser reads as one: it takes 1e-9, without a dot, for text.
func plainFloat(f float64) ([]byte, error) { return strconv.AppendFloat(nil, f, 'f', -1, 64), nil }

// quoted quotes a text unless it is a word: the library leaves a tab or a lone "y" as it is.
func quoted(text string) ([]byte, error) {
	if !word.MatchString(text) || keyword.MatchString(text) {
		return strconv.AppendQuote(nil, text), nil
	}
	return []byte(text), nil
}

// onOneLine writes texts in JSON, which is YAML too: in a map below others the library loses the place of what quoted returns.
func onOneLine[T []string | map[string]string](texts T) ([]byte, error) {
	return json.Marshal(texts, json.Deterministic(true))
}

// A word is read as text, unless it is a keyword, in YAML 1.1 or 1.2.
var (
	word    = regexp.MustCompile(`^[A-Za-z_/][A-Za-z_/][\w./-]*$`)
	keyword = regexp.MustCompile(`^(?i:true|false|null|yes|no|on|off)$`)
)

// Setting is one value in force, for programs.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// Settings lists every value in force.
func (c *Config) Settings() []Setting {
	var list []Setting
	for _, l := range leaves(c) {
		if l.unused {
			continue
		}
		value := l.value.Interface()
		if l.key == "nats.url" {
			value = natsurl.Redacted(l.value.String())
		}
		if d, ok := value.(time.Duration); ok {
			value = d.String()
		}
		list = append(list, Setting{Key: l.key, Value: value, Origin: c.Origins.Of(l.key).String()})
	}
	return list
}

// WriteJSON prints Settings, one per line.
func (c *Config) WriteJSON(w io.Writer) error {
	for _, setting := range c.Settings() {
		data, err := json.Marshal(setting)
		if err != nil {
			return fmt.Errorf("write settings: %w", err)
		}
		if _, err := w.Write(append(data, '\n')); err != nil {
			return err
		}
	}
	return nil
}
