package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"waymark/internal/defect"
	"waymark/landscape"
)

// maxGroup is how many landscape.Tx go into one transaction of SQLite.
const maxGroup = 128

// group gathers what is to be committed while something else is. All of it goes into one transaction, and onto the disk with one
// sync.
type group struct {
	turn    sync.Mutex // held by the goroutine that commits
	mu      sync.Mutex // held while waiting is used
	waiting []*waiting
}

// waiting is a landscape.Tx that a goroutine wants to see committed.
type waiting struct {
	ctx   context.Context
	tx    landscape.Tx
	moves []*sql.Stmt // of its moves
	pass  *pass

	checks []*sql.Stmt // of the sweep
	counts *sql.Stmt   // of the seal

	append *sql.Stmt // nil if nothing is appended to the log
	done   bool      // it was dealt with; written with turn held, as err is
	err    error
}

// commit commits a landscape.Tx, alone or together with others that wait.
func (s *Store) commit(w *waiting) error {
	s.group.mu.Lock()
	s.group.waiting = append(s.group.waiting, w)
	s.group.mu.Unlock()
	s.group.turn.Lock()
	defer s.group.turn.Unlock()
	for !w.done {
		s.commitGroup(s.group.take())
		s.checkpointSoon(w.ctx)
	}
	return w.err
}

// take removes those that waited longest, as many as go into one transaction of SQLite, and returns them.
func (g *group) take() []*waiting {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(maxGroup, len(g.waiting))
	taken := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return taken
}

// commitGroup commits all of them in one transaction of SQLite. If one of them is refused, each gets a transaction of its own, so that each
// gets the answer that is its own.
func (s *Store) commitGroup(all []*waiting) {
	var err error
	refused := len(all) == 1
	if !refused {
		refused, err = s.transact(context.WithoutCancel(all[0].ctx), all...)
	}
	for _, w := range all {
		w.done, w.err = true, err
		if refused {
			_, w.err = s.transact(w.ctx, w)
		}
	}
}

// transact commits all of them in one transaction of SQLite. refused says that nothing is stored; after another error the state is unknown.
func (s *Store) transact(ctx context.Context, all ...*waiting) (refused bool, err error) {
	tx, err := s.begin(ctx)
	if err != nil {
		return true, err
	}
	err = defect.Catch("record", func() error {
		for _, w := range all {
			if err := s.apply(ctx, tx, w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return true, errors.Join(err, fmt.Errorf("landscape: roll back: %w", undo))
		}
		return true, err
	}
	if err := tx.Commit(); err != nil {
		return false, fmt.Errorf("landscape: commit: %w", err)
	}
	return false, nil
}
