package audit_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/blank"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
)

// paces are at how many readings of a record one transaction of the run is written.
var paces = []int{5, 20, 60}

// TestVerifyBesideAWriter plays a run's transactions again while the run is verified, at some paces, beginning after each of them. What is in flight is no problem, and is said not to be compared.
func TestVerifyBesideAWriter(t *testing.T) {
	t.Setenv("REGION", "north")
	inFlight := 0 // of all scenes: in which order a run writes its transactions is not always the same
	for name, scene := range map[string]struct {
		document string
		files    map[string]string
	}{"rows of every kind": {document, map[string]string{"in.csv": input}}, "barriers": {graph, graphFiles}} {
		t.Run(name, func(t *testing.T) {
			s, all := recorded(t, scene.document, scene.files)
			accepted := slices.IndexFunc(all, beginsRun)
			driver := blank.New(t)
			for at := 0; at < len(paces)*(len(all)-accepted-1); at += sample.Step(6) {
				begun, pace := accepted+at/len(paces)+1, paces[at%len(paces)]
				driver.Reset(t)
				writer := &writing{Driver: driver, left: all, pace: pace}
				for range begun {
					require.NoError(t, writer.next())
				}
				report, err := audit.New(landscape.NewReader(writer), s.Payloads, s.Planner).Verify(t.Context(), run)
				require.NoError(t, err)
				require.NoError(t, writer.failed)
				require.Empty(t, report.Problems, "after %d of %d transactions, one at every %d readings", begun, len(all), pace)
				for _, c := range report.NotChecked {
					if c.What == audit.CheckedSteps {
						require.Regexp(t, `^\d+ chunks? had not gone through the steps when the verification began$`, c.Detail)
						inFlight++
					}
				}
			}
		})
	}
	require.Positive(t, inFlight)
}

// recorded runs a document, and returns the transactions of its run.
func recorded(t *testing.T, document string, files map[string]string) (*fixture, []landscape.Tx) {
	t.Helper()
	s := newFixture(t)
	s.Write(t, files)
	var mu sync.Mutex
	var all []landscape.Tx
	s.Done = func(d inprocess.Deed) {
		if d.Kind != inprocess.Commit {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, d.Batch)
	}
	result, err := s.Run(t, run, document)
	require.NoError(t, err)
	require.Equal(t, pipeline.CompletedWithFailures, result.Status)
	return s, all
}

// beginsRun reports whether the transaction is that with which a run begins; a start comes before it.
func beginsRun(tx landscape.Tx) bool {
	return slices.ContainsFunc(tx.Insert, func(r landscape.Record) bool { return r.Table() == landscape.Run{}.Table() })
}

// writing is a landscape to which the next transaction is written now and then before a reading.
type writing struct {
	landscape.Driver
	mu     sync.Mutex
	left   []landscape.Tx
	pace   int
	read   int
	failed error
}

func (w *writing) next() error {
	if len(w.left) == 0 || w.failed != nil {
		return w.failed
	}
	next := w.left[0]
	w.left = w.left[1:]
	w.failed = w.Commit(context.Background(), next)
	return w.failed
}

func (w *writing) turn() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read++; w.read%w.pace != 0 {
		return w.failed
	}
	return w.next()
}

func (w *writing) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	if err := w.turn(); err != nil {
		return err
	}
	return w.Driver.Read(ctx, kind, q, yield)
}
