package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// OverwriteFreed rebuilds the file without what was deleted or overwritten in it, and empties its write-ahead log. Another process that
// reads keeps the log from being emptied: then the error says so, and nothing is lost.
func (s *Store) OverwriteFreed(ctx context.Context) (err error) {
	defer func() { err = explain(s.path, err) }()
	if err := untilFree(ctx, func() error {
		_, err := s.write.ExecContext(ctx, "vacuum")
		return err
	}); err != nil {
		return fmt.Errorf("landscape: vacuum: %w", err)
	}
	return s.emptyLog(ctx)
}

// emptyPatience is how often somebody may be found reading the write-ahead log, a tenth of a second apart.
const emptyPatience = 300

// emptyLog empties the write-ahead log as soon as nobody reads it.
func (s *Store) emptyLog(ctx context.Context) error {
	for range emptyPatience {
		var busy, pages, moved int64
		if err := s.write.QueryRowContext(ctx, "pragma wal_checkpoint(truncate)").Scan(&busy, &pages, &moved); err != nil {
			return fmt.Errorf("landscape: empty the write-ahead log: %w", err)
		}
		if busy == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second / 10):
		}
	}
	return errors.New("landscape: another process reads the write-ahead log all the time: end it, then run `waymark forget --finish`")
}
