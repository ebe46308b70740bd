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
)

var _ landscape.SchemaComparer = (*Store)(nil)

// Schemas does what landscape.SchemaComparer says. The new schema is made in memory.
func (s *Store) Schemas(ctx context.Context) (stored, fresh landscape.Schema, why string, err error) {
	if fresh, err = freshSchema(); err != nil {
		return nil, nil, "", err
	}
	stored, err = schemaOf(ctx, s.read)
	return stored, fresh, "", explain(s.path, err)
}

// freshSchema is the schema that this program makes.
var freshSchema = sync.OnceValues(func() (fresh landscape.Schema, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	ctx := context.Background()
	if err := up(ctx, db); err != nil {
		return nil, err
	}
	return schemaOf(ctx, db)
})

// versions is the table of the tool that migrates: which migrations it notes is compared, not how.
const versions = "goose_db_version"

// schemaOf reads what a schema consists of.
func schemaOf(ctx context.Context, db *sql.DB) (landscape.Schema, error) {
	found := landscape.Schema{}
	err := collect(ctx, db, found, `select type || ' ' || name, sql from sqlite_schema where name not like 'sqlite\_%' escape '\' and sql is not null`)
	if err != nil {
		return nil, err
	}
	_, numbered := found["table "+versions]
	if numbered {
		found["table "+versions] = "" // its text is the tool's, and each version of it has another
	}
	for object, text := range found {
		found[object] = strings.Join(strings.Fields(strings.ReplaceAll(text, `"`, "")), " ")
	}
	if numbered {
		err = collect(ctx, db, found, `select 'migration ' || version_id, max(is_applied) from `+versions+` where version_id > 0 group by version_id`)
	}
	for object := range found {
		if table, is := strings.CutPrefix(object, "table "); is && err == nil && !ours(table) && table != versions {
			err = collect(ctx, db, found, fmt.Sprintf(`select 'content of ' || %s, count(*) || ' ' || coalesce(group_concat(hex(t), ' '), '') from (select %s as t from %s order by 1)`,
				quoteText(table), columnsText(ctx, db, table), quoteName(table)))
		}
	}
	return found, err
}

// ours reports whether a table is one of records.
func ours(table string) bool {
	return slices.ContainsFunc(landscape.Tables(), func(t *landscape.Table) bool { return t.Name == table })
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func quoteText(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }

// columnsText is an expression of all values of a row.
func columnsText(ctx context.Context, db *sql.DB, table string) string {
	found := landscape.Schema{}
	if err := collect(ctx, db, found, `select name, '' from pragma_table_info(`+quoteText(table)+`)`); err != nil || len(found) == 0 {
		return "''"
	}
	var columns []string
	for name := range found {
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
