package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/serving"
	"waymark/workflows/slots"
)

// gridded is what `schedule grid --json` prints.
type gridded struct {
	Paused bool   `json:"paused"`
	Actor  string `json:"actor"`
	Why    string `json:"why"`
	Slots  []slot `json:"slots"`
}

type slot struct {
	Name     string              `json:"slot"`
	State    landscape.SlotState `json:"state"`
	Run      string              `json:"run"`
	Status   string              `json:"status"`
	Attempts int                 `json:"attempts"`
	Reason   string              `json:"reason"`
	Actor    string              `json:"actor"`
}

// scheduling is a server with schedules.
type scheduling struct{ *serving.Server }

func serveSchedules(t *testing.T, folder string) *scheduling {
	t.Helper()
	return &scheduling{serving.Start(t, folder)}
}

// scheduledPipeline writes a document with a schedule, whose output has the name of its slot, and deploys it.
func (s *scheduling) scheduledPipeline(t *testing.T, name, schedule string) {
	t.Helper()
	in := filepath.Join(s.Folder, name+"-in.csv")
	require.NoError(t, os.WriteFile(in, []byte("id\n1\n2\n"), 0o600))
	document := fmt.Sprintf(`
name: %[1]s
params: {slot: {type: string, default: "${slot:label}"}}
sources: {in: {csv: {path: %[2]q}, schema: {fields: {id: int}}}}
sinks: {out: {csv: {path: "%[3]s/out/%[1]s-out/${param:slot}.csv"}}}
schedules:
  %[4]s
`, name, in, s.Folder, schedule)
	file := filepath.Join(s.Folder, name+".yaml")
	require.NoError(t, os.WriteFile(file, []byte(document), 0o600))
	s.Waymark(t, "deploy", file, "--allow-path", s.Folder)
}

// TestASlotNeedsNoParameter: a schedule runs a pipeline in which nothing depends on the slot, such as one that replaces its output each time.
func TestASlotNeedsNoParameter(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := serveSchedules(t, t.TempDir())
	in, out := filepath.Join(s.Folder, "in.csv"), filepath.Join(s.Folder, "out", "out.csv")
	require.NoError(t, os.WriteFile(in, []byte("id\n1\n"), 0o600))
	document := fmt.Sprintf("name: same\nsources: {in: {csv: {path: %q}, schema: {fields: {id: int}}}}\nsinks: {out: {csv: {path: %q, overwrite: true}}}\nschedules: {beat: {every: 2s}}\n", in, out)
	file := filepath.Join(s.Folder, "same.yaml")
	require.NoError(t, os.WriteFile(file, []byte(document), 0o600))
	s.Waymark(t, "deploy", file, "--allow-path", s.Folder)
	ended := s.await(t, "beat", func(g gridded) bool { return g.in(landscape.SlotDone) >= 2 || g.in(landscape.SlotFailed) > 0 })
	require.Zero(t, ended.in(landscape.SlotFailed), "%+v", ended)
	require.FileExists(t, out)
	done := ended.Slots[slices.IndexFunc(ended.Slots, func(one slot) bool { return one.State == landscape.SlotDone })]
	require.Regexp(t, `(?m)^slot +`+done.Name+` of default/same/beat$`, s.Waymark(t, "status", done.Run))
	require.Regexp(t, `(?m)^`+done.Run+` .* `+done.Name+` of default/same/beat$`, s.Waymark(t, "runs", "--limit", "0"))
	require.Contains(t, s.Waymark(t, "status", done.Run, "--json"), `"slot":"`+done.Name+`","schedule":"default/same/beat"`)
}

// grid is what became of the slots of a schedule.
func (s *scheduling) grid(t *testing.T, schedule string, options ...string) gridded {
	t.Helper()
	return serving.Listed[gridded](t, s.Server, slices.Concat([]string{"schedule", "grid", schedule}, options)...)[0]
}

// await waits until a schedule is as it should be.
func (s *scheduling) await(t *testing.T, schedule string, is func(gridded) bool, options ...string) gridded {
	t.Helper()
	var last gridded
	flags := map[string]string{}
	for flag := range slices.Chunk(options, 2) {
		flags[flag[0]] = flag[1]
	}
	home := s.Home(t)
	require.Eventually(t, func() bool { // what grid asks, without a process for each question
		found, err := home.ScheduleGrid(t.Context(), schedule, flags["--from"], flags["--to"])
		if err != nil {
			return false // a version with this schedule was deployed, and no worker has seen it yet
		}
		printed, err := json.Marshal(found)
		require.NoError(t, err)
		last = gridded{}
		require.NoError(t, json.Unmarshal(printed, &last))
		return is(last)
	}, patience, 200*time.Millisecond, "%s: %+v", schedule, &last)
	return last
}

