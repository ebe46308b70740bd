package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/internal/processors"
	"waymark/landscape"
	"waymark/plugin"
)

// runs remembers what this process knows of the runs it works for. Nothing in it is needed: whatever is missing is
// rebuilt from the landscape and the payload store, by this process or another.
type runs struct {
	places *processors.Places // where they compute
	mu     sync.Mutex
	byID   map[string]*known
}

// known is what this process knows of a run.
type known struct {
	share  *processors.Share     // of what the process computes
	making sync.Mutex            // held while run is made
	run    atomic.Pointer[run]   // nil: nothing
	owner  atomic.Pointer[owner] // the last that was seen to have the right to work for it; nil: none
	used   time.Time             // when it was used last; under runs.mu
	busy   int                   // activities that work for the run; under runs.mu
}

// Runs for which nothing is being done are remembered for a while: each of many that execute at once has moments in
// which it waits for the others, and to know it again costs what it did so far. Another process may have concluded
// them.
const (
	maxIdleRuns = 32
	maxIdleTime = time.Minute
)

// run is one run's plan with the memory that saves reading and computing things twice.
type run struct {
	id       string
	share    *processors.Share // known.share
	plan     *plan.Plan
	pins     map[string]plugin.SourceInfo
	inTurns  bool        // values must be unique: chunks are recorded in the order of their turns
	unique   uniqueIndex // of what its tokens have brought
	runners  sync.Pool
	spare    sync.Pool                                  // chunks that are done with: their memory is for the next ones
	readings map[string]*reading                        // by source
	held     map[int]*holding                           // by barrier
	chunks   handover[landscape.ChunkKey, engine.Input] // read or come out of a barrier, and not yet through the steps
	parts    handover[partKey, []byte]                  // computed, and not yet written
	arrivals handover[partKey, *barrier.Arrivals]       // come to a barrier, and not yet taken
	ahead    handover[landscape.ChunkKey, ahead]        // through the steps, and not yet on record

	checking sync.Mutex // held while checked is used
	checked  bool       // every row is accounted for, and no policy keeps the run from publishing its outputs
}

// reading is how this process stands in a source.
type reading struct {
	mu      sync.Mutex // held while reader is used: a source is read in order
	reader  plugin.Reader
	digests []string       // of the source's files, once it was read to its end
	end     *plugin.Cursor // where that is; nil as long as it was not read to its end
}

// partKey is what a chunk brings to one sink or barrier.
type partKey struct {
	landscape.ChunkKey
	to string
}

// Room on the shelves: more than a window of chunks. What attempts left behind that never came back is pushed out.
const (
	maxChunks    = 8  // and parts of each sink
	maxStretches = 48 // of a run whose sources hold so much that it may be split
)

// enter notes that an activity works for the run, until the function that it returns is called. Then what is known of
// runs that nobody worked for in a long time is released.
func (r *runs) enter(id string) (leave func() error) {
	r.mu.Lock()
	k := r.use(id)
	k.busy++ // in one with finding it, or else it might be taken as idle in between
	r.mu.Unlock()
	end := k.share.Brief()
	return func() error {
		end()
		r.mu.Lock()
		k.busy--
		k.used = time.Now()
		idle := r.takeIdle()
		r.mu.Unlock()
		return release(idle)
	}
}

// of returns what is known of a run.
func (r *runs) of(id string) *known {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.use(id)
}

// use is of for callers that hold mu.
func (r *runs) use(id string) *known {
	if r.byID == nil {
		r.byID = map[string]*known{}
	}
	if r.byID[id] == nil {
		r.byID[id] = &known{share: r.places.Share()}
	}
	r.byID[id].used = time.Now()
	return r.byID[id]
}

