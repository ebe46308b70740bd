package sqlitestore_test

import (
	"context"
	"database/sql"
	"slices"
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
			return store.Commit(ctx, landscape.Tx{Insert: []landscape.Record{again}})
		},
		"sink_lines": func(ctx context.Context, log *landscape.Log, store *sqlitestore.Store, s landscapetest.Scene) error {
			key := landscape.EffectKey{Run: s.Run, Sink: "rejects", Source: "strikes"}
			phantom := landscape.Effect{
				EffectKey: key, Kind: landscape.WriteEffect, SHA256: s.End().Digests[2:66], Rows: 3, Bytes: 1, State: landscape.Prepared, Changed: 1,
			}
			if err := store.Commit(ctx, landscape.Tx{Insert: []landscape.Record{phantom}}); err != nil {
				return err
			}
			e, err := log.BeginEffect(ctx, key, landscape.Placement{}, "w")
			if err != nil {
				return err
			}
			return log.FinalizeEffect(ctx, e.Attempt("w"), `{}`)
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

// TestChecksOfTables holds that the sweep does not rely on the checks of the tables: a shell can switch them off.
func TestChecksOfTables(t *testing.T) {
	for check, plant := range map[string]string{
		"illegal_outcome": `insert into ways values ('r', '0000000000000000', 's', 'failure', 'default_flow', 'price', 'report', 0, 0)`,
		"members_settled": `insert into folds values ('r', 'totals', 9, 'end', '', -1, 1, null, 1, 1, 1, 0, 0, null)`,
	} {
		t.Run(check, func(t *testing.T) {
			store, path := create(t)
			defer store.Close()
			require.NoError(t, landscapetest.GraphScene{Run: "r"}.Begin(t.Context(), landscape.New(store, nil)))
			_, err := stranger(t, path, "").Exec(plant)
			require.ErrorContains(t, err, "CHECK")
			execute(t, path, `pragma ignore_check_constraints = 1; `+plant)
			findings, err := store.Sweep(t.Context(), "r", false)
			require.NoError(t, err)
			require.True(t, slices.ContainsFunc(findings, func(f landscape.Finding) bool { return f.Check == check }))
		})
	}
}

// TestOpenTokens holds that no view calls a token complete before its sink's target confirmed it.
func TestOpenTokens(t *testing.T) {
	store, path := create(t)
	defer store.Close()
	log, scene := landscape.New(store, nil), landscapetest.Scene{Run: "r", Chunks: 3, ChunkRows: 10}
	require.NoError(t, scene.Begin(t.Context(), log))
	require.NoError(t, scene.Read(t.Context(), log))
	require.NoError(t, log.RecordPassage(t.Context(), scene.Passage(0)))
	require.NoError(t, scene.Write(t.Context(), log, 0))
	require.NoError(t, log.RecordPassage(t.Context(), scene.Passage(1)))
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	for query, want := range map[string]int{
		`select count(*) from tokens`:                                                     30,
		`select count(*) from tokens where completed`:                                     10 + 6, // of chunk 1, 4 rows wait for sinks
		`select count(*) from tokens where way is null`:                                   10,
		`select count(*) from token_outcomes where outcome is not null`:                   16,
		`select count(*) from rows where path is not null`:                                16,
		`select count(*) from node_states where status = 'open'`:                          4,
		`select count(*) from node_states where kind = 'sink' and status = 'completed'`:   4,
		`select count(*) from sink_rows`:                                                  4,
		`select sum(planned_rows) from sink_totals`:                                       8,
		`select sum(finalized_rows) from sink_totals`:                                     4,
		`select count(*) from chunk_node_counts where in_rows > out_rows and kind='sink'`: 3,
	} {
		var got int
		require.NoError(t, db.QueryRow(query).Scan(&got))
		require.Equal(t, want, got, query)
	}
}
