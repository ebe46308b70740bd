package landscapetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// AccessToken is a token that somebody grants.
func AccessToken() landscape.AccessToken {
	return landscape.AccessToken{
		Action: landscape.GrantAccess, Name: "shop", SHA256: strings.Repeat("a", 64), Roles: `["service"]`, Pipelines: `["orders*"]`, Actor: "ann", Why: "orders",
	}
}

// Accessed grants an access token and revokes it, and records that somebody was shown values.
func Accessed(ctx context.Context, log *landscape.Log) error {
	for _, action := range []landscape.AccessAction{landscape.GrantAccess, landscape.RevokeAccess} {
		row := AccessToken()
		row.Action = action
		if _, err := log.ChangeAccess(ctx, "0123", func(*landscape.AccessToken) (landscape.AccessToken, error) { return row, nil }); err != nil {
			return err
		}
	}
	return log.RecordDisclosure(ctx, landscape.Disclosure{ID: "d1", Run: "r1", Actor: "shop", Access: "0123", What: "explain", Subject: "in:1"})
}

// access holds what is recorded of access tokens: the last row of each counts, and disclosures are listed page by page.
func access(t *testing.T, d landscape.Driver) {
	log := landscape.New(d, nil)
	_, err := log.AccessToken(t.Context(), "0123")
	require.ErrorIs(t, err, landscape.ErrNotFound)
	require.NoError(t, Accessed(t.Context(), log))
	row := AccessToken()
	row.Expires = 1_000_000
	granted, err := log.ChangeAccess(t.Context(), "4567", func(last *landscape.AccessToken) (landscape.AccessToken, error) {
		require.Nil(t, last)
		return row, nil
	})
	require.NoError(t, err)
	tokens, err := log.AccessTokens(t.Context())
	require.NoError(t, err)
	require.Len(t, tokens, 2)
	require.Equal(t, granted, tokens[1])
	require.EqualValues(t, 1, tokens[0].Seq)
	require.False(t, tokens[0].Valid(time.Unix(0, 0)), "it is revoked")
	require.True(t, granted.Valid(time.UnixMicro(999_999)))
	require.False(t, granted.Valid(time.UnixMicro(1_000_000)))
	require.True(t, granted.Sees("orders-nightly"))
	require.False(t, granted.Sees("refunds"))
	require.True(t, granted.Has(landscape.Viewer, landscape.Service))
	require.False(t, granted.Has(landscape.Admin))
	require.NoError(t, log.RecordDisclosure(t.Context(), landscape.Disclosure{ID: "d2", Run: "r1", Actor: "shop", Access: "0123", What: "errors"}))
	first, err := log.Disclosures(t.Context(), "", 1)
	require.NoError(t, err)
	require.Equal(t, "d2", first[0].ID)
	rest, err := log.Disclosures(t.Context(), "d2", 0)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	require.Equal(t, "in:1", rest[0].Subject)
}
