package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// fence is what the material of one request stands in. Its mark comes from the material, so that the
// same work makes the same request, and whoever wrote the material could not have known it; it does not
// occur there in any case of letters, so nothing inside can close the fence or open another.
type fence struct{ mark string }

// markBytes makes a mark that can't be aimed at: finding a text that holds its own takes 2^64 tries.
const markBytes = 8

func fenceFor(material string) fence {
	folded := strings.ToLower(material)
	for try := 0; ; try++ {
		sum := sha256.Sum256([]byte(strconv.Itoa(try) + "\n" + material))
		mark := hex.EncodeToString(sum[:markBytes])
		if !strings.Contains(folded, mark) {
			return fence{mark: mark}
		}
	}
}

func (f fence) begin() string { return "BEGIN DATA " + f.mark }
func (f fence) end() string   { return "END DATA " + f.mark }

// around puts the material between its two lines.
func (f fence) around(material string) string {
	return f.begin() + "\n" + material + "\n" + f.end()
}
