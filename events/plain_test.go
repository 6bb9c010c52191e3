package events

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// walk reads whatever plain reads, with the same result; plain refuses whatever walk refuses.
func FuzzPlain(f *testing.F) {
	for _, seed := range plainBodies {
		f.Add([]byte(seed))
	}
	for _, seed := range otherBodies {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var fast, whole members
		if !fast.plain(body) {
			return
		}
		kind, err := walk(body, func(name, value []byte) { whole[fieldOf(name)] = value })
		if err != nil || kind != jsontext.KindBeginObject {
			t.Fatalf("%q was taken, and is %v, %v", body, kind, err)
		}
		for i := range whole {
			if !bytes.Equal(fast[i], whole[i]) || (fast[i] == nil) != (whole[i] == nil) {
				t.Fatalf("%s of %q: %q, not %q", field(i), body, fast[i], whole[i])
			}
		}
	})
}

var plainBodies = []string{
	`{"message_id":"m1","role":"user","content":"Which test fails?"}`,
	" {\r\n\t\"content\" : \"a \\\"b\\\" \\\\ \\/ \\b\\f\\n\\r\\t\" , \"deleted\" : true , \"pinned\":false,\"edit_id\":null } \n",
	`{"content":"Übergröße 漢字 🙂","message_id":""}`,
	`{"content":"a\\"}`,
}

// otherBodies are left to walk: they contain other JSON, or are invalid.
var otherBodies = []string{
	``, ` `, `{}`, `{`, `"`, `[]`, `null`, `{"content":"a"`, `{"content":"a"}}`, `{"content":"a"},`, `{"content":"a",}`, `{,"content":"a"}`,
	`{"content":"a" "role":"b"}`, `{"content" "a"}`, `{"content":}`, `{"content"`, `{"content":`, `{"content":"a`, `{"content":"a\`, `{"content":"a\"}`,
	`{"content":"a","content":"a"}`, `{"content":1}`, `{"content":[]}`, `{"metadata":{}}`, `{"content":"\u0041"}`, `{"content":"\x"}`,
	"{\"content\":\"\n\"}", "{\"content\":\"\x00\"}", "{\"content\":\"\xff\"}", "{\"content\":\"\xed\xa0\x80\"}", "\ufeff{\"content\":\"a\"}",
	`{"deleted":truе}`, `{"deleted":tru}`, `{"deleted":true`, `{"deleted":truefalse}`, `{"deleted":TRUE}`, `{"other":"a"}`, `{"":"a"}`, `{"cont\u0065nt":"a"}`,
	"{\"content\":\"a\"\v}", `{"content":"a"}x`, `{'content':"a"}`,
}

func TestPlain(t *testing.T) {
	for _, body := range plainBodies {
		if !new(members).plain([]byte(body)) {
			t.Errorf("%q is not taken", body)
		}
	}
	for _, body := range otherBodies {
		if new(members).plain([]byte(body)) {
			t.Errorf("%q is taken", body)
		}
	}
}

// Scanning eight bytes at once ends where scanning byte by byte would: for every byte, at each of the eight places,
// behind plain ones and before any other.
func TestPlainEnd(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				for _, behind := range []byte{'a', '"', 0xff, 0} {
					b := bytes.Repeat([]byte{'!'}, length)
					for i := at + 1; i < length; i++ {
						b[i] = behind
					}
					b[at] = byte(c)
					want := 0
					for want < length && plainBytes[b[want]] == plainByte {
						want++
					}
					if got := plainEnd(b, 0); got != want {
						t.Fatalf("plain bytes of %q end at %d, want %d", b, got, want)
					}
				}
			}
		}
	}
}
