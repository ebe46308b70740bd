package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities/bundle"
)

// TestAFileThatADeploymentLacks: the error names the member of the request that brings it.
func TestAFileThatADeploymentLacks(t *testing.T) {
	sent := &Document{
		File: "pipeline.yaml", Source: []byte("name: tenants\n" +
			"params: {tenant: {type: string, default: \"${slot:tenant}\"}}\n" +
			"sources: {in: {csv: {path: /in.csv}, schema: {fields: {id: int}}}}\n" +
			"sinks: {out: {csv: {path: \"/${param:tenant}.csv\"}}}\n" +
			"schedules: {nightly: {every: day, zone: UTC, for_each: {tenant: {file: tenants.csv, field: name}}}}\n"),
	}
	_, err := sent.timetable()
	require.ErrorContains(t, err, "tenants.csv: the version does not have it: who deploys by the API sends it with files "+
		"of the request, under this path (docs/api.md)")
	sent.bundle = bundle.Bundle{Files: map[string][]byte{"tenants.csv": []byte("name\nacme\n")}}
	_, err = sent.timetable()
	require.NoError(t, err)
}
