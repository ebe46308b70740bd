package evidence_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/plugin"
)

var quoted = regexp.MustCompile("`([a-z_0-9-]+)`")

// documented returns the members of entries by type, as docs/log.md has them.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/log.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| `type` | other members | says |\n")
	require.True(t, found)
	members := map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " |")
		if !strings.HasPrefix(line, "|") {
			break
		}
		kind := quoted.FindStringSubmatch(cells[0])
		for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
			members[kind[1]] = append(members[kind[1]], name[1])
		}
	}
	return members
}

// TestThePageHasTheMembersOfEntries compares docs/log.md with a log that has entries of all types that say more than that they were made.
func TestThePageHasTheMembersOfEntries(t *testing.T) {
	want := documented(t)
	p := newPlace(t)
	store, err := sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{Create: true})
	require.NoError(t, err)
	beginRuns(t, landscape.New(store, nil), "older")
	require.NoError(t, store.Close())
	p.ends("r1")
	copyFile(t, p.path, p.path+".backup")
	p.runs("r2")
	copyFile(t, p.path+".backup", p.path)
	p.restore("the disk failed")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.NoError(t, e.Log.Resume(t.Context(), landscape.Resumption{Run: "r1", Epoch: 1, Claim: "c"}))
		require.NoError(t, e.Log.StopRun(t.Context(), "r1", pipeline.Failed, "broken"))
	}))
	p.attack(`delete from run_seals where seq = 1`)
	p.now = p.now.Add(1e9)
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		_, added, err := e.Log.SealRun(t.Context(), "r1")
		require.NoError(t, err)
		require.True(t, added)
		scene := landscapetest.Scene{Run: "r4", Chunks: 1, ChunkRows: 20}
		require.NoError(t, scene.Play(t.Context(), e.Log))
		require.NoError(t, landscapetest.Forgotten(t.Context(), e.Log, "r4"))
		for range 2 { // the number of the first is 0
			_, err = landscapetest.Attest(t.Context(), e.Log, "r4", plugin.Changed)
			require.NoError(t, err)
		}
		for _, role := range []string{"reviewer", "owner"} {
			_, err = e.Log.RecordSignOff(t.Context(), landscape.SignOff{Run: "r1", Seal: 1, Person: "ann", Role: role, Statement: "{}", Signature: "s", Approver: "k", At: 1})
			require.NoError(t, err)
		}
		require.NoError(t, landscapetest.Scene{Run: "r5", Chunks: 1, ChunkRows: 20}.Play(t.Context(), e.Log))
		require.NoError(t, landscapetest.Archived(t.Context(), e.Log, "r5"))
		require.NoError(t, landscapetest.Ordered(t.Context(), e.Log, "r4"))
		order := landscapetest.OrderOf("r4", "a second one", landscape.OrderWaive)
		require.NoError(t, e.Log.Propose(t.Context(), order))
		for _, person := range []string{"bob", "cid"} {
			require.NoError(t, e.Log.Saw(t.Context(), person, "k"))
			_, err = e.Log.Assent(t.Context(), landscapetest.AssentTo(order, landscape.Approves, person))
			require.NoError(t, err)
		}
		size, err := e.Log.LogSize(t.Context())
		require.NoError(t, err)
		require.NoError(t, e.Log.RecordHead(t.Context(), garbage(size), nil))
		require.NoError(t, e.Notary.Pass(t.Context()))
		sealer, err := keys.Load(p.keys, keys.Sealer)
		require.NoError(t, err)
		_, err = e.Notary.Revoke(t.Context(), sealer.VKey, "it was copied")
		require.NoError(t, err)
		p.begin(e, "r3") // which the notary refuses
		require.NoError(t, e.Notary.Pass(t.Context()))
	}))

	p.quantum()
	p.now = p.rotate().Until
	require.NoError(t, p.open(func(e *evidence.Evidence) { require.NoError(t, e.Notary.Pass(t.Context())) })) // the old key is retired
	found := map[string]map[string]bool{}
	store, err = sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	entries, err := landscape.NewReader(store).LogEntries(t.Context(), 0, 100)
	require.NoError(t, err)
	for _, e := range entries {
		text, _, _ := strings.Cut(e.Entry, "\n")
		var said map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &said))
		kind := said["type"].(string)
		if found[kind] == nil {
			found[kind] = map[string]bool{}
		}
		for name := range said {
			if !slices.Contains([]string{"at", "n", "type", "v"}, name) {
				found[kind][name] = true
			}
		}
	}
	all := map[string][]string{}
	for kind, names := range found {
		all[kind] = slices.Sorted(maps.Keys(names))
	}
	require.Equal(t, want, all)
}
