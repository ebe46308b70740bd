package audit

import (
	"context"
	"fmt"
	"slices"

	"waymark/landscape"
)

// verifySalts names keys of salts that belong to nothing: a run has keys beside its own one only once a row was forgotten, and only of its sealed
// chunks, its seals, and the seal that may come next.
func (v *verification) verifySalts(ctx context.Context) error {
	stored, err := v.keysBesideRoot(ctx) // before the rest: who adds some adds that first, or with it
	if err != nil || len(stored) == 0 {
		return err
	}
	forgotten, err := landscape.Select[landscape.Forgotten](ctx, v.log, v.run.ID)
	if err != nil {
		return err
	}
	chunks, err := v.log.ChunkSeals(ctx, v.run.ID)
	if err != nil {
		return err
	}
	seals, err := v.log.RunSeals(ctx, v.run.ID)
	if err != nil {
		return err
	}
	has := map[landscape.ChunkKey]bool{{}: true}
	for _, s := range chunks {
		has[landscape.ChunkKey{Source: s.Source, Chunk: s.Chunk}] = true
	}
	for _, s := range seals {
		has[landscape.ChunkKey{Chunk: s.Seq + 1}] = true
	}
	for _, s := range stored {
		switch {
		case !has[landscape.ChunkKey{Source: s.Source, Chunk: s.Chunk}]:
			v.add(SealBroken, "salts", "%s is foreign: the run has no such sealed chunk or seal", saltsOf(s))
		case forgotten == nil:
			v.add(SealBroken, "salts", "%s is foreign: no row of the run is forgotten", saltsOf(s))
		}
	}
	return nil
}

// saltsOf names, for people, what has the salts.
func saltsOf(s landscape.Salts) string {
	if s.Source == "" {
		return fmt.Sprintf("seal %d", s.Chunk)
	}
	return fmt.Sprintf("%s chunk %d", s.Source, s.Chunk)
}

// keysBesideRoot returns the keys of the run's chunks and seals, which exist only once a row was forgotten.
func (v *verification) keysBesideRoot(ctx context.Context) ([]landscape.Salts, error) {
	stored, err := landscape.Select[landscape.Salts](ctx, v.log, v.run.ID)
	beside := slices.DeleteFunc(stored, func(s landscape.Salts) bool { return s.Source == "" && s.Chunk < 0 })
	return beside, err
}
