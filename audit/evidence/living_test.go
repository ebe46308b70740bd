package evidence_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
)

// living is a driver of a landscape in which something happens once the entries of the log were read.
type living struct {
	landscape.Driver
	happens func()
}

func (l *living) Snapshot(ctx context.Context, look func(landscape.RecordReader) error) error {
	return l.Driver.(landscape.Snapshotter).Snapshot(ctx, func(at landscape.RecordReader) error {
		return look(&livingReader{at, l})
	})
}

type livingReader struct {
	landscape.RecordReader
	of *living
}

func (r *livingReader) Read(
	ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool,
) error {
	err := r.RecordReader.Read(ctx, kind, q, yield)
	if happens := r.of.happens; happens != nil && kind.Table() == (landscape.LogEntry{}).Table() {
		r.of.happens = nil
		happens()
	}
	return err
}

// TestCheckOfALivingLog holds that what is recorded while a log is compared, by processes with keys, is no accusation:
// neither a run that begins and ends, nor a head that is at the anchor.
func TestCheckOfALivingLog(t *testing.T) {
	p := newPlace(t)
	p.ends("r1")
	store, err := sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	happened := false
	driver := &living{store, func() { p.ends("r2"); happened = true }}
	report, err := evidence.Check(t.Context(), landscape.NewReader(driver), "", p.anchors())
	require.NoError(t, err)
	require.True(t, happened)
	require.Empty(t, report.Problems)
	require.Empty(t, report.Warnings)
	require.EqualValues(t, 2, report.Runs, "it looked again")
}
