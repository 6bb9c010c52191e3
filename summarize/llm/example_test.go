package llm_test

import (
	"context"
	"fmt"

	"precis/internal/secrets"
	"precis/summarize/llm"
)

// A processor makes one ladder, and runs each job of its pool on it. Here nothing has a model, so the
// rules serve, and the outcome says why.
func Example() {
	masker, err := secrets.Load()
	if err != nil {
		panic(err)
	}
	ladder, err := llm.New(llm.Options{Mask: masker.Mask})
	if err != nil {
		panic(err)
	}
	defer ladder.Close()

	outcome := ladder.Run(context.Background(), llm.Job{
		Kind: "tool_result", Category: "command_output", ToolName: "Bash",
		Content: "connecting to postgres://app:hunter22@db/app\nok, 1204 rows", MaxChars: 800,
		Providers: []string{"summarizer", "main"},
		Rules:     func(content string) string { return content[:44] },
	})
	fmt.Println(outcome.Text)
	fmt.Println(outcome.Method, "because of", outcome.FallbackReason)
	// Output:
	// connecting to postgres://app:[masked]@db/app
	// rules because of no provider
}
