package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// verifyView shows how far a verification is.
type verifyView interface {
	show(done, total int64)
	close()
}

// verifyView returns a bar on a terminal, lines elsewhere, and nothing where nobody wants to see it.
func (a *app) verifyView() verifyView {
	if a.quiet || a.json {
		return noVerifyView{}
	}
	if isTerminal(a.stderr) {
		return newVerifyBar(a.stderr)
	}
	return &verifyLines{out: a.stderr, last: time.Now()}
}

type noVerifyView struct{}

func (noVerifyView) show(int64, int64) {}
func (noVerifyView) close()            {}

// verifyLines writes a line now and then.
type verifyLines struct {
	out  io.Writer
	last time.Time
}

func (v *verifyLines) show(done, total int64) {
	if time.Since(v.last) < lineInterval {
		return
	}
	v.last = time.Now()
	fmt.Fprintf(v.out, "waymark: %d%% verified\n", 100*done/max(total, 1))
}

func (*verifyLines) close() {}

// verifyBar is a progress bar.
type verifyBar struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

func newVerifyBar(out io.Writer) *verifyBar {
	container := mpb.New(mpb.WithOutput(out), mpb.WithWidth(40))
	bar := container.AddBar(0, mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})),
		mpb.AppendDecorators(decor.Name(" verified, "), decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" left")), mpb.BarRemoveOnComplete())
	return &verifyBar{container, bar}
}

func (v *verifyBar) show(done, total int64) {
	v.bar.SetTotal(total, false)
	v.bar.SetCurrent(done)
}

// close removes the bar: the report takes its place.
func (v *verifyBar) close() {
	v.bar.Abort(true)
	v.container.Wait()
}
