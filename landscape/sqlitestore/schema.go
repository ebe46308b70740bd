package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"waymark/landscape"
	"waymark/landscape/migration"
)

var _ landscape.SchemaComparer = (*Store)(nil)

// Schemas does what landscape.SchemaComparer says. The new schema is made in memory.
func (s *Store) Schemas(ctx context.Context) (stored, fresh landscape.Schema, why string, err error) {
	if fresh, err = freshSchema(ctx, s.chain); err != nil {
		return nil, nil, "", err
	}
	stored, err = schemaOf(ctx, s.read)
	return stored, fresh, "", explain(s.path, err)
}

// freshSchemas are the schemas that this process made, by the version that they have.
var freshSchemas sync.Map

// freshSchema is the schema that the migrations make.
func freshSchema(ctx context.Context, chain migration.Chain) (fresh landscape.Schema, err error) {
	if made, cached := freshSchemas.Load(chain.Version()); cached {
		return made.(landscape.Schema), nil
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	if err := up(ctx, db, chain); err != nil {
		return nil, err
	}
	if fresh, err = schemaOf(ctx, db); err == nil {
		freshSchemas.Store(chain.Version(), fresh)
	}
	return fresh, err
}

// schemaOf reads what a schema consists of.
func schemaOf(ctx context.Context, db *sql.DB) (landscape.Schema, error) {
	found := landscape.Schema{}
	const query = `select type || ' ' || name, sql from sqlite_schema
		where name not like 'sqlite\_%' escape '\' and sql is not null`
	if err := collect(ctx, db, found, query); err != nil {
		return nil, err
	}
	const tool = "table " + migration.Tool
	if _, there := found[tool]; there {
		found[tool] = "" // its text and rows are the library's, and each version of it has others
	}
	for object, text := range found {
		found[object] = strings.Join(strings.Fields(strings.ReplaceAll(text, `"`, "")), " ")
	}
	for object := range found {
		table, is := strings.CutPrefix(object, "table ")
		if !is || ours(table) || object == tool {
			continue
		}
		query := fmt.Sprintf(`select 'content of ' || %s, count(*) || ' ' || coalesce(group_concat(hex(t), ' '), '')
			from (select %s as t from %s order by 1)`, quoteText(table), columnsText(ctx, db, table), quoteName(table))
		if err := collect(ctx, db, found, query); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ours reports whether a table is one of records.
func ours(table string) bool {
	return slices.ContainsFunc(landscape.Tables(), func(t *landscape.Table) bool { return t.Name == table })
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func quoteText(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }

// columnsText is an expression of all values of a row that are the same in every landscape.
func columnsText(ctx context.Context, db *sql.DB, table string) string {
	found := landscape.Schema{}
	if err := collect(ctx, db, found, `select name, '' from pragma_table_info(`+quoteText(table)+`)`); err != nil || len(found) == 0 {
		return "''"
	}
	var columns []string
	for name := range found {
		if table == migration.Versions && name == "id" {
			continue
		}
		columns = append(columns, "quote("+quoteName(name)+")")
	}
	slices.Sort(columns)
	return strings.Join(columns, " || ',' || ")
}

// collect adds what a query selects: names and definitions.
func collect(ctx context.Context, db *sql.DB, found landscape.Schema, query string) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return err
		}
		found[name] = definition
	}
	return rows.Err()
}
