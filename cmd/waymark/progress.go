package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"waymark/internal/program"
	"waymark/internal/text"
	"waymark/landscape"
)

// progressView shows how far a run is.
type progressView interface {
	show(p landscape.Progress)
	// hold shows what keeps the run from moving, until it is called with nothing.
	hold(what string)
	// say tells something besides.
	say(said string)
	close()
}

// progressView returns a bar on a terminal, lines elsewhere, and only trouble where nobody wants to see more. total is the
// number of bytes to read, or 0 if that is unknown; before is how far the run was when this process began.
func (a *app) progressView(total int64, before landscape.Progress) progressView {
	if a.quiet || a.json {
		return quietView{a.stderr}
	}
	if isTerminal(a.stderr) {
		return newBar(a.stderr, total, before)
	}
	return &lineView{out: a.stderr, pace: pace{time.Now(), before}, last: time.Now()}
}

// isTerminal reports whether a person reads what is written there, as it is written.
func isTerminal(w io.Writer) bool {
	if out, ok := w.(*program.Output); ok {
		w = out.To
	}
	file, ok := w.(*os.File)
	return ok && cwriter.IsTerminal(int(file.Fd()))
}

// pace is what a run's speed is measured from: this process's own work, not that of earlier ones.
type pace struct {
	started time.Time
	before  landscape.Progress // what was done by then
}

// text says how far the run is, and how fast.
func (c pace) text(p landscape.Progress) string {
	said := fmt.Sprintf("%s read, %s done, %s rows/s", text.Count(p.Rows, "row"), text.Grouped(p.Passed),
		text.Grouped(perSecond(p.Passed-c.before.Passed, time.Since(c.started))))
	if p.Failed > 0 {
		said += fmt.Sprintf(", %s refused", text.Grouped(p.Failed))
	}
	if p.Held > 0 {
		said += fmt.Sprintf(", %s held", text.Grouped(p.Held))
	}
	return said
}

// left says how long the rest of total bytes will take at the pace so far; 0 before anything is done.
func (c pace) left(p landscape.Progress, total int64) time.Duration {
	done := p.Bytes - c.before.Bytes
	if done <= 0 {
		return 0
	}
	return time.Duration(float64(time.Since(c.started)) * float64(max(total-p.Bytes, 0)) / float64(done))
}

func perSecond(rows int64, elapsed time.Duration) int64 {
	return int64(float64(rows) / max(elapsed.Seconds(), 0.001))
}

// quietView shows no progress, and tells what is told besides.
type quietView struct{ out io.Writer }

func (quietView) show(landscape.Progress) {}
func (quietView) hold(string)             {}
func (v quietView) say(said string)       { fmt.Fprintf(v.out, "waymark: %s\n", text.Visible(said)) }
func (quietView) close()                  {}

// lineInterval is the time between two lines of progress.
const lineInterval = 5 * time.Second

// lineView writes a line now and then, and none while something keeps the run from moving.
type lineView struct {
	out  io.Writer
	pace pace
	last time.Time
	held bool
}

func (v *lineView) show(p landscape.Progress) {
	if v.held || time.Since(v.last) < lineInterval {
		return
	}
	v.last = time.Now()
	fmt.Fprintf(v.out, "waymark: %s\n", v.pace.text(p))
}

func (v *lineView) hold(what string) { v.held = what != "" }

func (v *lineView) say(said string) { fmt.Fprintf(v.out, "waymark: %s\n", text.Visible(said)) }

func (*lineView) close() {}

// barView is a progress bar.
type barView struct {
	container *mpb.Progress
	bar       *mpb.Bar
	pace      pace
	latest    atomic.Value // the landscape.Progress that was shown last
	held      atomic.Value // the text of what keeps the run from moving
}

// newBar returns a bar of total bytes; a spinner if total is 0.
func newBar(out io.Writer, total int64, before landscape.Progress) *barView {
	v := &barView{container: mpb.New(mpb.WithOutput(out), mpb.WithWidth(40)), pace: pace{time.Now(), before}}
	v.latest.Store(before)
	v.held.Store("")
	end := decor.Any(func(decor.Statistics) string { return v.text(total) })
	if total == 0 {
		v.bar = v.container.AddSpinner(0, mpb.AppendDecorators(end), mpb.BarRemoveOnComplete())
		return v
	}
	v.bar = v.container.AddBar(total, mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})),
		mpb.AppendDecorators(end), mpb.BarRemoveOnComplete())
	v.bar.SetCurrent(before.Bytes)
	return v
}

// text is what stands behind the bar.
func (v *barView) text(total int64) string {
	latest := v.latest.Load().(landscape.Progress)
	said := " " + v.pace.text(latest)
	if held := v.held.Load().(string); held != "" {
		return said + ", " + text.Cell(held)
	}
	if left := v.pace.left(latest, total); left > 0 {
		said += ", " + left.Round(time.Second).String() + " left"
	}
	return said
}

func (v *barView) show(p landscape.Progress) {
	v.latest.Store(p)
	v.bar.SetCurrent(p.Bytes)
}

func (v *barView) hold(what string) { v.held.Store(what) }

// say writes above the bar.
func (v *barView) say(said string) { fmt.Fprintf(v.container, "waymark: %s\n", text.Visible(said)) }

// close removes the bar: the summary takes its place.
func (v *barView) close() {
	v.bar.Abort(true)
	v.container.Wait()
}
