package landscape

import "context"

// A Snapshotter is a driver that can be read as it is at one moment, whatever is committed meanwhile.
type Snapshotter interface {
	// Snapshot calls look with a reader of what is committed at one moment between the call and look's first read, and
	// returns its error. The reader is for one goroutine, and for look alone.
	Snapshot(ctx context.Context, look func(RecordReader) error) error
}

// Snapshot calls look with a Reader of what is recorded at one moment, whatever is recorded meanwhile, and returns its
// error. That Reader is for one goroutine, and for look alone; it is this Reader if the driver is no Snapshotter.
func (r *Reader) Snapshot(ctx context.Context, look func(*Reader) error) error {
	driver, is := capable[Snapshotter](r.plain)
	if !is {
		return look(r)
	}
	return driver.Snapshot(ctx, func(at RecordReader) error {
		return look(newReader(from(r.from, snapshot{r.from, at})))
	})
}

// snapshot reads records as they are at one moment.
type snapshot struct {
	source
	at RecordReader
}

// Read does what Driver.Read says.
func (s snapshot) Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error {
	return s.at.Read(ctx, kind, q, yield)
}

// from returns what reads from another source in the way of this one.
func from(this, other source) source {
	switch this := this.(type) {
	case archiveSource:
		this.source = from(this.source, other)
		return this
	case markedSource:
		return markedSource{from(this.source, other)}
	}
	return other
}
