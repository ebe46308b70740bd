package activities

import (
	"context"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/landscape"
)

// repeats returns the duplicates of a chunk that went through the steps, as on record; nil if nothing must be unique.
func (a *Activities) repeats(ctx context.Context, r *run, key landscape.ChunkKey, in engine.Input) (engine.Firsts, error) {
	if len(r.claims) == 0 {
		return nil, nil //nolint:nilnil // as the comment says
	}
	return recompute.Repeats(ctx, a.log.Reader, r.plan, r.id, key.Chunk, in)
}
