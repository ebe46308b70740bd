package pgstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/pgstore"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/services/pg"
)

// peopled is a landscape with a writer and a reader.
type peopled struct {
	db             *pg.Database
	writer, reader string // URLs
}

// people makes a landscape in which the writer has completed the run r1 and begun the run r2.
func people(t *testing.T) peopled {
	t.Helper()
	db := createOwned(t)
	writers, readers := db.Owner()+"_writers", db.Owner()+"_readers"
	execute(t, db.Superuser(), `create role `+writers+` nologin`, `create role `+readers+` nologin`)
	for range 2 { // repeating it changes nothing
		require.NoError(t, pgstore.Grant(t.Context(), db.DSN(), pgstore.Roles{Writer: writers, Reader: readers}))
	}
	p := peopled{db, db.Login(t, db.Owner()+"_writer", writers), db.Login(t, db.Owner()+"_reader", readers)}
	log := landscape.New(open(t, p.writer), nil)
	scene := landscapetest.Scene{Run: "r1", Chunks: 2, ChunkRows: 20}
	require.NoError(t, scene.PlayToEnd(t.Context(), log))
	require.NoError(t, log.FinishRun(t.Context(), "r1", pipeline.CompletedWithFailures, ""))
	require.NoError(t, landscapetest.GraphScene{Run: "r3", Chunks: 3, ChunkRows: 6}.PlayToEnd(t.Context(), log))
	other := landscapetest.Scene{Run: "r2", Chunks: 2, ChunkRows: 20}
	require.NoError(t, other.Begin(t.Context(), log))
	require.NoError(t, other.Read(t.Context(), log))
	require.NoError(t, log.RecordPassage(t.Context(), other.Passage(0)))
	bundle, version := landscapetest.VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	_, _, err = log.SetEnvironment(t.Context(), landscape.Environment{Name: "prod", Actor: "ann", Why: "moved"}, map[string]string{"REGION": "eu"}, nil)
	require.NoError(t, err)
	require.NoError(t, landscapetest.Nightly(t.Context(), log, "orders", "r2", "r1"))
	require.NoError(t, landscapetest.Logged(t.Context(), log))
	start := landscape.Start{Run: "r4", Params: "{}"}
	require.NoError(t, log.Accept(t.Context(), start))
	require.NoError(t, log.SetLimit(t.Context(), landscape.Limit{Gate: landscape.PoolGate("db"), Places: 1}))
	require.ErrorAs(t, log.Admit(t.Context(), "r4", landscapetest.Of("shut")), new(*landscape.HeldError))
	start.State, start.Refusal, start.Reason = landscape.StartRefused, "InputInvalid", "no such day"
	require.NoError(t, log.Refuse(t.Context(), start))
	require.NoError(t, log.Accept(t.Context(), start))
	_, err = log.Sequence(t.Context())
	require.NoError(t, err)
	require.NoError(t, landscapetest.Delivered(t.Context(), log))
	require.NoError(t, landscapetest.Arrived(t.Context(), log, "orders"))
	require.NoError(t, landscapetest.Accessed(t.Context(), log))
	return p
}

// refuses holds that a statement is refused with one of these codes of Postgres.
func refuses(t *testing.T, conn *pgx.Conn, statement string, codes ...string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), statement)
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused, statement)
	require.Contains(t, codes, refused.Code, "%s: %v", statement, err)
}

const (
	noPrivilege    = "42501"
	appendOnly     = "23000"
	wrongForChecks = "23514"
	alreadyThere   = "23505"
	missing        = "23503"
)

// changes are what nobody may do to a table.
func changes(t *landscape.Table) []string {
	column := t.Columns[0].Name
	return []string{
		`update ` + t.Name + ` set ` + column + ` = ` + column,
		`delete from ` + t.Name,
		`truncate ` + t.Name + ` cascade`,
		`insert into ` + t.Name + ` select * from ` + t.Name + ` on conflict (` + keys(t) + `) do update set ` + column + ` = excluded.` + column,
	}
}

func keys(t *landscape.Table) string {
	var names []string
	for _, c := range t.Columns[:t.Keys] {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// TestRoles holds what each role may do, and that it changes nothing by anything else. All of it is asked of one
// landscape, which takes longer to make.
func TestRoles(t *testing.T) {
	p := people(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, peopled)
	}{
		{"change nothing", rolesChangeNothing},
		{"owner changes nothing by mistake", ownerChangesNothingByMistake},
		{"writer moves nothing into what is illegal", writerMovesNothingIntoWhatIsIllegal},
		{"reader reads", readerReads},
		{"nobody shadows a table", nobodyShadowsATable},
		{"owners are known", ownersAreKnown},
		{"only a writer may write", onlyAWriterMayWrite},
		{"views under their full names", viewsAnswerUnderTheirFullNames},
		{"what is listed", rolesMayWhatIsListed},
		{"the server", rolesLeaveTheServerAlone},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, p) })
	}
}

