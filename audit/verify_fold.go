package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"waymark/activities"
	"waymark/barrier"
	"waymark/landscape"
	"waymark/payload"
)

// chunkKey names a chunk.
type chunkKey struct {
	source string
	chunk  int64
}

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
		r := &refolding{verification: v, node: i, name: v.compiled.Nodes[i].Name, machine: barrier.New(v.compiled, i)}
		if err := v.guard(r.name, func() error { return r.run(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// guard does something with what is on record that may make no sense, which it reports.
func (v *verification) guard(where string, do func() error) error {
	defer func() {
		if cause := recover(); cause != nil {
			v.add(RecordDiffers, where, "what is on record makes no sense: %v", cause)
		}
	}()
	return do()
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
	for i, fold := range folds {
		if fold.Fold != int64(i) {
			r.add(RecordDiffers, r.name, "fold %d is on record where fold %d should be", fold.Fold, i)
			return nil
		}
		if may, err := r.take(ctx, fold); !may || err != nil {
			return err
		}
		if done, err := r.fold(ctx, fold); !done || err != nil {
			return err
		}
	}
	r.addDifferences(r.name, r.record.Others())
	r.untaken()
	return nil
}

// take notes that a fold took its chunk. It reports whether the fold can be taken again.
func (r *refolding) take(ctx context.Context, fold landscape.FoldRecord) (bool, error) {
	key := chunkKey{fold.Source, fold.Chunk}
	if fold.Kind != landscape.ChunkFold || r.fed[r.name][key] {
		delete(r.fed[r.name], key)
		return true, nil
	}
	_, err := r.log.Chunk(ctx, fold.Run, fold.Source, fold.Chunk)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		r.add(RecordDiffers, r.name, "fold %d took %s on record, which is not there", fold.Fold, place(key.source, key.chunk))
		return false, nil
	case r.recomputed[key]:
		r.add(RecordDiffers, r.name, "fold %d took %s on record, which brings nothing here, or not twice", fold.Fold, place(key.source, key.chunk))
	case err == nil:
		r.note("%s: the folds from %d on cannot be taken again without %s", r.name, fold.Fold, place(key.source, key.chunk))
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
		places = append(places, place(key.source, key.chunk))
	}
	slices.Sort(places)
	for _, place := range places {
		r.add(RecordDiffers, r.name, "no fold on record took what %s brought", place)
	}
}

// fold takes one fold again. It reports whether the next one can be taken: what the folds after one that fails give cannot be
// told.
func (r *refolding) fold(ctx context.Context, fold landscape.FoldRecord) (bool, error) {
	chunk, arrivals, err := r.arrivals(ctx, fold)
	if err != nil || arrivals == nil {
		return false, err
	}
	settled, err := r.settle(fold, arrivals)
	if err != nil {
		r.add(RecordDiffers, r.name, "fold %d cannot be taken again: %v", fold.Fold, err)
		return false, nil
	}
	r.report.Folds++
	return true, r.compare(ctx, fold, chunk, arrivals, settled)
}

// arrivals returns what the fold's chunk brings; nil if that cannot be told, which is reported where the chunk is verified.
func (r *refolding) arrivals(ctx context.Context, fold landscape.FoldRecord) (landscape.Chunk, *barrier.Arrivals, error) {
	if fold.Kind != landscape.ChunkFold {
		return landscape.Chunk{}, new(barrier.Arrivals), nil
	}
	record, err := r.log.Chunk(ctx, fold.Run, fold.Source, fold.Chunk)
	if err != nil {
		return record, nil, err
	}
	in, err := activities.Chunk(ctx, r.log, r.payloads, r.compiled, record)
	if errors.Is(err, payload.ErrNotFound) || errors.Is(err, payload.ErrCorrupt) {
		return record, nil, nil
	}
	if err != nil {
		return record, nil, err
	}
	result, err := r.result(ctx, in, r.claimed)
	if err != nil {
		return record, nil, err
	}
	return record, result.Arrivals[r.node], nil
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
	in := activities.FoldInput{
		Run: fold.Run, Barrier: r.name, Fold: fold.Fold, Kind: string(fold.Kind), Source: fold.Source, Chunk: fold.Chunk, At: int64(fold.At),
		Rows: r.rows, Chunks: r.chunks,
	}
	computed := activities.FoldOf(r.compiled, r.node, in, settled)
	computed.Arrivals = activities.MembersOf(chunk, arrivals, settled.Members)
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

// state returns the digest of the barrier's state after the fold, if one is on record. Whether one was stored hangs on more
// than the fold.
func (r *refolding) state(ctx context.Context, fold landscape.FoldRecord) (string, error) {
	if fold.State == "" {
		return "", nil
	}
	err := r.read(ctx, fold.State, r.name, fmt.Sprintf("the state after fold %d", fold.Fold))
	return string(payload.Of(r.machine.AppendState(nil))), err
}
