package lab

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/pipeline"
)

// snapshot is what a run left behind.
type snapshot struct {
	files  map[string][]byte   // outside the state folder, by their paths in the pipeline's folder
	tables map[string][]string // of the landscape: one text for each record, without what two runs may differ in
	ends   []string            // how many records each source held
	timed  []Finding           // what depends on when it was done, so that no two runs are alike
	faults []Finding           // what is wrong however another run went
}

// notCompared are tables of the landscape about how a run went, and not about what came of it.
var notCompared = []string{"effect_events", "run_events", "actions", "resumptions", "heals"}

// varying are columns in which two runs may differ: how often and by whom things were done, and a barrier's state, in which there
// are moments; `waymark verify` makes it again. Columns that end in _us are moments, and not compared either.
var varying = map[string]bool{
	"attempt": true, "worker": true, "host": true, "fence": true, "epoch": true, "claim": true, "wait_ms": true, "folds.state": true,
}

// offsets are moments inside the arrivals of a merge.
var offsets = regexp.MustCompile(`"offset_ms":[0-9]+`)

// Audit compares what the run with the id RunID left behind in a folder with what an undisturbed one left in another. Both
// must have been run in the same place. The error says that something could not be read.
func Audit(ctx context.Context, undisturbed, folder string) ([]Finding, error) {
	want, err := look(ctx, undisturbed)
	if err != nil {
		return nil, err
	}
	got, err := look(ctx, folder)
	if err != nil {
		return nil, err
	}
	return append(got.faults, want.differences(got)...), nil
}

// look reads everything that the run left behind in its folder.
func look(ctx context.Context, folder string) (*snapshot, error) {
	s := &snapshot{files: map[string][]byte{}, tables: map[string][]string{}}
	if err := s.readFiles(folder); err != nil {
		return nil, err
	}
	store, err := openLandscape(ctx, folder)
	if err != nil || store == nil {
		s.fault(Lost, 1, "there is no landscape")
		return s, err
	}
	defer store.Close()
	if err := s.readTables(ctx, store); err != nil {
		return nil, err
	}
	log := landscape.New(store, nil)
	return s, errors.Join(
		s.readEnds(ctx, log), s.readDeadlines(ctx, store),
		s.checkRun(ctx, log), s.checkOutputs(ctx, log, folder), s.checkPayloads(ctx, store, folder),
	)
}

// readEnds reads what the sources held, without the barriers, which end as sources do.
func (s *snapshot) readEnds(ctx context.Context, log *landscape.Log) error {
	nodes, err := log.Nodes(ctx, RunID)
	if err != nil {
		return err
	}
	ends, err := log.SourceEnds(ctx, RunID)
	for _, end := range ends {
		if slices.ContainsFunc(nodes, func(n landscape.Node) bool { return n.Node == end.Source && n.Kind == landscape.SourceNode }) {
			s.ends = append(s.ends, text(landscape.TableOf(end), end))
		}
	}
	return err
}

// soon is the longest deadline of a batch that may pass during a trial.
const soon = time.Minute

// readDeadlines looks for batches that end when their time has come.
func (s *snapshot) readDeadlines(ctx context.Context, store *sqlitestore.Store) error {
	folds, err := landscape.Select[landscape.FoldRecord](ctx, store, RunID)
	for _, f := range folds {
		if f.Deadline != 0 && f.Deadline < f.At+landscape.Micros(soon.Microseconds()) {
			s.timed = []Finding{{Differing, 1, "batches of " + f.Node + " end when their time has come"}}
		}
	}
	return err
}

func (s *snapshot) fault(kind Kind, count int, format string, args ...any) {
	s.faults = append(s.faults, Finding{Kind: kind, Count: count, What: fmt.Sprintf(format, args...)})
}

// openLandscape returns nil if there is none.
func openLandscape(ctx context.Context, folder string) (*sqlitestore.Store, error) {
	store, err := sqlitestore.Open(ctx, filepath.Join(folder, stateFolder, "landscape.db"), sqlitestore.Options{})
	if errors.Is(err, landscape.ErrNotFound) {
		return nil, nil
	}
	return store, err
}

// statusOf returns the status of the run, empty if it has no record.
func statusOf(ctx context.Context, folder string) (pipeline.RunStatus, error) {
	store, err := openLandscape(ctx, folder)
	if err != nil || store == nil {
		return "", err
	}
	defer store.Close()
	run, err := landscape.New(store, nil).Run(ctx, RunID)
	if errors.Is(err, landscape.ErrNotFound) {
		return "", nil
	}
	return run.Status, err
}

func complete(status pipeline.RunStatus) bool {
	return status == pipeline.Completed || status == pipeline.CompletedWithFailures || status == pipeline.Empty
}

func (s *snapshot) readFiles(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		switch {
		case err != nil:
			return err
		case name == stateFolder:
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		s.files[name], err = os.ReadFile(path)
		return err
	})
}

