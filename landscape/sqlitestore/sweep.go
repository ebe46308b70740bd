package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"waymark/landscape"
	"waymark/landscape/sweep"
)

// Sweep does what landscape.Driver says. All checks see the same state.
func (s *Store) Sweep(ctx context.Context, run string, deep bool) (found []landscape.Finding, err error) {
	defer func() { err = explain(s.path, err) }()
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("landscape: begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it only read
	checks := sweep.Counts
	if deep {
		checks = slices.Concat(sweep.Counts, tokenChecks)
	}
	return findings(ctx, tx, run, checks)
}

func findings(ctx context.Context, tx *sql.Tx, run string, checks []sweep.Check) ([]landscape.Finding, error) {
	var found []landscape.Finding
	for _, c := range checks {
		some, err := ask(ctx, tx, run, c)
		if err != nil {
			return nil, fmt.Errorf("landscape: sweep: %s: %w", c.Name, err)
		}
		found = append(found, some...)
	}
	sweep.Sort(found)
	return found, nil
}

func ask(ctx context.Context, tx *sql.Tx, run string, c sweep.Check) ([]landscape.Finding, error) {
	rows, err := tx.QueryContext(ctx, c.SQL, run)
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
		found = append(found, f)
	}
	return found, rows.Err()
}
