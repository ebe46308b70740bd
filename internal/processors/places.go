package processors

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"waymark/internal/defect"
)

const (
	// short is how long a run computes before it counts as a long one, how long one that is long computes before others
	// have its place, and how long one activity counts as brief.
	short = time.Second

	// moment is how long a short run computes before one that has computed less has its place.
	moment = 5 * time.Millisecond

	// mostGiven is how long a long run gives way at a time, and mostShare how many times as long as it has computed.
	mostGiven = 150 * time.Millisecond
	mostShare = 3

	// mostCalls is how many places there are to call services, for each to compute.
	mostCalls = 8

	// oneBreath is more than a pass computes before it asks again. What took longer had no processor meanwhile, or
	// waited for a service.
	oneBreath = 20 * time.Millisecond

	// giving is how long a long run waits before it looks again whether it is still to give way.
	giving = 5 * time.Millisecond
)

// Places are where the runs of one process compute. A run is short at first: there are as many places for short runs as
// processors, and as many for long ones. A long run keeps its place for a second if others wait for it. A short one
// keeps it for a moment if one waits that has computed less.
//
// Long runs give way while something brief is being done for others: then as many turns less compute as there are such
// things, or none in a process that starves. So what is brief has a processor, Go hears the network at once, and a
// database with one writer is soon free. Nobody has to say of a run that it is short.
type Places struct {
	computing         int // turns that compute at once
	forShort, forLong lines
	brief             atomic.Int64 // things that are being done
	long              atomic.Int64 // turns of long runs that do not give way
}

// NewPlaces returns the places of a process in which so many goroutines compute at once.
func NewPlaces(computing int) *Places {
	return &Places{computing: computing, forShort: newLines(computing), forLong: newLines(computing)}
}

// lines are the places of short runs, or of long ones.
type lines struct{ compute, call *line }

func newLines(computing int) lines {
	return lines{compute: &line{free: computing}, call: &line{free: mostCalls * computing}}
}

// OfProcess returns the places of this process.
var OfProcess = sync.OnceValue(func() *Places { return NewPlaces(Computing()) })

// Share returns what a run has of the places that has computed nothing so far.
func (p *Places) Share() *Share { return &Share{places: p} }

// Share is what a run has of the places. It is safe for concurrent use.
type Share struct {
	places *Places
	used   atomic.Int64 // nanoseconds that it has computed
	given  atomic.Int64 // Turn.given of the last turn that ended
	brief  atomic.Int64 // of Places.brief: what is done for this run
}

func (s *Share) long() bool { return s.used.Load() > int64(short) }

// Brief says that something is being done for the run until end is called. It is brief unless the run is a long one.
func (s *Share) Brief() (end func()) {
	if s.long() {
		return func() {}
	}
	return brief(&s.places.brief, &s.brief)
}

// Brief says that something brief is being done until end is called. It is so for no longer than a second: it may wait
// for a service.
func (p *Places) Brief() (end func()) { return brief(&p.brief) }

// brief adds one to the counts, and takes it away when end is called, or after a second.
func brief(counts ...*atomic.Int64) (end func()) {
	add := func(n int64) {
		for _, c := range counts {
			c.Add(n)
		}
	}
	add(1)
	over := func() { add(-1) }
	late := time.AfterFunc(short, defect.Guard("processors", over))
	return func() {
		if late.Stop() {
			over()
		}
	}
}

// room is how many turns of long runs compute now, at most, if something brief is being done for others.
func (s *Share) room() (turns int64, limited bool) {
	brief := s.places.brief.Load() - s.brief.Load()
	if brief <= 0 {
		return 0, false
	}
	if starving.Load() {
		return 0, true
	}
	return max(int64(s.places.computing)-brief, 0), true
}

