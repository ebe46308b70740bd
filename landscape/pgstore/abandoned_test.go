package pgstore

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/services/pg"
)

// TestWhoStandsStillKeepsNobodyWaiting has a process stop in the middle of a transaction that holds a run, and another
// one stop the run. Whoever only reads may stop as long as it wants.
func TestWhoStandsStillKeepsNobodyWaiting(t *testing.T) {
	db := pg.New(t)
	_, _, err := Migrate(t.Context(), db.DSN())
	require.NoError(t, err)
	store, err := Open(t.Context(), db.DSN()+"&lock_timeout=200ms")
	require.NoError(t, err)
	defer store.Close()
	store.abandonedAfter = 500 * time.Millisecond
	log, scene := landscape.New(store, nil), landscapetest.Scene{Run: "r"}
	require.NoError(t, scene.Begin(t.Context(), log))

	begin := func(holds string) (end func() error) {
		conn, err := pgx.Connect(t.Context(), db.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		_, err = conn.Exec(t.Context(), "begin; select from waymark.runs "+holds)
		require.NoError(t, err)
		return func() error {
			_, err := conn.Exec(t.Context(), "commit")
			return err
		}
	}
	reads, writes := begin(""), begin("for update")
	require.NoError(t, log.StopRun(t.Context(), "r", pipeline.Interrupted, "power"))
	require.Error(t, writes(), "its transaction was ended")
	require.NoError(t, reads())

	young := begin("for update")
	store.abandonedAfter = time.Hour
	ctx, done := context.WithTimeout(t.Context(), time.Second)
	defer done()
	require.Error(t, log.StopRun(ctx, "r", pipeline.Failed, "another one"))
	require.NoError(t, young(), "a young transaction is not ended")
}
