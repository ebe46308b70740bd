package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/jsonl"
	"waymark/plugin/webhook"
)

// Source reads the rows of a table or a query as they were at one moment. It is safe for concurrent use.
type Source struct {
	name     string
	spec     pipeline.PostgresSource
	table    pipeline.TableName // without a query
	query    string
	database *database
	records  *jsonl.Records
	path     string       // names the rows, without secrets
	found    webhook.Read // reads the payloads in which rows are that a trigger found; nil where no run is executed
}

// NewSource makes the source that a document's entry with this name describes. The error names the option at fault; no connection
// is made. access is what the document's DSN may use; found reads the payloads in which rows are that a trigger found, nil where nobody reads them.
func NewSource(name string, spec pipeline.PostgresSource, schema pipeline.Schema, access Access, found webhook.Read) (plugin.Source, error) {
	s, err := newSource(name, spec, schema, access)
	if err != nil {
		return nil, fmt.Errorf("sources.%s: %w", name, err)
	}
	s.found = found
	return s, nil
}

func newSource(name string, spec pipeline.PostgresSource, schema pipeline.Schema, access Access) (*Source, error) {
	records, err := jsonl.NewRecords(schema)
	if err != nil {
		return nil, err
	}
	d, err := newDatabase(spec.DSN, access)
	if err != nil {
		return nil, fmt.Errorf("postgres.%w", err)
	}
	s := &Source{name: name, spec: spec, database: d, records: records}
	if spec.Query == "" {
		s.table = pipeline.ParseTableName(spec.Table)
		s.path = d.place + "/" + s.table.String()
		return s, nil
	}
	s.query = strings.TrimRight(strings.TrimSpace(spec.Query), "; \t\r\n")
	s.path = fmt.Sprintf("%s/query:%.8x", d.place, sha256.Sum256([]byte(s.query)))
	return s, nil
}

// Determinism says that the rows depend on what the database holds.
func (s *Source) Determinism() pipeline.Determinism { return pipeline.ReadsIO }

// Fields returns the declared fields; rows carry others after them unless the schema is fixed.
func (s *Source) Fields() (declared []pipeline.Named[pipeline.Field], open bool) {
	return s.records.Fields()
}

// Parser returns a parser of records. The context has the kinds of columns that are not declared.
func (s *Source) Parser(context []byte) (plugin.Parser, error) { return s.records.TypedParser(context) }

// Stat looks at the columns, and makes sure that they may be read.
func (s *Source) Stat(ctx context.Context) (info plugin.SourceInfo, err error) {
	conn, err := s.database.connect(ctx)
	if err != nil {
		return info, s.classify("connect", err)
	}
	defer func() { err = errors.Join(err, closed(conn)) }()
	selected, err := s.begin(ctx, conn)
	if err != nil {
		return info, err
	}
	return s.info(selected), nil
}

func (s *Source) info(selected *selection) plugin.SourceInfo {
	return plugin.SourceInfo{Files: []plugin.FileInfo{{Path: s.path, Version: selected.version()}}}
}

// closed closes a connection.
func closed(conn *pgx.Conn) error {
	ctx, cancel := farewell()
	defer cancel()
	_ = conn.Close(ctx) // what it was doing is over, whether the server heard of it or not
	return nil
}

// begin takes a snapshot in a transaction of conn, and declares the cursor over its rows.
func (s *Source) begin(ctx context.Context, conn *pgx.Conn) (*selection, error) {
	if err := s.transaction(ctx, conn); err != nil {
		return nil, err
	}
	selected, err := s.shape(ctx, conn)
	if err != nil {
		return nil, err
	}
	return selected, s.declare(ctx, conn, selected)
}

// declare declares the cursor over what is selected.
func (s *Source) declare(ctx context.Context, conn *pgx.Conn, selected *selection) error {
	if _, err := conn.Exec(ctx, "declare waymark_cursor no scroll cursor for "+selected.query); err != nil {
		return s.classify("begin to read", err)
	}
	return nil
}

// transaction begins a transaction of conn in which all statements see one snapshot.
func (s *Source) transaction(ctx context.Context, conn *pgx.Conn) error {
	for _, statement := range []string{
		pinned("isolation level repeatable read read only").BeginQuery,
		`select set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', ` +
			`true),
			set_config('cursor_tuple_fraction', '1', true)`,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return s.classify("begin to read", err)
		}
	}
	return nil
}

// Open returns a Reader at the cursor. Beyond the beginning it takes a new snapshot and reads again what was read before: if that is
// not what the cursor remembers, it is not the same source any more. Rows that a trigger found are stored, and read from there.
func (s *Source) Open(ctx context.Context, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	if pin.Trigger != "" {
		return webhook.OpenFound(s.name, s.found, at, pin)
	}
	conn, err := s.database.connect(ctx)
	if err != nil {
		return nil, s.classify("connect", err)
	}
	selected, err := s.begin(ctx, conn)
	if err != nil {
		return nil, errors.Join(err, closed(conn))
	}
	if now := s.info(selected); len(pin.Files) != 1 || now.Files[0] != pin.Files[0] {
		return nil, errors.Join(s.fault(codeSourceChanged, "the columns, or the query, are not those that the run began with; "+anew), closed(conn))
	}
	r := &reader{source: s, conn: conn, selected: selected, hash: sha256.New(), rows: firstRows}
	if err := r.seek(ctx, at); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

const anew = "put them back, or start over with waymark resume --fork"

// fault is a fault that no retry cures.
func (s *Source) fault(code, format string, args ...any) *plugin.SourceError {
	return &plugin.SourceError{Code: code, File: s.path, Message: fmt.Sprintf(format, args...)}
}

// classify puts an error of a statement into words, as a SourceError where no retry cures it.
func (s *Source) classify(doing string, err error) error {
	if refusal := denied(err); refusal != nil && refusal.Held {
		return s.fault(codeSecretHeld, "%s", refusal)
	} else if refusal != nil {
		return s.fault(codeEgressDenied, "%s", refusal)
	}
	if unencrypted(err) {
		return s.fault(codeNoPermission, "%s", s.database.reason(err))
	}
	state, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return fmt.Errorf("source %s: %w", s.name, s.database.fault(doing, err))
	}
	message := s.database.reason(err)
	switch {
	case state.Code == "42501":
		return s.fault(codeNoPermission, "%s: let the role read there, with grant select", message)
	case state.Code[:2] == "28":
		return s.fault(codeNoPermission, "%s", message)
	case state.Code == "3D000":
		return s.fault(codeNotFound, "%s", message)
	case state.Code == "42P01", state.Code == "3F000":
		return s.fault(codeNotFound, "%s: check schema and name; without a schema a table is looked for in public", message)
	case state.Code[:2] == "22", state.Code[:2] == "P0":
		return s.fault(codeQueryRefused, "the query fails with SQLSTATE %s on a value: mend it", state.Code)
	case state.Code[:2] == "42", state.Code[:2] == "0A", state.Code == "25006":
		return s.fault(codeQueryRefused, "%s", s.database.clean(state.Message)+" (SQLSTATE "+state.Code+"): mend the query; it may only read")
	}
	return fmt.Errorf("source %s: %w", s.name, s.database.fault(doing, err))
}
