package recovery

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.temporal.io/sdk/converter"

	"waymark/landscape"
	"waymark/plugin"
)

// record reads of a run's record what is asked for, once.
type record struct {
	log    *landscape.Reader
	run    string
	stored converter.DataConverter // reads the history

	passed    map[string]map[int64]bool // chunks that went through the steps, by source or barrier
	effects   map[effectKey]*landscape.Effect
	folded    map[string]int64 // folds by barrier
	ended     map[string]bool  // sources
	published map[string]bool  // sinks
}

type effectKey struct {
	source string
	chunk  int64
	sink   string
}

func (r *record) holdsRun(ctx context.Context) error {
	_, err := r.log.Run(ctx, r.run)
	if errors.Is(err, landscape.ErrNotFound) {
		return contradict("the run was begun, and it is not recorded")
	}
	return err
}

// holdsChunk compares where a chunk ends.
func (r *record) holdsChunk(ctx context.Context, source string, ordinal int64, end plugin.Cursor) error {
	chunk, err := r.log.Chunk(ctx, r.run, landscape.ChunkKey{Source: source, Chunk: ordinal})
	if errors.Is(err, landscape.ErrNotFound) {
		return contradict("chunk %d of %s was read, and it is not recorded", ordinal, source)
	}
	if err != nil {
		return err
	}
	at, err := chunk.End()
	if err != nil {
		return fmt.Errorf("chunk %d of %s: cursor on record: %w", ordinal, source, err)
	}
	if !reflect.DeepEqual(at, end) {
		return contradict("chunk %d of %s ended at byte %d, row %d, but the recorded chunk ends at byte %d, row %d", ordinal, source, end.Offset, end.Row, at.Offset, at.Row)
	}
	return nil
}

func (r *record) passages(ctx context.Context, source string) (map[int64]bool, error) {
	if known := r.passed[source]; known != nil {
		return known, nil
	}
	marks, err := r.log.PassageMarks(ctx, r.run, source)
	passed := map[int64]bool{}
	for _, mark := range marks {
		passed[mark.Chunk] = true
	}
	if r.passed == nil {
		r.passed = map[string]map[int64]bool{}
	}
	r.passed[source] = passed
	return passed, err
}

// effect returns nil if there is none.
func (r *record) effect(ctx context.Context, source string, chunk int64, sink string) (*landscape.Effect, error) {
	if r.effects == nil {
		all, err := r.log.Effects(ctx, r.run)
		if err != nil {
			return nil, err
		}
		r.effects = map[effectKey]*landscape.Effect{}
		for i := range all {
			r.effects[effectKey{all[i].Source, all[i].Chunk, all[i].Sink}] = &all[i]
		}
	}
	return r.effects[effectKey{source, chunk, sink}], nil
}

func (r *record) folds(ctx context.Context, barrier string) (int64, error) {
	if known, ok := r.folded[barrier]; ok {
		return known, nil
	}
	folds, err := r.log.Folds(ctx, r.run, barrier)
	if r.folded == nil {
		r.folded = map[string]int64{}
	}
	r.folded[barrier] = int64(len(folds))
	return int64(len(folds)), err
}

func (r *record) ends(ctx context.Context) (map[string]bool, error) {
	if r.ended != nil {
		return r.ended, nil
	}
	ends, err := r.log.SourceEnds(ctx, r.run)
	r.ended = map[string]bool{}
	for _, end := range ends {
		r.ended[end.Source] = true
	}
	return r.ended, err
}

func (r *record) artifacts(ctx context.Context) (map[string]bool, error) {
	if r.published != nil {
		return r.published, nil
	}
	all, err := r.log.Artifacts(ctx, r.run)
	r.published = map[string]bool{}
	for _, artifact := range all {
		r.published[artifact.Sink] = true
	}
	return r.published, err
}
