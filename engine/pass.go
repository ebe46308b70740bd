package engine

import (
	"crypto/sha256"
	"fmt"
	"unsafe"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

func (r *Runner) runAll() error {
	text := unsafe.String(unsafe.SliceData(r.chunk.Data), len(r.chunk.Data))
	for i := 0; i < r.chunk.Len(); {
		next, err := r.runFrom(i, text)
		if err != nil {
			return err
		}
		i = next
	}
	r.result.give(r.in.Hashes)
	return nil
}

// runFrom runs the records from i to the end, or to one that panics: that record alone is rejected.
func (r *Runner) runFrom(i int, text string) (next int, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			next = i + 1
			_, err = r.confine(i, r.roots[r.in.Origin], cause)
		}
	}()
	for ; i < r.chunk.Len(); i++ {
		if i >= r.pace.next {
			if err := r.breathe(i); err != nil {
				return i, err
			}
		}
		if hashes := r.in.Hashes; hashes != nil && hashes.Every > 0 && i == r.result.from+hashes.Every {
			r.result.give(hashes)
		}
		start := r.chunk.Offsets[i]
		if err := r.runRecord(i, text[start:start+r.chunk.Lengths[i]]); err != nil {
			return i, err
		}
	}
	return i, nil
}

// confine rejects the token that a defect met. A token that has ended already cannot be rejected: then the run stops.
func (r *Runner) confine(i, lane int, cause any) (pipeline.Path, error) {
	if r.lane != lane || r.result.ended(lane, i) {
		return "", fmt.Errorf("%s: row %d: defect in the program: %s", r.plan.Nodes[r.at].Name, r.chunk.FirstRow+int64(i), plugin.Brief(fmt.Sprint(cause)))
	}
	return r.reject(i, r.at, panicRejection(cause))
}

// runRecord takes one record through the graph. If it does not reach a coalesce that waits for it, the coalesce is told.
func (r *Runner) runRecord(i int, text string) error {
	origin := r.in.Origin
	r.at, r.way, r.lane = origin, nil, r.roots[origin]
	r.totals.begin()
	context := r.plan.Lanes[r.lane].Context
	r.keys = append(r.keys[:0], r.in.keysOf(i, len(context))...)
	lost, err := r.runRoot(i, text)
	if err != nil || lost == "" || len(context) == 0 {
		return err
	}
	if b := r.branches[r.roots[origin]]; b != plan.None {
		keys := r.in.keysOf(i, len(context))
		r.lose(context[len(context)-1].Coalesce, barrier.Loss{Keys: keys, Branch: b, Reason: lost})
	}
	return nil
}

// runRoot parses the record and follows it to its end.
func (r *Runner) runRoot(i int, text string) (pipeline.Path, error) {
	origin := r.in.Origin
	if len(r.bad) > 0 && r.bad[0].Index == i {
		rejected := &r.bad[0].Rejection
		r.bad = r.bad[1:]
		return r.reject(i, origin, rejected)
	}
	current, err := r.parse(i, text)
	if err != nil {
		return r.reject(i, origin, rejection(err))
	}
	r.values = current.Values
	r.totals.open(origin, 0, current)
	if rejected, err := r.duplicate(i, current); err != nil || rejected != nil {
		if err != nil {
			return "", err
		}
		return r.reject(i, origin, rejected)
	}
	if r.quiet && !r.deduplicates {
		return pipeline.FilterDropped, nil
	}
	if !r.quiet {
		r.noteKeys(i, current)
	}
	if r.vertices[origin].changes {
		r.noteHash(i, origin, current)
	}
	r.way = r.result.ways.step(nil, origin, noLabel, r.lane)
	r.see(Event{Lane: r.lane, Node: origin, After: current})
	return r.follow(i, r.vertices[origin].next, current)
}

func (r *Runner) noteHash(i, node int, current row.Row) {
	if r.quiet || r.in.Hashes != nil && r.in.Hashes.Every == 0 {
		return
	}
	r.canonical = row.AppendCanonical(r.canonical[:0], current)
	sum := sha256.Sum256(r.canonical)
	copy(r.result.column(r.lane, node, i), sum[:])
}

func (r *Runner) noteKeys(i int, current row.Row) {
	for k := range r.result.Keys {
		if value, found := current.Get(r.result.Keys[k].Field); found {
			r.canonical = row.AppendValue(r.canonical[:0], value)
			sum := sha256.Sum256(r.canonical)
			copy(r.result.Keys[k].Hashes[4*i:], sum[:4])
		}
	}
}

func (r *Runner) see(event Event) {
	if r.watch != nil {
		r.watch(event)
	}
}
