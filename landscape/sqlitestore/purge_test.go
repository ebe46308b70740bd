package sqlitestore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/landscapetest"
)

func TestPurges(t *testing.T) {
	store, _ := create(t)
	landscapetest.Purges(t, store)
}

func TestPurgedDeliveries(t *testing.T) {
	store, path := create(t)
	landscapetest.PurgedDeliveries(t, store)
	_, err := stranger(t, path, "").Exec(`update arrivals set payload = '', changes = changes + 1`)
	require.ErrorContains(t, err, "only what became of an arrival changes")
}

func TestArchives(t *testing.T) {
	store, path := create(t)
	landscapetest.Archives(t, store)
	require.NoError(t, store.Close())
	const append, birth = "append-only", "not a run that has ended"
	for attack, refusal := range map[string]string{
		`delete from chunks`: append, `delete from nodes where run_id = 'r2'`: append, `delete from archives`: append, `delete from archived_payloads`: append,
		`update archives set location = 'x'`: append,
		`insert into run_seals select run_id, seq + 1, epoch, root, leaves, late, tables, marks, at_us from run_seals where run_id = 'r1'`: append,
		`insert into archives select 'r2', location, bytes, sha256, manifest_sha256, root, actor, why, at_us from archives`:                birth,
	} {
		_, err := stranger(t, path, "").Exec(attack)
		require.ErrorContains(t, err, refusal, attack)
	}
}

func TestForgets(t *testing.T) {
	store, path := create(t)
	landscapetest.Forgets(t, store)
	db := stranger(t, path, "")
	for _, attack := range []string{
		`update chunk_rows set raw_hashes = zeroblob(length(raw_hashes))`,
		`update chunk_rows set raw_hashes = zeroblob(length(raw_hashes) + 32)`,
		`update hashes set hashes = zeroblob(length(hashes))`,
		`update key_hashes set hashes = zeroblob(length(hashes))`,
		`update key_hashes set hashes = randomblob(length(hashes)) where exists (select 1 from forgotten f where f.chunk = key_hashes.chunk)`,
		`update errors set code = 'x'`, `update errors set message = 'other'`, `update errors set at_us = at_us + 1`,
		`update salts set run_id = 'other'`, `update salts set chunk = chunk + 100`,
	} {
		_, err := db.Exec(attack)
		require.ErrorContains(t, err, "append-only", attack)
	}
	for attack, want := range map[string]string{
		`insert into forgotten select run_id, source, chunk, slot + 1, row + 2, leaf, purge_id from forgotten`: "not a row",
		`insert into forgotten select run_id, source, chunk, slot, row, leaf, purge_id from forgotten`:         "it is there already",
		`insert into forgettings values (7, 1, 'x', 1)`:                                                        "another number of rows",
		`insert into repacked values ('a', 1, printf('%064d', 1))`:                                             "not deleted by an order to forget",
		`insert into forgotten_leaves select run_id, seq, leaf + 1000, hash, 99 from forgotten_leaves`:         "forgets no row of the run",
		`insert into erasures select run_id, sink, line + 1, purge_id from erasures`:                           "was carried out",
		`insert into erasures select 'other', sink, line + 1, purge_id from erasures`:                          "forgets no row of the run",
		`insert into erased select run_id, sink, line, outcome, at_us from erased`:                             "it is there already",
		`insert into erased select run_id, sink, line + 1, outcome, at_us from erased`:                         "no order deletes it",
		`delete from erased`: "append-only", `update erased set outcome = 'deleted'`: "append-only", `delete from erasures`: "append-only", `update erasures set line = 7`: "append-only",
		`insert into purged_runs select purge_id + 1, run_id, class, epoch, due_us from purged_runs`: "not ended, or is not due",
	} {
		_, err := db.Exec(attack)
		require.ErrorContains(t, err, want, attack)
	}
}

// TestDeletionsLookUpPayloads: whether a payload is in use is looked up in the indexes, however many chunks are recorded.
func TestDeletionsLookUpPayloads(t *testing.T) {
	_, path := create(t)
	db := stranger(t, path, "")
	var guard string
	require.NoError(t, db.QueryRow(`select sql from sqlite_master where name = 'deletions_free'`).Scan(&guard))
	_, guard, _ = strings.Cut(guard, "when ")
	guard, _, _ = strings.Cut(guard, "begin ")
	rows, err := db.Query(`explain query plan select ` + strings.NewReplacer("new.payload", "'x'", "new.purge_id", "1").Replace(guard))
	require.NoError(t, err)
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		plan = append(plan, detail)
	}
	require.NoError(t, rows.Err())
	require.Contains(t, plan, "SEARCH c USING INDEX chunks_by_pack (pack=?)")
	require.NotContains(t, plan, "SCAN c")
}
