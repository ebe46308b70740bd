package workers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
	"waymark/tests/sample"
)

// What a worker says when it takes the lead, and when it finds that another one has.
const (
	leads = `msg="this process looks after schedules and triggers"`
	lost  = `msg="another process looks after schedules and triggers"`
)

// beats are the schedules of TestTheLeaderIsFrozen, of a pipeline each.
const beats = 5

// TestTheLeaderIsFrozen freezes the worker that leads for longer than its lease, lets another one take over, and lets
// the first one go on, and then the same the other way round: each slot of each schedule gets one run, which completes.
func TestTheLeaderIsFrozen(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	c := startCluster(t)
	c.build = buildReleased
	leader := c.worker("one")
	leader.await(leads)
	other := c.worker("two")
	c.deployBeats()
	for range 2 {
		c.slotsAreDone()
		said := len(other.said())
		leader.signal(syscall.SIGSTOP)
		await(t, "the leader stands still", leader.stopped)
		await(t, "the other one leads", func() bool { return strings.Contains(other.said()[said:], leads) })
		c.slotsAreDone()
		said = len(leader.said())
		leader.signal(syscall.SIGCONT)
		await(t, "it knows that it leads no more", func() bool { return strings.Contains(leader.said()[said:], lost) })
		leader, other = other, leader
	}
	c.slotsAreDone()
	c.requireEachSlotOnce(landscape.MicrosOf(time.Now()))
	leader.end()
	other.end()
}

// deployBeats deploys pipelines with a slot every two seconds, whose outputs have the names of the slots.
func (c *topology) deployBeats() {
	c.t.Helper()
	in := filepath.Join(c.folder, "in.csv")
	require.NoError(c.t, os.WriteFile(in, []byte("id\n1\n2\n"), 0o600))
	for i := range beats {
		name := fmt.Sprint("beats", i)
		document := fmt.Sprintf(`name: %[1]s
params: {slot: {type: string, default: "${slot:label}"}}
sources: {in: {csv: {path: %[2]q}, schema: {fields: {id: int}}}}
sinks: {out: {csv: {path: "%[3]s/out/%[1]s/${param:slot}.csv"}}}
schedules: {beat: {every: 2s}}
`, name, in, c.folder)
		request := client.DeployRequest{File: filepath.Join(c.folder, name+".yaml"), Source: []byte(document), Anyway: "a test"}
		_, err := c.home.Deploy(c.t.Context(), request)
		require.NoError(c.t, err)
	}
}

// slotsUntil returns the slots of a schedule that were due by a moment.
func (c *topology) slotsUntil(beat int, moment landscape.Micros) []landscape.Slot {
	c.t.Helper()
	slots, err := c.log.SlotsBetween(c.t.Context(), fmt.Sprintf("default/beats%d/beat", beat), 0, moment+1)
	require.NoError(c.t, err)
	return slots
}

// slotsAreDone waits until a slot of each schedule is done that was due after this moment.
func (c *topology) slotsAreDone() {
	c.t.Helper()
	now := landscape.MicrosOf(time.Now())
	for i := range beats {
		await(c.t, "a slot is done", func() bool {
			slots := c.slotsUntil(i, landscape.MicrosOf(time.Now()))
			for _, slot := range slots {
				if slot.Due > now && slot.State == landscape.SlotDone {
					return true
				}
			}
			return false
		})
	}
}

// requireEachSlotOnce requires that the slots which were due by a moment follow each other, and that each gets one run.
func (c *topology) requireEachSlotOnce(moment landscape.Micros) {
	c.t.Helper()
	for i := range beats {
		var slots []landscape.Slot
		await(c.t, "all slots are done", func() bool {
			slots = c.slotsUntil(i, moment)
			for _, slot := range slots {
				if slot.State != landscape.SlotDone {
					return false
				}
			}
			return true
		})
		require.Greater(c.t, len(slots), 20)
		for k, slot := range slots {
			if k > 0 {
				require.Equal(c.t, slots[k-1].To, slot.From)
			}
			require.EqualValues(c.t, 1, slot.Attempts, slot.Name)
			starts, err := c.home.StartsOf(c.t.Context(), slot.Run)
			require.NoError(c.t, err)
			require.Len(c.t, starts, 1, slot.Name)
			events, err := c.log.SlotEvents(c.t.Context(), slot.Schedule, slot.Name)
			require.NoError(c.t, err)
			for _, event := range events {
				require.Contains(c.t, []string{"", slot.Run}, event.Run, slot.Name)
			}
		}
		outputs, err := filepath.Glob(filepath.Join(c.folder, "out", fmt.Sprint("beats", i), "*.csv"))
		require.NoError(c.t, err)
		require.GreaterOrEqual(c.t, len(outputs), len(slots))
	}
}
