package landscapetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// VersionOf returns a version of a pipeline whose bundle has this digit for a digest, and the bundle.
func VersionOf(pipeline, digit, document string) (landscape.Bundle, landscape.PipelineVersion) {
	bundle := landscape.Bundle{SHA256: strings.Repeat(digit, 64), Document: document, Manifest: `{"waymark":"bundle-v1"}`, Files: 2, Bytes: 20}
	return bundle, landscape.PipelineVersion{
		Pipeline: pipeline, Actor: "ann", Message: "limit to " + digit, Code: "test", Host: "here", Folder: "/data", Commit: "3c1e2a7", Dirty: true,
	}
}

// registry holds what a log says of the versions of pipelines, and of which is current.
func registry(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	now := time.Unix(1000, 0)
	log := landscape.New(d, func() time.Time { return now })
	document := strings.Repeat("d", 64)
	deploy := func(pipeline, digit string) landscape.Deployed {
		now = now.Add(time.Second)
		bundle, version := VersionOf(pipeline, digit, document)
		deployed, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
		require.NoError(t, err)
		return deployed
	}
	says := func(d landscape.Deployed) []any { return []any{d.Version, d.New, d.Became, d.Before} }
	_, err := log.Current(ctx, landscape.DefaultEnvironment, "orders")
	require.ErrorIs(t, err, landscape.ErrNotFound)
	_, err = log.Version(ctx, "orders", 1)
	require.ErrorIs(t, err, landscape.ErrNotFound)

	bundle, version := VersionOf("orders", "1", document)
	version.Bundle = bundle.SHA256
	planned, err := log.PlanDeploy(ctx, landscape.DefaultEnvironment, version)
	require.NoError(t, err)
	require.Equal(t, []any{int64(1), true, true, int64(0)}, says(planned))
	versions, err := log.Versions(ctx, "orders")
	require.NoError(t, err)
	require.Empty(t, versions, "a plan changes nothing")

	require.Equal(t, []any{int64(1), true, true, int64(0)}, says(deploy("orders", "1")))
	version.Version, version.Created = 1, landscape.MicrosOf(now)
	require.Equal(t, []any{int64(1), false, false, int64(1)}, says(deploy("orders", "1")), "same bytes, same version")
	require.Equal(t, []any{int64(2), true, true, int64(1)}, says(deploy("orders", "2")))
	require.Equal(t, []any{int64(1), true, true, int64(0)}, says(deploy("others", "2")), "a bundle may be that of several pipelines")
	require.Equal(t, []any{int64(1), false, true, int64(2)}, says(deploy("orders", "1")), "an old version becomes current again")
	found, err := log.Version(ctx, "orders", 1)
	require.NoError(t, err)
	require.Equal(t, version, found)
	stored, err := log.Bundle(ctx, bundle.SHA256)
	require.NoError(t, err)
	require.Equal(t, bundle, stored)

	history, err := log.Deployments(ctx, landscape.DefaultEnvironment, "orders")
	require.NoError(t, err)
	require.Len(t, history, 3)
	last := landscape.Deployment{
		Environment: landscape.DefaultEnvironment, Pipeline: "orders", Seq: 2, Action: landscape.Deploy, Version: 1, Before: 2, Actor: "ann", Why: "limit to 1",
		At: landscape.MicrosOf(now),
	}
	require.Equal(t, last, history[2])
	current, err := log.CurrentVersions(ctx, landscape.DefaultEnvironment)
	require.NoError(t, err)
	require.Len(t, current, 2)
	require.Equal(t, last, current[0])
	require.Equal(t, "others", current[1].Pipeline)
	none, err := log.CurrentVersions(ctx, "prod")
	require.NoError(t, err)
	require.Empty(t, none)

	deployedAtOnce(t, log)
	runOfAVersion(t, log)
}

// deployedAtOnce deploys from many processes: each version has a number of its own, without gaps.
func deployedAtOnce(t *testing.T, log *landscape.Log) {
	const processes = 6
	var all sync.WaitGroup
	failed := make([]error, processes)
	for i := range processes {
		all.Go(func() {
			bundle, version := VersionOf("busy", string(rune('a'+i/2)), strings.Repeat("d", 64))
			_, failed[i] = log.Deploy(context.WithoutCancel(t.Context()), landscape.DefaultEnvironment, bundle, version)
		})
	}
	all.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	versions, err := log.Versions(t.Context(), "busy")
	require.NoError(t, err)
	require.Len(t, versions, processes/2)
	require.EqualValues(t, processes/2, versions[len(versions)-1].Version)
}

// runOfAVersion begins runs that say of which version they are.
func runOfAVersion(t *testing.T, log *landscape.Log) {
	run, graph := Scene{Run: "versioned"}.Graph()
	run.DocumentSHA256 = strings.Repeat("e", 64)
	run.Version = 1
	bundle, version := VersionOf(run.Pipeline, "f", run.DocumentSHA256)
	_, err := log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	require.NoError(t, log.BeginRun(t.Context(), run, graph))
	begun, err := log.Run(t.Context(), "versioned")
	require.NoError(t, err)
	require.EqualValues(t, 1, begun.Version)
}
