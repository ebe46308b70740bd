package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"waymark/internal/defect"
	"waymark/landscape"
)

const (
	claimSQL = `
		insert into claims (run_id, node, field, key_hash, source, lane, row) select ?1, ?2, ?3, ?4, ?5, ?6, ?7
		where not exists (select 1 from claims where run_id = ?1 and node = ?2 and field = ?3 and key_hash = ?4)`
	claimerSQL = `select source, lane, row from claims where run_id = ? and node = ? and field = ? and key_hash = ?`
)

var claimMoments = moments{"claims"}

// Claim does what landscape.Driver says.
func (s *Store) Claim(ctx context.Context, c landscape.Claims) (taken map[landscape.Token]landscape.Token, err error) {
	defer func() { err = explain(s.path, err) }()
	if err := claimMoments.hit("begin"); err != nil {
		return nil, err
	}
	pass, err := s.prepareGuard(ctx, c.Guard)
	if err != nil {
		return nil, err
	}
	tx, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	err = defect.Catch("record", func() (err error) {
		if err = pass.check(ctx, tx); err == nil {
			taken, err = claim(ctx, tx, c)
		}
		if err == nil {
			err = claimMoments.hit("committing")
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("landscape: claim %s.%s: %w", c.Node, c.Field, err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("landscape: commit claims of %s.%s: %w", c.Node, c.Field, err)
	}
	return taken, claimMoments.hit("committed")
}

func claim(ctx context.Context, tx *sql.Tx, c landscape.Claims) (map[landscape.Token]landscape.Token, error) {
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
	var taken map[landscape.Token]landscape.Token
	for i, hash := range c.Hashes {
		token := c.Tokens[i]
		result, err := enter.ExecContext(ctx, c.Run, c.Node, c.Field, hash[:], token.Source, token.Lane, token.Row)
		if err != nil {
			return nil, err
		}
		if entered, err := result.RowsAffected(); err != nil || entered == 1 {
			if err != nil {
				return nil, err
			}
			continue
		}
		var first landscape.Token
		if err := look.QueryRowContext(ctx, c.Run, c.Node, c.Field, hash[:]).Scan(&first.Source, &first.Lane, &first.Row); err != nil {
			return nil, err
		}
		if first != token {
			if taken == nil {
				taken = map[landscape.Token]landscape.Token{}
			}
			taken[token] = first
		}
	}
	return taken, nil
}
