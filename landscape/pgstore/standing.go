package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
	"waymark/landscape/migration"
)

// standing is what there is under a schema's name, and how the connection's role stands to it.
type standing struct {
	schema   string
	database string
	role     string // of the connection
	owner    string // of the schema; empty if it is not there
	there    bool   // the schema is
	owns     bool   // the role owns it, or is a member of who does, or a superuser
	usable   bool   // the role may use names in it
	fillable bool   // the role may make tables in it
	ours     bool   // it holds a landscape, of whichever version
	early    bool   // it holds one that records no digests of migrations
	readable bool   // the role may read that one's version
	holder   string // of the table that records that one's version
	// objects are tables, views and functions in it, without functions of extensions and the table of the library that
	// migrates.
	objects int64
}

// standingOf looks at the schema. Nobody needs a right for that.
func standingOf(ctx context.Context, conn *pgx.Conn, schema string) (standing, error) {
	const query = `
		select current_database(), current_user, coalesce(pg_get_userbyid(n.nspowner)::text, ''), n.oid is not null,
			coalesce(pg_has_role(n.nspowner, 'usage'), false), coalesce(has_schema_privilege(n.oid, 'usage'), false),
			coalesce(has_schema_privilege(n.oid, 'create'), false),
			coalesce(bool_or(c.relname = $2 and records.ours), false), coalesce(bool_or(c.relname = $3), false),
			coalesce(bool_and(has_table_privilege(c.oid, 'select')) filter (where c.relname = $2), false),
			coalesce(max(pg_get_userbyid(c.relowner)::text) filter (where c.relname = $2), ''),
			count(c.oid) filter (where c.relname <> $3) + (select count(*) from pg_proc p where p.pronamespace = n.oid
				and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'))
		from (select $1::text as name) wanted
		left join pg_namespace n on n.nspname = wanted.name
		left join pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'v', 'm', 'p', 'f')
		left join lateral (select count(*) = 2 as ours from pg_attribute a where a.attrelid = c.oid
			and (a.attname, a.atttypid) in (('version', 'bigint'::regtype), ('sha256', 'text'::regtype))) records on true
		group by n.oid, n.nspowner`
	s := standing{schema: schema}
	err := conn.QueryRow(ctx, query, schema, migration.Versions, migration.Tool).Scan(&s.database, &s.role, &s.owner,
		&s.there, &s.owns, &s.usable, &s.fillable, &s.ours, &s.early, &s.readable, &s.holder, &s.objects)
	return s, err
}

// foreign refuses a landscape that other migrations made, or whose mark is gone.
func foreign(err error) error {
	const cure = ": restore it from a backup, or use the program that made it; or start with a new database or schema"
	return &landscape.UnfitError{Why: err.Error() + cure}
}

// otherwise refuses a schema that holds something else than a landscape.
func (s standing) otherwise() error {
	const why = "the schema %s holds something else: name another one in the URL, as in ?schema=waymark"
	return &landscape.UnfitError{Why: fmt.Sprintf(why, s.schema)}
}

// changed refuses a landscape that lacks something, or has something besides.
func changed(what string) error {
	const cure = ": the schema was changed by hand: restore it from a backup, or start with a new database or schema"
	return &landscape.UnfitError{Why: what + cure}
}

// version returns the version of the schema: 0 if it is not there or empty. It refuses one that the chain did not make,
// and one that the role may not read, with a *denial.
func (s standing) version(ctx context.Context, conn *pgx.Conn, chain migration.Chain) (version int64, err error) {
	switch {
	case !s.ours && s.objects > 0 && s.early:
		return 0, foreign(&migration.ForeignError{Unmarked: true})
	case !s.ours && s.objects > 0:
		return 0, s.otherwise()
	case !s.ours:
		return 0, nil
	case !s.usable || !s.readable:
		return 0, &denial{s}
	}
	var digests string
	if err := conn.QueryRow(ctx, migration.Recorded).Scan(&digests); err != nil {
		return 0, err
	}
	version, err = chain.Judge(digests)
	_, other := errors.AsType[*migration.ForeignError](err)
	switch {
	case other:
		err = foreign(err)
	case err != nil:
		err = &landscape.UnfitError{Why: err.Error()}
	}
	return version, err
}

