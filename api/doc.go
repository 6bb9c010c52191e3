// Package api is the request service of a processor, as its clients see it: the requests and replies, and a [Client] that sends
// them over NATS. The HTTP API has the same requests and replies.
//
// A program publishes with package events and asks with this one:
//
//	agent, err := events.NewPublisher(nc, events.PublisherOptions{})
//	receipt, err := agent.ToolResult(ctx, thread, &events.Message{…})
//	seq, err := receipt.Wait(ctx)
//	prompt, err := client.Context(ctx, thread, api.ContextRequest{MaxTokens: 8000, MinEventSeq: seq})
//
// Invariants: a struct of this package has exactly the members of its definition in schemas/service.json, which a test holds to both.
// Every member of a reply stands; what does not apply is null.
//
// Limits: a reply is at most as large as the server's max_payload ([ErrTooLarge]); a request waits at most 10s in the processor
// ([ErrUnavailable]).
package api
