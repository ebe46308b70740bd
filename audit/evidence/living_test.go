package evidence_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
)

// living is a driver of a landscape in which something happens once the entries of the log were read, or its length.
type living struct {
	landscape.Driver
	happens func()
}

func (l *living) Read(
	ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool,
) error {
	err := l.Driver.Read(ctx, kind, q, yield)
	if kind.Table() == (landscape.LogHead{}).Table() {
		l.happen()
	}
	return err
}

func (l *living) happen() {
	if happens := l.happens; happens != nil {
		l.happens = nil
		happens()
	}
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
	if kind.Table() == (landscape.LogEntry{}).Table() {
		r.of.happen()
	}
	return err
}

// TestCheckOfALivingLog holds that what is recorded while a log is compared, by processes with keys, is no accusation:
// neither a run that begins and ends, nor a head that is at the anchor.
func TestCheckOfALivingLog(t *testing.T) {
	p := newPlace(t)
	p.ends("r1")
	p.live("r2", func(log *landscape.Reader) {
		report, err := evidence.Check(t.Context(), log, "", p.anchors())
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.Empty(t, report.Warnings)
		require.EqualValues(t, 2, report.Runs, "it looked again")
	})
}

// TestALivingLogIsNotRolledBack holds that a process can begin while another one signs heads of the log and brings them to
// an anchor.
func TestALivingLogIsNotRolledBack(t *testing.T) {
	p := newPlace(t)
	p.ends("r1")
	p.live("r2", func(log *landscape.Reader) {
		away, err := evidence.Compare(t.Context(), log, p.options())
		require.NoError(t, err)
		require.Empty(t, away)
	})
}

// live calls look with a reader of the record, in which another run begins and ends as it looks.
func (p *place) live(run string, look func(*landscape.Reader)) {
	p.t.Helper()
	store, err := sqlitestore.Open(p.t.Context(), p.path, sqlitestore.Options{})
	require.NoError(p.t, err)
	defer func() { require.NoError(p.t, store.Close()) }()
	happened := false
	look(landscape.NewReader(&living{store, func() { p.ends(run); happened = true }}))
	require.True(p.t, happened)
}
