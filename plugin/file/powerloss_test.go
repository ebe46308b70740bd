package file

import (
	"context"
	"flag"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/disk/disktest"
	"waymark/plugin"
	"waymark/plugin/plugintest"
	"waymark/tests/sample"
)

const (
	leastMoments = 6_000
	dearest      = "a process dies and another continues"
	deaths       = 4 // by day, how far it is from one change at which it dies to the next
	powerHeader  = "k,v\n"
	powerPlace   = "out/all.csv"
)

var (
	losses = flag.Uint64("losses", 1, "in how many ways TestPowerLoss takes the power at a moment, for each percentage that survives; make nightly has 3")
	rounds = flag.Uint64("rounds", 12, "how many rounds TestInterleaved has; make nightly has 200")
)

// percents returns how likely what was not synced is to survive; all but 0 are tried with as many seeds as there are losses.
func percents() []int { return sample.Of(2, []int{0, 10, 50, 100}) }

// outputKind is one way in which an output lies on the disk.
type outputKind struct{ parts, overwrite, plain bool }

var outputKinds = map[string]outputKind{
	"one file":                   {},
	"one file over another":      {overwrite: true},
	"parts":                      {parts: true},
	"parts over others":          {parts: true, overwrite: true},
	"parts over others in steps": {parts: true, overwrite: true, plain: true},
}

// outputLab is a disk that loses its power after every call that changes something, and what must be true of what is left.
type outputLab struct {
	t      *testing.T
	kind   outputKind
	disk   *disktest.Disk
	states *atomic.Int64
	moment uint64

	one, two     plugintest.Output
	before       string          // what is visible before run one publishes
	whole, newer string          // what is visible after run one, and run two, published
	may          map[string]bool // what may be visible now

	late      bool // for an instant an Open that comes late may put the header's file into the published folder, where it does no harm
	opened    bool
	kept      map[int]bool // parts that were acknowledged
	discarded bool
}

// pagesOf returns n bytes that differ from page to page.
func pagesOf(n int, seed string) string {
	var out strings.Builder
	for i := 0; out.Len() < n; i++ {
		fmt.Fprintf(&out, "%s %d\n", seed, i)
	}
	return out.String()[:n]
}

// The outputs of all laboratories, made once.
var (
	outputOne = sync.OnceValue(func() plugintest.Output {
		return plugintest.NewOutput(powerHeader, "a,1\n", pagesOf(5000, "b"), "", pagesOf(9000, "d"))
	})
	outputTwo = sync.OnceValue(func() plugintest.Output {
		return plugintest.NewOutput(powerHeader, pagesOf(6000, "z"), "y,1\n")
	})
	outputZero = sync.OnceValue(func() plugintest.Output {
		return plugintest.NewOutput(powerHeader, pagesOf(4500, "old"), "old,1\n")
	})
)

func newOutputLab(t *testing.T, kind outputKind, states *atomic.Int64) *outputLab {
	t.Helper()
	l := &outputLab{
		t: t, kind: kind, states: states, kept: map[int]bool{},
		one: outputOne(), two: outputTwo(),
	}
	l.whole, l.newer = l.alone("one", l.one), l.alone("two", l.two)
	l.disk = disktest.New()
	l.disk.Plain = kind.plain
	if kind.overwrite {
		l.publish("zero", outputZero())
	}
	l.before = l.visible(l.disk)
	l.may = map[string]bool{l.before: true}
	return l
}

// alone returns what the output looks like if nothing happens to it.
func (l *outputLab) alone(run string, o plugintest.Output) string {
	l.t.Helper()
	l.disk = disktest.New()
	l.disk.Plain = l.kind.plain
	l.publish(run, o)
	return l.visible(l.disk)
}

// publish writes and publishes the output of a run, undisturbed.
func (l *outputLab) publish(run string, o plugintest.Output) {
	l.t.Helper()
	target := l.target(l.disk.Process(nil), run)
	o.Write(l.t, target)
	_, err := target.Publish(context.Background(), o.Header, o.Parts)
	require.NoError(l.t, err)
}

func (l *outputLab) target(d *disktest.Disk, run string) plugin.Target {
	at := location{disk: d, name: powerPlace, overwrite: l.kind.overwrite}
	return fileDestination{sink: "all", location: at, parts: l.kind.parts, extension: ".csv"}.Target(run)
}

