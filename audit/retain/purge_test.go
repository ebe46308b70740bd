package retain_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/storages"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(services.Main(m))
}

// rounds is how often a writer refers to a payload in TestPurgeBesideWriters: `make nightly` takes 1,700 three times, each in a new landscape.
var rounds = flag.Int("rounds", 100, "how often writers refer to a payload that a purger wants to delete")

const (
	writers  = 8
	contents = 300
	perRun   = 10 // how many chunks a run has
)

// TestPurgeBesideWriters lets writers store the same few contents, and end their runs at once, while purgers delete all that is due: whatever a
// running run refers to is there.
func TestPurgeBesideWriters(t *testing.T) {
	for _, name := range storages.Durable {
		t.Run(name, func(t *testing.T) {
			if name == storages.PostgresFiles { // the other two have each of its halves
				sample.Rarely(t)
			}
			storage := storages.Use(t, name)
			driver, backend := storage.Landscape(t), storage.Payloads(t)
			store := func() *payload.Store { return payload.New(backend, payload.Options{}) } // one for each, as in processes of their own
			done, stop := context.WithCancel(t.Context())
			var purged, stored atomic.Int64
			purging, writing := errgroup.Group{}, errgroup.Group{}
			for range 2 {
				purging.Go(func() error { return purgeUntil(done, landscape.New(driver, nil), store(), &purged) })
			}
			for w := range writers {
				writing.Go(func() error {
					log, payloads := landscape.New(driver, nil), store()
					for n := 0; n < *rounds/writers/perRun || purged.Load() == 0 && n < 200; n++ { // on a slow machine a purger comes late
						if err := useAndEnd(t.Context(), log, payloads, fmt.Sprintf("%d-%d", w, n), w+n); err != nil {
							return err
						}
						stored.Add(perRun)
					}
					return nil
				})
			}
			require.NoError(t, writing.Wait())
			stop()
			require.NoError(t, purging.Wait())
			t.Logf("%d references, %d payloads purged", stored.Load(), purged.Load())
			require.Positive(t, purged.Load(), "nothing was ever purged: the test shows nothing")
			allThere(t, landscape.New(driver, nil), store())
		})
	}
}

// purgeUntil purges whatever is due at once, until ctx ends.
func purgeUntil(ctx context.Context, log *landscape.Log, payloads *payload.Store, purged *atomic.Int64) error {
	for ctx.Err() == nil {
		plan, err := retain.NewPlan(context.WithoutCancel(ctx), log.Reader, retain.Rules{landscape.SourceClass: 0}, time.Now())
		if err != nil {
			return err
		}
		purger := retain.Purger{Log: log, Payloads: payloads}
		result, err := purger.Purge(context.WithoutCancel(ctx), plan, landscape.Purge{Actor: "ann", Why: "due", Rules: "{}"})
		if err != nil {
			return err
		}
		purged.Add(int64(result.Deleted))
	}
	return nil
}

// useAndEnd begins a run that refers to some contents, looks whether they are there while it is running, and ends it.
func useAndEnd(ctx context.Context, log *landscape.Log, payloads *payload.Store, run string, from int) error {
	scene := landscapetest.Scene{Run: run, Chunks: perRun, ChunkRows: 1}
	if err := scene.Begin(ctx, log); err != nil {
		return err
	}
	packs := make([]string, perRun)
	for i := range perRun {
		content := fmt.Appendf(nil, "content %d", (from*7+i)%contents)
		if err := refer(ctx, log, payloads, scene, i, content, &packs[i]); err != nil {
			return fmt.Errorf("run %s, chunk %d: %w", run, i, err)
		}
	}
	for i, pack := range packs {
		if _, err := payloads.Get(ctx, payload.Digest(pack)); err != nil {
			return fmt.Errorf("run %s is running, and lost the payload of chunk %d: %w", run, i, err)
		}
	}
	return log.StopRun(ctx, run, pipeline.Failed, "no reason")
}

// refer does what an activity does: it stores and records, and is tried again while a payload is being deleted.
func refer(ctx context.Context, log *landscape.Log, payloads *payload.Store, scene landscapetest.Scene, i int, content []byte, pack *string) (err error) {
	for range 1_000 {
		err = log.Keep(ctx, scene.Run, func() ([]string, error) {
			digest, err := payloads.Put(ctx, content)
			*pack = string(digest)
			return []string{*pack}, err
		}, func() error {
			chunk, records := scene.Chunk(i)
			chunk.Pack = *pack
			return log.RecordChunk(ctx, chunk, records)
		})
		if !errors.Is(err, landscape.ErrPurged) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

// allThere holds that every payload to which a run refers is stored, or purged on record.
func allThere(t *testing.T, log *landscape.Log, payloads *payload.Store) {
	t.Helper()
	var heads []landscape.RunHead
	require.NoError(t, log.RunHeads(t.Context(), func(head landscape.RunHead) bool { heads = append(heads, head); return true }))
	for _, head := range heads {
		err := log.PayloadsOf(t.Context(), head.ID, landscape.SourceClass, func(pack string) bool {
			has, err := payloads.Has(t.Context(), payload.Digest(pack))
			require.NoError(t, err)
			purged, err := log.Purged(t.Context(), pack)
			require.NoError(t, err)
			require.Equal(t, has, purged == nil, "payload %s of run %s", pack, head.ID)
			if purged != nil {
				require.NotNil(t, purged.Deleted)
			}
			return true
		})
		require.NoError(t, err)
	}
	require.NoError(t, log.EachUnfinished(t.Context(), func(d landscape.Deletion) bool { t.Fatalf("%s was not finished", d.Payload); return false }))
}

func TestRules(t *testing.T) {
	for text, want := range map[string]string{
		"400d": "", "1h30m": "", "36500d": "", "36501d": "more than 100 years", "0d": "give a period above 0", "-1d": "not a length of time",
		"NaN": "not a length of time", "1y": "not a length of time", "d": "not a length of time", "99999d": "more than 100 years", "99999999d": "is too long a time", "99999999999999999999d": "is too long a time", "1e3h": "not a length of time",
	} {
		err := retain.Rules{}.Set(landscape.SourceClass, text)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
	rules := retain.Rules{}
	require.NoError(t, rules.Set(landscape.DerivedClass, "0d"))
	require.NoError(t, rules.Set(landscape.SourceClass, ""), "no rule")
	require.Equal(t, `{"derived":0}`, rules.String())
}
