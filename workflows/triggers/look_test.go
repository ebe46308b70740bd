package triggers

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// TestArrived tries what becomes of a file that is there, by what is recorded of it and for how long it has not changed.
func TestArrived(t *testing.T) {
	file := plugin.FileInfo{Path: "in/a.csv", Bytes: 7, Version: "inode:1"}
	longer := file
	longer.Bytes = 8
	known := func(state landscape.ArrivalState, file plugin.FileInfo) *landscape.Arrival {
		a := landscape.NewArrival("t", 3, file)
		a.State = state
		return &a
	}
	for name, c := range map[string]struct {
		known   *landscape.Arrival // nil: nothing is recorded
		unready time.Duration      // for how long it has been seen as it is; 0 for not yet
		quiet   time.Duration
		changed string

		want     landscape.ArrivalState // empty: nothing is to be recorded
		revision int64
		waits    bool
	}{
		"new, in a bucket":           {want: landscape.ArrivalReady},
		"new, in a folder":           {quiet: time.Minute, waits: true},
		"it may still be written":    {quiet: time.Minute, unready: time.Second, waits: true},
		"it is quiet":                {quiet: time.Minute, unready: time.Hour, want: landscape.ArrivalReady},
		"it waits":                   {known: known(landscape.ArrivalReady, file)},
		"it was read":                {known: known(landscape.ArrivalDone, file)},
		"it is back":                 {known: known(landscape.ArrivalGone, file), want: landscape.ArrivalReady, revision: 4},
		"changed, read":              {known: known(landscape.ArrivalDone, longer), changed: "again", want: landscape.ArrivalReady, revision: 4},
		"changed, ignored":           {known: known(landscape.ArrivalDone, longer), changed: "ignore", want: landscape.ArrivalIgnored, revision: 4},
		"changed, being read":        {known: known(landscape.ArrivalTaken, longer), changed: "ignore", want: landscape.ArrivalIgnored, revision: 4},
		"changed before it was read": {known: known(landscape.ArrivalReady, longer), changed: "ignore", want: landscape.ArrivalReady, revision: 4},
		"changed, may still be":      {known: known(landscape.ArrivalDone, longer), quiet: time.Minute, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &watched{
				row: landscape.Trigger{ID: "t"}, declared: pipeline.ArrivalTrigger{Changed: c.changed},
				found: found{known: map[string]landscape.Arrival{}, unready: map[string]unready{}},
			}
			if c.known != nil {
				w.found.known[file.Path] = *c.known
			}
			if c.unready > 0 {
				w.found.unready[file.Path] = unready{file, time.Now().Add(-c.unready)}
			}
			change, is := w.arrived(file, c.quiet)
			require.Equal(t, c.want != "", is)
			require.Equal(t, c.waits, len(w.found.unready) == 1)
			if is {
				require.Nil(t, change.From)
				require.Equal(t, []any{c.want, c.revision}, []any{change.To.State, change.To.Revision})
			}
		})
	}
}

// noSecrets is a planner that has none, and says so as one of a server does.
type noSecrets struct{ recompute.Planner }

func (noSecrets) Bound(pipeline, name string) (string, error) {
	if name == "SHORT" {
		return "x", nil
	}
	return "", errors.New("secret " + name + ": " + missingSecret)
}

const missingSecret = "pipeline billing has none of this name: put it into the file billing/HOOK of the server's " +
	"--secrets-dir, or share one in the server's settings, under secrets: HOOK: {pipelines: [billing]}"

// TestWhatIsRecordedOfAnErrorHasItsCure: whole, and once; one that is too long ends with a word.
func TestWhatIsRecordedOfAnErrorHasItsCure(t *testing.T) {
	w := &watched{row: landscape.Trigger{ID: "t", Pipeline: "billing"}, Watcher: &Watcher{Alone: true, Planner: noSecrets{}}}
	w.declared.HTTP = &pipeline.HTTPTrigger{Verify: "standard", Secret: "${secret:HOOK}", Previous: "${secret:SHORT}"}
	require.Equal(t, "deliveries cannot be verified: secret HOOK: "+missingSecret+"; secret SHORT: a secret of "+
		"Standard Webhooks is whsec_ and base64 of 24 to 64 bytes", w.unverifiable())
	require.Equal(t, "a b", sentence("a \xffb"))
	long := sentence(strings.Repeat("größer ", 1000))
	require.Equal(t, strings.TrimSuffix(strings.Repeat("größer ", len(long)/len("größer ")), " ")+" …", long)
	require.Greater(t, len(long), mostSaid-20)
}
