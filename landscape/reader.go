package landscape

import (
	"context"
	"sync"
)

// Reader answers questions about the landscape: nothing that it has stores anything. It is safe for concurrent use.
type Reader struct {
	from  source
	plain any       // from without its marks: a driver may answer more questions
	lanes *sync.Map // run to its lanes
	terms *sync.Map // run that is running to the terms on which it began, or to nil

	sealings *sync.Map // run to its *sealing
}

// source is what of a Driver reads.
type source interface {
	RecordReader
	Sweep(ctx context.Context, run string, deep bool) ([]Finding, error)
}

// NewReader returns a Reader over driver.
func NewReader(driver Driver) *Reader { return newReader(driver) }

func newReader(from source) *Reader {
	return &Reader{from: from, plain: from, lanes: &sync.Map{}, terms: &sync.Map{}, sealings: &sync.Map{}}
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
