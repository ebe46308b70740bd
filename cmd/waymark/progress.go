package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plan"
)

// progressView shows how far a run is.
type progressView interface {
	show(p landscape.Progress)
	// say tells something besides.
	say(text string)
	close()
}

// progressView returns a bar on a terminal, lines elsewhere, and only trouble where nobody wants to see more.
func (a *app) progressView(ctx context.Context, compiled *plan.Plan) progressView {
	if a.quiet || a.json {
		return quietView{a.stderr}
	}
	if file, ok := a.stderr.(*os.File); ok && cwriter.IsTerminal(int(file.Fd())) {
		return newBar(a.stderr, sourceBytes(ctx, compiled))
	}
	return &lineView{out: a.stderr, started: time.Now(), last: time.Now()}
}

// sourceBytes returns how many bytes there are to read, or 0 if that cannot be told: chunks are counted in decoded text,
// and the length of a compressed file says little about that.
func sourceBytes(ctx context.Context, compiled *plan.Plan) int64 {
	var total int64
	for _, i := range compiled.Sources() {
		spec, _ := compiled.Document.Pipeline.Sources.Get(compiled.Nodes[i].Name)
		info, err := compiled.Nodes[i].Source.Stat(ctx)
		if err != nil {
			return 0
		}
		for _, file := range info.Files {
			if !plainText(filesOf(spec), file.Path) {
				return 0
			}
			total += file.Bytes
		}
	}
	return total
}

func filesOf(spec pipeline.Source) pipeline.Files {
	if spec.CSV != nil {
		return spec.CSV.Files
	}
	return spec.JSONL.Files
}

// plainText reports whether a file's bytes are those of its text.
func plainText(files pipeline.Files, path string) bool {
	if strings.HasPrefix(files.Encoding, "utf-16") {
		return false
	}
	switch files.Compression {
	case "none":
		return true
	case "", "auto":
		return !strings.HasSuffix(path, ".gz") && !strings.HasSuffix(path, ".zst")
	}
	return false
}

// quietView shows no progress, and tells what is told besides.
type quietView struct{ out io.Writer }

func (quietView) show(landscape.Progress) {}
func (v quietView) say(text string)       { fmt.Fprintf(v.out, "waymark: %s\n", visible(text)) }
func (quietView) close()                  {}

// lineInterval is the time between two lines of progress.
const lineInterval = 5 * time.Second

// lineView writes a line now and then.
type lineView struct {
	out           io.Writer
	started, last time.Time
}

func (v *lineView) show(p landscape.Progress) {
	if time.Since(v.last) < lineInterval {
		return
	}
	v.last = time.Now()
	fmt.Fprintf(v.out, "waymark: %s\n", progressText(p, time.Since(v.started)))
}

func (v *lineView) say(text string) { fmt.Fprintf(v.out, "waymark: %s\n", visible(text)) }

func (*lineView) close() {}

func progressText(p landscape.Progress, elapsed time.Duration) string {
	text := fmt.Sprintf("%s read, %s done, %s rows/s", many(p.Rows, "row"), grouped(p.Passed), grouped(perSecond(p.Passed, elapsed)))
	if p.Failed > 0 {
		text += fmt.Sprintf(", %s refused", grouped(p.Failed))
	}
	if p.Held > 0 {
		text += fmt.Sprintf(", %s held", grouped(p.Held))
	}
	return text
}

func perSecond(rows int64, elapsed time.Duration) int64 {
	return int64(float64(rows) / max(elapsed.Seconds(), 0.001))
}

// barView is a progress bar.
type barView struct {
	container *mpb.Progress
	bar       *mpb.Bar
	started   time.Time
	latest    atomic.Value // the landscape.Progress that was shown last
}

// newBar returns a bar of total bytes; a spinner if total is 0.
func newBar(out io.Writer, total int64) *barView {
	v := &barView{container: mpb.New(mpb.WithOutput(out), mpb.WithWidth(40)), started: time.Now()}
	v.latest.Store(landscape.Progress{})
	counts := decor.Any(func(decor.Statistics) string {
		return " " + progressText(v.latest.Load().(landscape.Progress), time.Since(v.started))
	})
	if total == 0 {
		v.bar = v.container.AddSpinner(0, mpb.AppendDecorators(counts), mpb.BarRemoveOnComplete())
		return v
	}
	v.bar = v.container.AddBar(total, mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})),
		mpb.AppendDecorators(counts, decor.Name(", "), decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" left")), mpb.BarRemoveOnComplete())
	return v
}

func (v *barView) show(p landscape.Progress) {
	v.latest.Store(p)
	v.bar.SetCurrent(p.Bytes)
}

// say writes above the bar.
func (v *barView) say(text string) { fmt.Fprintf(v.container, "waymark: %s\n", visible(text)) }

// close removes the bar: the summary takes its place.
func (v *barView) close() {
	v.bar.Abort(true)
	v.container.Wait()
}