func rolesChangeNothing(t *testing.T, p peopled) {
	t.Helper()
	for role, url := range map[string]string{"writer": p.writer, "reader": p.reader} {
		conn := connect(t, url)
		for _, table := range sample.Of(3, landscape.Tables()) {
			t.Run(role+" "+table.Name, func(t *testing.T) {
				_, err := conn.Exec(t.Context(), `grant all on `+table.Name+` to current_user`)
				require.NoError(t, err, "it is a warning, and grants nothing")
				for _, statement := range append(changes(table),
					`alter table `+table.Name+` disable trigger all`, `alter table `+table.Name+` add column mine int`,
					`drop table `+table.Name+` cascade`, `create trigger mine before insert on `+table.Name+` for each row execute function refuse()`,
					`create index on `+table.Name+` (`+table.Columns[0].Name+`)`, `alter table `+table.Name+` owner to current_user`,
				) {
					refuses(t, conn, statement, noPrivilege)
				}
			})
		}
		for _, statement := range []string{
			`create table mine (n int)`, `drop view tokens`, `create or replace view tokens as select 1`, `drop function refuse() cascade`,
			`insert into goose_db_version (version_id, is_applied) values (9999, true)`, `delete from goose_db_version`,
			`insert into schema_versions (version, sha256) values (2, repeat('0', 64))`, `delete from schema_versions`,
			`insert into numbers values (1024)`, `delete from bytes`, `drop schema waymark cascade`, `set role ` + p.db.Owner(),
			`set session_replication_role = replica`,
		} {
			refuses(t, conn, statement, noPrivilege)
		}
	}
}

func ownerChangesNothingByMistake(t *testing.T, p peopled) {
	t.Helper()
	conn := connect(t, p.db.DSN())
	for _, table := range sample.Of(3, landscape.Tables()) {
		t.Run(table.Name, func(t *testing.T) {
			for _, statement := range changes(table) {
				_, err := conn.Exec(t.Context(), statement)
				var refused *pgconn.PgError
				if !slices.Contains([]string{"runs", "effects", "starts", "slots", "gates"}, table.Name) || !strings.HasPrefix(statement, "update") && !strings.Contains(statement, "do update") {
					require.ErrorAs(t, err, &refused, statement)
					require.Equal(t, appendOnly, refused.Code, statement)
				}
			}
		})
	}
	for _, statement := range []string{`delete from numbers`, `update bytes set n = 0`, `insert into numbers values (1024)`, `truncate bytes`} {
		refuses(t, conn, statement, appendOnly)
	}
}

