package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/fsstore"
)

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

// checkRun requires that the run is complete and its record in order.
func (s *snapshot) checkRun(ctx context.Context, log *landscape.Reader) error {
	run, err := log.Run(ctx, RunID)
	if errors.Is(err, landscape.ErrNotFound) {
		s.fault(Lost, 1, "the run is not recorded")
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
	fits, broken := landscapetest.FitsSeal(ctx, log, RunID)
	if broken == nil && !fits {
		s.fault(Differing, 1, "the records of the run are not those of its last seal, or it has none")
	}
	err = errors.Join(err, broken)
	heals, failed := log.Heals(ctx)
	for _, heal := range heals {
		s.fault(Torn, 1, "payload %s was poisoned: %s", heal.Digest, heal.Reason)
	}
	return errors.Join(err, failed)
}

// checkOutputs requires that every output is the one that is recorded, and that nothing else lies beside it.
func (s *snapshot) checkOutputs(ctx context.Context, log *landscape.Reader, folder string) error {
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
			s.fault(Lost, int(a.Rows), "the output of %s is recorded and not at %s", a.Sink, path)
		} else if digest := payload.Of(content); string(digest) != a.SHA256 {
			s.fault(Differing, 1, "%s has the digest %s, and %s is recorded", path, digest, a.SHA256)
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
