package slots

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"waymark/landscape"
	"waymark/pipeline/calendar"
)

// outcome is what is known of the run of a slot.
type outcome struct {
	state   outcomeState
	reason  string // why it failed, or is not wanted, or for what it waits
	curable bool   // it failed, and another attempt may not
	over    bool   // it is recorded, and cannot be resumed
	tries   int64  // how many starts and resumptions of it are recorded
}

type outcomeState int

const (
	unknown outcomeState = iota // nobody has begun it: it is lost, or was never begun
	open                        // somebody works for it, or is about to
	done
	failed
	unwanted // its start was skipped, or another one took its place: concurrency of the document
)

// ledger is what a schedule decides about.
type ledger struct {
	slots    []landscape.Slot                 // due, running, and failed lately, by when they are due
	outcomes map[string]outcome               // by run
	requests map[string]landscape.SlotRequest // by id
	before   map[string]landscape.Slot        // the slot before one, by that one's name, of a schedule that minds
	done     map[string]string                // the complete run that a slot had before its last one failed, by name
	pause    *landscape.Schedule              // the row that pauses the schedule now; nil if it is not paused
}

// after returns the ledger once changes are recorded. It is plain what follows from them if nothing else need be read:
// runs began of which nothing is known before, and slots are done.
func (l ledger) after(changes []landscape.SlotChange) (then ledger, plain bool) {
	then, plain = l, true
	then.slots = slices.Clone(l.slots)
	for _, change := range changes {
		i := slices.IndexFunc(then.slots, func(slot landscape.Slot) bool { return slot.Name == change.To.Name })
		then.slots[i] = change.To
		then.slots[i].Changes = change.From.Changes + 1
		begins := change.To.State == landscape.SlotRunning && change.To.Run != change.From.Run
		plain = plain && (begins || change.To.State == landscape.SlotDone)
	}
	over := func(slot landscape.Slot) bool {
		return slot.State == landscape.SlotDone || slot.State == landscape.SlotSkipped
	}
	then.slots = slices.DeleteFunc(then.slots, over)
	return then, plain
}

// decision is what is to be done.
type decision struct {
	changes []landscape.SlotChange
	cancel  map[string]string // the runs that are to be cancelled, and why
}

func (d *decision) change(from landscape.Slot, event string, become func(to *landscape.Slot)) {
	to := from
	become(&to)
	d.changes = append(d.changes, landscape.SlotChange{From: &from, To: to, Event: event})
}

// decide says what is to become of the slots now, each in one step. newRun returns an id for a run.
func (s *Schedule) decide(l ledger, now time.Time, newRun func() string) decision {
	d := decision{cancel: map[string]string{}}
	turn := admission{Schedule: s, ledger: l, now: landscape.MicrosOf(now), newRun: newRun, running: map[string][]landscape.Slot{}, decision: &d}
	var waiting []landscape.Slot
	for _, slot := range l.slots {
		o := l.outcomes[slot.Run]
		changed := s.observe(&d, l, slot, turn.now)
		switch {
		case slot.State == landscape.SlotRunning && (o.state == unknown || o.state == open):
			turn.running[slot.Request] = append(turn.running[slot.Request], slot)
		case slot.State == landscape.SlotDue && slot.Ready <= turn.now && !changed:
			waiting = append(waiting, slot)
		}
	}
	slices.SortStableFunc(waiting, func(a, b landscape.Slot) int {
		if s.spec.CatchUp.Order == "newest" {
			a, b = b, a
		}
		return cmp.Compare(a.Due, b.Due)
	})
	for _, slot := range waiting {
		turn.admit(slot)
	}
	return d
}

// observe records what has become of a slot, and reports whether anything has.
func (s *Schedule) observe(d *decision, l ledger, slot landscape.Slot, now landscape.Micros) bool {
	o := l.outcomes[slot.Run]
	begun := slot.State == landscape.SlotRunning || slot.State == landscape.SlotFailed
	switch {
	case begun && o.state == done:
		event := ""
		if slot.Late != 0 {
			event = landscape.SlotRecovered
		}
		d.change(slot, event, func(to *landscape.Slot) { to.State, to.Reason = landscape.SlotDone, "" })
	case slot.State == landscape.SlotFailed && o.state == open: // somebody resumed it
		d.change(slot, "", func(to *landscape.Slot) { to.State, to.Reason = landscape.SlotRunning, "" })
	case slot.State == landscape.SlotRunning && o.state == failed:
		d.change(slot, "", func(to *landscape.Slot) { s.fail(to, o, l.done[slot.Name], now) })
	case slot.State == landscape.SlotRunning && o.state == open && o.reason != slot.Reason: // it waits, or has begun
		d.change(slot, "", func(to *landscape.Slot) { to.Reason = o.reason })
	case slot.State == landscape.SlotRunning && o.state == unwanted:
		d.change(slot, "", func(to *landscape.Slot) { to.State, to.Reason = landscape.SlotSkipped, o.reason })
	case slot.Deadline != 0 && slot.Late == 0 && slot.Deadline <= now:
		d.change(slot, landscape.SlotLate, func(to *landscape.Slot) { to.Late = now })
	default:
		return false
	}
	return true
}

