package pgstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
	"waymark/landscape/sweep"
)

// Sweep does what landscape.Driver says. All checks see the same state.
func (s *Store) Sweep(ctx context.Context, run string, deep bool) (found []landscape.Finding, err error) {
	checks := sweep.Counts
	if deep {
		checks = slices.Concat(sweep.Counts, tokenChecks)
	}
	err = again(ctx, func() error {
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer rollback(ctx, tx)
		found, err = findings(ctx, tx, run, checks)
		return err
	})
	return found, explain(s.place, err)
}

func findings(ctx context.Context, tx pgx.Tx, run string, checks []sweep.Check) ([]landscape.Finding, error) {
	var found []landscape.Finding
	for _, c := range checks {
		some, err := ask(ctx, tx, landscape.PortableText(run), c)
		if err != nil {
			return nil, fmt.Errorf("sweep: %s: %w", c.Name, err)
		}
		found = append(found, some...)
	}
	sweep.Sort(found)
	return found, nil
}

func ask(ctx context.Context, tx pgx.Tx, run string, c sweep.Check) ([]landscape.Finding, error) {
	rows, err := tx.Query(ctx, c.SQL, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []landscape.Finding
	for rows.Next() && len(found) < sweep.MostFindings {
		f := landscape.Finding{Check: c.Name}
		if err := rows.Scan(&f.Source, &f.Chunk, &f.Node, &f.Detail); err != nil {
			return nil, err
		}
		f.Source, f.Node, f.Detail = decode(f.Source), decode(f.Node), decode(f.Detail)
		found = append(found, f)
	}
	return found, rows.Err()
}
