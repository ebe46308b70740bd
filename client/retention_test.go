package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/blank"
)

// TestAPurgeThatWasExecutedIsContinued, although its order needs several persons: they have signed it. A new one is
// refused before anything is read.
func TestAPurgeThatWasExecutedIsContinued(t *testing.T) {
	log := landscape.New(blank.New(t), time.Now)
	rule := landscape.ApprovalRule{Verb: landscape.OrderPurge, Persons: 2, Actor: "ann", Why: "four eyes"}
	_, err := log.Rule(t.Context(), rule)
	require.NoError(t, err)
	request := PurgeRequest{By: By{Why: "old"}, Keep: map[landscape.Class]string{landscape.SourceClass: "1d"}}
	c := New(log, "memory", nobody{})
	_, err = c.Purge(t.Context(), request)
	require.ErrorAs(t, err, new(*landscape.NeedsOrderError))
	request.Continue = 1
	_, err = c.Purge(t.Context(), request)
	require.ErrorContains(t, err, "nobody has the payloads", "which are looked for next")
}
