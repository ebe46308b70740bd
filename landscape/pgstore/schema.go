package pgstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
	"waymark/landscape/migration"
)

var _ landscape.SchemaComparer = (*Store)(nil)

// Schemas does what landscape.SchemaComparer says. The new schema is made in a transaction that is rolled back: for that the role must be
// allowed to create schemas in the database.
func (s *Store) Schemas(ctx context.Context) (stored, fresh landscape.Schema, why string, err error) {
	err = again(ctx, func() (err error) {
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadWrite})
		if err != nil {
			return err
		}
		defer rollback(ctx, tx)
		if why, err = mayCompare(ctx, tx); err != nil || why != "" {
			return err
		}
		if stored, err = schemaOf(ctx, tx, s.schema); err == nil {
			fresh, err = freshSchema(ctx, tx, s.schema, s.chain)
		}
		return err
	})
	return stored, fresh, why, explain(s.place, err)
}

// mayCompare says why the connection's role can make no schema; "" if it can.
func mayCompare(ctx context.Context, tx pgx.Tx) (why string, err error) {
	const query = `select current_user, current_database(), pg_is_in_recovery(), has_database_privilege(current_database(), 'create')`
	var role, database string
	var standby, may bool
	if err := tx.QueryRow(ctx, query).Scan(&role, &database, &standby, &may); err != nil {
		return "", err
	}
	switch {
	case standby:
		return "the server is a standby, in which no new schema can be made to compare with", nil
	case !may:
		return fmt.Sprintf("the role %s may not make a new schema in the database %s to compare with: verify as a role that may, such as the owner", role, database), nil
	}
	return "", nil
}

// freshSchema makes the schema that the migrations make, and returns what it consists of as if it had the name of the
// stored one.
func freshSchema(
	ctx context.Context, tx pgx.Tx, stored string, chain migration.Chain,
) (landscape.Schema, error) {
	name := "compared_" + strings.ToLower(rand.Text())
	statements := []string{`create schema ` + name, `set local search_path = ` + searchPath(name)}
	for version := int64(1); version <= chain.Version(); version++ {
		statements = append(statements, chain.Statements(version)...)
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	made, err := schemaOf(ctx, tx, name)
	fresh := landscape.Schema{}
	for object, definition := range made {
		fresh[object] = strings.ReplaceAll(definition, name, stored)
	}
	return fresh, err
}

// schemaOf reads what a schema consists of. Names in definitions are as they are written with the schema in the search path.
func schemaOf(ctx context.Context, tx pgx.Tx, schema string) (landscape.Schema, error) {
	if _, err := tx.Exec(ctx, `set local search_path = `+searchPath(schema)); err != nil {
		return nil, err
	}
	found := landscape.Schema{}
	for _, query := range definitions {
		rows, err := tx.Query(ctx, query, schema)
		if err != nil {
			return nil, err
		}
		var object, definition string
		_, err = pgx.ForEachRow(rows, []any{&object, &definition}, func() error {
			found[object] = strings.ReplaceAll(definition, quote(schema)+".", schema+".")
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for table, query := range contents {
		if _, there := found["table "+table]; !there {
			continue
		}
		var content string
		if err := tx.QueryRow(ctx, query).Scan(&content); err != nil {
			return nil, err
		}
		found["content of "+table] = content
	}
	return found, nil
}

// contents select what is in the tables that are not of records.
var contents = map[string]string{
	"numbers":          `select coalesce(string_agg(n::text, ' ' order by n), '') from numbers`,
	migration.Versions: `select coalesce(string_agg(version || ' ' || sha256, ' ' order by version), '') from ` + migration.Versions,
	"bytes":            `select coalesce(string_agg(encode(byte, 'hex') || n, ' ' order by byte), '') from bytes`,
}

// definitions select the objects of the schema $1 and what defines them.
var definitions = []string{
	`select 'table ' || c.relname, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || coalesce(' collate ' || l.collname, '')
			|| case when a.attnotnull then ' not null' else '' end || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') || a.attgenerated::text, ', ' order by a.attnum)
			|| case when c.relrowsecurity or c.relforcerowsecurity then ' with row security' else '' end || ' ' || c.relkind::text || c.relpersistence::text
		from pg_class c
		join pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
		join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
		left join pg_collation l on l.oid = a.attcollation
		where c.relkind not in ('i', 'I', 'v', 'S', 'c', 't') and c.relname <> '` + migration.Tool + `'
		group by c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity, c.relkind, c.relpersistence`,
	`select 'constraint ' || c.conname || ' of ' || r.relname, pg_get_constraintdef(c.oid) || case when c.convalidated then '' else ' not valid' end
			|| coalesce((select ' enabled ' || string_agg(distinct t.tgenabled::text, '') from pg_trigger t where t.tgconstraint = c.oid and t.tgisinternal), '')
		from pg_constraint c
		join pg_class r on r.oid = c.conrelid
		join pg_namespace n on n.oid = c.connamespace and n.nspname = $1
		where r.relname <> '` + migration.Tool + `' and c.contype <> 'n'`,
	`select 'index ' || r.relname, pg_get_indexdef(i.indexrelid) || case when i.indisvalid then '' else ' not valid' end
		from pg_index i
		join pg_class r on r.oid = i.indexrelid
		join pg_class c on c.oid = i.indrelid and c.relname <> '` + migration.Tool + `'
		join pg_namespace n on n.oid = r.relnamespace and n.nspname = $1`,
	`select 'trigger ' || t.tgname || ' of ' || r.relname, pg_get_triggerdef(t.oid) || ' enabled ' || t.tgenabled::text
		from pg_trigger t
		join pg_class r on r.oid = t.tgrelid
		join pg_namespace n on n.oid = r.relnamespace and n.nspname = $1
		where not t.tgisinternal`,
	`select 'view ' || c.relname, pg_get_viewdef(c.oid)
		from pg_class c
		join pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
		where c.relkind = 'v'`,
	`select 'rule ' || w.rulename || ' of ' || r.relname, pg_get_ruledef(w.oid)
		from pg_rewrite w
		join pg_class r on r.oid = w.ev_class
		join pg_namespace n on n.oid = r.relnamespace and n.nspname = $1
		where w.rulename <> '_RETURN'`,
	`select 'function ' || p.oid::regprocedure, pg_get_functiondef(p.oid)
		from pg_proc p
		join pg_namespace n on n.oid = p.pronamespace and n.nspname = $1
		where p.prokind in ('f', 'p')`,
	`select 'policy ' || p.policyname || ' of ' || p.tablename, p.cmd from pg_policies p where p.schemaname = $1`,
}
