package landscape

import (
	"context"
	"errors"
	"fmt"
)

// Claim enters values that must be unique. It returns the tokens whose value belongs to an earlier claimer, each with
// that token; nil if there is none. The first claimer keeps its value; the same claims give the same answer for ever.
func (l *Log) Claim(ctx context.Context, c Claims) (map[Token]Token, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return l.driver.Claim(ctx, c)
}

// Claimed tells what Claim would, and enters nothing. missing are the tokens whose value belongs to nobody, in order; nil if
// there is none.
func (r *Reader) Claimed(ctx context.Context, c Claims) (taken map[Token]Token, missing []Token, err error) {
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	for i, token := range c.Tokens {
		claim, err := get[ClaimRecord](ctx, r.from, c.Run, c.Node, c.Field, c.Hashes[i][:])
		switch {
		case errors.Is(err, ErrNotFound):
			missing = append(missing, token)
		case err != nil:
			return nil, nil, err
		case claim.Token() != token:
			if taken == nil {
				taken = map[Token]Token{}
			}
			taken[token] = claim.Token()
		}
	}
	return taken, missing, nil
}

// EachClaim calls yield with every claim of a run, by node, field and value, until it returns false. yield must not use the
// log.
func (r *Reader) EachClaim(ctx context.Context, run string, yield func(ClaimRecord) bool) error {
	return each(ctx, r.from, []any{run}, yield)
}

// Token returns the token that claimed the value.
func (r ClaimRecord) Token() Token { return Token{Source: r.Source, Lane: r.Lane, Row: r.Row} }

func (c Claims) check() error {
	if len(c.Hashes) != len(c.Tokens) {
		return fmt.Errorf("claim %s.%s: %d hashes for %d tokens", c.Node, c.Field, len(c.Hashes), len(c.Tokens))
	}
	return nil
}