// denial says that a landscape is there, and the role may not read it.
type denial struct{ standing }

func (d *denial) Error() string {
	if d.owns && d.usable && d.holder != d.owner {
		return fmt.Sprintf("the role %s owns the schema %s, and not what is in it, which %s owns: "+
			"start with a new schema, or have a superuser give it what is in this one, "+
			"with `alter … owner to` for each table, view and function", d.role, d.schema, d.holder)
	}
	return fmt.Sprintf("the role %s may not read the schema %s: its owner, %s, gives it what it needs with `waymark landscape grant`, "+
		"--writer for processes that work for runs, --reader for who asks", d.role, d.schema, d.owner)
}

// missing says why there is no landscape, and who can make one.
func (s standing) missing() error {
	why := fmt.Sprintf(
		"there is no schema %s: make it with `waymark landscape migrate`, as the role that is to own it", s.schema)
	if s.there {
		why = fmt.Sprintf(
			"the schema %s is empty: its owner, %s, fills it with `waymark landscape migrate`", s.schema, s.owner)
	}
	return &told{text: why, cause: landscape.ErrNotFound}
}

// mayOwn explains an error of what only the schema's owner may do. Other errors stay.
func (s standing) mayOwn(err error) error {
	_, denied := errors.AsType[*denial](err)
	if s.there && !s.owns && (denied || codeOf(err) == noPrivilege) {
		return s.foreign()
	}
	return err
}

// foreign refuses what only the schema's owner may do.
func (s standing) foreign() error {
	return &refusal{fmt.Sprintf("only the owner of the schema %s may do this, and that is %s, not %s: connect as %s", s.schema, s.owner, s.role, s.owner)}
}

// mayCreate explains that the role may not create a schema. Other errors stay.
func (s standing) mayCreate(err error) error {
	if codeOf(err) != noPrivilege {
		return err
	}
	return &refusal{fmt.Sprintf("the role %s may not create schemas in the database %s: its owner, or a superuser, makes this one with `create schema %s authorization %s`, "+
		"or allows it with `grant create on database %s to %s`", s.role, s.database, quote(s.schema), quote(s.role), quote(s.database), quote(s.role))}
}

// inserted are the tables into which a writer inserts: all but the log and its head, and those of the purger.
func inserted() (tables []string) {
	for _, t := range landscape.Tables() {
		if t.Name != (landscape.LogEntry{}).Table() && t.Name != (landscape.LogHead{}).Table() && !slices.Contains(purging, t.Name) {
			tables = append(tables, t.Name)
		}
	}
	return tables
}

// purging are the tables into which only a purger inserts.
var purging = []string{
	landscape.Hold{}.Table(), landscape.HoldEnd{}.Table(), landscape.Purge{}.Table(), landscape.PurgedRun{}.Table(), landscape.Deletion{}.Table(),
	landscape.DeletedPayload{}.Table(), landscape.Forgotten{}.Table(), landscape.ForgottenLeaf{}.Table(), landscape.Repacked{}.Table(), landscape.Forgetting{}.Table(),
	landscape.Erasure{}.Table(), landscape.Erased{}.Table(),
	landscape.Archive{}.Table(), landscape.ArchivedPayload{}.Table(), landscape.RetentionPeriods{}.Table(),
}

// blanking are the functions by which a purger blanks what is forgotten, destroys salts, removes archived runs, and says so in the log.
var blanking = []string{"move_chunks", "move_chunk_rows", "move_hashes", "move_key_hashes", "move_errors", "move_salts",
	"remove_run", "hold_run", "append_log"}

// functions are what a writer moves and holds records by, and appends to the log.
var functions = []string{"move_runs", "move_effects", "move_starts", "move_slots", "move_gates", "move_watches", "move_arrivals", "move_outbox", "move_outbox_head", "move_endpoint_states", "move_deliveries", "hold_run", "append_log"}

// MayWrite says whether the role may do what working for runs needs: nil, or an error that says what it lacks, and the cure.
func (s *Store) MayWrite(ctx context.Context) error { return explain(s.place, s.mayWrite(ctx)) }

