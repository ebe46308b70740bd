package bundle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/storages"
)

func TestMain(m *testing.M) { os.Exit(services.MainInMemory(m)) }

// scene is a record with one run, its log and its payloads.
type scene struct {
	driver   landscape.Driver
	log      *landscape.Log
	payloads *payload.Store
	key      keys.Key
	trusted  string // the key of the log
	notary   *evidence.Notary
}

// run is the id of the run of a scene.
const run = "one"

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// newScene records a run of two chunks that went through the steps, the packs of which are stored, and has its log signed.
func newScene(t testing.TB) *scene {
	t.Helper()
	return newSceneIn(t, storages.Use(t, storages.Memory).Landscape(t))
}

func newSceneIn(t testing.TB, driver landscape.Driver) *scene {
	t.Helper()
	return newSceneWith(t, driver, t.TempDir())
}

func newSceneWith(t testing.TB, driver landscape.Driver, folder string, anchors ...string) *scene {
	t.Helper()
	return newSceneOf(t, landscapetest.Scene{Run: run, Chunks: 2, ChunkRows: 10}, driver, folder, anchors...)
}

func newSceneOf(t testing.TB, made landscapetest.Scene, driver landscape.Driver, folder string, anchors ...string) *scene {
	t.Helper()
	ctx := t.Context()
	s := &scene{driver: driver, payloads: payload.New(&memstore.Store{}, payload.Options{})}
	e, err := evidence.Open(ctx, landscape.New(s.driver, nil), evidence.Options{Keys: folder, Make: true, Host: "h", Anchors: anchors})
	require.NoError(t, err)
	s.log, s.notary = e.Log, e.Notary
	head, graph := made.Graph()
	head.DocumentSHA256, head.PlanSHA256 = digest(head.Document), digest(head.Plan)
	require.NoError(t, s.log.BeginRun(ctx, head, graph))
	for i := range made.Chunks {
		chunk, records := made.Chunk(i)
		pack, err := s.payloads.Put(ctx, fmt.Appendf(nil, "pack %d", i))
		require.NoError(t, err)
		chunk.Pack = string(pack)
		require.NoError(t, s.log.RecordChunk(ctx, chunk, records))
		_, err = s.log.RecordSealed(ctx, made.Passage(i), records)
		require.NoError(t, err)
	}
	require.NoError(t, e.Notary.Pass(ctx))
	s.key, err = keys.Load(folder, keys.Sealer)
	require.NoError(t, err)
	known, err := evidence.Keys(ctx, s.log.Reader)
	require.NoError(t, err)
	s.trusted = known[0].Key
	return s
}

func (s *scene) ended(t testing.TB) *scene {
	t.Helper()
	require.NoError(t, s.log.StopRun(t.Context(), run, pipeline.Failed, "no reason"))
	require.NoError(t, s.notary.Pass(t.Context()))
	return s
}

// export returns the bundle of the run, as it is recorded in log.
func (s *scene) export(t testing.TB, log *landscape.Reader, payloads bundle.Payloads) ([]byte, *bundle.Manifest) {
	t.Helper()
	recorded, err := log.Run(t.Context(), run)
	require.NoError(t, err)
	var b bytes.Buffer
	manifest, err := bundle.Export(t.Context(), &b, log, s.payloads, recorded, bundle.Options{Payloads: payloads, Key: s.key})
	require.NoError(t, err)
	return b.Bytes(), manifest
}

// verify verifies a bundle by a policy that trusts a log; with an empty key, without a policy.
func verify(t testing.TB, file []byte, key string) *bundle.Report {
	t.Helper()
	if key == "" {
		return verifyBy(t, file, "")
	}
	return verifyBy(t, file, policyOf(t, key))
}

func verifyBy(t testing.TB, file []byte, policy string) *bundle.Report {
	t.Helper()
	report, err := bundle.Verify(bytes.NewReader(file), int64(len(file)), parsed(t, policy), nil)
	require.NoError(t, err)
	return report
}

// policyOf returns the policy that trusts a log, and asks for no witness.
func policyOf(t testing.TB, key string) string {
	t.Helper()
	text, err := trust.Text([]string{key})
	require.NoError(t, err)
	return text
}

// parsed reads a policy; nil for an empty one.
func parsed(t testing.TB, text string) *trust.Policy {
	t.Helper()
	if text == "" {
		return nil
	}
	policy, err := trust.Parse(text)
	require.NoError(t, err)
	return policy
}

