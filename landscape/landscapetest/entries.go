package landscapetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// Sealer makes entries that nobody signed.
type Sealer struct{}

// Began does what landscape.Sealer says.
func (Sealer) Began(run landscape.Run) (landscape.LogEntry, error) {
	return EntryAbout("began/" + run.ID), nil
}

// Sealed does what landscape.Sealer says.
func (Sealer) Sealed(run landscape.RunHead, seal landscape.RunSeal) (landscape.LogEntry, error) {
	return EntryAbout(fmt.Sprintf("sealed/%s/%d", run.ID, seal.Seq)), nil
}

// Forgot does what landscape.Sealer says.
func (Sealer) Forgot(done landscape.Forgetting) (string, landscape.LogEntry, error) {
	return done.Certificate, EntryAbout(fmt.Sprintf("forgot/%d/%d", done.Order, done.At)), nil
}

// Attested does what landscape.Sealer says.
func (Sealer) Attested(found []landscape.Attestation) (landscape.LogEntry, error) {
	return EntryAbout(fmt.Sprintf("attested/%s/%d", found[0].Run, found[0].Seq)), nil
}

// SignedOff does what landscape.Sealer says.
func (Sealer) SignedOff(s landscape.SignOff) (landscape.LogEntry, error) {
	return EntryAbout(fmt.Sprintf("signed-off/%s/%d/%d", s.Run, s.Seq, s.At)), nil
}

// Archived does what landscape.Sealer says.
func (Sealer) Archived(a landscape.Archive) (landscape.LogEntry, error) {
	return EntryAbout("archived/" + a.Run), nil
}

// Noted does what landscape.Sealer says.
func (Sealer) Noted(r landscape.Record) (landscape.LogEntry, error) {
	t := landscape.TableOf(r)
	return EntryAbout(t.Name + "/" + t.Key(t.AppendValues(nil, r))), nil
}

// Saw does what landscape.Sealer says.
func (Sealer) Saw(person, key string, _ landscape.Micros) (landscape.LogEntry, error) {
	return EntryAbout("approver/" + person + "/" + key), nil
}

// EntryAbout is an entry about something, that nobody signed.
func EntryAbout(about string) landscape.LogEntry {
	return landscape.LogEntry{About: about, Entry: "{\"about\":\"" + about + "\"}\n", Leaf: []byte(strings.Repeat("l", 32))}
}

// Logged gives the log of a landscape two entries, a head and an anchor.
func Logged(ctx context.Context, log *landscape.Log) error {
	if err := log.AppendToLog(ctx, EntryAbout("genesis"), EntryAbout("key/k")); err != nil {
		return err
	}
	hash := []byte(strings.Repeat("h", 32))
	hashes := []landscape.LogHash{{Number: 0, Hash: hash}, {Number: 1, Hash: hash}, {Number: 2, Hash: hash}}
	if err := log.RecordHead(ctx, landscape.SignedHead{Size: 2, Root: hash, Note: "2"}, hashes); err != nil {
		return err
	}
	return log.RecordAnchored(ctx, landscape.Anchored{Anchor: "/mnt/audit", Size: 2})
}