func writerMovesNothingIntoWhatIsIllegal(t *testing.T, p peopled) {
	t.Helper()
	conn := connect(t, p.writer)
	for name, to := range map[string][2]string{
		"a complete run runs":         {"r1", `epoch, 'running', final, null, reason`},
		"a complete run is cancelled": {"r1", `epoch, 'cancelled', final, finished_us, reason`},
		"an epoch nobody resumed":     {"r2", `epoch + 1, 'running', final, null, reason`},
		"a reason of its own":         {"r2", `epoch, status, final, finished_us, 'x'`},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, conn, `select move_runs(run_id, epoch, status, final, finished_us, reason, `+to[1]+`) from runs where run_id = '`+to[0]+`'`,
				appendOnly, wrongForChecks)
		})
	}
	const effect = `select move_effects(run_id, sink, source, chunk, rows, bytes, state, fence, ordinal, byte_offset, receipt, refused, changed_us, `
	for name, to := range map[string]string{
		"a finalized write is prepared":  `rows, bytes, 'prepared', 0, null, null, null, refused, changed_us) from effects where run_id = 'r1'`,
		"a finalized write moves":        `rows, bytes, state, fence, ordinal + 10, byte_offset, receipt, refused, changed_us) from effects where run_id = 'r1' and kind = 'write'`,
		"a write is finalized at once":   `rows, bytes, 'finalized', 1, 7, 7, '{}', refused, changed_us) from effects where run_id = 'r2' and state = 'prepared'`,
		"a publication is ended at once": `rows, bytes, 'finalized', 1, null, null, '{}', refused, changed_us) from effects where run_id = 'r2' and state = 'reserved'`,
	} {
		t.Run(name, func(t *testing.T) { refuses(t, conn, effect+to, appendOnly, wrongForChecks, alreadyThere) })
	}
	for name, statement := range map[string]string{
		"a version that leaves one out":  `insert into pipeline_versions select pipeline || 's', 2, bundle_sha256, '', '', '', '', '', '', 0, 1 from pipeline_versions`,
		"a version without a bundle":     `insert into pipeline_versions select pipeline, 2, repeat('2', 64), '', '', '', '', '', '', 0, 1 from pipeline_versions`,
		"a second version of a bundle":   `insert into pipeline_versions select pipeline, 2, bundle_sha256, '', '', '', '', '', '', 0, 1 from pipeline_versions`,
		"a deployment of no version":     `insert into deployments select environment, pipeline, 1, 'rollback', 2, 1, '', '', 1 from deployments`,
		"a deployment leaves one out":    `insert into deployments select environment, pipeline, 2, 'rollback', 1, 1, '', '', 1 from deployments`,
		"values that leave some out":     `insert into environments values ('prod', 3, '{}', '', '', 1)`,
		"a head of more than there is":   `insert into log_heads values (3, decode(repeat('00', 32), 'hex'), 'x', 1)`,
		"an anchor of no head":           `insert into log_anchors values ('x', 1, 1, '')`,
		"an entry that is too long":      `select append_log('a', repeat('x', 1300), decode(repeat('00', 32), 'hex'))`,
		"a second genesis":               `select append_log('', 'x', decode(repeat('00', 32), 'hex'))`,
		"salts of half a key":            `insert into salts values ('r2', 'strikes', 0, '\\x00')`,
		"a seal of a chunk that is none": `insert into chunk_seals values ('r2', 'strikes', 9, decode(repeat('00', 32), 'hex'))`,
		"a seal of a run that is active": `insert into run_seals values ('r2', 0, 0, decode(repeat('00', 32), 'hex'), 1, 0, '{}', '\\x00000000', 1)`,
		"a limit leaves one out":         `insert into limits select gate, 2, 1, '', '', 1 from limits`,
		"a limit of no pool":             `insert into limits values ('pipeline:orders', 0, 1, '', '', 1)`,
		"a gate at a later turn":         `insert into gates values ('pool:x', 1)`,
		"a rollback of nothing":          `insert into deployments select 'prod', pipeline, 0, 'rollback', 1, 0, '', '', 1 from deployments`,
		"a schedule of no version":       `insert into schedules select schedule, 1, environment, pipeline, name, 'set', spec, 7, 1, 0, null, '', '', 1, origin from schedules`,
		"a schedule that leaves one out": `insert into schedules select schedule, 2, environment, pipeline, name, 'pause', spec, 1, 1, 1, null, '', '', 1, origin from schedules`,
		"a request for no schedule":      `insert into slot_requests values ('q9', 'x', 'run', 'a', 'a', 1, 0, '', '', 1)`,
		"a slot of no schedule":          `insert into slots values ('x', 'a', 0, 1, 1, null, 1, 0, 'due', '', 0, 0, '', '', 1, null, 1)`,
		"a slot that is done at once":    `insert into slots select schedule, 'a', 0, 1, 1, null, 1, 0, 'done', 'r1', 1, 0, '', '', 1, null, 1 from schedules`,
		"an event that leaves one out":   `insert into slot_events select schedule, slot, 9, event, state, run_id, attempt, reason, request, at_us from slot_events where seq = 0`,
		"a run of no version": `insert into runs select (jsonb_populate_record(r, '{"run_id": "r5", "status": "running", "finished_us": null, "epoch": 0, "version": 7}')).*
			from runs r where run_id = 'r1'`,
	} {
		t.Run(name, func(t *testing.T) { refuses(t, conn, statement, wrongForChecks, alreadyThere, missing) })
	}
	for _, statement := range []string{`insert into log values (2, 'a', 'x', decode(repeat('00', 32), 'hex'))`, `update log_head set size = 3`, `insert into log_head values (1, 0)`} {
		refuses(t, conn, statement, noPrivilege)
	}
	refuses(t, conn, `select move_gates(gate, turn, turn + 2) from gates`, appendOnly)
	const slot = `select move_slots(schedule, slot, changes, state, run_id, attempts, seen, reason, request, ready_us, late_us, changed_us, `
	for name, to := range map[string]string{
		"a slot changes uncounted":          `changes, 'done', run_id, attempts, seen, '', '', ready_us, late_us, changed_us) from slots where slot = '2026-11-01'`,
		"a slot forgets an attempt":         `changes + 1, 'due', '', 0, 0, '', '', ready_us, late_us, changed_us) from slots where slot = '2026-11-01'`,
		"a slot is done without a run":      `changes + 1, 'done', '', 0, 0, '', '', ready_us, late_us, changed_us) from slots where slot = '2026-11-03'`,
		"a slot is done, and due, unasked":  `changes + 1, 'due', run_id, attempts, seen, '', '', ready_us, late_us, changed_us) from slots where slot = '2026-11-02'`,
		"a slot is missed without a reason": `changes + 1, 'missed', '', 0, 0, '', request, ready_us, late_us, changed_us) from slots where slot = '2026-11-03'`,
	} {
		t.Run(name, func(t *testing.T) { refuses(t, conn, slot+to, appendOnly, wrongForChecks) })
	}
	const start = `select move_starts(run_id, seq, slot, state, refusal, reason, decided_us, terms, slot, `
	for name, to := range map[string]string{
		"a refused start begins":        `'begun', '', '', decided_us, '') from starts where run_id = 'r4' and seq = 0`,
		"a start begins no run":         `'begun', '', '', 1, '') from starts where run_id = 'r4' and seq = 1`,
		"a start has no type":           `'refused', '', 'x', 1, '') from starts where run_id = 'r4' and seq = 1`,
		"a start is decided, no moment": `'cancelled', '', 'x', null, '') from starts where run_id = 'r4' and seq = 1`,
	} {
		t.Run(name, func(t *testing.T) { refuses(t, conn, start+to, appendOnly, wrongForChecks) })
	}
}

