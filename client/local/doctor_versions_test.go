package local

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/internal/temporal/cluster"
)

// TestDoctorNamesTheCurrentVersion: of a deployment with versions it says which gets new runs, or that none does.
func TestDoctorNamesTheCurrentVersion(t *testing.T) {
	old := cluster.Worker{Identity: "1@a", Deployment: "waymark", Build: "waymark 1.3"}
	new := cluster.Worker{Identity: "2@b", Deployment: "waymark", Build: "waymark 1.4"}
	for name, test := range map[string]struct {
		workers []cluster.Worker
		current string
		err     error
		state   client.Health
		says    string
	}{
		"none has versions":  {workers: []cluster.Worker{{Identity: "1@a"}}, current: "waymark 1.4", state: client.Healthy, says: "found"},
		"one":                {workers: []cluster.Worker{new}, current: "waymark 1.4", state: client.Healthy, says: "found; new runs go to waymark 1.4"},
		"two":                {workers: []cluster.Worker{old, new}, current: "waymark 1.3", state: client.Doubtful, says: "found; new runs go to waymark 1.3; they are of several versions"},
		"none is current":    {workers: []cluster.Worker{new}, state: client.Doubtful, says: "found; no version of waymark is current: no run begins"},
		"another is current": {workers: []cluster.Worker{old}, current: "waymark 1.4", state: client.Doubtful, says: "found; the current version is waymark 1.4, of which there is no worker: no run begins"},
		"nobody knows":       {workers: []cluster.Worker{old}, err: errors.New("away"), state: client.Doubtful, says: "found; which version of waymark is current is unknown: away"},
	} {
		t.Run(name, func(t *testing.T) {
			check := versionsCheck("found", test.workers, func(string) (string, error) { return test.current, test.err })
			require.Equal(t, test.state, check.State)
			require.Equal(t, test.says, check.Detail)
		})
	}
}

// TestDoctorNamesWorkersThatDiffer: those of a queue have the same landscape and the same values.
func TestDoctorNamesWorkersThatDiffer(t *testing.T) {
	a := func(name, landscape, values string) cluster.Worker {
		return cluster.Worker{Identity: name, Facts: map[string]string{cluster.FactLandscape: landscape, cluster.FactValues: values}}
	}
	const values = "they have several values of the variables of --allow-env, of the fingerprint key or of --environment"
	for name, test := range map[string]struct {
		workers []cluster.Worker
		says    string
	}{
		"none":              {nil, ""},
		"the same":          {[]cluster.Worker{a("1@a", "x", "v"), a("2@b", "x", "v"), {Identity: "not ours"}}, ""},
		"other landscapes":  {[]cluster.Worker{a("1@a", "x", "v"), a("2@b", "y", "v"), a("3@c", "x", "v")}, "3 workers on the queue; they have several landscapes: 1@a, 3@c has x; 2@b has y"},
		"another landscape": {[]cluster.Worker{a("2@b", "y", "v")}, "1 worker on the queue; none of them has this record: 2@b has y"},
		"other values":      {[]cluster.Worker{a("1@a", "x", "v"), a("2@b", "x", "w")}, "2 workers on the queue; " + values + ": 1@a has v; 2@b has w"},
		"one has no key":    {[]cluster.Worker{a("1@a", "x", "v"), a("2@b", "x", "")}, "2 workers on the queue; " + values + ": 2@b has none; 1@a has v"},
	} {
		t.Run(name, func(t *testing.T) {
			check := differencesCheck(test.workers, "x")
			require.Equal(t, test.says, check.Detail)
			require.Equal(t, test.says != "", check.State == client.Doubtful)
		})
	}
}