// takeIdle removes the runs that were idle for too long, and those that were idle longest beyond how many may be
// remembered. It must be called with mu held.
func (r *runs) takeIdle() []*run {
	var idle []string
	for id, k := range r.byID {
		if k.busy == 0 {
			idle = append(idle, id)
		}
	}
	slices.SortFunc(idle, func(a, b string) int { return r.byID[b].used.Compare(r.byID[a].used) })
	kept, now := 0, time.Now()
	for kept < min(maxIdleRuns, len(idle)) && now.Sub(r.byID[idle[kept]].used) <= maxIdleTime {
		kept++
	}
	var taken []*run
	for _, id := range idle[kept:] {
		if forgotten := r.byID[id].run.Load(); forgotten != nil {
			taken = append(taken, forgotten)
		}
		delete(r.byID, id)
	}
	return taken
}

// release closes what is open for the runs.
func release(idle []*run) error {
	var failed error
	for _, run := range idle {
		failed = errors.Join(failed, run.unique.close())
		for _, reading := range run.readings {
			failed = errors.Join(failed, reading.release())
		}
	}
	return failed
}

// get returns the run, compiled from its record if this process does not know it.
func (a *Activities) get(ctx context.Context, id string) (*run, error) {
	k := a.runs.of(id)
	k.making.Lock()
	defer k.making.Unlock()
	if made := k.run.Load(); made != nil {
		return made, nil
	}
	made, err := a.recall(ctx, id)
	if err == nil {
		err = a.checkMarker(ctx, id)
	}
	if err != nil {
		return nil, a.ofThisWorker(err)
	}
	k.hold(made)
	return made, nil
}

// ofThisWorker lets others try what this process cannot: one that lacks a secret, has another fingerprint key, or is
// another program, is no reason to stop a run that its fellows can work for.
func (a *Activities) ofThisWorker(err error) error {
	if a.affinity.OwnQueue == "" || finalKind(err) == "" {
		return err
	}
	return errors.New("worker " + a.worker + " cannot work for the run, others may: " + err.Error()) // it is final for this worker alone
}

// keep remembers the run as it was just made.
func (a *Activities) keep(r *run) { a.runs.of(r.id).hold(r) }

// hold notes what was made of the run.
func (k *known) hold(r *run) {
	r.share = k.share
	k.run.Store(r)
}

// drop forgets what this process knows of a run of which an activity panicked: it may be half changed. What is open
// stays so for activities that are still at it.
func (r *runs) drop(id string) { r.of(id).run.Store(nil) }

// forget releases what this process holds for the run.
func (a *Activities) forget(id string) error {
	forgotten := a.runs.of(id).run.Swap(nil)
	if forgotten == nil {
		return nil
	}
	return release([]*run{forgotten})
}

// release closes what is open.
func (r *reading) release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.close()
}

// close must be called with mu held.
func (r *reading) close() error {
	if r.reader == nil {
		return nil
	}
	reader := r.reader
	r.reader = nil
	return reader.Close()
}

