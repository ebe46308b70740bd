package sqlitestore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
)

// TestTokenChecks plants what only a look at every token can see.
func TestTokenChecks(t *testing.T) {
	for check, plant := range map[string]func(context.Context, *landscape.Log, *sqlitestore.Store, landscapetest.Scene) error{
		"token_outcome": func(ctx context.Context, log *landscape.Log, _ *sqlitestore.Store, s landscapetest.Scene) error {
			s.Run = "open"
			if err := s.Begin(ctx, log); err != nil {
				return err
			}
			if err := s.Read(ctx, log); err != nil {
				return err
			}
			return log.RecordPassage(ctx, s.Passage(0))
		},
		"token_twice": func(ctx context.Context, _ *landscape.Log, store *sqlitestore.Store, s landscapetest.Scene) error {
			again, _ := s.Chunk(0)
			again.Chunk, again.Read = 7, 1
			return store.Commit(ctx, landscape.Batch{Insert: []landscape.Record{again}})
		},
		"sink_lines": func(ctx context.Context, log *landscape.Log, store *sqlitestore.Store, s landscapetest.Scene) error {
			key := landscape.EffectKey{Run: s.Run, Sink: "rejects", Source: "strikes"}
			phantom := landscape.Effect{
				EffectKey: key, Kind: landscape.WriteEffect, SHA256: s.End().Digests[2:66], Rows: 3, Bytes: 1, State: landscape.Prepared, Changed: 1,
			}
			if err := store.Commit(ctx, landscape.Batch{Insert: []landscape.Record{phantom}}); err != nil {
				return err
			}
			e, err := log.BeginEffect(ctx, key, landscape.Placement{}, "w")
			if err != nil {
				return err
			}
			return log.FinalizeEffect(ctx, key, e.Fence, "w", `{}`)
		},
	} {
		t.Run(check, func(t *testing.T) {
			store, _ := create(t)
			defer store.Close()
			log := landscape.New(store, nil)
			scene := landscapetest.Scene{Run: "whole", Chunks: 1, ChunkRows: 20, Way: func(int64) int { return 0 }}
			require.NoError(t, scene.PlayToEnd(t.Context(), log))
			require.NoError(t, plant(t.Context(), log, store, scene))
			found := map[string]bool{}
			for _, run := range []string{"whole", "open"} {
				findings, err := log.Sweep(t.Context(), run, true)
				require.NoError(t, err)
				for _, f := range findings {
					found[f.Check] = true
				}
			}
			require.True(t, found[check], "found %v", found)
		})
	}
}
