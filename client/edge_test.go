package client

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/payload"
)

// TestErrorsOfServicesThatAreAway holds that what a service does not answer leaves the Client with a kind, a code and a cure, and nothing else does.
func TestErrorsOfServicesThatAreAway(t *testing.T) {
	c := New(nil, "the landscape of the test", nil)
	for name, of := range map[string]struct {
		err  error
		code Code // empty for an error that stays as it is
	}{
		"the record":              {landscape.ErrAway, StorageUnavailable},
		"the payloads":            {payload.ErrUnavailable, StorageUnavailable},
		"temporal, dialled":       {&cluster.Fault{Place: "nowhere", Why: "nothing listens there", Cure: "start it"}, TemporalUnavailable},
		"temporal, connected":     {serviceerror.NewUnavailable("no children to pick from"), TemporalUnavailable},
		"temporal, silent":        {serviceerror.NewDeadlineExceeded("no answer"), TemporalUnavailable},
		"a key that is wrong":     {&cluster.Fault{Place: "nowhere", Why: "access is refused", Cure: "check it", Lasting: true}, ""},
		"a record that is not so": {landscape.ErrNotFound, ""},
		"a question":              {&Error{Kind: Invalid, Code: InvalidRequest, Message: "no", Err: landscape.ErrAway}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Errorf("asked: %w", of.err)
			after := before
			c.edge(t.Context(), &after)
			require.ErrorIs(t, after, before)
			if of.code == "" {
				require.Equal(t, before, after)
				return
			}
			refused, ok := errors.AsType[*Error](after)
			require.True(t, ok)
			require.Equal(t, []any{Unavailable, of.code, Diagnose}, []any{refused.Kind, refused.Code, refused.Cure})
			require.ErrorContains(t, after, before.Error())
		})
	}
	full := fmt.Errorf("begin: %w", landscape.ErrFull)
	c.edge(t.Context(), &full)
	refused, ok := errors.AsType[*Error](full)
	require.True(t, ok)
	require.Equal(t, []any{Unavailable, StorageUnavailable, Cure("")}, []any{refused.Kind, refused.Code, refused.Cure}, "the message says what helps")
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	err := serviceerror.NewDeadlineExceeded("no answer")
	c.edge(stopped, &err)
	refused, ok = errors.AsType[*Error](err)
	require.True(t, ok)
	require.Equal(t, Interrupted, refused.Kind, "who stopped asking has stopped it")
}
