package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"waymark/pipeline"
	"waymark/plugin"
)

// The tables in the schema of a target that say what which run wrote there. Stored; never rename.
const (
	outputsTable = "waymark_outputs"
	partsTable   = "waymark_parts"
	erasedTable  = "waymark_erased" // made when rows are deleted for the first time
)

// States of an output. Stored; never rename.
const (
	outputOpen      = "open"
	outputPublished = "published"
	outputDiscarded = "discarded"
)

// ledger is the record of a schema.
type ledger struct{ schema string }

func (l ledger) outputs() string { return quoted(l.schema, outputsTable) }
func (l ledger) parts() string   { return quoted(l.schema, partsTable) }
func (l ledger) erased() string  { return quoted(l.schema, erasedTable) }

// definition is the SQL that makes the tables.
func (l ledger) definition() string {
	return fmt.Sprintf(`create table if not exists %s (
	run text, sink text,
	target text not null,
	header bytea not null,
	state text not null,
	parts bigint, rows bigint, refused bigint, bytes bigint, sha256 text,
	opened_at timestamptz not null default now(),
	ended_at timestamptz,
	primary key (run, sink)
);
create table if not exists %s (
	run text, sink text, ordinal bigint,
	sha256 bytea not null,
	bytes bigint not null,
	rows bigint not null,
	refused jsonb not null default '[]',
	written_at timestamptz not null default now(),
	primary key (run, sink, ordinal)
);`, l.outputs(), l.parts())
}

// hexed are bytes that a query gives as hexadecimal digits: how a bytea is given is up to settings of the role and the database.
type hexed []byte

// Scan implements sql.Scanner.
func (h *hexed) Scan(value any) (err error) {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("%T is no text of hexadecimal digits", value)
	}
	*h, err = hex.DecodeString(text)
	return err
}

// output is what is recorded of a run's sink.
type output struct {
	header hexed
	state  string
}

// find returns what is recorded of a run's sink; ok is false if nothing is. lock is "" or a locking clause.
func (l ledger) find(ctx context.Context, q querier, run, sink, lock string) (o output, ok bool, err error) {
	err = q.QueryRow(ctx, "select encode(header, 'hex'), state from "+l.outputs()+" where run = $1 and sink = $2 "+lock, run, sink).Scan(&o.header, &o.state)
	if errors.Is(err, pgx.ErrNoRows) {
		return o, false, nil
	}
	return o, err == nil, err
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// entry is what is recorded of a part.
type entry struct {
	ordinal     int64
	sha256      hexed
	bytes, rows int64
	refused     int64
}

// holds reports whether the entry is of this part.
func (e entry) holds(part plugin.Part) bool {
	return e.ordinal == part.Ordinal && bytes.Equal(e.sha256, part.SHA256[:]) && e.bytes == part.Bytes && e.rows == part.Rows
}

const entryColumns = "ordinal, encode(sha256, 'hex'), bytes, rows, jsonb_array_length(refused)"

func (e *entry) scan() []any { return []any{&e.ordinal, &e.sha256, &e.bytes, &e.rows, &e.refused} }

// part returns what is recorded of a part; ok is false if nothing is.
func (l ledger) part(ctx context.Context, q querier, run, sink string, ordinal int64) (e entry, ok bool, err error) {
	err = q.QueryRow(ctx, "select "+entryColumns+" from "+l.parts()+" where run = $1 and sink = $2 and ordinal = $3", run, sink, ordinal).Scan(e.scan()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, false, nil
	}
	return e, err == nil, err
}

// all returns what is recorded of all parts, in their order.
func (l ledger) all(ctx context.Context, q querier, run, sink string) ([]entry, error) {
	rows, err := q.Query(ctx, "select "+entryColumns+" from "+l.parts()+" where run = $1 and sink = $2 order by ordinal", run, sink)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e entry, err error) { return e, row.Scan(e.scan()...) })
}

// rejectedRow is a rejected row as it is recorded.
type rejectedRow struct {
	Row     int64  `json:"row"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func encodeRejected(rows []plugin.RejectedRow) (string, error) {
	rejected := make([]rejectedRow, len(rows))
	for i, r := range rows {
		rejected[i] = rejectedRow{r.Row, r.Code, r.Field, r.Message}
	}
	text, err := json.Marshal(rejected)
	return string(text), err
}

func decodeRejected(text string) ([]plugin.RejectedRow, error) {
	var rejected []rejectedRow
	if err := json.Unmarshal([]byte(text), &rejected); err != nil {
		return nil, err
	}
	var rows []plugin.RejectedRow
	for _, r := range rejected {
		rows = append(rows, plugin.RejectedRow{Row: r.Row, Rejection: plugin.Rejection{Code: r.Code, Field: r.Field, Message: r.Message}})
	}
	return rows, nil
}

// ledgerOf returns the record beside a table.
func ledgerOf(t pipeline.TableName) ledger { return ledger{t.Schema} }
