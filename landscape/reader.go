package landscape

import (
	"context"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Reader answers questions about the landscape: nothing that it has stores anything. It is safe for concurrent use.
type Reader struct {
	from  source
	plain any       // from without its marks: a driver may answer more questions
	terms *sync.Map // run that is running to the terms on which it began, or to nil

	lanes    *lru.Cache[string, lanes]    // of the runs that were asked for last
	sealings *lru.Cache[string, *sealing] // of the runs that were asked for last
}

// source is what of a Driver reads.
type source interface {
	RecordReader
	Sweep(ctx context.Context, run string, deep bool) ([]Finding, error)
}

// NewReader returns a Reader over driver.
func NewReader(driver Driver) *Reader { return newReader(driver) }

func newReader(from source) *Reader {
	return &Reader{from: from, plain: from, terms: &sync.Map{}, lanes: ofRuns[lanes](), sealings: ofRuns[*sealing]()}
}

// keptRuns is of how many runs a Reader keeps what never changes.
const keptRuns = 1024

// ofRuns returns room for something of each of the runs that were asked for last.
func ofRuns[T any]() *lru.Cache[string, T] {
	kept, err := lru.New[string, T](keptRuns)
	if err != nil {
		panic(err) // only of a size that makes no sense
	}
	return kept
}

// A RecordReader reads records as Driver.Read says: a Driver or a Reader.
type RecordReader interface {
	Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error
}

// Read does what Driver.Read says.
func (r *Reader) Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error {
	return r.from.Read(ctx, kind, q, yield)
}

// Each calls yield with every record of T's table whose first key columns equal prefix, in key order, until it returns false. yield
// must not use the reader.
func Each[T Record](ctx context.Context, r RecordReader, yield func(T) bool, prefix ...any) error {
	return each(ctx, r, prefix, yield)
}
