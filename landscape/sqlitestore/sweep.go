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
	checks := sweep.Counts
	if deep {
		checks = slices.Concat(sweep.Counts, tokenChecks)
	}
	prepared, err := s.reads.all(ctx, s.read, questions(checks)...)
	if err != nil {
		return nil, fmt.Errorf("landscape: sweep: %w", err)
	}
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("landscape: begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it only read
	return findings(ctx, tx, run, checks, prepared)
}

// questions returns the queries of checks.
func questions(checks []sweep.Check) []string {
	queries := make([]string, len(checks))
	for i, c := range checks {
		queries[i] = c.SQL
	}
	return queries
}

// findings makes the checks; prepared are their statements.
func findings(ctx context.Context, tx *sql.Tx, run string, checks []sweep.Check, prepared []*sql.Stmt) ([]landscape.Finding, error) {
	var found []landscape.Finding
	for i, c := range checks {
		some, err := ask(ctx, tx.StmtContext(ctx, prepared[i]), run, c)
		if err != nil {
			return nil, fmt.Errorf("landscape: sweep: %s: %w", c.Name, err)
		}
		found = append(found, some...)
	}
	sweep.Sort(found)
	return found, nil
}

func ask(ctx context.Context, stmt *sql.Stmt, run string, c sweep.Check) ([]landscape.Finding, error) {
	rows, err := stmt.QueryContext(ctx, run)
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
