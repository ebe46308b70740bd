package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	err = again(ctx, func() (err error) {
		found, err = findings(ctx, s.pool, run, checks)
		return err
	})
	return found, explain(s.place, err)
}

// asker is a transaction or the pool.
type asker interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// findings makes all checks with one statement: to send each costs a small run more than to answer it.
func findings(ctx context.Context, asked asker, run string, checks []sweep.Check) ([]landscape.Finding, error) {
	rows, err := asked.Query(ctx, sweepSQL(checks), landscape.PortableText(run))
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	var found []landscape.Finding
	var check int
	var f landscape.Finding
	_, err = pgx.ForEachRow(rows, []any{&check, &f.Source, &f.Chunk, &f.Node, &f.Detail}, func() error {
		found = append(found, landscape.Finding{
			Check: checks[check].Name, Source: decode(f.Source), Chunk: f.Chunk, Node: decode(f.Node), Detail: decode(f.Detail),
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	sweep.Sort(found)
	return found, nil
}

// sweepSQL joins checks, with the place of each before what it finds.
func sweepSQL(checks []sweep.Check) string {
	parts := make([]string, len(checks))
	for i, c := range checks {
		parts[i] = fmt.Sprintf("(select %d, found.* from (%s) as found limit %d)", i, c.SQL, sweep.MostFindings)
	}
	return strings.Join(parts, " union all ")
}
