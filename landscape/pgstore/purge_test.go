package pgstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/pgstore"
	"waymark/pipeline"
)

func TestPurges(t *testing.T) {
	store, _ := create(t)
	landscapetest.Purges(t, store)
}

func TestPurgedDeliveries(t *testing.T) {
	store, db := create(t)
	landscapetest.PurgedDeliveries(t, store)
	refuses(t, connect(t, db.DSN()), `update arrivals set payload = repeat('1', 64), changes = changes + 1`, appendOnly)
}

func TestForgets(t *testing.T) {
	store, db := create(t)
	landscapetest.Forgets(t, store)
	conn := connect(t, db.DSN())
	for _, attack := range []string{
		`update chunk_rows set raw_hashes = decode(repeat('00', length(raw_hashes)), 'hex')`,
		`update chunk_rows set raw_hashes = raw_hashes || decode(repeat('00', 32), 'hex')`,
		`update hashes set hashes = decode(repeat('00', length(hashes)), 'hex')`,
		`update key_hashes set hashes = decode(repeat('00', length(hashes)), 'hex')`,
		`update key_hashes set hashes = decode(repeat('01', length(hashes)), 'hex') where exists (select 1 from forgotten f where f.chunk = key_hashes.chunk)`,
		`update errors set code = 'x'`, `update errors set message = 'other'`, `update errors set at_us = at_us + 1`,
		`update salts set run_id = 'other'`, `update salts set chunk = chunk + 100`, `delete from erased`, `update erased set outcome = 'deleted'`, `delete from erasures`,
	} {
		refuses(t, conn, attack, appendOnly)
	}
	for _, attack := range []string{
		`insert into forgotten select run_id, source, chunk, slot + 1, row + 2, leaf, purge_id from forgotten`, `insert into forgettings values (1, 1, 'x', 1)`,
		`insert into forgotten_leaves select run_id, seq, leaf + 1000, hash, 99 from forgotten_leaves`,
		`insert into repacked values ('a', 1, repeat('1', 64))`, `insert into erasures select run_id, sink, line + 1, purge_id from erasures`,
		`insert into erased select run_id, sink, line + 1, outcome, at_us from erased`,
	} {
		refuses(t, conn, attack, wrongForChecks, missing, alreadyThere)
	}
}

func TestArchives(t *testing.T) {
	store, db := create(t)
	landscapetest.Archives(t, store)
	conn := connect(t, db.DSN())
	for _, attack := range []string{
		`delete from chunks`, `delete from nodes where run_id = 'r2'`, `truncate chunks cascade`, `delete from archives`, `delete from archived_payloads`, `update archives set location = 'x'`,
		`insert into run_seals select run_id, seq + 1, epoch, root, leaves, late, tables, marks, at_us from run_seals where run_id = 'r1'`, `select remove_run('r2')`,
	} {
		refuses(t, conn, attack, appendOnly)
	}
	refuses(t, conn, `insert into archives select 'r2', location, bytes, sha256, manifest_sha256, root, actor, why, at_us from archives`, wrongForChecks)
}

// TestPurger holds that a writer cannot purge, and a purger cannot do what a writer does.
func TestPurger(t *testing.T) {
	p := people(t)
	purgers := p.db.Owner() + "_purgers"
	execute(t, p.db.Superuser(), `create role `+purgers+` nologin`)
	require.NoError(t, pgstore.Grant(t.Context(), p.db.DSN(), pgstore.Roles{Purger: purgers}))
	url := p.db.Login(t, p.db.Owner()+"_purger", purgers)

	writer := connect(t, p.writer)
	for _, statement := range []string{
		`insert into holds values (1, 'r1', '', null, null, 'eve', 'x', 1)`, `insert into hold_ends values (1, 'eve', 'x', 1)`,
		`insert into purges values (1, 'eve', 'x', '{}', 1)`, `insert into purged_runs values (1, 'r1', 'source', 0, 1)`,
		`insert into deletions values (repeat('a', 64), 1, 1, 1)`, `insert into deleted_payloads values (repeat('a', 64), 1, 1, 1)`,
		`insert into archives values ('r1', 'x', 1, repeat('a', 64), repeat('a', 64), decode(repeat('00', 32), 'hex'), 'eve', 'x', 1)`,
		`insert into archived_payloads values ('r1', repeat('a', 64), 'source')`, `select remove_run('r1')`, `delete from chunks`,
	} {
		refuses(t, writer, statement, noPrivilege)
	}
	purger := connect(t, url)
	for _, statement := range []string{
		`insert into actions values ('r2', 0, 'v', '', '', 1)`, `insert into returned_payloads values (repeat('a', 64), 1, 'r1', 1)`,
		`select move_runs('r2', 0, 'running', 0, null, '', 0, 'failed', 0, 1, '')`,
	} {
		refuses(t, purger, statement, noPrivilege)
	}
	refuses(t, purger, `delete from chunks`, noPrivilege)
	refuses(t, purger, `select remove_run('r1')`, appendOnly)
	log, working := landscape.New(open(t, url), nil), landscape.New(open(t, p.writer), nil)
	require.NoError(t, working.StopRun(t.Context(), "r2", pipeline.Failed, "no reason"))
	require.ErrorContains(t, landscapetest.Purged(t.Context(), log, "r2"), "insert into returned_payloads", "the rest it may")
	require.NoError(t, working.Keep(t.Context(), "r2", func() ([]string, error) { return []string{landscapetest.PurgedPayload}, nil }, refusedOnce()))
	purged, err := log.Purged(t.Context(), landscapetest.PurgedPayload)
	require.NoError(t, err)
	require.Nil(t, purged, "the writer stored it again")
	require.NoError(t, working.FinishRun(t.Context(), "r3", pipeline.CompletedWithFailures, ""))
	require.NoError(t, landscapetest.Archived(t.Context(), log.SealedBy(landscapetest.Sealer{}), "r3"))
	var rows int64
	require.NoError(t, purger.QueryRow(t.Context(), `select (select count(*) from chunks where run_id = 'r3') + (select count(*) from passages where run_id = 'r3')`).Scan(&rows))
	require.Zero(t, rows)
}

// refusedOnce is a record that refers to a payload that was purged.
func refusedOnce() func() error {
	refusal := landscape.ErrPurged
	return func() (err error) { err, refusal = refusal, nil; return err }
}
