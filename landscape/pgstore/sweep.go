package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
)

// check is one query of the sweep. Its parameter is the run; it selects source, chunk (-1 if it is not about one chunk),
// node and detail of whatever is wrong.
type check struct {
	name string // stored in findings; never rename
	sql  string
}

// mostFindings is how many findings of one check are reported.
const mostFindings = 100

// Sweep does what landscape.Driver says. All checks see the same state.
func (s *Store) Sweep(ctx context.Context, run string, deep bool) (found []landscape.Finding, err error) {
	checks := countChecks
	if deep {
		checks = slices.Concat(countChecks, tokenChecks)
	}
	err = again(ctx, func() error {
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer rollback(ctx, tx)
		found, err = sweep(ctx, tx, run, checks)
		return err
	})
	return found, explain(s.place, err)
}

func sweep(ctx context.Context, tx pgx.Tx, run string, checks []check) ([]landscape.Finding, error) {
	var found []landscape.Finding
	for _, c := range checks {
		some, err := ask(ctx, tx, encode(run), c)
		if err != nil {
			return nil, fmt.Errorf("sweep: %s: %w", c.name, err)
		}
		found = append(found, some...)
	}
	slices.SortStableFunc(found, func(a, b landscape.Finding) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Node, b.Node))
	})
	return found, nil
}

func ask(ctx context.Context, tx pgx.Tx, run string, c check) ([]landscape.Finding, error) {
	rows, err := tx.Query(ctx, c.sql, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []landscape.Finding
	for rows.Next() && len(found) < mostFindings {
		f := landscape.Finding{Check: c.name}
		if err := rows.Scan(&f.Source, &f.Chunk, &f.Node, &f.Detail); err != nil {
			return nil, err
		}
		f.Source, f.Node, f.Detail = decode(f.Source), decode(f.Node), decode(f.Detail)
		found = append(found, f)
	}
	return found, rows.Err()
}