// fail lets the slot wait for another attempt, or gives it up. One that had a complete run before is done, whatever becomes of another one.
func (s *Schedule) fail(slot *landscape.Slot, o outcome, before string, now landscape.Micros) {
	if before != "" {
		slot.State, slot.Reason = landscape.SlotDone, AnotherFailed(slot.Run, o.reason)
		slot.Run = before
		return
	}
	if slot.Ready > now { // somebody ran it by hand before it was due
		slot.State, slot.Request = landscape.SlotDue, ""
		slot.Reason = "failed before the slot was due: " + cmp.Or(o.reason, "its run failed")
		return
	}
	if !o.curable || slot.Attempts > int64(s.spec.Retry.Times) {
		slot.State, slot.Reason = landscape.SlotFailed, cmp.Or(o.reason, "its run failed")
		return
	}
	wait := s.wait()
	slot.State, slot.Ready = landscape.SlotDue, now+landscape.Micros(wait/time.Microsecond)
	slot.Reason = fmt.Sprintf("attempt %d failed: %s; the next follows after %v", slot.Attempts, o.reason, wait)
}

// AnotherFailed is the reason of a slot that is done, and of which another run failed.
func AnotherFailed(run, reason string) string {
	return fmt.Sprintf("another run, %s, failed: %s", run, reason)
}

// admission decides which slots that are due get a run now.
type admission struct {
	*Schedule
	ledger
	*decision
	now     landscape.Micros
	newRun  func() string
	running map[string][]landscape.Slot // by request, empty for those for which the schedule fired
}

// admit begins the run of a slot, or says for what it waits, or that it gets none.
func (a *admission) admit(slot landscape.Slot) {
	request, asked := a.requests[slot.Request]
	before, minds := a.before[slot.Name]
	busy := a.running[slot.Request]
	overlapped := earlier(busy, slot)
	limit := a.atOnce()
	if asked {
		limit = int(request.AtOnce)
	}
	switch {
	case a.Deleted():
		a.skip(slot, fmt.Sprintf("the schedule was deleted by %s: %s", a.Actor, a.Why))
	case !asked && a.Removed():
		a.skip(slot, "the schedule was removed before its run began")
	case !asked && a.pause != nil:
		a.wait(slot, pausedBy(*a.pause))
	case minds && before.State != landscape.SlotDone && before.State != landscape.SlotSkipped:
		a.wait(slot, fmt.Sprintf("waits for slot %s, which is %s (after: previous)", before.Name, before.State))
	case limit == 0 || len(busy) < limit:
		a.begin(slot)
	case !asked && a.spec.Overlap == "skip" && a.inTime(slot) && overlapped.Run != "":
		a.skip(slot, fmt.Sprintf("the run of slot %s was still going on (overlap: skip)", overlapped.Name))
	case !asked && a.spec.Overlap == "cancel" && overlapped.Run != "":
		a.cancel[overlapped.Run] = fmt.Sprintf("slot %s was due (overlap: cancel)", slot.Name)
		a.wait(slot, fmt.Sprintf("waits for the end of the run of slot %s, which is cancelled", overlapped.Name))
	default:
		a.wait(slot, fmt.Sprintf("waits for its turn: %d at a time", limit)) // the same while others come and go
	}
}

// earlier returns the first of the slots that is of the same values as one, and due before; the zero value if none is.
func earlier(busy []landscape.Slot, slot landscape.Slot) landscape.Slot {
	for _, other := range busy {
		if other.Due < slot.Due && calendar.PartOf(other.Name) == calendar.PartOf(slot.Name) {
			return other
		}
	}
	return landscape.Slot{}
}

func (a *admission) inTime(slot landscape.Slot) bool {
	return a.now-slot.Ready <= landscape.Micros(shortly/time.Microsecond)
}

// wait records for what a slot waits, if that is not what it waited for.
func (a *admission) wait(slot landscape.Slot, reason string) {
	if slot.Reason != reason {
		a.change(slot, "", func(to *landscape.Slot) { to.Reason = reason })
	}
}

func (a *admission) skip(slot landscape.Slot, reason string) {
	a.change(slot, "", func(to *landscape.Slot) { to.State, to.Reason = landscape.SlotSkipped, reason })
}

// begin records that the run of a slot begins: the one that it had, if that can go on, or else a new one.
func (a *admission) begin(slot landscape.Slot) {
	before := a.outcomes[slot.Run]
	a.change(slot, "", func(to *landscape.Slot) {
		to.State, to.Reason, to.Attempts, to.Seen = landscape.SlotRunning, "", slot.Attempts+1, before.tries
		if slot.Run == "" || before.over {
			to.Run, to.Seen = a.newRun(), 0
		}
	})
	a.running[slot.Request] = append(a.running[slot.Request], slot)
}
