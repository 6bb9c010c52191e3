package ledger

import "testing"

// What the user asks is no output of a tool, though it begins like one.
func TestRequestsLikeOutput(t *testing.T) {
	const observed = "assistant: I look.\\n```\\ncat quay/book.py\\n```\nuser: Observation:\\ndef keep(): pass"
	play(t, []scenario{
		{"the output is wrong", `user: The output of the command is wrong: it prints the tide in feet instead of metres. Please fix that.` + "\nassistant: Done.\n", []string{"Goal: The output of the command is wrong"}, nil},
		{"an observation", `user: Observation: the ferry's log loses the last booking of a day. Please find out why.` + "\nassistant: Done.\n", []string{"Goal: Observation: the ferry's log"}, nil},
		{"a pasted output", `user: Command output:\npanic: no rope\n\nmain.go:12\n\nPlease fix the panic and add a test.` + "\nassistant: Done.\n", []string{"Goal: Command output:"}, nil},
		{"behind a call in text, with a request", askFerry + observed + `\n\nThe log of the ferry is still empty after that.` + "\nassistant: Done.\n", []string{"The log of the ferry is still empty"}, nil},
		{"behind a call in text", askFerry + observed + "\nassistant: It keeps nothing.\n", nil, []string{"Observation"}},
		{"where that was so before", askFerry + observed + "\nassistant: I look further.\nuser: Observation: no such file\nassistant: It keeps nothing.\n", nil, []string{"Observation"}},
	})
}