func (a *Activities) recall(ctx context.Context, id string) (*run, error) {
	record, err := a.log.Run(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	tables, err := recompute.Tables(ctx, a.log.Reader, a.payloads, id)
	if err != nil {
		return nil, err
	}
	request, err := recompute.Request(ctx, a.log.Reader, record, tables)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	compiled, err := a.planner.Plan(request)
	if err != nil {
		return nil, err
	}
	if digest := compiled.Digest(); digest != record.PlanSHA256 {
		err := fmt.Errorf("run %s began with plan %s, and its document compiles to %s here: another program, environment variable, secret or fingerprint key\n%s",
			id, record.PlanSHA256, digest, planDifference([]byte(record.Plan), compiled.JSON()))
		return nil, final{TypePlanChanged, err}
	}
	sources, err := a.log.Sources(ctx, id)
	if err != nil {
		return nil, err
	}
	pins, err := pinsOf(sources)
	if err != nil {
		return nil, err
	}
	return newRun(id, feedAgain(compiled, a.log.Reader, a.payloads, pins), pins), nil
}

func pinsOf(sources []landscape.Source) (map[string]plugin.SourceInfo, error) {
	pins := map[string]plugin.SourceInfo{}
	for _, source := range sources { // and barriers, which have nothing to pin
		var info plugin.SourceInfo
		if err := json.Unmarshal([]byte(source.Info), &info); err != nil {
			return nil, fmt.Errorf("source %s: description on record: %w", source.Source, err)
		}
		pins[source.Source] = info
	}
	return pins, nil
}

func newRun(id string, compiled *plan.Plan, pins map[string]plugin.SourceInfo) *run {
	r := &run{
		id: id, plan: compiled, pins: pins, inTurns: len(engine.Claims(compiled)) > 0,
		readings: map[string]*reading{}, held: map[int]*holding{},
	}
	for _, i := range compiled.Sources() {
		r.readings[compiled.Nodes[i].Name] = new(reading)
	}
	barriers := 0
	for i := range compiled.Nodes {
		if compiled.Nodes[i].Barrier {
			r.held[i] = &holding{node: i, name: compiled.Nodes[i].Name}
			barriers++
		}
	}
	small, bytes := 0, int64(0)
	for _, pin := range pins {
		for _, file := range pin.Files {
			bytes += file.Bytes
		}
		if resumepoint.IsSmall(pin) {
			small++
		}
	}
	chunks := maxChunks
	if bytes >= usualSplit {
		chunks = maxStretches
	}
	r.chunks.room = chunks*(1+barriers) + small
	r.ahead.room = maxChunks + small
	r.parts.room = chunks * len(compiled.Sinks())
	r.arrivals.room = chunks * barriers
	return r
}

// chunk returns a chunk to read into, with the memory of one that is done with, if there is one.
func (r *run) chunk() *plugin.Chunk {
	if spare, ok := r.spare.Get().(*plugin.Chunk); ok {
		return spare
	}
	return new(plugin.Chunk)
}

// done takes the memory of a chunk that is recorded, and that nobody else has. What it brought to barriers shares its
// text, and what was rejected its bytes: then it is left alone.
func (r *run) done(chunk *plugin.Chunk, result *engine.Result) {
	if len(r.held) == 0 && len(result.Rejected) == 0 {
		r.spare.Put(chunk)
	}
}

// runner lends a Runner; give it back with r.runners.Put.
func (r *run) runner() (*engine.Runner, error) {
	if lent, ok := r.runners.Get().(*engine.Runner); ok {
		return lent, nil
	}
	return engine.NewRunner(r.plan)
}

// node returns the plan's node with this name and kind.
func (r *run) node(name string, kind plan.Kind) (*plan.Node, error) {
	i := r.plan.Find(name)
	if i == plan.None || r.plan.Nodes[i].Kind != kind {
		return nil, final{TypePlanChanged, fmt.Errorf("run %s has no %s named %q", r.id, kind, name)}
	}
	return &r.plan.Nodes[i], nil
}

// sink returns one of the run's sinks.
func (r *run) sink(name string) (*plan.Node, error) {
	return r.node(name, plan.Sink)
}

// handover keeps in memory a few things that one activity makes and the next one takes. When it is full, the oldest
// falls off.
type handover[K comparable, V any] struct {
	mu     sync.Mutex
	room   int
	things map[K]V
	order  []K
}

func (s *handover[K, V]) put(key K, thing V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.things == nil {
		s.things = map[K]V{}
	}
	if _, there := s.things[key]; !there {
		s.order = append(s.order, key)
	}
	s.things[key] = thing
	if len(s.order) > s.room {
		delete(s.things, s.order[0])
		s.order = s.order[1:]
	}
}

// take returns the thing and removes it.
func (s *handover[K, V]) take(key K) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thing, found := s.things[key]
	if found {
		delete(s.things, key)
		for i := range s.order {
			if s.order[i] == key {
				s.order = append(s.order[:i], s.order[i+1:]...)
				break
			}
		}
	}
	return thing, found
}
