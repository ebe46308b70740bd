package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/jsonl"
)

// maxRecordBytes is how large a record may be, and any value that is read of one. Source: docs/postgres.md.
const (
	maxRecordBytes = 4 << 20
	keptBytes      = 64 << 10 // of what is larger
)

// column is a column of what is read.
type column struct {
	name  string
	field string // that it is read into
	oid   uint32
	mod   int32  // of the type: a length, a precision
	label []byte // its key in a record
	write writer
}

// selection is what a reader selects: the columns that rows have, then those that put them in order, then the length of what may be
// too long.
type selection struct {
	columns []column
	order   []column
	query   string
	context []byte // of chunks
}

// shape finds out what there is to select, in the transaction of conn.
func (s *Source) shape(ctx context.Context, conn *pgx.Conn) (*selection, error) {
	chosen, all, err := s.columns(ctx, conn)
	if err != nil {
		return nil, err
	}
	names := s.spec.OrderBy
	if len(names) == 0 {
		if names, err = s.primaryKey(ctx, conn); err != nil {
			return nil, err
		}
	}
	order, err := s.order(all, names)
	if err != nil {
		return nil, err
	}
	return &selection{columns: chosen, order: order, query: s.selectOf(chosen, order, ""), context: s.context(chosen)}, nil
}

// context returns what a parser has to know of the columns.
func (s *Source) context(columns []column) []byte {
	known := make([]jsonl.Column, len(columns))
	for i, c := range columns {
		known[i] = jsonl.Column{Name: c.name, Kind: kinds[c.oid]}
	}
	return s.records.Context(known)
}

// columns returns the columns that rows have, and all that there are.
func (s *Source) columns(ctx context.Context, conn *pgx.Conn) (chosen, all []column, err error) {
	statement, err := conn.PgConn().Prepare(ctx, "", "select * from "+s.from(), nil)
	if err != nil {
		return nil, nil, s.classify("look at the columns", err)
	}
	if all, err = s.known(statement.Fields); err != nil {
		return nil, nil, err
	}
	if err := s.addTypes(ctx, conn, all); err != nil {
		return nil, nil, err
	}
	chosen, err = s.choose(all)
	return chosen, all, err
}

// alias is what the rows are called in queries.
const alias = "waymark_rows"

// from returns what stands behind from.
func (s *Source) from() string {
	if s.query != "" {
		return "(\n" + s.query + "\n) as " + alias
	}
	return quotedTable(s.table) + " as " + alias
}

func (s *Source) known(fields []pgconn.FieldDescription) ([]column, error) {
	columns := make([]column, len(fields))
	seen := map[string]bool{}
	for i, field := range fields {
		if seen[field.Name] {
			return nil, s.fault(codeHeaderCollision, "two columns are called %s: name one of them otherwise, with as", excerpt(field.Name))
		}
		seen[field.Name] = true
		label := row.AppendJSONValue(nil, row.StringValue(field.Name))
		columns[i] = column{name: field.Name, field: field.Name, oid: field.DataTypeOID, mod: field.TypeModifier, label: append(label, ':')}
	}
	return columns, nil
}

// addTypes finds the writers of the columns. Arrays are known to the database alone.
func (s *Source) addTypes(ctx context.Context, conn *pgx.Conn, columns []column) error {
	var oids []string
	for _, c := range columns {
		oids = append(oids, strconv.FormatUint(uint64(c.oid), 10))
	}
	rows, err := conn.Query(ctx, `
		select t.oid, e.oid, e.typdelim::text
		from pg_type t join pg_type e on e.oid = t.typelem
		where t.oid = any($1::oid[]) and t.typcategory = 'A' and e.typarray = t.oid
		order by t.oid`, "{"+strings.Join(oids, ",")+"}")
	if err != nil {
		return s.classify("look at the types", err)
	}
	arrays := map[uint32]writer{}
	var array, element uint32
	var delimiter string
	_, err = pgx.ForEachRow(rows, []any{&array, &element, &delimiter}, func() error {
		arrays[array] = writeArray(writerOf(element), delimiter[0])
		return nil
	})
	if err != nil {
		return s.classify("look at the types", err)
	}
	for i := range columns {
		columns[i].write = writerOf(columns[i].oid)
		if w, ok := arrays[columns[i].oid]; ok {
			columns[i].write = w
		}
	}
	return nil
}

// choose returns the columns that the schema has, in its order, or all if rows may carry others.
func (s *Source) choose(all []column) ([]column, error) {
	declared, open := s.records.Fields()
	var chosen []column
	for _, field := range declared {
		name := cmp.Or(field.Value.From, field.Name)
		i := find(all, name)
		switch {
		case i < 0 && field.Value.Optional:
			continue
		case i < 0:
			return nil, s.fault(codeHeaderMismatch, "there is no column %s for the field %s; the columns are %s", excerpt(name), field.Name, named(all))
		}
		all[i].field = field.Name
		switch {
		case field.Value.Kind() == row.String && kinds[all[i].oid] == row.JSON:
			all[i].write = writeText // the JSON "5" is not 5
		case field.Value.Kind() == row.String:
			all[i].write = asString(all[i].write)
		}
		chosen = append(chosen, all[i])
	}
	if open {
		chosen = all
	}
	if len(chosen) == 0 {
		return nil, s.fault(codeHeaderMismatch, "there is no column for any field; the columns are %s", named(all))
	}
	return chosen, nil
}