// enter adds a turn of a long run, if there is room.
func (s *Share) enter() bool {
	for {
		n := s.places.long.Load()
		if room, limited := s.room(); limited && n >= room {
			return false
		}
		if s.places.long.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave takes one of the turns of long runs away, if there are more than there is room for.
func (s *Share) leave() bool {
	for {
		n := s.places.long.Load()
		if room, limited := s.room(); !limited || n <= room {
			return false
		}
		if s.places.long.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// Turn is one piece of work of a run: with a place, as long as it has it, or without one. It is for one goroutine.
type Turn struct {
	*Share
	ctx   context.Context
	from  *line         // where its place comes from; nil if it has none
	in    bool          // it is one of Places.long
	had   time.Duration // that it has computed in this place
	given time.Duration // that it has given way, less what it may after what it computed since
	last  time.Time     // when it last went on
}

func (s *Share) turn(ctx context.Context) *Turn {
	return &Turn{Share: s, ctx: ctx, given: time.Duration(s.given.Load()), last: time.Now()}
}

// Begin waits for a place. The error is the cause of the end of ctx. End gives the place back.
func (s *Share) Begin(ctx context.Context) (*Turn, error) {
	t := s.turn(ctx)
	if err := t.take(); err != nil {
		return nil, err
	}
	return t, nil
}

// Beside returns a turn without a place, and a context by which Breathe finds it. It is for things of some milliseconds
// each, one after the other, between which it waits for disks. A long run gives way before it.
func (s *Share) Beside(ctx context.Context) (context.Context, *Turn) {
	t := s.turn(ctx)
	t.goOn()
	return context.WithValue(ctx, turnKey{}, t), t
}

type turnKey struct{}

// Breathe is that of the turn that ctx has from Beside, if it has one.
func Breathe(ctx context.Context) error {
	if t, ok := ctx.Value(turnKey{}).(*Turn); ok {
		return t.Breathe()
	}
	return nil
}

// Call waits for a place to read or write, in which disks, networks and services may take their time. There are more of
// them than to compute in. The error is the cause of the end of ctx; end must be called if there is none.
func (s *Share) Call(ctx context.Context) (end func(), err error) {
	at := s.lines().call
	return at.give, at.wait(ctx, s)
}

// lines are those in which the run waits.
func (s *Share) lines() lines {
	if s.long() {
		return s.places.forLong
	}
	return s.places.forShort
}

// GiveWay lets what is brief go first, for a while, if the run is a long one.
func (s *Share) GiveWay(ctx context.Context) {
	_, turn := s.Beside(ctx)
	turn.End()
}

func (t *Turn) take() error {
	from := t.lines().compute
	if err := from.wait(t.ctx, t.Share); err != nil {
		return err
	}
	t.from, t.had = from, 0
	t.goOn()
	return nil
}

// End ends the turn, and gives the place back. Repeating it does nothing.
func (t *Turn) End() {
	t.Share.given.Store(int64(t.given))
	if t.in {
		t.places.long.Add(-1)
		t.in = false
	}
	if t.from != nil {
		t.from.give()
		t.from = nil
	}
}

// Breathe is to be called every few hundred microseconds in a place, and every few milliseconds without one. It lets
// others go first, or have the place, if it is their turn, and returns an error if ctx ends.
func (t *Turn) Breathe() error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	took := min(time.Since(t.last), oneBreath)
	t.had += took
	t.given = max(t.given-mostShare*took, 0)
	t.used.Add(int64(took))
	if t.from != nil && t.yields() {
		t.End()
		return t.take()
	}
	if t.in && t.given < mostGiven && t.leave() {
		t.in = false
	}
	t.goOn()
	return nil
}

// yields reports whether the turn is to give its place to others, if they wait for it.
func (t *Turn) yields() bool {
	return t.had > short || t.had > moment && t.from == t.places.forShort.compute && t.from.waitsFor(t.used.Load())
}

// goOn lets what is brief go first, for a while, if this is a turn of a long run.
func (t *Turn) goOn() {
	for !t.in && t.long() && t.from != t.places.forShort.compute {
		if t.in = t.enter(); t.in {
			break
		}
		if t.given >= mostGiven || t.ctx.Err() != nil {
			t.places.long.Add(1)
			t.in = true
			break
		}
		time.Sleep(giving)
		t.given += giving
	}
	t.last = time.Now()
}