// visible returns what a user sees: names and bytes.
func (l *outputLab) visible(d *disktest.Disk) string {
	info, err := d.Lstat(powerPlace)
	if err != nil {
		return ""
	}
	if !info.IsDir() {
		return "=" + l.bytesOf(d, powerPlace)
	}
	names, err := d.Names(powerPlace)
	require.NoError(l.t, err)
	var out strings.Builder
	out.WriteString("=")
	for _, name := range names {
		if l.late && name == headerName {
			continue
		}
		out.WriteString("\n" + name + "=" + l.bytesOf(d, path.Join(powerPlace, name)))
	}
	return out.String()
}

func (l *outputLab) bytesOf(d *disktest.Disk, name string) string {
	data, err := readRegular(d, name)
	require.NoError(l.t, err)
	return string(data)
}

// remains returns what is next to the output.
func (l *outputLab) remains(d *disktest.Disk) []string {
	names, err := d.Names("out")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, ".") })
}

// blackout takes the power away in many ways, and checks what is left each time. It returns nil.
func (l *outputLab) blackout(call string) error {
	l.moment++
	for _, percent := range percents() {
		for seed := range *losses {
			if percent == 0 && seed > 0 {
				break
			}
			l.states.Add(1)
			crash := func() *disktest.Disk { return l.disk.Crash(percent, l.moment<<8|seed) }
			if err := l.check(crash, seed == 0); err != nil {
				l.t.Fatalf("moment %d, after %s, %d %% survive, seed %d: %v; on the disk was\n%sand is\n%s",
					l.moment, call, percent, seed, err, l.disk, crash())
			}
		}
	}
	return nil
}

// check holds what is left against what was acknowledged, and then lets the run go on, or, the first time, be discarded.
func (l *outputLab) check(crash func() *disktest.Disk, first bool) error {
	left := crash()
	if saw := l.visible(left); !l.may[saw] {
		return fmt.Errorf("visible is %.200q", saw)
	}
	if l.discarded {
		if l.visible(left) == l.before && len(l.remains(left)) > 0 {
			return l.checkDiscard(left)
		}
		return nil
	}
	if err := l.checkKept(left); err != nil {
		return err
	}
	if err := l.goOn(left.Process(nil), func(int) {}); err != nil {
		return fmt.Errorf("when the run continues: %w", err)
	}
	for _, disk := range []*disktest.Disk{left, left.Crash(0, 0)} {
		if saw := l.visible(disk); saw != l.whole {
			return fmt.Errorf("after the run went on, visible is %.200q", saw)
		}
		if remains := l.remains(disk); len(remains) > 0 {
			return fmt.Errorf("after the run went on, there is %q", remains)
		}
	}
	if first {
		return l.checkDiscard(crash())
	}
	return nil
}

// checkKept requires that parts that were acknowledged are there as long as nobody publishes.
func (l *outputLab) checkKept(left *disktest.Disk) error {
	if l.may[l.whole] {
		return nil
	}
	target := l.target(left, "one")
	for i := range l.kept {
		applied, err := target.Check(context.Background(), l.one.Parts[i])
		if err != nil || applied != plugin.Exactly {
			return fmt.Errorf("acknowledged part %d is not there: %v, %w", i, applied, err)
		}
	}
	return nil
}

func (l *outputLab) checkDiscard(left *disktest.Disk) error {
	if err := l.target(left, "one").Discard(context.Background()); err != nil {
		return fmt.Errorf("discard: %w", err)
	}
	for _, disk := range []*disktest.Disk{left, left.Crash(0, 0)} {
		if saw := l.visible(disk); saw != l.before && !l.may[saw] || saw == "" && l.before != "" {
			return fmt.Errorf("after Discard, visible is %.200q", saw)
		}
		if remains := l.remains(disk); len(remains) > 0 {
			return fmt.Errorf("after Discard there is %q", remains)
		}
	}
	return nil
}