// in counts the slots in a state.
func (g gridded) in(state landscape.SlotState) (n int) {
	for _, slot := range g.Slots {
		if slot.State == state {
			n++
		}
	}
	return n
}

// complete counts the complete runs of each slot of a schedule, of all that are recorded.
func (s *scheduling) complete(t *testing.T, schedule string) map[string]int {
	t.Helper()
	type run struct {
		Run    string `json:"run"`
		Status string `json:"status"`
	}
	type start struct {
		Run      string `json:"run"`
		Schedule string `json:"schedule"`
		Slot     string `json:"slot"`
	}
	status, complete := map[string]string{}, map[string]int{}
	for _, r := range serving.Listed[run](t, s.Server, "runs", "--limit", "0") {
		status[r.Run] = r.Status
	}
	for _, a := range serving.Listed[start](t, s.Server, "starts", "--limit", "0") {
		if a.Schedule == schedule && status[a.Run] == "completed" {
			complete[a.Slot]++
		}
	}
	return complete
}

// kill ends the server as a power cut does, and serves again after a while.
func (s *scheduling) kill(t *testing.T, after time.Duration) *scheduling {
	t.Helper()
	require.NoError(t, s.Command.Process.Signal(syscall.SIGKILL))
	_ = s.Command.Wait()
	time.Sleep(after)
	return serveSchedules(t, s.Folder)
}

// A server that is killed again and again misses no slot, and begins none twice, whatever fires in Temporal and how often.
func TestSlotsOutliveTheServer(t *testing.T) {
	sample.Rarely(t)
	if testing.Short() {
		t.Skip("kills servers")
	}
	t.Parallel() // most of it is waiting
	s := serveSchedules(t, t.TempDir())
	s.scheduledPipeline(t, "often", "beat: {every: 2s}")
	begun := s.await(t, "beat", func(g gridded) bool { return g.in(landscape.SlotDone) >= 2 })
	first := begun.Slots[slices.IndexFunc(begun.Slots, func(one slot) bool { return one.State != "none" })].Name
	s = s.kill(t, 10*time.Second) // five slots become due while nobody serves
	time.Sleep(time.Second)
	s = s.kill(t, 0)
	inTemporal := s.Temporal(t).ScheduleClient().GetHandle(t.Context(), slots.TemporalID("default/often/beat"))
	for range 5 { // it fires although nothing is due
		require.NoError(t, inTemporal.Trigger(t.Context(), sdk.ScheduleTriggerOptions{}))
	}
	s.await(t, "beat", func(g gridded) bool { return g.in(landscape.SlotDue) <= 1 })
	s.Waymark(t, "schedule", "pause", "beat", "--why", "enough")
	last := s.await(t, "beat", func(g gridded) bool { return g.in(landscape.SlotRunning) == 0 }, "--from", first)
	require.Equal(t, "enough", last.Why)
	complete, done := s.complete(t, "default/often/beat"), 0
	for _, one := range last.Slots {
		if one.State == landscape.SlotMissed || one.State == landscape.SlotDue {
			continue // because of the pause
		}
		done++
		require.Equal(t, landscape.SlotDone, one.State, one.Name)
		require.Equal(t, 1, complete[one.Name], one.Name)
		require.FileExists(t, filepath.Join(s.Folder, "out", "often-out", one.Name+".csv"))
	}
	require.Len(t, complete, done)
	require.GreaterOrEqual(t, done, 8)
}

