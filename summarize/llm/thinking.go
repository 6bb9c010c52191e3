package llm

import "strings"

// roomToThink is added to the answer's limit of a model that thinks first: its thoughts count against
// the limit, and without room for them the answer is cut off or empty. They cost only what is used.
const roomToThink = 4096

// thinkers are the families that think without being asked to.
var thinkers = []string{"o1", "o3", "o4", "gpt-5", "gpt-6", "claude-haiku-5", "claude-sonnet-5", "claude-opus-5", "claude-fable", "claude-mythos"}

func thinkingRoom(model string) int {
	for _, family := range thinkers {
		if strings.HasPrefix(model, family) && !strings.Contains(model, "-chat") {
			return roomToThink
		}
	}
	return 0
}
