package pgstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
)

const (
	claimSQL = `
		insert into claims (run_id, node, field, key_hash, source, lane, row)
		select $1, $2, $3, key_hash, source, lane, row
		from unnest($4::bytea[], $5::text[], $6::bigint[], $7::bigint[]) claimed (key_hash, source, lane, row)
		on conflict (run_id, node, field, key_hash) do nothing`

	claimersSQL = `
		select claimed.place, c.source, c.lane, c.row
		from unnest($4::bytea[], $5::text[], $6::bigint[], $7::bigint[]) with ordinality claimed (key_hash, source, lane, row, place)
		join claims c on c.run_id = $1 and c.node = $2 and c.field = $3 and c.key_hash = claimed.key_hash
		where (c.source, c.lane, c.row) is distinct from (claimed.source, claimed.lane, claimed.row)
		order by claimed.place`
)

// Claim does what landscape.Driver says.
func (s *Store) Claim(ctx context.Context, c landscape.Claims) (taken map[landscape.Token]landscape.Token, err error) {
	claimed := inOrder(c)
	err = s.transact(ctx, func(tx pgx.Tx) error {
		taken, err = claim(ctx, tx, c.Guard, claimed)
		return err
	})
	if err != nil {
		return nil, explain(s.place, fmt.Errorf("claim %s.%s: %w", c.Node, c.Field, err))
	}
	return taken, nil
}

// claims are the arguments of the statements, and the tokens in the order that these have.
type claims struct {
	args   []any
	tokens []landscape.Token
}

// inOrder sorts claims by hash, so that two transactions that claim the same values wait for each other at the first. Of
// equal ones the first stays the first.
func inOrder(c landscape.Claims) claims {
	order := make([]int, len(c.Hashes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return bytes.Compare(c.Hashes[a][:], c.Hashes[b][:]) })
	hashes, sources := make([][]byte, len(order)), make([]string, len(order))
	lanes, rows := make([]int64, len(order)), make([]int64, len(order))
	tokens := make([]landscape.Token, len(order))
	for at, i := range order {
		token := c.Tokens[i]
		hashes[at], sources[at], lanes[at], rows[at] = c.Hashes[i][:], landscape.PortableText(token.Source), token.Lane, token.Row
		tokens[at] = token
	}
	return claims{args: []any{landscape.PortableText(c.Run), landscape.PortableText(c.Node), landscape.PortableText(c.Field), hashes, sources, lanes, rows}, tokens: tokens}
}

func claim(ctx context.Context, tx pgx.Tx, guard *landscape.Guard, c claims) (map[landscape.Token]landscape.Token, error) {
	entered, err := enter(ctx, tx, guard, c)
	if err != nil || entered == int64(len(c.tokens)) {
		return nil, err
	}
	rows, err := tx.Query(ctx, claimersSQL, c.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var taken map[landscape.Token]landscape.Token
	for rows.Next() {
		var place int64
		var first landscape.Token
		if err := rows.Scan(&place, &first.Source, &first.Lane, &first.Row); err != nil {
			return nil, err
		}
		if taken == nil {
			taken = map[landscape.Token]landscape.Token{}
		}
		first.Source = decode(first.Source)
		taken[c.tokens[place-1]] = first
	}
	return taken, rows.Err()
}

// enter enters what is new and returns how much that is.
func enter(ctx context.Context, tx pgx.Tx, guard *landscape.Guard, c claims) (int64, error) {
	var queue pgx.Batch
	held := holds(landscape.Tx{Guard: guard})
	for _, h := range held {
		h.queue(&queue, guard)
	}
	queue.Queue(claimSQL, c.args...)
	results := tx.SendBatch(ctx, &queue)
	defer results.Close()
	for _, h := range held {
		if err := h.receive(results, guard); err != nil {
			return 0, err
		}
	}
	tag, err := results.Exec()
	return tag.RowsAffected(), err
}