// TestRefusedBySinks verifies a bundle in Go and in Python alike whose sinks refused rows in the pass, and whose targets refused others
// of the same sinks when their parts were written. (0.4 CPU-s.)
func TestRefusedBySinks(t *testing.T) {
	made := landscapetest.Scene{
		Run: run, Chunks: 2, ChunkRows: 22,
		Way:  func(row int64) int { return int(row) % len(landscapetest.Ways()) },
		Late: func(_ string, row int64) bool { return row > 11 },
	}
	s := newSceneOf(t, made, storages.Use(t, storages.Memory).Landscape(t), t.TempDir())
	require.NoError(t, s.log.EndSource(t.Context(), made.End()))
	for i := range made.Chunks {
		require.NoError(t, made.Write(t.Context(), s.log, i))
	}
	file, _ := s.ended(t).export(t, s.log.Reader, bundle.NoPayloads)
	require.Empty(t, verify(t, file, s.trusted).Problem)
	said := python(t, [][]byte{file}, policyOf(t, s.trusted))
	require.True(t, strings.HasPrefix(said[0], "0 "), said[0])
}

func TestExportAndVerify(t *testing.T) {
	s := newScene(t)
	recorded, err := s.log.Run(t.Context(), run)
	require.NoError(t, err)
	_, err = bundle.Export(t.Context(), new(bytes.Buffer), s.log.Reader, s.payloads, recorded, bundle.Options{Key: s.key})
	require.ErrorIs(t, err, bundle.ErrRunning)
	s.ended(t)

	for _, payloads := range []bundle.Payloads{bundle.NoPayloads, bundle.SourcePayloads, bundle.AllPayloads} {
		file, manifest := s.export(t, s.log.Reader, payloads)
		require.Empty(t, manifest.Gaps)
		require.Equal(t, payloads != bundle.NoPayloads, strings.Contains(fmt.Sprint(manifest.Members), "payloads/"))
		report := verify(t, file, s.trusted)
		require.Empty(t, report.Problem)
		require.True(t, report.Trusted)
		require.Equal(t, run, report.Run)
		require.Len(t, report.Checks, 13)
		require.False(t, verify(t, file, "").Trusted, "without a policy it is the bundle's own word")
	}
	other := newScene(t)
	file, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Contains(t, verify(t, file, other.trusted).Problem, "log: the log's key is")

	s.key = other.key // a key that the log does not know
	file, _ = s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Contains(t, verify(t, file, s.trusted).Problem, "log: the key that signed the bundle does not count")
	require.NotContains(t, string(file), "PRIVATE+KEY")
}

// TestNoRoomForRecords says nothing of a bundle if this machine has no room to verify it.
func TestNoRoomForRecords(t *testing.T) {
	s := newScene(t).ended(t)
	file, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, err := bundle.Verify(bytes.NewReader(file), int64(len(file)), nil, nil)
	require.ErrorContains(t, err, "a file for the records of the bundle: ")
}

// TestTablesOfARun has every table that has records of a run in the bundle, whatever tables come.
func TestTablesOfARun(t *testing.T) {
	s := newScene(t).ended(t)
	_, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	for _, table := range landscape.Tables() {
		some := false
		for _, c := range table.Columns {
			some = some || c.Name == "run_id"
		}
		if !some || table.Columns[0].Name != "run_id" {
			continue
		}
		n := 0
		require.NoError(t, s.log.Read(t.Context(), table.Zero(), landscape.Query{Prefix: []any{run}}, func(landscape.Record) bool { n++; return true }))
		there := strings.Contains(fmt.Sprint(manifest.Members), "record/"+table.Name+".ndjson")
		require.Equal(t, n > 0, there, table.Name)
	}
}

// TestSameBytes exports a run that is recorded in SQLite and in Postgres. tests/cli/bundle.txtar does so in other time zones, and with other threads.
func TestSameBytes(t *testing.T) {
	lite, large := storages.Use(t, storages.Memory).Landscape(t), storages.Use(t, storages.PostgresFiles).Landscape(t)
	s := newSceneIn(t, both{lite.Driver, large.Driver}).ended(t)
	fromLite, _ := s.export(t, landscape.NewReader(lite.Driver), bundle.AllPayloads)
	fromLarge, _ := s.export(t, landscape.NewReader(large.Driver), bundle.AllPayloads)
	require.Empty(t, verify(t, fromLite, s.trusted).Problem)
	require.True(t, bytes.Equal(fromLite, fromLarge))
}

