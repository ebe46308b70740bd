package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/landscape"
	"waymark/payload"
)

// refolding takes the folds of one barrier again.
type refolding struct {
	*verification
	node    int
	name    string
	machine *barrier.Machine
	derived []landscape.Chunk // of rows that came out, on record, from the next fold on
	rows    int64             // that came out so far
	chunks  int64             // in which they came out
	record  *landscape.FoldComparison
	sizes   map[landscape.ChunkKey]int64 // how much memory it takes to look at a chunk
	whole   bool                         // every fold so far was taken again
}

// verifyFolds takes every fold of every barrier again, in order, with what its chunk brings as the steps give it, and compares
// what comes of it with everything on record.
func (v *verification) verifyFolds(ctx context.Context) error {
	if v.compiled == nil {
		return nil
	}
	for i := range v.compiled.Nodes {
		if !v.compiled.Nodes[i].Barrier {
			continue
		}
		r := &refolding{verification: v, node: i, name: v.compiled.Nodes[i].Name, machine: barrier.New(v.compiled, i), whole: true}
		if err := v.guard(ctx, r.name, r.run); err != nil {
			return err
		}
	}
	return nil
}

func (r *refolding) run(ctx context.Context) error {
	var err error
	if r.record, err = r.log.CompareFolds(ctx, r.verification.run.ID, r.name); err != nil {
		return err
	}
	folds, err := r.log.Folds(ctx, r.verification.run.ID, r.name)
	if err != nil {
		return err
	}
	for chunk, err := range r.log.Chunks(ctx, r.verification.run.ID, r.name) {
		if err != nil {
			return err
		}
		r.derived = append(r.derived, chunk)
	}
	if err := r.measure(ctx); err != nil {
		return err
	}
	done := int64(0)
	size := func(f landscape.FoldRecord) int64 {
		return r.sizes[landscape.ChunkKey{Source: f.Source, Chunk: f.Chunk}]
	}
	bring := func(f landscape.FoldRecord) brought { return r.bring(ctx, f) }
	err = inOrder(folds, size, bring, func(fold landscape.FoldRecord, b brought) (bool, error) {
		if fold.Fold != done {
			r.add(RecordDiffers, r.name, "fold %d is recorded where fold %d should be", fold.Fold, done)
			return false, nil
		}
		done++
		r.whole = false
		if may, err := r.take(ctx, fold); !may || err != nil {
			return false, err
		}
		return r.fold(ctx, fold, b)
	})
	if err != nil || done < int64(len(folds)) || !r.whole {
		return err
	}
	r.addDifferences(r.name, r.record.Others())
	r.untaken()
	return nil
}

// measure notes how large the chunks of the run are.
func (r *refolding) measure(ctx context.Context) error {
	r.sizes = map[landscape.ChunkKey]int64{}
	return landscape.Each(ctx, r.log, func(c landscape.Chunk) bool {
		r.sizes[c.Key()] = r.chunkBytes(c)
		return true
	}, r.verification.run.ID)
}

// take notes that a fold took its chunk. It reports whether the fold can be taken again.
func (r *refolding) take(ctx context.Context, fold landscape.FoldRecord) (bool, error) {
	key := landscape.ChunkKey{Source: fold.Source, Chunk: fold.Chunk}
	if fold.Kind != landscape.ChunkFold || r.fed[r.name][key] {
		delete(r.fed[r.name], key)
		return true, nil
	}
	_, err := r.log.Chunk(ctx, fold.Run, landscape.ChunkKey{Source: fold.Source, Chunk: fold.Chunk})
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		r.add(RecordDiffers, r.name, "fold %d took %s on record, which is not there", fold.Fold, place(key.Source, key.Chunk))
		return false, nil
	case r.recomputed[key]:
		r.add(RecordDiffers, r.name, "fold %d took %s on record, which brings nothing here, or not twice", fold.Fold, place(key.Source, key.Chunk))
	case err == nil:
		r.skipped(CheckedFolds, r.name, "the folds from %d on cannot be taken again without %s", fold.Fold, place(key.Source, key.Chunk))
	}
	return false, err
}