// readTables reads the run's records.
func (s *snapshot) readTables(ctx context.Context, store *sqlitestore.Store) error {
	for _, table := range landscape.Tables() {
		if slices.Contains(notCompared, table.Name) {
			continue
		}
		var lines []string
		err := store.Read(ctx, table.Zero(), []any{RunID}, func(r landscape.Record) bool {
			lines = append(lines, text(table, r))
			return true
		})
		if err != nil {
			return err
		}
		s.tables[table.Name] = lines
	}
	return nil
}

// text returns the record's columns, without those in which two runs may differ.
func text(table *landscape.Table, r landscape.Record) string {
	var columns []string
	for i, value := range table.AppendValues(nil, r) {
		name := table.Columns[i].Name
		if varying[name] || varying[table.Name+"."+name] || strings.HasSuffix(name, "_us") {
			continue
		}
		if bytes, ok := value.([]byte); ok {
			value = hex.EncodeToString(bytes)
		}
		columns = append(columns, offsets.ReplaceAllString(fmt.Sprintf("%s=%v", name, value), ""))
	}
	return strings.Join(columns, " ")
}

// checkRun requires that the run is complete and its record in order.
func (s *snapshot) checkRun(ctx context.Context, log *landscape.Log) error {
	run, err := log.Run(ctx, RunID)
	if errors.Is(err, landscape.ErrNotFound) {
		s.fault(Lost, 1, "the run is not on record")
		return nil
	}
	if err != nil {
		return err
	}
	if !complete(run.Status) {
		s.fault(Stuck, 1, "the run is %s: %s", run.Status, run.Reason)
		return nil
	}
	findings, err := log.Sweep(ctx, RunID, true)
	for _, f := range findings {
		s.fault(Differing, 1, "sweep: %s: %s %s chunk %d: %s", f.Check, f.Source, f.Node, f.Chunk, f.Detail)
	}
	heals, failed := log.Heals(ctx)
	for _, heal := range heals {
		s.fault(Torn, 1, "payload %s was poisoned: %s", heal.Digest, heal.Reason)
	}
	return errors.Join(err, failed)
}

// checkOutputs requires that every output is the one that is on record, and that nothing else lies beside it.
func (s *snapshot) checkOutputs(ctx context.Context, log *landscape.Log, folder string) error {
	artifacts, err := log.Artifacts(ctx, RunID)
	if err != nil {
		return err
	}
	for _, a := range artifacts {
		path, err := filepath.Rel(folder, a.Path)
		if err != nil {
			return err
		}
		content, there := s.files[path]
		if manifest, parts := s.files[filepath.Join(path, "manifest.json")]; parts {
			content, there = manifest, true
		}
		if !there {
			s.fault(Lost, int(a.Rows), "the output of %s is on record and not at %s", a.Sink, path)
		} else if digest := payload.Of(content); string(digest) != a.SHA256 {
			s.fault(Differing, 1, "%s has the digest %s, and %s is on record", path, digest, a.SHA256)
		}
	}
	for name := range s.files {
		if strings.HasPrefix(filepath.Base(name), ".") && strings.Contains(name, RunID) {
			s.fault(Torn, 1, "%s was left behind", name)
		}
	}
	return nil
}

// checkPayloads requires that every payload is what its name says, and that each to which the landscape refers is there.
func (s *snapshot) checkPayloads(ctx context.Context, store *sqlitestore.Store, folder string) error {
	path := filepath.Join(folder, stateFolder, "payloads")
	objects, err := fsstore.Open(path)
	if err != nil {
		return err
	}
	defer objects.Close()
	payloads := payload.New(objects, payload.Options{})
	_, err = payloads.Scrub(ctx, func(p payload.Problem) { s.fault(Torn, 1, "payload %s: %v", p.Digest, p.Err) })
	if err != nil {
		return err
	}
	referred, err := references(ctx, store)
	if err != nil {
		return err
	}
	for digest, by := range referred {
		there, err := payloads.Has(ctx, payload.Digest(digest))
		if err != nil {
			return err
		}
		if !there {
			s.fault(Lost, 1, "payload %s, to which %s refers, is not there", digest, by)
		}
	}
	return nil
}

// references returns every payload to which the run's record refers, and who does.
func references(ctx context.Context, store *sqlitestore.Store) (map[string]string, error) {
	referred := map[string]string{}
	refer := func(digest, format string, args ...any) {
		if digest != "" {
			referred[digest] = fmt.Sprintf(format, args...)
		}
	}
	runs, err := landscape.Select[landscape.Run](ctx, store, RunID)
	for _, r := range runs {
		refer(r.DocumentSHA256, "run %s", r.ID)
	}
	chunks, failed := landscape.Select[landscape.Chunk](ctx, store, RunID)
	err = errors.Join(err, failed)
	for _, c := range chunks {
		refer(c.Pack, "%s chunk %d", c.Source, c.Chunk)
	}
	folds, failed := landscape.Select[landscape.FoldRecord](ctx, store, RunID)
	err = errors.Join(err, failed)
	for _, f := range folds {
		refer(f.State, "%s fold %d", f.Node, f.Fold)
	}
	tables, failed := landscape.Select[landscape.LookupTable](ctx, store, RunID)
	for _, t := range tables {
		refer(t.SHA256, "table %s", t.Node)
	}
	return referred, errors.Join(err, failed)
}
