package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/payload"
	"waymark/tests/fixtures"
	"waymark/workflows/slots"
	"waymark/workflows/triggers"
)

// TestDoctorOfEveryTrigger: it looks at triggers of each kind, says of one after a pipeline that is gone that no
// run can come, and panics for none, also without the payloads in which the
// documents are.
func TestDoctorOfEveryTrigger(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "in"), 0o700))
	o := Options{State: Folder(filepath.Join(folder, ".waymark")), Allow: []string{folder}}.filled()
	home, err := Open(t.Context(), o)
	require.NoError(t, err)
	deposit, err := home.Deposit(t.Context(), true)
	require.NoError(t, err)
	for _, text := range fixtures.Arriving {
		_, err := home.Deploy(t.Context(), client.DeployRequest{
			File: "pipeline.yaml", Source: []byte(strings.ReplaceAll(text, "FOLDER", folder)),
			Anyway: "nothing is there yet", By: client.By{Why: "to see"},
		})
		require.NoError(t, err)
	}
	current, err := home.stores.Log.AllCurrentVersions(t.Context())
	require.NoError(t, err)
	for _, d := range current {
		require.NoError(t, triggers.Adopt(t.Context(), home.stores.Log, deposit.Payloads, d))
		require.NoError(t, slots.Adopt(t.Context(), home.stores.Log, deposit.Payloads, d))
	}
	look := doctor{Options: &o}.triggers
	require.Equal(t, client.Good("%d triggers, 0 arrivals waiting", len(fixtures.Arriving)-1), look(t.Context()))

	_, err = home.Retire(t.Context(), client.RedeployRequest{Pipeline: "orders", By: client.By{Why: "to see"}})
	require.NoError(t, err)
	found := look(t.Context())
	require.Contains(t, found.Detail, "default/after/outputs: the pipeline orders is retired in default: restore it "+
		"first: waymark restore orders --why TEXT")
	require.Equal(t, "do what is said of default/after/outputs", client.CheckTexts([]client.Check{found}, "", nil)[0].Cure)
	_, err = home.Unretire(t.Context(), client.RedeployRequest{Pipeline: "orders", By: client.By{Why: "to see"}})
	require.NoError(t, err)

	version, err := home.stores.Log.Startable(t.Context(), landscape.DefaultEnvironment, "orders", 0)
	require.NoError(t, err)
	require.NoError(t, deposit.Payloads.Delete(t.Context(), payload.Digest(version.Bundle)))
	require.Equal(t, client.Doubtful, look(t.Context()).State)
	require.NoError(t, home.Close())
	require.NoError(t, os.RemoveAll(filepath.Join(string(o.State), "payloads")))
	require.Equal(t, client.Doubtful, look(t.Context()).State)
}

// TestTheCureOfTriggersIsOfWhatIsWrong: each trigger has its own, those that are named, and each cure once.
func TestTheCureOfTriggersIsOfWhatIsWrong(t *testing.T) {
	list := []client.Trigger{
		{ID: "default/a/t", Kind: client.FileTrigger, Paused: true, Actor: "ann", Why: "rubbish"},
		{ID: "default/b/t", Kind: client.FileTrigger, Error: "the folder is gone: make it"},
		{ID: "default/c/t", Kind: client.FileTrigger}, {ID: "default/d/t", Kind: client.FileTrigger},
	}
	told := func() string {
		return client.CheckTexts([]client.Check{triggersCheck(list, time.Now())}, "", nil)[0].Cure
	}
	require.Equal(t, "waymark triggers resume default/a/t; do what is said of default/b/t; start waymark serve, or a "+
		"worker that sees the same files, and look what it says", told())
	for range 3 {
		list = append(list, client.Trigger{ID: "default/e/t", Kind: client.FileTrigger, Paused: true})
	}
	require.Regexp(t, "says; waymark triggers resume default/e/t; see the others with waymark triggers$", told())
}

// TestADefectOfACheck: a check that panics is unhealthy, and says under which id the log has the cause. The others
// are made.
func TestADefectOfACheck(t *testing.T) {
	before := defect.Counts()["doctor"]
	disk := needed("disk space", client.CureOther, doctor{}.disk)
	check := doctor{Options: &Options{}, patience: patience}.at(t.Context(), disk)
	require.Equal(t, client.Check{
		Name: "disk space", State: client.Unhealthy, Detail: check.Detail, Cure: client.Report,
	}, check)
	require.Regexp(t, "a defect of this program in doctor.* under defect=[0-9a-f]{16}", check.Detail)
	require.Equal(t, before+1, defect.Counts()["doctor"])
}
