package landscapetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// redeployments holds what a log says of versions that are promoted, rolled back, retired and restored.
func redeployments(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	now := time.Unix(1000, 0)
	log := landscape.New(d, func() time.Time { now = now.Add(time.Second); return now })
	order := func(environment string, version int64) landscape.Deployment {
		return landscape.Deployment{Environment: environment, Pipeline: "orders", Version: version, Actor: "ann", Why: "because"}
	}
	for _, digit := range []string{"1", "2", "3"} {
		bundle, version := VersionOf("orders", digit, strings.Repeat("d", 64))
		_, err := log.Deploy(ctx, "test", bundle, version)
		require.NoError(t, err)
	}
	says := func(d landscape.Redeployed, err error) []any {
		t.Helper()
		require.NoError(t, err)
		return []any{d.Action, d.Version, d.Before, d.Seq, d.Changed}
	}

	_, err := log.Promote(ctx, "prod", order("test", 3), nil)
	require.ErrorIs(t, err, landscape.ErrNotFound, "nothing is deployed in prod")
	require.Equal(t, []any{landscape.Promote, int64(2), int64(0), int64(0), true}, says(log.Promote(ctx, "test", order("prod", 2), nil)))
	require.Equal(t, []any{landscape.Promote, int64(2), int64(0), int64(0), false}, says(log.Promote(ctx, "test", order("prod", 2), nil)))
	_, err = log.Promote(ctx, "test", order("prod", 4), nil)
	require.Equal(t, &landscape.VersionError{Pipeline: "orders", Version: 4, Environment: "test", Current: 3}, errorAs[*landscape.VersionError](t, err))
	_, err = log.Rollback(ctx, order("prod", 0), nil)
	require.ErrorIs(t, err, landscape.ErrNothingBefore)
	_, err = log.Rollback(ctx, order("prod", 1), nil)
	unknown := errorAs[*landscape.VersionError](t, err)
	require.True(t, unknown.Exists, "it is there, and was never current in prod")
	_, err = log.Startable(ctx, "prod", "orders", 3)
	require.Equal(t, "version 3 of pipeline orders was never deployed in prod; the current one there is 2", errorAs[*landscape.VersionError](t, err).Error())

	rollbacks(t, log, says)
	retired(t, log, order("test", 0), says)
}

// rollbacks returns from version 3 of orders in test.
func rollbacks(t *testing.T, log *landscape.Log, says func(landscape.Redeployed, error) []any) {
	ctx := t.Context()
	order := landscape.Deployment{Environment: "test", Pipeline: "orders", Actor: "ann", Why: "because"}
	require.Equal(t, []any{landscape.Rollback, int64(2), int64(3), int64(3), true}, says(log.Rollback(ctx, order, nil)))
	require.Equal(t, []any{landscape.Rollback, int64(1), int64(2), int64(4), true}, says(log.Rollback(ctx, order, nil)), "one further back, and not to 3 again")
	_, err := log.Rollback(ctx, order, nil)
	require.ErrorIs(t, err, landscape.ErrNothingBefore)
	order.Version = 3
	require.Equal(t, []any{landscape.Rollback, int64(3), int64(1), int64(5), true}, says(log.Rollback(ctx, order, nil)), "any that was current")
	require.Equal(t, []any{landscape.Rollback, int64(3), int64(1), int64(5), false}, says(log.Rollback(ctx, order, nil)))
	order.Version = 0
	require.Equal(t, []any{landscape.Rollback, int64(1), int64(3), int64(6), true}, says(log.Rollback(ctx, order, nil)), "to what was current before that")
	found, err := log.Startable(ctx, "test", "orders", 0)
	require.NoError(t, err)
	require.EqualValues(t, 1, found.Version)
}

// retired retires version 1 of orders, and restores it.
func retired(t *testing.T, log *landscape.Log, order landscape.Deployment, says func(landscape.Redeployed, error) []any) {
	ctx := t.Context()
	_, err := log.Retire(ctx, landscape.Deployment{Environment: "test", Pipeline: "others", Actor: "ann", Why: "because"})
	require.ErrorIs(t, err, landscape.ErrNotFound)
	require.Equal(t, []any{landscape.Rollback, int64(1), int64(3), int64(6), false}, says(log.Restore(ctx, order)), "nothing to restore")
	require.Equal(t, []any{landscape.Retire, int64(1), int64(1), int64(7), true}, says(log.Retire(ctx, order)))
	require.Equal(t, []any{landscape.Retire, int64(1), int64(1), int64(7), false}, says(log.Retire(ctx, order)))
	bundle, version := VersionOf("orders", "4", strings.Repeat("d", 64))
	version.Bundle = bundle.SHA256
	for what, try := range map[string]func() error{
		"start":    func() error { _, err := log.Startable(ctx, "test", "orders", 0); return err },
		"version":  func() error { _, err := log.Startable(ctx, "test", "orders", 2); return err },
		"deploy":   func() error { _, err := log.Deploy(ctx, "test", bundle, version); return err },
		"plan":     func() error { _, err := log.PlanDeploy(ctx, "test", version); return err },
		"rollback": func() error { _, err := log.Rollback(ctx, order, nil); return err },
		"from":     func() error { return promote(ctx, log, "test", "prod") },
		"to":       func() error { return promote(ctx, log, "prod", "test") },
	} {
		require.Equal(t, landscape.Retire, errorAs[*landscape.RetiredError](t, try()).Action, what)
	}
	_, err = log.Startable(ctx, "prod", "orders", 0)
	require.NoError(t, err, "it is retired in test only")
	require.Equal(t, []any{landscape.Restore, int64(1), int64(1), int64(8), true}, says(log.Restore(ctx, order)))
	_, err = log.Startable(ctx, "test", "orders", 0)
	require.NoError(t, err)
	order.Version = 2
	require.Equal(t, []any{landscape.Rollback, int64(2), int64(1), int64(9), true}, says(log.Rollback(ctx, order, nil)))
}

func promote(ctx context.Context, log *landscape.Log, from, to string) error {
	_, err := log.Promote(ctx, from, landscape.Deployment{Environment: to, Pipeline: "orders", Version: 2, Actor: "ann", Why: "because"}, nil)
	return err
}

// errorAs returns what the error is.
func errorAs[E error](t *testing.T, err error) E {
	t.Helper()
	found, ok := errors.AsType[E](err)
	require.True(t, ok, "%v", err)
	return found
}
