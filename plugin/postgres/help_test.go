package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// anywhere is the access of a document that may use the server of the tests, and the environment.
var anywhere = Access{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}

// client is a connection with which a test looks at a database.
type client struct {
	t    testing.TB
	conn *pgx.Conn
}

func connect(t testing.TB, dsn string) client {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return client{t, conn}
}

func (c client) exec(sql string, args ...any) {
	c.t.Helper()
	_, err := c.conn.Exec(c.t.Context(), sql, args...)
	require.NoError(c.t, err, sql)
}

// all returns the rows of a query, the columns as texts, separated by |.
func (c client) all(sql string, args ...any) []string {
	c.t.Helper()
	rows, err := c.conn.Query(c.t.Context(), sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	require.NoError(c.t, err, sql)
	found, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		var texts []string
		for _, raw := range r.RawValues() {
			if raw == nil {
				texts = append(texts, "null")
			} else {
				texts = append(texts, string(raw))
			}
		}
		return strings.Join(texts, "|"), nil
	})
	require.NoError(c.t, err, sql)
	return found
}

// one returns the only row of a query.
func (c client) one(sql string, args ...any) string {
	c.t.Helper()
	found := c.all(sql, args...)
	require.Len(c.t, found, 1, sql)
	return found[0]
}

// writer encodes rows and writes them as the parts of one run's sink.
type testWriter struct {
	t       testing.TB
	sink    *Sink
	target  plugin.RowRejecter
	encoder plugin.Encoder
	shape   *row.Shape
	parts   []plugin.Part
	data    [][]byte
	end     int64
}

func newWriter(t testing.TB, spec pipeline.PostgresSink, run string, fields []plugin.Field) *testWriter {
	t.Helper()
	sink, err := newSink("out", spec, anywhere)
	require.NoError(t, err)
	encoder, err := sink.TypedEncoder(fields, false)
	require.NoError(t, err)
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return &testWriter{t: t, sink: sink, target: sink.Target(run).(plugin.RowRejecter), encoder: encoder, shape: row.NewShape(names), end: int64(len(encoder.Header()))}
}

// add makes a part of rows.
func (w *testWriter) add(rows ...[]row.Value) {
	w.t.Helper()
	var data []byte
	for _, values := range rows {
		var err error
		data, err = w.encoder.Append(data, row.Row{Shape: w.shape, Values: values})
		require.NoError(w.t, err)
	}
	w.parts = append(w.parts, plugin.Part{
		Ordinal: int64(len(w.parts)), Offset: w.end, Bytes: int64(len(data)), Rows: int64(len(rows)), SHA256: sha256.Sum256(data),
	})
	w.data = append(w.data, data)
	w.end += int64(len(data))
}

func (w *testWriter) open() bool {
	w.t.Helper()
	made, err := w.target.Open(w.t.Context(), w.encoder.Header())
	require.NoError(w.t, err)
	return made
}

// write opens the target and writes all parts.
func (w *testWriter) write() {
	w.t.Helper()
	w.open()
	for i, part := range w.parts {
		require.NoError(w.t, w.target.Write(w.t.Context(), part, w.data[i]))
	}
}

func (w *testWriter) publish() plugin.Artifact {
	w.t.Helper()
	artifact, err := w.target.Publish(w.t.Context(), w.encoder.Header(), w.parts)
	require.NoError(w.t, err)
	return artifact
}

// rejected returns the rejected rows of a part, each as row code field message.
func (w *testWriter) refused(part int) []string {
	w.t.Helper()
	rows, err := w.target.Rejected(w.t.Context(), w.parts[part])
	require.NoError(w.t, err)
	var texts []string
	for _, r := range rows {
		require.LessOrEqual(w.t, len(r.Message), 200)
		texts = append(texts, fmt.Sprintf("%d %s %s %s", r.Row, r.Code, r.Field, r.Message))
	}
	return texts
}
