package graphs_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/graphs"
	"waymark/tests/inprocess"
	"waymark/tests/storages"
	"waymark/workflows"
)

var deaths = flag.Uint64("deaths", 2, "how many seeds TestRunsDieAndGoOn tries; make nightly tries 14")

// TestRunsDieAndGoOn lets the processes of random documents die at random moments, in the run and in what resumes it, and
// continues with them to their end. What is recorded then, read back by SQL, is what the interpreter says, and what an
// undisturbed run leaves: `go test ./tests/graphs -run TestRunsDieAndGoOn -storage NAME -seed N -deaths 1` repeats one.
func TestRunsDieAndGoOn(t *testing.T) {
	var died atomic.Int64
	onEach(t, *deaths, []string{storages.PostgresS3}, func(t *testing.T, r *record, seed uint64) { died.Add(r.checkDeaths(t, seed)) })
	t.Logf("%d processes died", died.Load())
	require.Positive(t, died.Load())
}

// checkDeaths runs the document of a seed undisturbed, and once more with deaths, and compares. It returns how many
// processes died.
func (r *record) checkDeaths(t *testing.T, seed uint64) int64 {
	t.Helper()
	doc, files := random(t, seed)
	return r.checkDeathsOf(t, fmt.Sprintf("seed-%d", seed), seed, doc, files)
}

// checkDeathsOf does so for a document.
func (r *record) checkDeathsOf(t *testing.T, name string, seed uint64, doc *pipeline.Document, files map[string]string) int64 {
	t.Helper()
	m := mortal{record: r, t: t, doc: doc, rng: rand.New(rand.NewPCG(seed, 0xdead))}
	m.Split = 0
	m.begin(name, files)
	m.Split = int64(seed % 2) // every second run that dies is split, and leaves what one leaves that is not
	for range 2 + m.rng.IntN(2) {
		m.die()
	}
	m.end()
	m.compare(interpret(t, doc, files))
	return m.deaths
}

// mortal is a run whose processes die.
type mortal struct {
	*record
	t      *testing.T
	doc    *pipeline.Document
	rng    *rand.Rand
	folder string
	inputs map[string]bool // files
	files  map[string]string
	run    string
	deeds  int64               // of an undisturbed run
	work   map[string][]string // what it leaves on record
	output map[string]string   // and as files
	result workflows.RunResult // what it says itself
	deaths int64
	died   []string // where, for people
}

// begin runs the document undisturbed in a folder with these files.
func (m *mortal) begin(name string, files map[string]string) {
	m.t.Helper()
	m.folder, m.run = filepath.Join(m.Folder, "files"), "undisturbed-"+name
	require.NoError(m.t, os.Mkdir(m.folder, 0o700))
	m.inputs, m.files = map[string]bool{}, files
	for file, content := range files {
		m.inputs[file] = true
		require.NoError(m.t, os.WriteFile(filepath.Join(m.folder, file), []byte(content), 0o600))
	}
	life := inprocess.Lives()
	m.Fate = life.Fate
	require.NoError(m.t, m.start())
	m.deeds, m.work, m.output = life.Deeds(), m.Work(m.t, m.run), m.outputs()
	for sink := range m.output {
		require.NoError(m.t, os.Remove(filepath.Join(m.folder, sink)))
	}
	m.run, m.result = name, m.Result
	m.EmptyPayloads()
}

func (m *mortal) start() error {
	return m.Start(m.t, string(m.doc.Source), activities.OpenInput{Run: m.run, File: "pipeline.yaml", Folder: m.folder}, m.shorten())
}

// shorten lets the history of one workflow of three be long enough after a few activities, so that another execution continues.
func (m *mortal) shorten() func(*testsuite.TestWorkflowEnvironment) {
	if m.rng.IntN(3) > 0 {
		return nil
	}
	enough := 3 + m.rng.IntN(20)
	return func(env *testsuite.TestWorkflowEnvironment) {
		done := 0
		env.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) {
			if done++; done == enough {
				env.SetContinueAsNewSuggested(true)
			}
		})
	}
}

// goOn begins the run, or resumes it.
func (m *mortal) goOn() error {
	if _, err := m.Log.Run(m.t.Context(), m.run); errors.Is(err, landscape.ErrNotFound) {
		return m.start()
	}
	return m.Resume(m.t, m.run, m.shorten())
}

// die lets a process work on the run until it dies at some moment, unless it is done before.
func (m *mortal) die() {
	m.t.Helper()
	m.dieAt(m.rng.Int64N(1+m.deeds>>m.deaths), m.rng.IntN(2) == 0)
}

func (m *mortal) dieAt(deed int64, done bool) {
	m.t.Helper()
	if on, err := m.Log.Run(m.t.Context(), m.run); err == nil && on.Status != pipeline.Running {
		return // the death before was in time to let the run end
	}
	death := inprocess.DiesAt(deed, done)
	m.Fate = death.Fate
	err := m.goOn()
	if !death.Died() {
		require.NoError(m.t, err, "%s\n%s", m.story(), m.doc.Source)
		return
	}
	m.deaths++
	m.died = append(m.died, fmt.Sprintf("at deed %d, done: %t", deed, done))
}

func (m *mortal) story() string {
	return fmt.Sprintf("%s, of %d deeds, died %q", m.run, m.deeds, m.died)
}

// end brings the run to its end.
func (m *mortal) end() {
	m.t.Helper()
	m.Fate = nil
	on, err := m.Log.Run(m.t.Context(), m.run)
	if err != nil || on.Status == pipeline.Running {
		require.NoError(m.t, m.goOn(), "%s\n%s", m.story(), m.doc.Source)
		m.result.Run = m.run
		require.Equal(m.t, m.result, m.Result, "%s\n%s", m.story(), m.doc.Source)
	}
}

// compare holds what the run left against what the interpreter says and what the undisturbed run left.
func (m *mortal) compare(want *graphs.Result) {
	m.t.Helper()
	findings, err := m.Log.Sweep(m.t.Context(), m.run, true)
	require.NoError(m.t, err)
	require.Empty(m.t, findings, "%s\n%s", m.story(), m.doc.Source)
	got := sections(m.read(m.t, m.run, m.folder, want))
	for name, text := range sections(want) {
		require.Equal(m.t, text, got[name], "%s, %s\n%s", m.story(), name, m.doc.Source)
	}
	require.Equal(m.t, m.output, m.outputs(), "%s\n%s", m.story(), m.doc.Source)
	work := m.Work(m.t, m.run)
	for _, table := range slices.Sorted(maps.Keys(work)) {
		require.Equal(m.t, m.work[table], work[table], "%s, %s\n%s", m.story(), table, m.doc.Source)
	}
	m.requireTotals(m.t, m.run, m.doc, m.files, want)
	require.NoError(m.t, os.RemoveAll(m.folder))
}

// outputs returns all that sinks left in the folder, also under names that are hidden.
func (m *mortal) outputs() map[string]string {
	m.t.Helper()
	entries, err := os.ReadDir(m.folder)
	require.NoError(m.t, err)
	outputs := map[string]string{}
	for _, entry := range entries {
		if !m.inputs[entry.Name()] {
			content, err := os.ReadFile(filepath.Join(m.folder, entry.Name()))
			require.NoError(m.t, err)
			outputs[entry.Name()] = string(content)
		}
	}
	return outputs
}