// goOn does what a run does that is resumed: it opens the place unless that was acknowledged, writes what is not there,
// and publishes. acknowledged, if not nil, is called after each of these.
func (l *outputLab) goOn(d *disktest.Disk, acknowledged func(step int)) error {
	ctx, target := context.Background(), l.target(d, "one")
	if !l.opened {
		if _, err := target.Open(ctx, l.one.Header); err != nil {
			return err
		}
		acknowledged(-1)
	}
	for i, part := range l.one.Parts {
		applied, err := target.Check(ctx, part)
		if err == nil && applied == plugin.NotApplied {
			err = target.Write(ctx, part, l.one.Data[i])
		}
		if err != nil {
			return err
		}
		acknowledged(i)
	}
	acknowledged(len(l.one.Parts))
	_, err := target.Publish(ctx, l.one.Header, l.one.Parts)
	return err
}

// steps are what run one does, each an activity's call: it opens, writes its parts in this order, and publishes.
var steps = []int{-1, 3, 1, 0, 2, 4}

// step makes one step in a process, and remembers what was acknowledged.
func (l *outputLab) step(d *disktest.Disk, n int) (made bool, err error) {
	ctx, target := context.Background(), l.target(d, "one")
	switch i := steps[n]; i {
	case -1:
		if made, err = target.Open(ctx, l.one.Header); err == nil {
			l.acknowledged(i)
		}
	case len(l.one.Parts):
		l.acknowledged(i)
		if _, err = target.Publish(ctx, l.one.Header, l.one.Parts); err == nil {
			l.may = map[string]bool{l.whole: true}
		}
	default:
		if err = target.Write(ctx, l.one.Parts[i], l.one.Data[i]); err == nil {
			l.acknowledged(i)
		}
	}
	return made, err
}

// acknowledged remembers that step i of run one was; the last one, publishing, before it is made.
func (l *outputLab) acknowledged(i int) {
	switch i {
	case -1:
		l.opened = true
	case len(l.one.Parts):
		l.mayPublish()
	default:
		l.kept[i] = true
	}
}

func (l *outputLab) mayPublish() {
	l.may[l.whole] = true
	if l.kind.plain {
		l.may[""] = true // for an instant
	}
}

// dying returns a process that is killed after its n-th change.
func (l *outputLab) dying(n int) *disktest.Disk {
	d := l.disk.Process(nil)
	d.After = func(string) error {
		if n--; n >= 0 {
			return nil
		}
		d.Dead = true
		return disktest.ErrDied
	}
	return d
}

// stopped returns a process that is stopped after its n-th change, until meanwhile has been done, and then continues. Power
// fails whenever it has changed something after that.
func (l *outputLab) stopped(n int, meanwhile func()) (d *disktest.Disk, wasStopped *bool) {
	wasStopped = new(bool)
	return l.disk.Process(func(call string) error {
		if n--; n == -1 {
			*wasStopped = true
			meanwhile()
		}
		if *wasStopped {
			return l.blackout(call)
		}
		return nil
	}), wasStopped
}

