package landscape_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

func TestADamagedListGivesNoRights(t *testing.T) {
	require.Empty(t, landscape.Listed("[]"))
	require.Equal(t, []string{"orders*", "crm"}, landscape.Listed(landscape.List([]string{"orders*", "crm"})))
	for _, list := range []string{"", "null", "[", `"orders"`, `[1]`, `{"a":1}`, `["orders"`} {
		token := landscape.AccessToken{Pipelines: list, Roles: list}
		require.Len(t, landscape.Listed(list), 1, list)
		require.False(t, token.Sees("orders"), list)
		require.False(t, token.Covers([]string{"orders"}), list)
		require.False(t, token.Covers(nil), list)
	}
}
