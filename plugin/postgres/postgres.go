// Package postgres reads rows from tables and queries of a Postgres database, and writes rows into its tables. What it promises,
// and what it asks of a database, is in docs/postgres.md.
package postgres

import (
	"github.com/jackc/pgx/v5"

	"waymark/pipeline"
	"waymark/plugin"
)

// Codes of the SourceErrors of this package. Stored; never rename.
const (
	codeNotFound        = "NOT_FOUND"        // no such database, schema or table
	codeNoPermission    = "NO_PERMISSION"    // the database does not let the role in, or not read there
	codeEgressDenied    = "EGRESS_DENIED"    // the address is inside of a network, and the operator does not allow it
	codeSecretHeld      = "SECRET_HELD"      // a secret that may not leave the process yet
	codeSourceChanged   = "SOURCE_CHANGED"   // other columns, or other rows among those that were read
	codeHeaderMismatch  = "HEADER_MISMATCH"  // there is no column for a required field, or for order_by
	codeHeaderCollision = "HEADER_COLLISION" // two columns have one name
	codeNoOrder         = "NO_ORDER"         // nothing says in which order the rows are
	codeOrderNotUnique  = "ORDER_NOT_UNIQUE" // two rows are alike in the columns that put them in order
	codeQueryRefused    = "QUERY_REFUSED"    // the database rejects the query
)

// Codes of the Rejections of this package. They stand in landscapes; never rename one.
const (
	codeRowTooLarge   = plugin.RowTooLarge
	codeUnwritable    = "UNREPRESENTABLE"  // a value without a number, a date or a moment for it: NaN, infinity, a year beyond 9999
	codeExtraField    = "EXTRA_FIELD"      // a field that has no column
	codeNUL           = "NUL_CHARACTER"    // a text with a NUL, which Postgres cannot hold
	codeNanoseconds   = "NANOSECONDS"      // a moment finer than Postgres' microseconds
	codeSinkUnique    = "SINK_UNIQUE"      // another row has the same key
	codeSinkNotNull   = "SINK_NOT_NULL"    // a null where there may be none
	codeSinkCheck     = "SINK_CHECK"       // a check constraint does not hold, or no partition takes the row
	codeSinkForeign   = "SINK_FOREIGN_KEY" // the row that it refers to is not there
	codeSinkType      = "SINK_TYPE"        // a value that the column's type does not take
	codeSinkTooLong   = "SINK_TOO_LONG"    // a value that is longer than the column, or an index, takes
	codeSinkInexact   = "SINK_INEXACT"     // a value that the column would round or cut
	codeSinkRefused   = "SINK_REFUSED"     // a trigger or a rule of the table's own rejected the row
	codeSinkDropped   = "SINK_DROPPED"     // a trigger of the table's own dropped the row, and said nothing
	codeTargetChanged = "TARGET_CHANGED"
	codeTargetRefused = "TARGET_REFUSED"
)

// quoted returns the names as an SQL identifier.
func quoted(names ...string) string { return pgx.Identifier(names).Sanitize() }

// quotedTable returns the table as an SQL identifier.
func quotedTable(t pipeline.TableName) string { return quoted(t.Schema, t.Table) }

// list returns the columns as SQL writes them, separated by commas.
func list(columns []string) string {
	var text []byte
	for i, column := range columns {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(text, quoted(column)...)
	}
	return string(text)
}
