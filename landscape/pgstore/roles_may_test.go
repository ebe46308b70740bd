package pgstore_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/pgstore"
)

// inserts says which roles insert into each table: writer, purger, or neither, for those that functions write. Into
// tables that are not listed no role inserts, and TestRoles requires that all are listed.
var inserts = map[string]string{
	"writer": "runs nodes edges sources lanes lookup_tables source_ends folds chunks chunk_rows passages ways way_steps " +
		"chunk_ways way_totals hashes errors key_hashes repeats field_roots feeds merge_kinds merge_codes chunk_merges " +
		"batches members merges parents retried resumptions executions effects effect_events rejected_totals " +
		"artifacts actions run_events policies policy_results salts chunk_seals run_seals sign_offs heals " +
		"starts bundles pipeline_versions deployments environments schedules slot_requests slots slot_events " +
		"gates limits triggers watches arrivals " +
		"arrival_orders arrival_runs log_hashes log_heads log_anchors returned_payloads attestations outbox outbox_head " +
		"endpoints endpoint_states deliveries delivery_attempts access_tokens disclosures approval_rules approval_requests " +
		"approvals approved_executions retention_turns",
	"purger": "holds hold_ends purges purged_runs deletions deleted_payloads forgotten forgotten_leaves erasures " +
		"erased repacked forgettings salts archives archived_payloads retention_periods",
	"neither": "log log_head",
}

// executes are the functions that each role may execute, besides those that everybody may and that have no right of
// their owner.
var executes = map[string]string{
	"writer": "move_runs move_effects move_starts move_slots move_gates move_watches move_arrivals move_outbox " +
		"move_outbox_head move_endpoint_states move_deliveries hold_run append_log",
	"purger": "move_chunks move_chunk_rows move_hashes move_key_hashes move_errors move_salts remove_run hold_run append_log",
}

// rolesMayWhatIsListed asks the catalog of Postgres what each role may do with each relation and each function: a new
// table or function must be listed above.
func rolesMayWhatIsListed(t *testing.T, p peopled) {
	t.Helper()
	owner, super := connect(t, p.db.DSN()), p.db.Superuser()
	purgers := p.db.Owner() + "_purgers"
	execute(t, super, `create role `+purgers+` nologin`)
	require.NoError(t, pgstore.Grant(t.Context(), p.db.DSN(), pgstore.Roles{Purger: purgers}))
	listed := map[string]bool{}
	for _, tables := range inserts {
		for table := range strings.FieldsSeq(tables) {
			listed[table] = true
		}
	}
	for _, table := range landscape.Tables() {
		require.True(t, listed[table.Name], "the table %s is not listed", table.Name)
		delete(listed, table.Name)
	}
	require.Empty(t, slices.Collect(maps.Keys(listed)), "tables that there are not")

	const rights = `select v.verb || ' ' || c.relname from pg_class c
		cross join unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) v(verb)
		where c.relnamespace = 'waymark'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'f', 'S')
			and (has_table_privilege($1, c.oid, v.verb) or v.verb in ('insert', 'update', 'references')
				and has_any_column_privilege($1, c.oid, v.verb)) order by 1`
	const functions = `select p.proname::text from pg_proc p
		where p.pronamespace = 'waymark'::regnamespace and p.prosecdef
			and has_function_privilege($1, p.oid, 'execute') order by 1`
	for _, role := range []string{"writer", "reader", "purger", ""} {
		name := "public"
		if role != "" {
			name = p.db.Owner() + "_" + role + "s"
		}
		want := []string{}
		for table := range strings.FieldsSeq(inserts[role]) {
			want = append(want, "insert "+table)
		}
		slices.Sort(want)
		require.Equal(t, want, asked(t, owner, rights, name), role)
		want = append([]string{}, strings.Fields(executes[role])...)
		slices.Sort(want)
		require.Equal(t, want, asked(t, owner, functions, name), role)
		require.Empty(t, asked(t, owner, `select verb from unnest(array['create']) v(verb)
			where has_schema_privilege($1, 'waymark', verb)`, name), role)
	}
	// Names are looked up in the catalog, the schema, and among what is temporary: nobody else makes any there.
	require.Equal(t, []string{`search_path="waymark", pg_temp`}, asked(t, owner, `
		select distinct array_to_string(p.proconfig, ';')
		from pg_proc p where p.pronamespace = $1::regnamespace and p.prosecdef`, "waymark"))
}

func asked(t *testing.T, conn *pgx.Conn, question, of string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), question, of)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err, question)
	return append([]string{}, found...)
}

// rolesLeaveTheServerAlone holds that no role reaches files and programs of the server, other sessions, or the rights
// of others.
func rolesLeaveTheServerAlone(t *testing.T, p peopled) {
	t.Helper()
	owner := connect(t, p.db.DSN())
	var session string
	require.NoError(t, owner.QueryRow(t.Context(), `select pg_backend_pid()::text`).Scan(&session))
	statements := []string{
		`copy runs to program 'true'`, `copy runs to '/tmp/waymark-stolen'`, `copy runs from program 'true'`,
		`copy runs from '/etc/passwd'`, `select pg_read_file('/etc/passwd')`, `select lo_import('/etc/passwd')`,
		`select pg_ls_dir('.')`, `alter system set fsync = off`,
		`select pg_terminate_backend(` + session + `)`, `select pg_cancel_backend(` + session + `)`,
		`set session authorization ` + p.db.Owner(), `alter role ` + p.db.Owner() + ` password 'x'`,
		`alter function refuse() rename to refused`, `alter function hold_run(text, boolean, bigint, boolean) security invoker`,
		`create function waymark.u16(text) returns bigint language sql as 'select 7'`, `drop function append_log`,
		`create table waymark.mine (n int)`, `create trigger mine after insert on runs execute function refuse()`,
		`alter table runs disable trigger all`, `alter table runs replica identity nothing`,
		`comment on table runs is 'x'`,
		`create rule mine as on insert to actions do instead nothing`, `create policy mine on runs`,
		`alter table runs enable row level security`, `reindex table runs`,
		`do $$ begin lock table runs in access exclusive mode; end $$`,
		`create publication mine for table runs`, `alter schema waymark rename to mine`,
		`create event trigger mine on ddl_command_end execute function refuse()`,
	}
	for _, url := range []string{p.writer, p.reader} {
		conn := connect(t, url)
		for _, statement := range statements {
			refuses(t, conn, statement, noPrivilege)
		}
	}
}
