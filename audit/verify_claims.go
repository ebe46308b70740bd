package audit

import (
	"context"

	"waymark/activities"
	"waymark/landscape"
)

// claimants are the tokens that are the first with a value that must be unique, a bit for each.
type claimants map[claimantBlock]uint64

// claimantBlock is 64 rows.
type claimantBlock struct {
	node, field string
	lane, block int64
}

// blockOf returns where the bit of a token is.
func blockOf(node, field string, token landscape.Token) (block claimantBlock, bit uint64) {
	return claimantBlock{node, field, token.Lane, token.Row >> 6}, 1 << (token.Row & 63)
}

// note notes the tokens of which no other one has the value.
func (s claimants) note(c landscape.Claims, taken map[landscape.Token]landscape.Token) {
	for _, token := range c.Tokens {
		if _, is := taken[token]; !is {
			block, bit := blockOf(c.Node, c.Field, token)
			s[block] |= bit
		}
	}
}

// strike strikes off the token of a claim, and reports whether it was noted and not struck off yet.
func (s claimants) strike(r landscape.ClaimRecord) bool {
	block, bit := blockOf(r.Node, r.Field, r.Token())
	if s[block]&bit == 0 {
		return false
	}
	s[block] &^= bit
	return true
}

// claimed looks up which values other tokens have.
func (v *verification) claimed(ctx context.Context, c landscape.Claims) (map[landscape.Token]landscape.Token, error) {
	taken, _, err := v.log.Claimed(ctx, c)
	return taken, err
}

// claimant looks up which values of a chunk's tokens others have, reports values that nobody has on record, and notes whose
// claims there should be.
func (v *verification) claimant(record landscape.Chunk) activities.Claimer {
	return func(ctx context.Context, c landscape.Claims) (map[landscape.Token]landscape.Token, error) {
		taken, missing, err := v.log.Claimed(ctx, c)
		for _, token := range missing {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "%s is the first with its %s at %s, on record no token is", v.name(token), c.Field, c.Node)
		}
		v.claimants.note(c, taken)
		return taken, err
	}
}

// verifyClaims looks for claims of tokens that are not the first with a value. Of a run that goes on, or of which a chunk could
// not be computed again, they may be true.
func (v *verification) verifyClaims(ctx context.Context) error {
	if !concluded(v.report.Status) || int64(len(v.recomputed)) < v.chunks {
		return nil
	}
	return v.log.EachClaim(ctx, v.run.ID, func(r landscape.ClaimRecord) bool {
		if !v.claimants.strike(r) {
			v.add(RecordDiffers, r.Node, "%s of %s is the first with a value of %s on record, computed again it is not", v.name(r.Token()), r.Source, r.Field)
		}
		return !v.report.More
	})
}
