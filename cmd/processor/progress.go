package main

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
)

// progress shows how much of the files is read; nothing where nobody is looking.
type progress struct {
	bar *progressbar.ProgressBar
}

// newProgress counts bytes, since nobody knows the lines of a file before it is read.
func newProgress(a *app, files []string) *progress {
	if !a.watched {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions64(totalSize(files),
		progressbar.OptionSetWriter(a.terminal), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription("publishing"), progressbar.OptionClearOnFinish())}
}

// totalSize is the files' size in bytes; -1 is unknown.
func totalSize(files []string) int64 {
	var total int64
	for _, name := range files {
		info, err := os.Stat(name)
		if name == "-" || err != nil {
			return -1
		}
		total += info.Size()
	}
	return total
}

func (p *progress) reader(in io.Reader) io.Reader {
	if p.bar == nil {
		return in
	}
	return io.TeeReader(in, p.bar)
}

// clear makes room for a message.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear() // only looks depend on it
	}
}

func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// newLogProgress shows how much of a stream is read, in its sequences.
func newLogProgress(a *app, what string) *progress {
	if !a.watched {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions64(-1, progressbar.OptionSetWriter(a.terminal),
		progressbar.OptionShowCount(), progressbar.OptionSetItsString("events"),
		progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish())}
}

// reached moves the bar to a sequence.
func (p *progress) reached(seq, last uint64) {
	if p.bar == nil {
		return
	}
	p.bar.ChangeMax64(int64(last))
	_ = p.bar.Set64(int64(seq)) // only looks depend on it
}
