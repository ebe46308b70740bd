package sqlitestore

import (
	"context"
	"database/sql"
	"sync"

	"modernc.org/sqlite"

	"waymark/internal/defect"
)

// checkpointBytes is how much is written to the write-ahead log before its pages go into the file.
const checkpointBytes = 16 << 20

// checkpoints move the pages of the write-ahead log into the file, beside transactions. By itself SQLite does that
// within the transaction that makes the log too long, and all others wait.
type checkpoints struct {
	db      *sql.DB
	every   int  // bytes
	moved   int  // pages that were written when the last ended; under group.turn
	busy    bool // under group.turn
	running sync.WaitGroup
}

// checkpointSoon begins a checkpoint if much was written since the last. group.turn must be held.
func (s *Store) checkpointSoon(ctx context.Context) {
	c := &s.checkpoints
	if c.busy || (s.pagesWritten(ctx)-c.moved)*pageBytes < c.every {
		return
	}
	c.busy = true
	c.running.Go(defect.Guard("checkpoint", func() {
		ctx := context.WithoutCancel(ctx)
		s.checkpoint(ctx)
		s.group.turn.Lock()
		defer s.group.turn.Unlock()
		s.checkpoint(ctx) // what was written meanwhile: the log begins again once all of it is in the file
		c.moved, c.busy = s.pagesWritten(ctx), false
	}))
}

// checkpoint moves what it can without waiting for anybody. What it cannot stays in the log.
func (s *Store) checkpoint(ctx context.Context) {
	_, _ = s.checkpoints.db.ExecContext(ctx, "pragma wal_checkpoint(passive)")
}

// pagesWritten is how many pages the connection that writes has written.
func (s *Store) pagesWritten(ctx context.Context) (n int) {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return 0
	}
	_ = conn.Raw(func(c any) (err error) {
		n, _, err = c.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, false)
		return err
	})
	_ = conn.Close()
	return n
}
