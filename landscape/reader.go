package landscape

import "context"

// A Reader reads records as Driver.Read says: a Driver or a Log.
type Reader interface {
	Read(ctx context.Context, kind Record, prefix []any, yield func(Record) bool) error
}

// Read does what Driver.Read says.
func (l *Log) Read(ctx context.Context, kind Record, prefix []any, yield func(Record) bool) error {
	return l.driver.Read(ctx, kind, prefix, yield)
}

// Each calls yield with every record of T's table whose first key columns equal prefix, in key order, until it returns false. yield
// must not use the reader.
func Each[T Record](ctx context.Context, r Reader, yield func(T) bool, prefix ...any) error {
	return each(ctx, r, prefix, yield)
}
