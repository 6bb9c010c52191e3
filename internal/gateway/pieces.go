package gateway

import "github.com/go-json-experiment/json/jsontext"

// pieces puts an object together whose members come in pieces. Appending to a text takes time in proportion to the piece.
type pieces struct {
	values object
	texts  map[string][]byte
}

// set replaces a member, unless by nothing.
func (p *pieces) set(name string, value jsontext.Value) {
	if p.values == nil {
		p.values = object{}
	}
	if s := string(value); s != "null" && s != `""` || p.values[name] == nil {
		p.values[name] = value
	}
}

// add continues a text or a list, and sets anything else.
func (p *pieces) add(name string, value jsontext.Value) {
	switch {
	case value.Kind() == jsontext.KindString:
		if p.texts == nil {
			p.texts = map[string][]byte{}
		}
		p.texts[name] = append(p.texts[name], textOf(value)...)
	case value.Kind() == jsontext.KindBeginArray:
		p.set(name, jsonOf(append(listOf(p.values[name]), listOf(value)...)))
	default:
		p.set(name, value)
	}
}

// whole is the object so far.
func (p *pieces) whole() object {
	o := object{}
	for name, value := range p.values {
		o[name] = value
	}
	for name, text := range p.texts {
		o[name] = quote(string(text))
	}
	return o
}
