package llm

import (
	"bytes"
	"encoding/json"
	"math"
)

// wholeUsage rounds fractional numbers in an answer's usage up. Some gateways divide or scale token counts; an SDK
// that reads them as integers would refuse the whole answer, which is paid for. Any other answer is returned as it is.
func wholeUsage(answer []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(answer, &members) != nil {
		return answer
	}
	decoder := json.NewDecoder(bytes.NewReader(members["usage"]))
	decoder.UseNumber()
	var usage map[string]any
	if decoder.Decode(&usage) != nil || !roundUp(usage) {
		return answer
	}
	rounded, err := json.Marshal(usage)
	if err != nil {
		return answer
	}
	members["usage"] = rounded
	if whole, err := json.Marshal(members); err == nil {
		return whole
	}
	return answer
}

// roundUp makes integers of the numbers in a usage, and says whether one was none.
func roundUp(usage map[string]any) (changed bool) {
	for name, value := range usage {
		switch v := value.(type) {
		case map[string]any:
			changed = roundUp(v) || changed
		case json.Number:
			if _, err := v.Int64(); err == nil {
				continue
			}
			f, err := v.Float64()
			if err != nil || math.Abs(f) > mostTokens {
				continue // no count of tokens: the SDK may say what is wrong with it
			}
			usage[name], changed = int64(math.Ceil(f)), true
		}
	}
	return changed
}