func readerReads(t *testing.T, p peopled) {
	t.Helper()
	conn := connect(t, p.reader)
	var relations []string
	rows, err := conn.Query(t.Context(), `select relname::text from pg_class where relnamespace = 'waymark'::regnamespace and relkind in ('r', 'v')`)
	require.NoError(t, err)
	relations, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(relations), len(landscape.Tables())+10)
	for _, relation := range relations {
		_, err := conn.Exec(t.Context(), `select * from `+relation)
		require.NoError(t, err, relation)
	}
	for _, statement := range []string{
		`insert into actions values ('r2', 0, 'v', '', '', 1)`, `select hold_run('r2', true, null, false)`, `select * from runs for share`,
		`select move_runs('r2', 0, 'running', 0, null, '', 0, 'failed', 0, 1, '')`,
	} {
		refuses(t, conn, statement, noPrivilege)
	}
	log := landscape.New(open(t, p.reader), nil)
	_, err = log.Summary(t.Context(), "r1")
	require.NoError(t, err)
	found, err := log.Sweep(t.Context(), "r1", true)
	require.NoError(t, err)
	require.Empty(t, found)
	require.ErrorContains(t, log.RecordAction(t.Context(), "r2", "v", "ann", ""), "`waymark landscape grant` gives it")
}

// nobodyShadowsATable holds that a function with the owner's rights sees the landscape's tables, whatever its caller's
// are called.
func nobodyShadowsATable(t *testing.T, p peopled) {
	t.Helper()
	conn := connect(t, p.writer)
	for _, statement := range []string{
		`create temp table runs (run_id text, epoch bigint)`, `insert into pg_temp.runs values ('r2', 77)`, `set search_path = pg_temp, waymark`,
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	_, err := conn.Exec(t.Context(), `select hold_run('r2', false, 0, true)`)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `select hold_run('r2', false, 77, true)`)
	require.ErrorContains(t, err, "run r2 is in epoch 0, not 77")
}

func TestGrantNeedsRolesThatAreThere(t *testing.T) {
	_, db := create(t)
	err := pgstore.Grant(t.Context(), db.DSN(), pgstore.Roles{Reader: "nobody here"})
	require.ErrorContains(t, err, "there is no role nobody here: make it with `create role \"nobody here\" nologin`")
	err = pgstore.Grant(t.Context(), pg.New(t).DSN(), pgstore.Roles{Reader: "x"})
	require.ErrorContains(t, err, "run `waymark landscape migrate` first")
}

// viewsAnswerUnderTheirFullNames for whoever has another schema in the search path, with a function of the same name
// that does something else.
func viewsAnswerUnderTheirFullNames(t *testing.T, p peopled) {
	t.Helper()
	owner, reader := connect(t, p.db.DSN()), connect(t, p.reader)
	var schema string
	require.NoError(t, owner.QueryRow(t.Context(), `select current_schema()`).Scan(&schema))
	views := column(t, owner, `select relname::text from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'v' order by 1`)
	require.Contains(t, views, "tokens")
	super := connect(t, p.db.Superuser())
	for _, statement := range []string{
		`create schema elsewhere`, `create function elsewhere.u16(bytea, bigint) returns bigint language sql as 'select 77'`, `grant usage on schema elsewhere to public`,
	} {
		_, err := super.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	for _, view := range views {
		question := `select v::text from ` + pgx.Identifier{schema, view}.Sanitize() + ` v order by 1`
		want := column(t, reader, question)
		_, err := reader.Exec(t.Context(), `set search_path to elsewhere`)
		require.NoError(t, err)
		require.Equal(t, want, column(t, reader, question), view)
		_, err = reader.Exec(t.Context(), `reset search_path`)
		require.NoError(t, err)
	}
}

func column(t *testing.T, conn *pgx.Conn, question string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), question)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err, question)
	return all
}