// What people do in Temporal to the schedule there counts, and is on record; but one that they delete is made again.
func TestSchedulesInTemporal(t *testing.T) {
	sample.Rarely(t)
	t.Parallel() // most of it is waiting
	s := serveSchedules(t, t.TempDir())
	s.scheduledPipeline(t, "often", "beat: {every: 2s}")
	s.await(t, "beat", func(g gridded) bool { return g.in(landscape.SlotDone) >= 1 })
	schedules := s.Temporal(t).ScheduleClient()
	inTemporal := schedules.GetHandle(t.Context(), slots.TemporalID("default/often/beat"))
	require.Eventually(t, func() bool {
		found, err := inTemporal.Describe(t.Context())
		return err == nil && len(found.Info.RecentActions) > 0 && len(found.Info.NextActionTimes) > 0
	}, patience, 200*time.Millisecond, "it fires, and tells when it will")

	require.NoError(t, inTemporal.Pause(t.Context(), sdk.SchedulePauseOptions{Note: "the source is away"}))
	paused := s.await(t, "beat", func(g gridded) bool { return g.Paused })
	require.Equal(t, []string{"temporal", "the source is away"}, []string{paused.Actor, paused.Why})
	s.await(t, "beat", func(g gridded) bool { return g.in(landscape.SlotMissed) > 0 })
	require.NoError(t, inTemporal.Unpause(t.Context(), sdk.ScheduleUnpauseOptions{Note: "it is back"}))
	s.await(t, "beat", func(g gridded) bool { return !g.Paused })

	s.Waymark(t, "schedule", "pause", "beat", "--why", "moved")
	require.Eventually(t, func() bool {
		found, err := inTemporal.Describe(t.Context())
		return err == nil && found.Schedule.State.Paused
	}, patience, 200*time.Millisecond, "Temporal shows what is on record")
	s.Waymark(t, "schedule", "resume", "beat", "--make-up", "last")
	require.Eventually(t, func() bool {
		found, err := inTemporal.Describe(t.Context())
		return err == nil && !found.Schedule.State.Paused
	}, patience, 200*time.Millisecond)
	require.NoError(t, inTemporal.Delete(t.Context()))
	require.Eventually(t, func() bool {
		_, err := inTemporal.Describe(t.Context())
		return err == nil
	}, patience, 200*time.Millisecond, "it is made again")

	file := filepath.Join(s.Folder, "often.yaml")
	document, err := os.ReadFile(file)
	require.NoError(t, err)
	without, _, _ := strings.Cut(string(document), "schedules:")
	require.NoError(t, os.WriteFile(file, []byte(without), 0o600))
	s.Waymark(t, "deploy", file, "--allow-path", s.Folder)
	require.Eventually(t, func() bool {
		_, err := inTemporal.Describe(t.Context())
		return err != nil
	}, patience, 200*time.Millisecond, "the version that is current has no schedule")
	require.Empty(t, serving.Listed[map[string]any](t, s.Server, "schedule", "list"))
}

// A backfill is what is recorded of it: it goes on after a kill -9, also if all that Temporal knew is lost, and what is done stays.
func TestBackfillOutlivesTheServer(t *testing.T) {
	sample.Rarely(t)
	if testing.Short() {
		t.Skip("kills servers")
	}
	t.Parallel() // most of it is waiting
	s := serveSchedules(t, t.TempDir())
	s.scheduledPipeline(t, "daily", `nightly: {every: day, at: "02:30", zone: Europe/Berlin}`)
	days := []string{"--from", "2026-10-01", "--to", "2026-10-14"}
	require.Eventually(t, func() bool { return len(serving.Listed[map[string]any](t, s.Server, "schedule", "list")) == 1 }, patience, 200*time.Millisecond)
	s.Waymark(t, "schedule", "backfill", "nightly", "2026-10-01..2026-10-14", "--at-once", "3", "--why", "month end")
	s.await(t, "nightly", func(g gridded) bool { return g.in(landscape.SlotDone) >= 5 }, days...)
	require.NoError(t, s.Command.Process.Signal(syscall.SIGKILL))
	_ = s.Command.Wait()
	known, err := filepath.Glob(filepath.Join(s.Folder, ".waymark", "temporal.db*"))
	require.NoError(t, err)
	for _, file := range known {
		require.NoError(t, os.Remove(file))
	}
	s = serveSchedules(t, s.Folder)
	last := s.await(t, "nightly", func(g gridded) bool { return g.in(landscape.SlotDone) == 14 }, days...)
	complete := s.complete(t, "default/daily/nightly")
	require.Len(t, complete, 14)
	for _, one := range last.Slots {
		require.Equal(t, 1, complete[one.Name], one.Name)
		require.NotEmpty(t, one.Actor)
		require.FileExists(t, filepath.Join(s.Folder, "out", "daily-out", one.Name+".csv"))
	}
	require.Contains(t, s.Waymark(t, "schedule", "backfill", "nightly", "2026-10-01..2026-10-14"), "nothing changed: 14 slots")
	require.Contains(t, s.Waymark(t, "schedule", "run", "nightly", "--for", "2026-10-13"), "2026-10-13 (done)")
}