// untaken looks for chunks that brought something and were not taken, in a run that came to its end.
func (r *refolding) untaken() {
	if !concluded(r.report.Status) {
		return
	}
	var places []string
	for key := range r.fed[r.name] {
		places = append(places, place(key.Source, key.Chunk))
	}
	slices.Sort(places)
	for _, place := range places {
		r.add(RecordDiffers, r.name, "no fold on record took what %s brought", place)
	}
}

// fold takes one fold again. It reports whether the next one can be taken: what the folds after one that fails give is
// unknown.
func (r *refolding) fold(ctx context.Context, fold landscape.FoldRecord, b brought) (bool, error) {
	if b.err != nil || b.arrivals == nil {
		return false, b.err
	}
	settled, err := r.settle(fold, b.arrivals)
	if err != nil {
		r.add(RecordDiffers, r.name, "fold %d cannot be taken again: %v", fold.Fold, err)
		return false, nil
	}
	r.report.Folds++
	r.whole = true
	return true, r.compare(ctx, fold, b.chunk, b.arrivals, settled)
}

// brought is what the chunk of a fold brings to the barrier; nothing if that is unknown, which is reported where the chunk is
// checked.
type brought struct {
	chunk    landscape.Chunk
	arrivals *barrier.Arrivals
	err      error
}

// bring sends the fold's chunk through the steps again. It may be called for several folds side by side.
func (r *refolding) bring(ctx context.Context, fold landscape.FoldRecord) (b brought) {
	if fold.Kind != landscape.ChunkFold {
		return brought{arrivals: new(barrier.Arrivals)}
	}
	defer func() {
		if cause := recover(); cause != nil {
			b.err = fmt.Errorf("%v", cause)
		}
	}()
	if b.chunk, b.err = r.log.Chunk(ctx, fold.Run, landscape.ChunkKey{Source: fold.Source, Chunk: fold.Chunk}); b.err != nil {
		return b
	}
	in, err := recompute.Chunk(ctx, r.log, r.payloads, r.compiled, b.chunk)
	if lost(err) {
		return b
	}
	if err != nil {
		b.err = err
		return b
	}
	in.Hashes = new(engine.Hashes) // those of the chunk are looked at with the chunk
	result, err := r.result(ctx, b.chunk.Chunk, in)
	if err != nil {
		b.err = err
		return b
	}
	b.arrivals = result.Arrivals[r.node]
	return b
}

func (r *refolding) settle(fold landscape.FoldRecord, arrivals *barrier.Arrivals) (*barrier.Settlement, error) {
	at := time.UnixMicro(int64(fold.At)).UTC()
	switch fold.Kind {
	case landscape.ChunkFold:
		return r.machine.Accept(at, arrivals)
	case landscape.TickFold:
		return r.machine.Tick(at)
	case landscape.EndFold:
		return r.machine.End(at)
	}
	return nil, fmt.Errorf("there is no fold of kind %q", fold.Kind)
}

// compare holds what a fold gave against the record.
func (r *refolding) compare(ctx context.Context, fold landscape.FoldRecord, chunk landscape.Chunk, arrivals *barrier.Arrivals, settled *barrier.Settlement) error {
	computed := recompute.FoldOf(r.compiled, r.node, landscape.Fold{
		Run: fold.Run, Node: r.name, Fold: fold.Fold, Kind: fold.Kind, Source: fold.Source, Chunk: fold.Chunk, At: fold.At,
	}, r.rows, settled)
	computed.Arrivals = recompute.MembersOf(chunk, arrivals, settled.Members)
	var err error
	if computed.State, err = r.state(ctx, fold); err != nil {
		return err
	}
	if computed.Derived, err = r.derive(ctx, fold, settled); err != nil {
		return err
	}
	differences, err := r.record.Compare(ctx, computed)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.add(RecordDiffers, r.name, "fold %d: what it gives, taken again, does not follow the folds before it on record: %v", fold.Fold, err)
	}
	r.addDifferences(r.name, differences)
	return nil
}

// state returns the digest of the barrier's state after the fold, if one is recorded. Whether one was stored hangs on more
// than the fold.
func (r *refolding) state(ctx context.Context, fold landscape.FoldRecord) (string, error) {
	if fold.State == "" {
		return "", nil
	}
	err := r.read(ctx, fold.State, r.name, fmt.Sprintf("the state after fold %d", fold.Fold))
	return string(payload.Of(r.machine.AppendState(nil))), err
}