func find(columns []column, name string) int {
	return slices.IndexFunc(columns, func(c column) bool { return c.name == name })
}

// named lists the columns for people.
func named(columns []column) string {
	const most = 20
	var names []string
	for _, c := range columns[:min(len(columns), most)] {
		names = append(names, oneLine(c.name, maxExcerptBytes))
	}
	if len(columns) > most {
		names = append(names, fmt.Sprintf("and %d more", len(columns)-most))
	}
	return strings.Join(names, ", ")
}

// order returns the columns with these names, which put the rows in order.
func (s *Source) order(all []column, names []string) ([]column, error) {
	var order []column
	for _, name := range names {
		i := find(all, name)
		if i < 0 {
			return nil, s.fault(codeHeaderMismatch, "there is no column %s to order by; the columns are %s", excerpt(name), named(all))
		}
		order = append(order, all[i])
	}
	return order, nil
}

func (s *Source) primaryKey(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, `
		select a.attname
		from pg_index i, unnest(i.indkey::int2[]) with ordinality as k (attnum, nr), pg_attribute a
		where i.indrelid = $1::regclass and i.indisprimary and a.attrelid = i.indrelid and a.attnum = k.attnum
		order by k.nr`, quotedTable(s.table))
	if err != nil {
		return nil, s.classify("look for the primary key", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, s.classify("look for the primary key", err)
	}
	if len(names) == 0 {
		return nil, s.fault(codeNoOrder, "the table has no primary key: give order_by, columns in which no two rows are alike")
	}
	return names, nil
}

// selectOf returns the query of a selection, of rows for which a condition holds; of all if that is empty. Values that are too long are not even sent: their beginning is.
func (s *Source) selectOf(chosen, order []column, condition string) string {
	var items, lengths, by []string
	for _, c := range chosen {
		name := quoted(alias, c.name)
		switch c.oid {
		case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID:
			items = append(items, fmt.Sprintf("case when octet_length(%s) > %d then left(%s, %d) else %s end", name, maxRecordBytes, name, keptBytes/4, name))
			lengths = append(lengths, fmt.Sprintf("coalesce(octet_length(%s), 0)::bigint", name))
		case pgtype.ByteaOID:
			items = append(items, fmt.Sprintf("case when octet_length(%s) > %d then substr(%s, 1, %d) else %s end", name, maxRecordBytes, name, keptBytes/2, name))
			lengths = append(lengths, fmt.Sprintf("coalesce(octet_length(%s), 0)::bigint", name))
		default:
			items = append(items, name)
		}
	}
	for _, c := range order {
		items = append(items, quoted(alias, c.name))
		by = append(by, quoted(alias, c.name))
	}
	if len(lengths) == 0 {
		lengths = []string{"0"}
	}
	if condition != "" {
		condition = " where " + condition
	}
	return fmt.Sprintf("select %s, %s from %s%s order by %s",
		strings.Join(items, ", "), strings.Join(lengths, " + "), s.from(), condition, strings.Join(by, ", "))
}

// version returns a digest of what is selected: of the columns with their types, and of their order.
func (sel *selection) version() string {
	hash := sha256.New()
	for _, part := range [][]column{sel.columns, sel.order} {
		for _, c := range part {
			fmt.Fprintf(hash, "%s%d,%d\n", c.label, c.oid, c.mod)
		}
	}
	hash.Write([]byte(sel.query))
	return hex.EncodeToString(hash.Sum(nil))
}

// record appends a row to dst as one JSON object. values are those of the selection, nil for null. A value that a row cannot hold is
// written as a text, and told by the rejection.
func (sel *selection) record(dst []byte, values [][]byte) ([]byte, *plugin.Rejection) {
	var bad *plugin.Rejection
	dst = append(dst, '{')
	for i := range sel.columns {
		c := &sel.columns[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c.label...)
		if values[i] == nil {
			dst = append(dst, "null"...)
			continue
		}
		written, ok := c.write(dst, values[i])
		if dst = written; !ok {
			dst, _ = writeText(dst, values[i])
			if bad == nil {
				bad = &plugin.Rejection{Code: codeUnwritable, Field: c.field,
					Message: excerpt(string(values[i])) + " is no value that a row can hold: declare the field as string, or leave it out with a query"}
			}
		}
	}
	return append(dst, '}'), bad
}

// bytes returns how long the values are that may be too long.
func (sel *selection) bytes(values [][]byte) int64 {
	n, _ := strconv.ParseInt(string(values[len(values)-1]), 10, 64) // Postgres wrote it
	return n
}