func (s *Store) mayWrite(ctx context.Context) error {
	const query = `
		select current_user, pg_get_userbyid(n.nspowner)::text, pg_is_in_recovery() or current_setting('transaction_read_only')::bool,
			has_schema_privilege(n.oid, 'usage'),
			array(select 'select on ' || c.relname from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'v') and not has_table_privilege(c.oid, 'select') order by 1),
			array(select 'insert on ' || c.relname from pg_class c where c.relnamespace = n.oid and c.relname = any($2) and not has_table_privilege(c.oid, 'insert') order by 1),
			array(select 'execute on ' || p.proname from pg_proc p where p.pronamespace = n.oid and p.proname = any($3) and not has_function_privilege(p.oid, 'execute') order by 1)
		from pg_namespace n
		where n.nspname = $1`
	var role, owner string
	var readOnly, usable bool
	var lacks [3][]string
	err := s.pool.QueryRow(ctx, query, s.schema, inserted(), functions).Scan(&role, &owner, &readOnly, &usable, &lacks[0], &lacks[1], &lacks[2])
	if err != nil {
		return err
	}
	missing := slices.Concat(lacks[:]...)
	if !usable {
		missing = append([]string{"usage on schema " + s.schema}, missing...)
	}
	switch {
	case readOnly:
		return &refusal{"the server or the database only reads: name the one that writes"}
	case len(missing) > 0:
		return &refusal{fmt.Sprintf("the role %s may not work for runs: it lacks %s: the owner of the schema, %s, gives it that with `waymark landscape grant --writer %s`, or a group to which it belongs",
			role, brief(missing), owner, role)}
	}
	return nil
}

// MayPurge says whether the role may do what deleting payloads that are due needs, besides what working for runs needs:
// nil, or an error that says what it lacks, and the cure.
func (s *Store) MayPurge(ctx context.Context) error { return explain(s.place, s.mayPurge(ctx)) }

func (s *Store) mayPurge(ctx context.Context) error {
	const query = `
		select current_user, pg_get_userbyid(n.nspowner)::text,
			array(select 'insert on ' || c.relname from pg_class c
				where c.relnamespace = n.oid and c.relname = any($2) and not has_table_privilege(c.oid, 'insert')
				order by 1)
		from pg_namespace n
		where n.nspname = $1`
	var role, owner string
	var missing []string
	err := s.pool.QueryRow(ctx, query, s.schema, purging).Scan(&role, &owner, &missing)
	if err != nil || len(missing) == 0 {
		return err
	}
	return &refusal{fmt.Sprintf("the role %s may not purge: it lacks %s: the owner of the schema, %s, gives it that "+
		"with `waymark landscape grant --purger %s`, or a group to which it belongs",
		role, brief(missing), owner, role)}
}

// mostNamed is how many rights that are missing are named.
const mostNamed = 3

// brief lists the first of some words, and counts the others.
func brief(words []string) string {
	if len(words) <= mostNamed {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:mostNamed], ", "), len(words)-mostNamed)
}

// Owner returns the role of the connection if it owns the schema, or may do what its owner may; otherwise nothing. Such a role could
// change what is recorded: processes that work for runs need none like that.
func (s *Store) Owner(ctx context.Context) (role string, err error) {
	const query = `select case when pg_has_role(nspowner, 'usage') then current_user::text else '' end from pg_namespace where nspname = $1`
	err = s.pool.QueryRow(ctx, query, s.schema).Scan(&role)
	return role, explain(s.place, err)
}

// Size returns how many bytes the tables of the landscape take, with their indexes.
func (s *Store) Size(ctx context.Context) (bytes int64, err error) {
	const query = `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind in ('r', 'p')`
	err = s.pool.QueryRow(ctx, query, s.schema).Scan(&bytes)
	return bytes, explain(s.place, err)
}

// ID does what landscape.Identifier says. A copy in another database or schema has another id, and one of the same names on another server has the same.
func (s *Store) ID(ctx context.Context) (id string, err error) {
	const query = `select left(md5(id || '/' || current_database() || '/' || $1), 16) from schema_versions where version = 1`
	err = s.pool.QueryRow(ctx, query, s.schema).Scan(&id)
	return id, explain(s.place, err)
}