// entries holds what drivers do with the landscape's log.
func entries(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	all := func() (about []string) {
		found, err := log.LogEntries(ctx, 0, 1000)
		require.NoError(t, err)
		for i, e := range found {
			require.EqualValues(t, i, e.Position)
			about = append(about, e.About)
		}
		size, err := log.LogSize(ctx)
		require.NoError(t, err)
		require.EqualValues(t, len(found), size)
		return about
	}
	require.Empty(t, all())
	_, err := log.LogEntryAbout(ctx, "genesis")
	require.ErrorIs(t, err, landscape.ErrNotFound)

	t.Run("an entry gets the next position, once", func(t *testing.T) {
		for range 2 {
			require.NoError(t, Logged(ctx, log))
		}
		require.Equal(t, []string{"genesis", "key/k"}, all())
		other := EntryAbout("key/k")
		other.Entry = "another"
		require.NoError(t, log.AppendToLog(ctx, other))
		kept, err := log.LogEntryAbout(ctx, "key/k")
		require.NoError(t, err)
		want := EntryAbout("key/k")
		want.Position = 1
		require.Equal(t, want, kept, "the first stays")
		last := landscape.Query{Descending: true, Limit: 1}
		heads, err := landscape.Page[landscape.SignedHead](ctx, log, last)
		require.NoError(t, err)
		require.Equal(t, "2", heads[0].Note)
		last.Prefix = []any{"/mnt/audit"}
		anchored, err := landscape.Page[landscape.Anchored](ctx, log, last)
		require.NoError(t, err)
		require.EqualValues(t, 2, anchored[0].Size)
	})
	t.Run("a head of one size is one head", func(t *testing.T) {
		err := log.RecordHead(ctx, landscape.SignedHead{Size: 2, Root: []byte(strings.Repeat("x", 32)), Note: "2"}, nil)
		require.ErrorAs(t, err, new(*landscape.DivergedError))
	})
	t.Run("a run that begins is an entry, in its transaction", func(t *testing.T) {
		sealed := log.SealedBy(Sealer{})
		s := Scene{Run: "logged", Chunks: 1, ChunkRows: 2}
		for range 2 {
			require.NoError(t, s.Begin(ctx, sealed))
		}
		require.NoError(t, s.Begin(ctx, sealed.InEpoch("logged", 0)))
		require.Equal(t, []string{"genesis", "key/k", "began/logged"}, all())
		run, graph := s.Graph()
		run.PlanSHA256 = digest("another plan")
		require.ErrorAs(t, sealed.BeginRun(ctx, run, graph), new(*landscape.DivergedError))
		run.ID = "refused"
		require.ErrorIs(t, sealed.InEpoch("refused", 7).BeginRun(ctx, run, graph), landscape.ErrSuperseded)
		require.Len(t, all(), 3, "what is refused is no entry")
	})
	t.Run("entries of many leave no gap", func(t *testing.T) {
		const writers, each = 8, 12
		before := len(all())
		var working sync.WaitGroup
		errs := make([]error, writers)
		for w := range writers {
			working.Go(func() {
				for i := range each {
					if err := log.AppendToLog(ctx, EntryAbout(fmt.Sprintf("a/%d-%d", w, i)), EntryAbout(fmt.Sprintf("b/%d-%d", w, i)), EntryAbout(fmt.Sprintf("shared/%d", i))); err != nil {
						errs[w] = err
					}
				}
			})
		}
		working.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		found := all()[before:]
		require.Len(t, found, 2*writers*each+each)
		for i, about := range found {
			if rest, is := strings.CutPrefix(about, "a/"); is {
				require.Equal(t, "b/"+rest, found[i+1], "those of one transaction follow each other")
			}
		}
	})
	t.Run("entries are found by what they are about", func(t *testing.T) {
		found, err := log.LogEntriesAbout(ctx, "began")
		require.NoError(t, err)
		require.Len(t, found, 1)
		found, err = log.LogEntriesAbout(ctx, "genesis")
		require.NoError(t, err)
		require.Len(t, found, 1)
		found, err = log.LogEntriesAbout(ctx, "shared")
		require.NoError(t, err)
		require.Len(t, found, 12)
		var ids []string
		require.NoError(t, log.RunIDs(ctx, func(id string) bool { ids = append(ids, id); return true }))
		require.Equal(t, []string{"logged"}, ids)
	})
}

// BenchBegin begins runs from 16 goroutines, with an entry of the log each if sealed.
func BenchBegin(b *testing.B, d landscape.Driver, sealed bool) {
	b.Helper()
	log := landscape.New(d, nil)
	require.NoError(b, Logged(b.Context(), log))
	if sealed {
		log = log.SealedBy(Sealer{})
	}
	var next atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := (Scene{Run: fmt.Sprintf("run %d", next.Add(1))}).Begin(b.Context(), log); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}
