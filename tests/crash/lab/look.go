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
var notCompared = []string{"effect_events", "run_events", "actions", "resumptions", "executions", "heals", "run_seals"}

// varying are columns in which two runs may differ: how often and by whom things were done, and a barrier's state, in which there
// are moments; `waymark verify` makes it again; the roots of seals, whose salts each run has for itself; and when a run was asked for. Columns that end
// in _us are moments, and not compared either.
var varying = map[string]bool{
	"attempt": true, "worker": true, "host": true, "fence": true, "epoch": true, "claim": true, "wait_ms": true, "folds.state": true,
	"salts.keys": true, "chunk_seals.root": true, "artifacts.stands_for": true,
}

// offsets are moments inside the arrivals of a merge.
var offsets = regexp.MustCompile(`"offset_ms":[0-9]+`)

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
	log := landscape.NewReader(store)
	return s, errors.Join(
		s.readEnds(ctx, log), s.readDeadlines(ctx, store),
		s.checkRun(ctx, log), s.checkOutputs(ctx, log, folder), s.checkPayloads(ctx, store, folder),
	)
}

// readEnds reads what the sources held, without the barriers, which end as sources do.
func (s *snapshot) readEnds(ctx context.Context, log *landscape.Reader) error {
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
	run, err := landscape.NewReader(store).Run(ctx, RunID)
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
		s.files[name], err = contents(path, entry)
		return err
	})
}

// contents returns the bytes of a file; of a symbolic link, which may lead nowhere, where it leads.
func contents(path string, entry fs.DirEntry) ([]byte, error) {
	if entry.Type()&fs.ModeSymlink == 0 {
		return os.ReadFile(path)
	}
	leads, err := os.Readlink(path)
	return []byte("leads to " + leads + "\n"), err
}

// readTables reads the run's records.
func (s *snapshot) readTables(ctx context.Context, store *sqlitestore.Store) error {
	for _, table := range landscape.Tables() {
		if slices.Contains(notCompared, table.Name) {
			continue
		}
		var lines []string
		err := store.Read(ctx, table.Zero(), landscape.Query{Prefix: []any{RunID}}, func(r landscape.Record) bool {
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
