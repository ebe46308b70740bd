package crash

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// Whatever a server was about to do for a slot when it was killed: the slot gets one complete run.
func TestServeIsKilledAtMomentsOfASlot(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []string{
		"slot.due", "slot.taken", "slot.started", "landscape.slots.committing", "landscape.slots.committed", "landscape.slot_events.committing", "landscape.slot_events.committed", "landscape.schedules.committed", "activity.OpenRun.begin",
		"landscape.starts.committed", "landscape.runs.committed", "activity.OpenRun.end", "activity.SmallRun.end", "activity.FinishRun.end",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			scheduleRings(t, binary, moment)
		})
	}
}

// scheduleRings serves a schedule, until three slots that became due are done; but kills the server at the moment, if one is given, and serves again.
// It returns the log of moments.
func scheduleRings(t *testing.T, binary, moment string) []byte {
	t.Helper()
	p := in(t, binary, "plain.yaml", "orders.csv")
	text := "name: beats\nparams: {slot: {type: string, default: \"${slot:label}\"}}\n" +
		"sources: {orders: {csv: {path: " + filepath.Join(p.folder, "orders.csv") + "}, schema: {fields: {id: int, customer: string, country: \"string?\", total: decimal, placed: date}}}}\n" +
		"sinks: {out: {csv: {path: \"" + p.folder + "/out/beats/${param:slot}.csv\"}}}\n" +
		"schedules: {beat: {every: 2s}}\n"
	p.write(t, "beats.yaml", text)
	serving := p.serveAgain(t, moment, "landscape.schedules.committed")
	db := open(t, p.folder)
	require.Eventually(t, func() bool {
		var slots int
		err := db.QueryRow("select count(distinct s.slot) from starts s join runs r using (run_id) where r.status like 'completed%'").Scan(&slots)
		return err == nil && slots >= 3
	}, patience, 100*time.Millisecond)
	complete := p.done(t)
	require.GreaterOrEqual(t, len(complete), 3)
	for slot, runs := range complete {
		require.Equal(t, 1, runs, slot)
	}
	moments := p.drain(t, serving)
	for _, slot := range p.slots(t) {
		require.Contains(t, []string{"done", "running", "due"}, slot.State, slot.Name)
	}
	return moments
}

// serveAgain serves beats.yaml. If a moment is given, it kills the server there first, or at ofDeploy the process that deploys and then the server, and serves again.
func (p *program) serveAgain(t *testing.T, moment, ofDeploy string) *exec.Cmd {
	t.Helper()
	if moment != "" {
		killed := p.serve(t, moment+"=kill")
		if moment != ofDeploy {
			p.deploy(t, "")
		} else {
			p.deploy(t, moment+"=kill")
			require.NoError(t, killed.Process.Kill())
		}
		died(t, killed, moment)
	}
	serving := p.serve(t, "")
	p.deploy(t, "")
	return serving
}

// deploy deploys the document, from a process that may be killed meanwhile.
func (p *program) deploy(t *testing.T, plan string) {
	t.Helper()
	code := 0
	if plan != "" {
		code = -1
	}
	p.at(plan).run(t, code, "deploy", "beats.yaml", "--allow-path", p.folder)
}

// slot is one of the schedule that has a place in the record.
type slot struct {
	Name  string `json:"slot"`
	State string `json:"state"`
	Run   string `json:"run"`
}

// slots lists those that became due.
func (p *program) slots(t *testing.T) []slot {
	t.Helper()
	var grid struct {
		Slots []slot `json:"slots"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.at("").run(t, 0, "schedule", "grid", "beat", "--json")), &grid))
	return slices.DeleteFunc(grid.Slots, func(s slot) bool { return s.State == "none" })
}

// done counts the complete runs of each slot that is done; one that is done has a run.
func (p *program) done(t *testing.T) map[string]int {
	t.Helper()
	done := map[string]int{}
	for _, slot := range p.slots(t) {
		if slot.State == "done" {
			done[slot.Name] = 0
		}
	}
	status := map[string]string{}
	for line := range strings.Lines(p.at("").run(t, 0, "runs", "--limit", "0", "--json")) {
		var run struct {
			Run    string `json:"run"`
			Status string `json:"status"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &run))
		status[run.Run] = run.Status
	}
	for line := range strings.Lines(p.at("").run(t, 0, "starts", "--limit", "0", "--json")) {
		var start struct {
			Run  string `json:"run"`
			Slot string `json:"slot"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &start))
		if _, is := done[start.Slot]; is && (status[start.Run] == "completed" || status[start.Run] == "completed_with_failures") {
			done[start.Slot]++
		}
	}
	return done
}