// A run that a person begins for a slot is the slot's: the record says so, and a backfill leaves it as it is.
func TestARunByHandIsTheSlots(t *testing.T) {
	sample.Rarely(t)
	t.Parallel() // most of it is waiting
	s := serveSchedules(t, t.TempDir())
	s.scheduledPipeline(t, "yearly", "beat: {every: year}")
	s.Waymark(t, "run", "--pipeline", "yearly", "--for", "2020", "--run-id", "ours", "--quiet")
	both := []string{"--from", "2020", "--to", "2021"}
	s.Waymark(t, "schedule", "backfill", "beat", "2020..2021")
	ended := s.await(t, "beat", func(g gridded) bool { return g.in(landscape.SlotDone) == 2 }, both...)
	require.Equal(t, "ours", ended.Slots[0].Run)
	require.Equal(t, 1, ended.Slots[0].Attempts)
	require.NotEqual(t, "ours", ended.Slots[1].Run)
	require.Contains(t, s.Waymark(t, "schedule", "run", "beat", "--for", "2020"), "nothing changed")
}

// A run that fails before its slot is due has failed, whatever the schedule will do when the slot is due; another one may take its place.
func TestARunThatFailsBeforeItsSlotIsDue(t *testing.T) {
	sample.Rarely(t)
	t.Parallel() // most of it is waiting
	s := serveSchedules(t, t.TempDir())
	s.scheduledPipeline(t, "yearly", "beat: {every: year, covers: -1000y..-999y}")
	in := filepath.Join(s.Folder, "yearly-in.csv")
	require.NoError(t, os.Rename(in, in+".away"))
	_, err := s.Try(t.Context(), "run", "--pipeline", "yearly", "--for", "2020", "--run-id", "early", "--quiet")
	require.Error(t, err)
	one := []string{"--from", "2020", "--to", "2020"}
	seen := func(g gridded) bool { return strings.HasPrefix(g.Slots[0].Reason, "failed before the slot was due: ") }
	ended := s.await(t, "beat", seen, one...)
	require.Equal(t, landscape.SlotFailed, ended.Slots[0].State)
	require.Equal(t, "early", ended.Slots[0].Run)
	grid := s.Waymark(t, append([]string{"schedule", "grid", "beat"}, one...)...)
	require.Regexp(t, `(?m)^✗ 2020  run early: failed before the slot was due: .*: the schedule starts another run when the slot is due, at 3020-01-01 00:00 \+00:00$`, grid)
	require.NoError(t, os.Rename(in+".away", in))
	s.Waymark(t, "run", "--pipeline", "yearly", "--for", "2020", "--run-id", "better", "--quiet")
	require.Equal(t, landscape.SlotDone, s.grid(t, "beat", one...).Slots[0].State)
}

// Another run of a slot that is done, as no worker has seen yet, changes nothing if it fails before it begins; the grid says that it did.
func TestAnotherRunThatFailsLeavesItsSlotDone(t *testing.T) {
	sample.Rarely(t)
	t.Parallel() // most of it is waiting
	s := serveSchedules(t, t.TempDir())
	s.scheduledPipeline(t, "yearly", "beat: {every: year}")
	require.NoError(t, s.Command.Process.Signal(syscall.SIGKILL))
	_ = s.Command.Wait()
	s.Waymark(t, "run", "--pipeline", "yearly", "--allow-path", s.Folder, "--for", "2020", "--run-id", "ours", "--quiet")
	s.Waymark(t, "schedule", "run", "beat", "--for", "2020", "--again")
	require.NoError(t, os.Remove(filepath.Join(s.Folder, "yearly-in.csv")))
	s = serveSchedules(t, s.Folder)
	one := []string{"--from", "2020", "--to", "2020"}
	ended := s.await(t, "beat", func(g gridded) bool { return g.Slots[0].Reason != "" && g.Slots[0].State != landscape.SlotDue }, one...)
	require.Equal(t, landscape.SlotDone, ended.Slots[0].State)
	require.Equal(t, "ours", ended.Slots[0].Run)
	require.Regexp(t, `(?m)^✓ 2020  done: another run, [0-9a-f-]+, failed: .*NOT_FOUND: no such file`, s.Waymark(t, append([]string{"schedule", "grid", "beat"}, one...)...))
}

