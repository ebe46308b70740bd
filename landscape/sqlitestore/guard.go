package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"waymark/landscape"
)

const epochSQL = `select epoch, status <> 'running' from runs where run_id = ?`

// pass checks a guard; nil if there is none.
type pass struct {
	guard landscape.Guard
	run   *sql.Stmt
}

// prepareGuard makes ready what checks a guard. It must not be called within a transaction: there is one connection.
func (s *Store) prepareGuard(ctx context.Context, g *landscape.Guard) (*pass, error) {
	if g == nil {
		return nil, nil //nolint:nilnil // no guard is no error
	}
	stmt, err := s.writes.of(ctx, s.write, epochSQL)
	if err != nil {
		return nil, fmt.Errorf("landscape: guard: %w", err)
	}
	return &pass{guard: *g, run: stmt}, nil
}

// check looks at the run within the transaction.
func (p *pass) check(ctx context.Context, tx *sql.Tx) error {
	if p == nil {
		return nil
	}
	var epoch int64
	var ended bool
	look := tx.StmtContext(ctx, p.run) //nolint:sqlclosecheck // the transaction closes it
	err := look.QueryRowContext(ctx, p.guard.Run).Scan(&epoch, &ended)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("landscape: guard: %w", err)
	case epoch != p.guard.Epoch:
		return fmt.Errorf("run %s is in epoch %d, not %d: %w", p.guard.Run, epoch, p.guard.Epoch, landscape.ErrSuperseded)
	case ended && p.guard.Running:
		return fmt.Errorf("run %s: %w", p.guard.Run, landscape.ErrEnded)
	default:
		return nil
	}
}
