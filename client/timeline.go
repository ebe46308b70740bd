package client

import (
	"cmp"
	"context"
	"slices"

	"waymark/landscape"
)

// Timeline is where the time of a run went. It is divided into bins of equal length.
type Timeline struct {
	Type    string           `json:"type"` // always timeline
	Run     string           `json:"run"`
	Begun   Time             `json:"begun"`
	Ended   Time             `json:"ended"`   // the last moment that is known of it
	Bin     float64          `json:"bin"`     // seconds of each bin
	Rate    []float64        `json:"rate"`    // by bin: how many rows went through the steps in a second; not nil
	Workers []TimelineWorker `json:"workers"` // by name; not nil
	Marks   []TimelineMark   `json:"marks"`   // what happened besides, in order; not nil
	Slowest []TimelineChunk  `json:"slowest"` // the chunks that took longest in the steps, at most mostSlowest; not nil
}

// TimelineWorker is what one worker did.
type TimelineWorker struct {
	Worker string    `json:"worker"`
	Chunks int64     `json:"chunks"` // that it sent through the steps
	Rows   int64     `json:"rows"`   // of these
	Steps  []float64 `json:"steps"`  // by bin: the share of the time that it computed; more than 1 if it computed several chunks at once
	Writes []float64 `json:"writes"` // by bin: the share of the time that it wrote to sinks
	Lost   int64     `json:"lost"`   // attempts to write of which it recorded no end
}

// TimelineMark is something that happened to the run.
type TimelineMark struct {
	At   Time   `json:"at"`
	What string `json:"what"` // begun, an order, resumed, published or ended
	By   string `json:"by,omitempty"`
	Why  string `json:"why,omitempty"`
}

// TimelineChunk is a chunk and how long it took.
type TimelineChunk struct {
	Source   string  `json:"source"`
	Chunk    int64   `json:"chunk"`
	FirstRow int64   `json:"first_row"`
	Rows     int64   `json:"rows"`
	Started  Time    `json:"started"`
	Seconds  float64 `json:"seconds"`
	Worker   string  `json:"worker"`
	Attempt  int64   `json:"attempt"`
}

// How much a Timeline has.
const (
	timelineBins = 60
	mostSlowest  = 10
)

// Timeline returns where the time of a run went: when rows went through the steps, what each worker did, and which chunks took long. Moments are believed as they
// stand; of work that was done twice the first one counts. run is its id.
func (c *Client) Timeline(ctx context.Context, run string) (_ *Timeline, err error) {
	defer c.edge(ctx, &err)
	about, err := c.recorded(ctx, run)
	if err != nil {
		return nil, err
	}
	moments, err := c.log.Moments(ctx, run)
	if err != nil {
		return nil, err
	}
	writes, err := c.log.EffectEvents(ctx, run)
	if err != nil {
		return nil, err
	}
	t := &Timeline{
		Type: "timeline", Run: run, Begun: Time(about.Started), Ended: Time(lastMoment(about, moments, writes)), Rate: make([]float64, timelineBins), Workers: []TimelineWorker{}, Slowest: []TimelineChunk{},
	}
	t.Bin = max(t.Ended.Time().Sub(t.Begun.Time()).Seconds()/timelineBins, 1e-6)
	for _, m := range moments {
		t.addSteps(m)
	}
	t.addWrites(writes)
	slices.SortFunc(t.Workers, func(a, b TimelineWorker) int { return cmp.Compare(a.Worker, b.Worker) })
	t.slowest(moments)
	t.Marks, err = c.marks(ctx, about)
	return t, err
}

// lastMoment is the last moment of a run: that of its end, or else of what was recorded last.
func lastMoment(run landscape.Run, moments []landscape.Moment, writes []landscape.EffectEvent) landscape.Micros {
	if run.Finished > 0 {
		return run.Finished
	}
	last := run.Started
	for _, m := range moments {
		last = max(last, m.Read, m.Finished)
	}
	for _, e := range writes {
		last = max(last, e.At)
	}
	return last
}

// bin is the number of the bin of a moment.
func (t *Timeline) bin(at landscape.Micros) int {
	seconds := Time(at).Time().Sub(t.Begun.Time()).Seconds()
	return min(max(int(seconds/t.Bin), 0), timelineBins-1)
}