// A schedule that a command makes begins runs as one of a document does, also after a version without it; deleted, it begins none.
func TestSchedulesByCommand(t *testing.T) {
	t.Parallel() // most of it is waiting
	s := serveSchedules(t, t.TempDir())
	s.scheduledPipeline(t, "often", "yearly: {every: year}")
	s.Waymark(t, "schedule", "create", "beat", "--pipeline", "often", "--every", "2s", "--why", "by hand")
	s.await(t, "beat", func(g gridded) bool { return g.in(landscape.SlotDone) >= 2 })
	s.scheduledPipeline(t, "often", "monthly: {every: month}")
	before := s.grid(t, "beat")
	s.await(t, "beat", func(g gridded) bool {
		return g.Slots[len(g.Slots)-1].Name > before.Slots[len(before.Slots)-1].Name && g.in(landscape.SlotDone) >= before.in(landscape.SlotDone)+2
	})
	s.Waymark(t, "schedule", "backfill", "beat", "2020-01-01T00:00:00Z..2020-01-01T00:02:00Z", "--why", "all of it")
	minutes := []string{"--from", "2020-01-01T00:00:00Z", "--to", "2020-01-01T00:02:00Z"}
	s.await(t, "beat", func(g gridded) bool { return g.in(landscape.SlotDone) > 0 }, minutes...)
	s.Waymark(t, "schedule", "delete", "beat", "--why", "no more of it")
	last := s.await(t, "beat", func(g gridded) bool {
		return g.in(landscape.SlotRunning)+g.in(landscape.SlotDue) == 0
	}, minutes...)
	require.Positive(t, last.in(landscape.SlotSkipped), "they waited")
	require.Positive(t, last.in(landscape.SlotDone), "they are on record")
	complete := s.complete(t, "default/often/beat")
	for slot, runs := range complete {
		require.Equal(t, 1, runs, slot)
	}
	inTemporal := s.Temporal(t).ScheduleClient().GetHandle(t.Context(), slots.TemporalID("default/often/beat"))
	require.Eventually(t, func() bool {
		_, err := inTemporal.Describe(t.Context())
		return err != nil
	}, patience, 200*time.Millisecond, "it does not fire any more")
}

// A backfill of slots of values goes on after a kill -9: each slot has one complete run, with outputs and a latest one of its value.
func TestBackfillOfValuesOutlivesTheServer(t *testing.T) {
	sample.Rarely(t)
	if testing.Short() {
		t.Skip("kills servers")
	}
	t.Parallel() // most of it is waiting
	s := serveSchedules(t, t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "in.csv"), []byte("id\n1\n2\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "tenants.csv"), []byte("tenant\nacme\n\"big, bad\"\numbrella\n"), 0o600))
	file := filepath.Join(s.Folder, "tenants.yaml")
	document := fmt.Sprintf(`
name: tenants
params: {day: {type: date, default: "${slot:date}"}, tenant: {type: string, default: "${slot:tenant}"}}
sources: {in: {csv: {path: "%[1]s/in.csv"}, schema: {fields: {id: int}}}}
sinks: {out: {csv: {path: "%[1]s/out/${param:tenant}/${param:day}.csv",
  latest: "%[1]s/out/latest/${param:tenant}.csv"}}}
schedules:
  nightly: {every: day, for_each: {tenant: {file: tenants.csv, field: tenant}}}
  listed: {covers: nothing, for_each: {tenant: [x, y]}, params: {day: 2000-01-01}}
`, s.Folder)
	require.NoError(t, os.WriteFile(file, []byte(document), 0o600))
	s.Waymark(t, "deploy", file, "--allow-path", s.Folder)
	days := []string{"--from", "2026-10-01", "--to", "2026-10-05"}
	s.Waymark(t, "schedule", "backfill", "nightly", "2026-10-01..2026-10-05", "--at-once", "3", "--why", "new tenants")
	s.await(t, "nightly", func(g gridded) bool { return g.in(landscape.SlotDone) >= 5 }, days...)
	s = s.kill(t, 0)
	s.Waymark(t, "schedule", "backfill", "listed")
	last := s.await(t, "nightly", func(g gridded) bool { return g.in(landscape.SlotDone) == 15 }, days...)
	complete := s.complete(t, "default/tenants/nightly")
	require.Len(t, complete, 15)
	for _, one := range last.Slots {
		require.Equal(t, 1, complete[one.Name], one.Name)
	}
	for _, tenant := range []string{"acme", "big, bad", "umbrella"} {
		for day := range 5 {
			require.FileExists(t, filepath.Join(s.Folder, "out", tenant, fmt.Sprintf("2026-10-%02d.csv", day+1)))
		}
		target, err := os.Readlink(filepath.Join(s.Folder, "out", "latest", tenant+".csv"))
		require.NoError(t, err)
		require.Equal(t, "2026-10-05.csv", filepath.Base(target))
	}
	s.await(t, "listed", func(g gridded) bool { return g.in(landscape.SlotDone) == 2 })
	require.Equal(t, map[string]int{"tenant=x": 1, "tenant=y": 1}, s.complete(t, "default/tenants/listed"))
	outputs, err := s.Try(t.Context(), "outputs", filepath.Join(s.Folder, "out", "big, bad", "2026-10-03.csv"))
	require.NoError(t, err, outputs)
	require.Contains(t, outputs, "2026-10-03/tenant=big%2C%20bad")
}
