package landscape

import (
	"context"
	"fmt"

	"waymark/pipeline"
)

// wayEnd is how a way ends.
type wayEnd struct {
	Run      string        `db:"run_id,key"`
	Way      string        `db:"way,key"`
	Path     pipeline.Path `db:"path"`
	LastNode string        `db:"last_node"`
}

// Table returns ways.
func (wayEnd) Table() string { return "ways" }

// checkArrivals refuses arrivals that are not exactly the tokens of the chunk that the barrier took.
func (r *Reader) checkArrivals(ctx context.Context, all lanes, f Fold) error {
	if f.Kind != ChunkFold {
		if f.Source != "" || len(f.Arrivals) > 0 {
			return fmt.Errorf("a fold of kind %s takes no chunk", f.Kind)
		}
		return nil
	}
	passages, err := Select[PassageRecord](ctx, r.from, f.Run, f.Source, f.Chunk)
	if err != nil {
		return err
	}
	if passages == nil {
		return fmt.Errorf("passages %s/%s/%d: %w", f.Run, f.Source, f.Chunk, ErrNotFound)
	}
	for _, a := range f.Arrivals {
		if _, err := all.at(f.Source, a.Lane); err != nil {
			return err
		}
		if int64(len(a.Batches)) != passages[0].Rows {
			return fmt.Errorf("lane %d: %d members for %d rows", a.Lane, len(a.Batches), passages[0].Rows)
		}
	}
	held, err := r.heldCodes(ctx, f)
	if err != nil {
		return err
	}
	for _, lane := range all.of(f.Source) {
		if err := f.checkLane(lane, passages, held[lane.Lane]); err != nil {
			return err
		}
	}
	return nil
}

// heldCodes returns for every lane of the fold's chunk the codes of the ways that end at the barrier.
func (r *Reader) heldCodes(ctx context.Context, f Fold) (map[int64]map[uint16]bool, error) {
	ends := map[string]bool{}
	err := each(ctx, r.from, []any{f.Run}, func(w wayEnd) bool {
		if w.Path == pipeline.Buffered && w.LastNode == f.Node {
			ends[w.Way] = true
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	held := map[int64]map[uint16]bool{}
	return held, each(ctx, r.from, []any{f.Run, f.Source, f.Chunk}, func(u ChunkWayRecord) bool {
		if ends[u.Way] {
			if held[u.Lane] == nil {
				held[u.Lane] = map[uint16]bool{}
			}
			held[u.Lane][uint16(u.Code)] = true
		}
		return true
	})
}

// checkLane compares the arrivals of one lane with the codes of its tokens.
func (f Fold) checkLane(lane Lane, passages []PassageRecord, held map[uint16]bool) error {
	members, err := only(f.Arrivals, func(a LaneMembers) bool { return a.Lane == lane.Lane })
	if err != nil {
		return err
	}
	passage, err := only(passages, func(p PassageRecord) bool { return p.Lane == lane.Lane })
	if err != nil || members == nil && len(held) == 0 {
		return err
	}
	if members == nil {
		members = &LaneMembers{Batches: make([]uint32, passages[0].Rows)}
	}
	codes := noTokens(passages[0].Rows)
	if passage != nil {
		if codes, err = unpackCodes(passage.WayCodes, passage.CodeBytes, !lane.IsRoot()); err != nil {
			return err
		}
	}
	if len(codes) != len(members.Batches) {
		return incomplete("passages has %d way codes for %d rows in lane %d", len(codes), len(members.Batches), lane.Lane)
	}
	for i, batch := range members.Batches {
		if came := codes[i] != NoToken && held[codes[i]]; came != (batch != 0) {
			return fmt.Errorf("row %d of the chunk in lane %d came here: %v, is in batch %d", i, lane.Lane, came, batch)
		}
	}
	return nil
}