func (t *Timeline) worker(name string) *TimelineWorker {
	at := slices.IndexFunc(t.Workers, func(w TimelineWorker) bool { return w.Worker == name })
	if at < 0 {
		at = len(t.Workers)
		t.Workers = append(t.Workers, TimelineWorker{Worker: name, Steps: make([]float64, timelineBins), Writes: make([]float64, timelineBins)})
	}
	return &t.Workers[at]
}

// spread adds an amount to the bins that a stretch of time touches, to each its part.
func (t *Timeline) spread(bins []float64, from, to landscape.Micros, amount float64) {
	if to <= from {
		bins[t.bin(from)] += amount
		return
	}
	begun := landscape.Micros(t.Begun)
	for bin := t.bin(from); bin <= t.bin(to); bin++ {
		first := begun + landscape.Micros(float64(bin)*t.Bin*1e6)
		last := begun + landscape.Micros(float64(bin+1)*t.Bin*1e6)
		if part := min(to, last) - max(from, first); part > 0 {
			bins[bin] += amount * float64(part) / float64(to-from)
		}
	}
}

// busy adds a stretch of time to the shares of the bins that it touches.
func (t *Timeline) busy(shares []float64, from, to landscape.Micros) {
	t.spread(shares, from, to, max(float64(to-from), 0)/(t.Bin*1e6))
}

// addSteps notes when a chunk went through the steps.
func (t *Timeline) addSteps(m landscape.Moment) {
	if m.Finished == 0 {
		return
	}
	t.spread(t.Rate, m.Started, m.Finished, float64(m.Rows)/t.Bin)
	w := t.worker(m.Worker)
	w.Chunks, w.Rows = w.Chunks+1, w.Rows+m.Rows
	t.busy(w.Steps, m.Started, m.Finished)
}

// attempt names an attempt to write.
type attempt struct {
	effect landscape.EffectKey
	fence  int64
}

// addWrites notes when parts were written: from the beginning of each attempt to its recorded end.
func (t *Timeline) addWrites(events []landscape.EffectEvent) {
	begun := map[attempt]landscape.EffectEvent{}
	for _, e := range events {
		key := attempt{e.EffectKey, e.Fence}
		if e.Event == landscape.EffectBegan {
			begun[key] = e
			continue
		}
		if began, known := begun[key]; known {
			t.busy(t.worker(began.Worker).Writes, began.At, e.At)
			delete(begun, key)
		}
	}
	for _, e := range begun {
		t.worker(e.Worker).Lost++
	}
}

// slowest notes the chunks that took longest in the steps.
func (t *Timeline) slowest(moments []landscape.Moment) {
	took := func(m landscape.Moment) landscape.Micros { return m.Finished - m.Started }
	slices.SortStableFunc(moments, func(a, b landscape.Moment) int { return cmp.Compare(took(b), took(a)) })
	for _, m := range moments[:min(len(moments), mostSlowest)] {
		if m.Finished > 0 {
			t.Slowest = append(t.Slowest, TimelineChunk{
				Source: m.Source, Chunk: m.Chunk, FirstRow: m.FirstRow, Rows: m.Rows, Started: Time(m.Started), Seconds: float64(took(m)) / 1e6, Worker: m.Worker, Attempt: m.Attempt,
			})
		}
	}
}

// marks returns what happened to a run besides its work.
func (c *Client) marks(ctx context.Context, run landscape.Run) ([]TimelineMark, error) {
	start, err := c.log.StartOfRun(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	marks := []TimelineMark{{At: Time(run.Started), What: "begun", By: run.Actor, Why: start.Why}}
	actions, err := c.log.Actions(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	for _, a := range actions {
		marks = append(marks, TimelineMark{At: Time(a.At), What: a.Verb, By: a.Actor, Why: a.Why})
	}
	resumptions, err := landscape.Select[landscape.Resumption](ctx, c.log, run.ID)
	if err != nil {
		return nil, err
	}
	for _, r := range resumptions {
		marks = append(marks, TimelineMark{At: Time(r.At), What: "resumed", By: r.Actor, Why: r.Why})
	}
	outputs, err := c.log.Artifacts(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	for _, o := range outputs {
		marks = append(marks, TimelineMark{At: Time(o.Published), What: "published " + o.Sink})
	}
	if run.Finished > 0 {
		marks = append(marks, TimelineMark{At: Time(run.Finished), What: string(run.Status), Why: run.Reason})
	}
	slices.SortStableFunc(marks, func(a, b TimelineMark) int { return cmp.Compare(a.At, b.At) })
	return marks, nil
}
