package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"waymark/landscape"
)

const (
	claimSQL = `
		insert into claims (run_id, source, field, key_hash, row) select ?1, ?2, ?3, ?4, ?5
		where not exists (select 1 from claims where run_id = ?1 and source = ?2 and field = ?3 and key_hash = ?4)`
	claimerSQL = `select row from claims where run_id = ? and source = ? and field = ? and key_hash = ?`
)

// Claim does what landscape.Driver says.
func (s *Store) Claim(ctx context.Context, c landscape.Claims) (taken map[int64]int64, err error) {
	defer func() { err = explain(s.path, err) }()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("landscape: begin: %w", err)
	}
	taken, err = claim(ctx, tx, c)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("landscape: claim %s.%s: %w", c.Source, c.Field, err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("landscape: commit claims of %s.%s: %w", c.Source, c.Field, err)
	}
	return taken, nil
}

func claim(ctx context.Context, tx *sql.Tx, c landscape.Claims) (map[int64]int64, error) {
	enter, err := tx.PrepareContext(ctx, claimSQL)
	if err != nil {
		return nil, err
	}
	defer enter.Close()
	look, err := tx.PrepareContext(ctx, claimerSQL)
	if err != nil {
		return nil, err
	}
	defer look.Close()
	var taken map[int64]int64
	for i, hash := range c.Hashes {
		result, err := enter.ExecContext(ctx, c.Run, c.Source, c.Field, hash[:], c.Rows[i])
		if err != nil {
			return nil, err
		}
		if entered, err := result.RowsAffected(); err != nil || entered == 1 {
			if err != nil {
				return nil, err
			}
			continue
		}
		var first int64
		if err := look.QueryRowContext(ctx, c.Run, c.Source, c.Field, hash[:]).Scan(&first); err != nil {
			return nil, err
		}
		if first != c.Rows[i] {
			if taken == nil {
				taken = map[int64]int64{}
			}
			taken[c.Rows[i]] = first
		}
	}
	return taken, nil
}
