// Package valid states the providers' published rules for messages apart from the code that has to keep them:
// OpenAI's chat completions, Anthropic's messages, and the thread's own shape. Tests alone import it.
package valid
