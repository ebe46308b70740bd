package archive

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"waymark/audit/evidence/bundle"
	"waymark/landscape"
)

// Library opens the bundles of archived runs, and keeps those that were opened last. It is safe for concurrent use. Close it when nobody asks any more.
type Library struct {
	mu   sync.Mutex
	open map[string]*volume // by run
	last []string           // runs whose bundles are open, in the order in which they were opened
}

// mostOpen is how many bundles stay open: each has two files, and the keys of its records in memory.
const mostOpen = 16

// volume is a bundle that is open.
type volume struct {
	records *bundle.Records
	file    *file
}

// NewLibrary returns a Library that has opened nothing yet.
func NewLibrary() *Library { return &Library{open: map[string]*volume{}} }

// UnreadableError says that the bundle of an archived run is not to be had, or not the one that was recorded.
type UnreadableError struct {
	landscape.Archive
	Err     error
	Changed bool // another file is there
}

// Error names the run, where its bundle should be, and its digest.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("run %s is archived, and its bundle %s (SHA-256 %s) cannot be used: %v", e.Run, e.Place(), e.SHA256, e.Err)
}

// errChanged says that another file is in the place of a bundle.
var errChanged = errors.New("it was changed, or replaced")

// Unwrap returns landscape.ErrNoBundle and the reason.
func (e *UnreadableError) Unwrap() []error { return []error{landscape.ErrNoBundle, e.Err} }

// Open does what landscape.ArchiveOpener says: it reads the whole bundle, and requires that its SHA-256 is the one that is recorded. The error is an *UnreadableError.
func (l *Library) Open(ctx context.Context, a landscape.Archive) (landscape.ArchivedRecords, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.open[a.Run]; known != nil {
		return known.records, nil
	}
	v, err := read(ctx, a)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &UnreadableError{a, err, errors.Is(err, errChanged)}
	}
	l.open[a.Run], l.last = v, append(l.last, a.Run)
	if len(l.last) > mostOpen { // somebody may still read it: the files are closed once nobody refers to them
		delete(l.open, l.last[0])
		l.last = l.last[1:]
	}
	return v.records, nil
}

func read(ctx context.Context, a landscape.Archive) (*volume, error) {
	f, err := fetch(ctx, a.Location)
	if err != nil {
		return nil, err
	}
	var records *bundle.Records
	if f.digest() != a.SHA256 {
		err = fmt.Errorf("its SHA-256 is %s: %w", f.digest(), errChanged)
	} else {
		records, err = bundle.Open(f, f.size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &volume{records, f}, nil
}

// Close closes all that was opened. Repeating it changes nothing.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, v := range l.open {
		err = errors.Join(err, v.records.Close(), v.file.Close())
	}
	l.open, l.last = map[string]*volume{}, nil
	return err
}

var _ landscape.ArchiveOpener = (*Library)(nil).Open
