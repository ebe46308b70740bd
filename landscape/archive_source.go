package landscape

import (
	"context"
	"errors"
	"slices"
)

// ArchivedRecords are the records of one archived run, as its bundle has them.
type ArchivedRecords interface {
	RecordReader

	// Sweep does what Driver.Sweep says, as far as the bundle can tell.
	Sweep(ctx context.Context, run string, deep bool) ([]Finding, error)
}

// ErrNoBundle says that the bundle of an archived run cannot be read, or is not the one that was recorded.
var ErrNoBundle = errors.New("the bundle of an archived run cannot be used")

// An ArchiveOpener returns the records of an archived run. They are those of the bundle that the archive names, else the error wraps ErrNoBundle, and says where it should be. It is
// safe for concurrent use, and is asked again for each question: it keeps what it has opened.
type ArchiveOpener func(ctx context.Context, a Archive) (ArchivedRecords, error)

// Opening returns a Log whose Reader answers questions about archived runs from their bundles. Views of the database, and questions about all runs at once, do not
// see them.
func (l *Log) Opening(open ArchiveOpener) *Log {
	opening := *l
	reader := *l.Reader
	reader.from = archiveSource{source: l.from, open: open}
	opening.Reader = &reader
	return &opening
}

// archiveSource reads from a landscape, and of archived runs from their bundles.
type archiveSource struct {
	source
	open    ArchiveOpener
	running string // a run that is not archived
}

// unarchived returns a Reader that does not look for the archive of a run that is in progress, which has none.
func (r *Reader) unarchived(run string) *Reader {
	from, ok := r.from.(archiveSource)
	if !ok {
		return r
	}
	from.running = run
	in := *r
	in.from = from
	return &in
}

// Read does what Driver.Read says. Where the landscape has nothing of a run, that may be because the run is archived.
func (s archiveSource) Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error {
	found := false
	err := s.source.Read(ctx, kind, q, func(r Record) bool {
		found = true
		return yield(r)
	})
	if err != nil || found {
		return err
	}
	run, ok := archivable(kind, q)
	if !ok || run == s.running {
		return nil
	}
	records, err := s.of(ctx, run)
	if err != nil || records == nil {
		return err
	}
	return records.Read(ctx, kind, q, yield)
}

// Sweep does what Driver.Sweep says.
func (s archiveSource) Sweep(ctx context.Context, run string, deep bool) ([]Finding, error) {
	records, err := s.of(ctx, run)
	if err != nil {
		return nil, err
	}
	if records == nil {
		return s.source.Sweep(ctx, run, deep)
	}
	return records.Sweep(ctx, run, deep)
}

// of returns the records of an archived run; nil if it is not archived.
func (s archiveSource) of(ctx context.Context, run string) (ArchivedRecords, error) {
	archive, err := lastOf[Archive](ctx, s.source, run)
	if err != nil || archive == nil {
		return nil, err
	}
	return s.open(ctx, *archive)
}

// archivable returns the run that a question is about, if its answer goes when the run is archived.
func archivable(kind Record, q Query) (run string, ok bool) {
	if len(q.Prefix) == 0 || TableOf(kind).Columns[0].Name != "run_id" || !slices.ContainsFunc(Archivable(), func(t *Table) bool { return t.Name == kind.Table() }) {
		return "", false
	}
	run, ok = q.Prefix[0].(string)
	return run, ok
}
