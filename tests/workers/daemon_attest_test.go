package workers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/plugin"
	"waymark/tests/sample"
	"waymark/worker/daemon"
	"waymark/workflows"
)

// TestOneProcessAttests lets three processes with keys share a landscape, of which one sees other files: each turn one attests, and another one after that is gone.
func TestOneProcessAttests(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := newSite(t)
	s.write(t, "pipelines/orders.yaml", "attest: {every: 2s, for: 1h}\n"+strings.TrimPrefix(siteOrders, "\n"))
	start := func(files string) *daemonProcess {
		c := s.config(s.address(t))
		c.Files, c.Keys, c.MakeKeys, c.LogAnchors = files, filepath.Join(s.folder, "keys"), true, []string{filepath.Join(s.folder, "anchor")}
		p := begin(t, c, daemon.Program{}, nil)
		p.said(t, "working")
		return p
	}
	first := start("site")
	var result workflows.RunResult
	require.NoError(t, s.run(t, s.client, "r1", map[string]any{}).Get(t.Context(), &result))
	require.Equal(t, "equal", first.said(t, "attested")["result"])
	elsewhere, second := start("elsewhere"), start("site")
	first.said(t, "attested")
	require.NoError(t, os.Truncate(filepath.Join(s.folder, "pipelines/out/all.jsonl"), 3))
	for turns := 0; turns < 6; {
		if first.said(t, "attested")["result"] == string(plugin.Changed) {
			turns++
		}
	}
	first.end(t)
	require.NotContains(t, second.text(), `"msg":"attested"`, "the other one has the turn")
	require.Equal(t, string(plugin.Changed), second.said(t, "attested")["result"])
	require.NotContains(t, elsewhere.text(), `"msg":"attested"`, "it does not see the output: to it that is missing")
	second.end(t)

	store, err := sqlitestore.Open(t.Context(), filepath.Join(s.folder, "landscape.db"), sqlitestore.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	log := landscape.New(store, nil)
	all, err := log.Attestations(t.Context(), "r1")
	require.NoError(t, err)
	last := landscape.Micros(0)
	for _, a := range all {
		require.Equal(t, activities.Waymark, a.Actor)
		require.GreaterOrEqual(t, a.At-last, landscape.Micros(2*time.Second/time.Microsecond), "attestation %d comes too early", a.Seq)
		last = a.At
	}
	_, err = log.Sequence(t.Context())
	require.NoError(t, err)
	events, err := log.Outbox(t.Context(), 0, 0)
	require.NoError(t, err)
	var changes []landscape.Event
	for _, e := range events {
		if e.Kind == landscape.OutputChanged {
			changes = append(changes, e)
		}
	}
	require.Len(t, changes, 1, "others are told once of a change")
	var body struct {
		Data struct {
			Run    string
			Output struct{ Sink, Result string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(changes[0].Body), &body))
	require.Equal(t, []string{"r1", "all", "changed"}, []string{body.Data.Run, body.Data.Output.Sink, body.Data.Output.Result})
}