// both records everything in two landscapes, and reads from the first.
type both struct {
	landscape.Driver
	second landscape.Driver
}

func (b both) Commit(ctx context.Context, tx landscape.Tx) error {
	if err := b.Driver.Commit(ctx, tx); err != nil {
		return err
	}
	return b.second.Commit(ctx, tx)
}

// unaware is the driver of a program that does not know that there is a log.
type unaware struct{ landscape.Driver }

func (u unaware) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	if slices.Contains([]string{landscape.LogHead{}.Table(), landscape.LogEntry{}.Table()}, kind.Table()) {
		return nil
	}
	return u.Driver.Read(ctx, kind, q, yield)
}

// TestGaps lists what should be in a bundle and is not.
func TestGaps(t *testing.T) {
	s := newScene(t).ended(t)
	lost, err := s.payloads.Put(t.Context(), []byte("pack 1"))
	require.NoError(t, err)
	require.NoError(t, s.payloads.Delete(t.Context(), lost))
	file, manifest := s.export(t, s.log.Reader, bundle.SourcePayloads)
	require.Len(t, manifest.Gaps, 1)
	require.Equal(t, "payloads/"+string(lost)[:2]+"/"+string(lost), manifest.Gaps[0].What)
	report := verify(t, file, s.trusted)
	require.Empty(t, report.Problem)
	require.Equal(t, manifest.Gaps, report.Gaps)
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	require.Contains(t, text.String(), "not in the bundle: payloads/")
	require.Contains(t, text.String(), "; 1 left out")

	require.NoError(t, landscape.New(unaware{s.driver}, nil).RecordAction(t.Context(), run, "v", "ann", "")) // by a process without a key
	file, manifest = s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Len(t, manifest.Gaps, 1)
	require.Equal(t, "seal", manifest.Gaps[0].What)
	require.Contains(t, manifest.Gaps[0].Why, "the log has no entry about the seal of the run")
	require.Empty(t, verify(t, file, s.trusted).Problem)
	require.NoError(t, s.log.RecordAction(t.Context(), run, "w", "ann", ""))
	_, manifest = s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Len(t, manifest.Gaps, 1)
	require.Contains(t, manifest.Gaps[0].Why, "no signed head covers the run's entry yet")
	require.NoError(t, s.notary.Pass(t.Context()))
	_, manifest = s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Empty(t, manifest.Gaps)

	unlogged := landscapetest.Scene{Run: "two", Chunks: 1, ChunkRows: 1}
	head, graph := unlogged.Graph()
	head.DocumentSHA256, head.PlanSHA256 = digest(head.Document), digest(head.Plan)
	plain := landscape.New(s.driver, nil)
	require.NoError(t, plain.BeginRun(t.Context(), head, graph))
	require.NoError(t, plain.StopRun(t.Context(), "two", pipeline.Failed, "no reason"))
	recorded, err := plain.Run(t.Context(), "two")
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = bundle.Export(t.Context(), &b, plain.Reader, s.payloads, recorded, bundle.Options{Payloads: bundle.NoPayloads, Key: s.key})
	require.NoError(t, err)
	require.Empty(t, verify(t, b.Bytes(), "").Problem)
	require.Contains(t, verify(t, b.Bytes(), s.trusted).Problem, "log: the bundle contains no log entry")
}

// TestSingleByte changes bytes of a bundle in three ways each: every change is found, and a place is named.
func TestSingleByte(t *testing.T) {
	s := newScene(t).ended(t)
	file, _ := s.export(t, s.log.Reader, bundle.AllPayloads)
	for at := 0; at < len(file); at += sample.Step(97) {
		was := file[at]
		for _, is := range []byte{was + 1, was ^ 0x80, 0} {
			if is == was {
				continue
			}
			file[at] = is
			problem := verify(t, file, s.trusted).Problem
			require.NotEmpty(t, problem, "byte %d is %d, not %d", at, is, was)
			check, what, _ := strings.Cut(problem, ": ")
			require.Contains(t, []string{"form", "statement", "members"}, check)
			require.Regexp(t, `^(end|directory|[a-z0-9._/-]+)[: ]`, what, "byte %d: no place is named", at)
		}
		file[at] = was
	}
	require.Empty(t, verify(t, file, s.trusted).Problem)
}