// outputWorkloads are what processes do while the power may go at any moment. Each returns false once there is nothing left
// to do for n.
var outputWorkloads = map[string]func(l *outputLab, n int) (more bool){
	"undisturbed": func(l *outputLab, _ int) bool {
		for i := range steps {
			_, err := l.step(l.disk.Process(l.blackout), i)
			require.NoError(l.t, err)
			require.NoError(l.t, l.blackout("a step"))
		}
		_, err := l.step(l.disk.Process(l.blackout), len(steps)-1)
		require.NoError(l.t, err, "published again")
		return false
	},
	dearest: func(l *outputLab, n int) bool {
		dying := l.dying(n)
		for i := range steps {
			if _, err := l.step(dying, i); err != nil {
				require.True(l.t, dying.Dead, "%v", err)
				break
			}
		}
		require.NoError(l.t, l.blackout("death"))
		require.NoError(l.t, l.goOn(l.disk.Process(l.blackout), l.acknowledged))
		require.Equal(l.t, l.whole, l.visible(l.disk))
		require.Empty(l.t, l.remains(l.disk))
		return dying.Dead
	},
	"a stopped process continues after another published": func(l *outputLab, n int) bool {
		published := func() {
			require.NoError(l.t, l.goOn(l.disk.Process(nil), l.acknowledged))
			l.may = map[string]bool{l.whole: true}
		}
		return l.goesOnTooLate(n, published, l.whole)
	},
	"a stopped process continues after its run was discarded": func(l *outputLab, n int) bool {
		return l.goesOnTooLate(n, l.discard, l.before)
	},
	"a stopped process continues after a later run published": func(l *outputLab, n int) bool {
		if !l.kind.overwrite {
			return false
		}
		return l.goesOnTooLate(n, func() {
			require.NoError(l.t, l.goOn(l.disk.Process(nil), l.acknowledged))
			l.publish("two", l.two)
			l.may, l.discarded = map[string]bool{l.newer: true}, true
		}, l.newer)
	},
	"a stopped process continues after its run was discarded and a later one published": func(l *outputLab, n int) bool {
		return l.goesOnTooLate(n, func() {
			wasPublished := l.visible(l.disk) == l.whole
			l.discard()
			if wasPublished && !l.kind.overwrite {
				return
			}
			l.publish("two", l.two)
			l.may = map[string]bool{l.newer: true}
		}, l.newer)
	},
	"published without a look by another process": func(l *outputLab, n int) bool {
		dying := l.dying(n)
		for i := range len(steps) - 1 {
			if _, err := l.step(dying, i); err != nil {
				break
			}
		}
		if !dying.Dead {
			return false
		}
		l.mayPublish()
		if err := l.publishOne(l.disk.Process(l.blackout)); err == nil {
			l.may = map[string]bool{l.whole: true}
		}
		require.NoError(l.t, l.blackout("publish"))
		return true
	},
	"published while it is discarded": func(l *outputLab, n int) bool {
		for i := range len(steps) - 1 {
			_, err := l.step(l.disk.Process(nil), i)
			require.NoError(l.t, err)
		}
		var published error
		discarding, wasStopped := l.stopped(n, func() {
			_, published = l.step(l.disk.Process(nil), len(steps)-1)
		})
		l.discarded = true
		require.NoError(l.t, l.target(discarding, "one").Discard(context.Background()))
		require.Empty(l.t, l.remains(l.disk))
		if *wasStopped && published == nil {
			require.Equal(l.t, l.whole, l.visible(l.disk))
		} else {
			require.Equal(l.t, l.before, l.visible(l.disk))
		}
		return *wasStopped
	},
}

func (l *outputLab) discard() {
	l.discarded = true
	require.NoError(l.t, l.target(l.disk.Process(nil), "one").Discard(context.Background()))
}

// goesOnTooLate stops a process after its n-th change until meanwhile was done. It then finishes the step that it was in, and
// takes back what it opened. What is visible in the end is as said, unless what it was about to do was done before.
func (l *outputLab) goesOnTooLate(n int, meanwhile func(), visible string) bool {
	late, wasStopped := l.stopped(n, meanwhile)
	for i := range steps {
		made, err := l.step(late, i)
		if !*wasStopped {
			require.NoError(l.t, err)
			continue
		}
		if made {
			require.NoError(l.t, l.target(l.disk.Process(nil), "one").Discard(context.Background()))
		}
		require.True(l.t, l.visible(l.disk) == visible || l.discarded && i == len(steps)-1 && l.visible(l.disk) == l.whole && err == nil,
			"step %d, %v: visible is %.200q", i, err, l.visible(l.disk))
		require.Empty(l.t, l.remains(l.disk))
		return true
	}
	return false
}

// TestPowerLoss takes the power away after every call that changes something, kills and stops processes there, and lets
// others go on. Parts that were acknowledged are there afterwards, an output is visible whole or not at all, and a run that
// continues ends with exactly its output.
func TestPowerLoss(t *testing.T) {
	var states atomic.Int64
	t.Run("outputs", func(t *testing.T) {
		for kindName, kind := range outputKinds {
			for name, work := range outputWorkloads {
				t.Run(kindName+", "+name, func(t *testing.T) {
					t.Parallel()
					step := 1
					if name == dearest {
						step = sample.Step(deaths)
					}
					for n := 0; work(newOutputLab(t, kind, &states), n); n += step {
						require.Less(t, n, 1000)
					}
				})
			}
		}
	})
	t.Logf("%d crash states", states.Load())
	least := leastMoments / min(sample.Step(deaths), 3) * (1 + (len(percents())-1)*int(*losses))
	require.GreaterOrEqual(t, int(states.Load()), least)
}
