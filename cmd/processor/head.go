package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/nats-io/nkeys"

	"precis/internal/audit"
)

// ofHead says whether any flag is given that only a head has.
func (c *auditCmd) ofHead() bool {
	return c.Head || c.VerifyHead != "" || c.Sign != "" || c.Signer != ""
}

// headUsage checks which flags of a head are given together.
func (c *auditCmd) headUsage() error {
	switch {
	case c.Sign != "" && !c.Head:
		return usage("--sign goes with --head")
	case c.Signer != "" && c.VerifyHead == "":
		return usage("--signer goes with --verify-head")
	case c.Head && c.VerifyHead != "":
		return usage("give --head or --verify-head, not both")
	case c.Thread != "":
		return usage("--head and --verify-head cover all threads: omit <thread>")
	case c.At != "" || c.HTML != "" || c.MaxTokens != nil || c.Format != nil:
		return usage("--at, --html, --max-tokens and --format go with <thread>")
	case c.Signer != "" && !nkeys.IsValidPublicKey(c.Signer):
		return usage("--signer: %q is not a public nkey", c.Signer)
	}
	return nil
}

// runHead prints the head of the log, or verifies one.
func (c *auditCmd) runHead(ctx context.Context, a *app) error {
	if err := c.headUsage(); err != nil {
		return err
	}
	if c.VerifyHead != "" {
		return c.verifyHead(ctx, a)
	}
	var seed []byte
	if c.Sign != "" {
		var err error
		if seed, err = os.ReadFile(c.Sign); err != nil {
			return usage("--sign: %w", err)
		}
		if err := new(audit.Head).Sign(seed); err != nil { // before the log is read
			return usage("--sign: %w", err)
		}
	}
	var head *audit.Head
	err := c.withChains(ctx, a, func(ctx context.Context, o audit.Options) (err error) {
		head, err = audit.ReadHead(ctx, o)
		return err
	})
	if err == nil && seed != nil {
		err = head.Sign(seed)
	}
	if err != nil {
		return err
	}
	a.json(head)
	return nil
}

// headCheck is the result of verifying a head.
type headCheck struct {
	Holds       bool                   `json:"holds"`
	Signer      string                 `json:"signer"` // empty: the head is not signed
	Differences []audit.HeadDifference `json:"differences"`
}

// verifyHead ends with status 1 if the log does not hold the head.
func (c *auditCmd) verifyHead(ctx context.Context, a *app) error {
	data, err := os.ReadFile(c.VerifyHead)
	if err != nil {
		return usage("--verify-head: %w", err)
	}
	head, err := audit.ParseHead(data)
	if err != nil {
		return usage("--verify-head: %s: %w", c.VerifyHead, err)
	}
	res := headCheck{Signer: head.Signer, Differences: []audit.HeadDifference{}}
	res.Differences = append(res.Differences, head.CheckSignature(c.Signer)...)
	err = c.withChains(ctx, a, func(ctx context.Context, o audit.Options) error {
		differ, err := audit.VerifyHead(ctx, o, head)
		res.Differences = append(res.Differences, differ...)
		return err
	})
	if err != nil {
		return err
	}
	res.Holds = len(res.Differences) == 0
	if c.JSON {
		a.json(res)
	} else {
		res.print(a, head)
	}
	if !res.Holds {
		return wrong("the head does not hold: %s", counted(len(res.Differences), "difference"))
	}
	return nil
}

func (r headCheck) print(a *app, h *audit.Head) {
	if r.Holds {
		by := "not signed"
		if r.Signer != "" {
			by = "signed by " + r.Signer
		}
		a.printf("head holds: %s of %s up to %s %d, %s\n", counted(h.Records, "record"), counted(h.Chains, "chain"), h.Stream, h.LastSeq, by)
		return
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MEMBER\tHEAD\tLOG")
	for _, d := range r.Differences {
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.What, d.Want, d.Got)
	}
	_ = w.Flush()
}

// withChains opens the log for the work of a head.
func (c *auditCmd) withChains(ctx context.Context, a *app, work func(context.Context, audit.Options) error) error {
	return logFlags{serverFlags: c.serverFlags}.withLog(ctx, a, func(ctx context.Context, l *logAtHand) error {
		bar := newLogProgress(a, "reading SUMMARIES")
		defer bar.done()
		err := work(ctx, l.options(bar))
		bar.clear()
		return err
	})
}
