package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/client"
)

// TestDoctor: a Home is healthy, a cluster that is not there is not, and nothing is made by looking.
func TestDoctor(t *testing.T) {
	home, err := Open(t.Context(), Options{State: Folder(t.TempDir())})
	require.NoError(t, err)
	var names []string
	for _, check := range home.Doctor(t.Context()) {
		require.NotEqual(t, client.Unhealthy, check.State, check.Name+": "+check.Detail)
		names = append(names, check.Name)
	}
	require.NoError(t, home.Close())
	require.Equal(t, []string{"program", "state folder", "disk space", "sqlite", "locks", "record", "database", "log", "clock", "temporal"}, names)

	o := Options{State: Folder(t.TempDir() + "/nowhere"), Cluster: &client.Cluster{Address: "127.0.0.1:1"}}
	found := map[string]client.Check{}
	for _, check := range o.Doctor(t.Context()) {
		found[check.Name] = check
	}
	require.Equal(t, client.Unhealthy, found["temporal"].State)
	require.NotEmpty(t, found["temporal"].Advice)
	require.Equal(t, client.CureOther, found["workers"].Cure)
	require.Equal(t, client.NameLandscape, found["record"].Cure)
	require.NoDirExists(t, string(o.State))
}

// TestDoctorOfAForkedLog: restoring does not cure it, and is not advised.
func TestDoctorOfAForkedLog(t *testing.T) {
	forked := damaged(client.LogForked, &evidence.ForkedError{Size: 3, Place: "a"})
	require.Equal(t, client.CheckLog, logCheck(t.Context(), logState{}, nil, forked).Cure)
	back := damaged(client.LogRolledBack, &evidence.RolledBackError{Here: 3, There: 4, Place: "a"})
	require.Equal(t, client.RestoreLog, logCheck(t.Context(), logState{}, nil, back).Cure)
}

func TestRunsWithoutEntries(t *testing.T) {
	b := logState{Backlog: evidence.Backlog{Entries: 3, Signed: 3}}
	require.Equal(t, client.Healthy, logCheck(t.Context(), b, nil, nil).State)
	b.unlogged = 2
	require.Equal(t, client.Warning(client.AdmitSealer, "3 entries, 3 signed; 2 runs have no entry"), logCheck(t.Context(), b, nil, nil))
	b.unsealed = []string{"one"}
	require.Equal(t, client.Warning(client.SealRuns, "3 entries, 3 signed; run one ended and is not sealed"), logCheck(t.Context(), b, nil, nil))
}
