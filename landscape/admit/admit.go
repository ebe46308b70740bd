// Package admit decides which runs may begin while places are limited. It knows no clock and no record: who asks brings both.
package admit

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Patience is how long others that come later may take places while a run waits for more of them than are free. From then on the places
// that it waits for are kept for it.
const Patience = 5 * time.Minute

// Policy is what becomes of a run whose pipeline has as many runs as it may have. Stored; never rename one.
type Policy string

// The policies. An empty one is Queue.
const (
	Queue  Policy = "queue"  // it waits
	Skip   Policy = "skip"   // it does not begin at all
	Cancel Policy = "cancel" // the oldest one is cancelled, and it waits for its end; it takes the place of those that wait
	Join   Policy = "join"   // it does not begin: who asked for it gets the result of the run that is there
)

// Want is how many places of a gate a run holds or wants.
type Want struct {
	Gate   string `json:"gate"`            // pipeline:NAME[@ENVIRONMENT][/KEY], pool:NAME, or target:WHERE of a place that a sink writes to
	Places int64  `json:"places"`          // from 1; a run that wants more than there are takes all of them
	Limit  int64  `json:"limit,omitempty"` // how many there are, as the run's own document says; 0 for a pool: State knows
}

// targetPrefix begins the gates of targets. Stored; never rename it.
const targetPrefix = "target:"

// maxTargetBytes is how much of a target's name is in that of its gate: databases limit the length of keys.
const maxTargetBytes = 1000

// Target is the one place of a target, to which one run at a time may write. Two targets have one gate if their names are equal.
func Target(name string) Want {
	gate := strings.ToValidUTF8(name, "\uFFFD")
	if len(gate) > maxTargetBytes {
		gate = fmt.Sprintf("%s… (sha256 %x)", strings.ToValidUTF8(gate[:maxTargetBytes], ""), sha256.Sum256([]byte(name)))
	}
	return Want{Gate: targetPrefix + gate, Places: 1}
}

// IsTarget reports whether it is the place of a target.
func (w Want) IsTarget() bool { return strings.HasPrefix(w.Gate, targetPrefix) }

// Terms are on which terms a run begins. They are recorded with its start.
type Terms struct {
	Priority int64  `json:"priority"`            // from 1, which goes first
	WhenFull Policy `json:"when_full,omitempty"` // of the gate that has a Limit
	Wants    []Want `json:"wants"`               // each of another gate
}

// Claim is a run that holds places, or wants them.
type Claim struct {
	Run   string
	Since time.Time // it was asked for; who came first goes first among those of one priority
	Terms
}

// State is what a decision is about. Its slices may be in any order.
type State struct {
	Now     time.Time
	Pools   map[string]int64 // gate of a pool to its places; one that is missing has none
	Going   []Claim          // what runs hold
	Waiting []Claim          // what those want that wait
}

// Verdict is what becomes of a run that asks for its places.
type Verdict int

// The verdicts.
const (
	Begin      Verdict = iota // it begins
	Wait                      // it waits
	WaitCancel                // it waits, and Decision.Runs are cancelled
	Skipped                   // it does not begin
	Joined                    // it does not begin: its result is that of the first of Decision.Runs
)

// Decision says what becomes of a run that asks for its places.
type Decision struct {
	Verdict    Verdict
	Gate       string   // the first that has no room; empty if the run begins
	Limit      int64    // of the gate
	Holders    []string // runs that hold places of the gate, who came first first
	Ahead      []string // runs that wait for places of the gate and come before, in order
	Runs       []string // with Joined and WaitCancel: see there
	Superseded []string // with WaitCancel: runs that wait, in whose place it comes
	Queued     int64    // other runs that wait and count for the length of its queue: see State.queued
}

// Decide says what becomes of a run that asks for its places. It is not there a second time: if it waits already, s may or may not have it.
func Decide(s State, c Claim) Decision {
	used := s.used()
	before := s.before(c)
	for _, w := range before {
		used.take(s, w)
	}
	full := used.full(s, c)
	if full == nil {
		return Decision{Verdict: Begin}
	}
	d := s.wait(*full, before)
	d.Queued = s.queued(c, *full)
	own := c.own()
	if own < 0 || c.WhenFull == Queue || c.WhenFull == "" {
		return d
	}
	if d := s.wait(c.Wants[own], before); int64(len(d.Holders)+len(d.Ahead)) >= d.Limit {
		return d.by(c.WhenFull)
	}
	return d
}

// own returns the index of the gate that limits the runs of the claim's own pipeline; -1 if nothing does.
func (c Claim) own() int { return slices.IndexFunc(c.Wants, func(w Want) bool { return w.Limit > 0 }) }

// queued returns how many other runs wait that are of the claim's pipeline, whatever they wait for. If nothing limits the runs of that, it
// returns how many wait for the full gate.
func (s State) queued(c Claim, full Want) (queued int64) {
	if own := c.own(); own >= 0 {
		full = c.Wants[own]
	}
	for _, run := range runsWith(s.Waiting, full.Gate) {
		if run != c.Run {
			queued++
		}
	}
	return queued
}

// by is the decision about a run whose own pipeline has as many runs as it may have.
func (d Decision) by(policy Policy) Decision {
	switch policy {
	case Skip:
		d.Verdict = Skipped
	case Join:
		d.Verdict, d.Runs = Joined, slices.Concat(d.Holders, d.Ahead)[:1]
	case Cancel:
		d.Verdict, d.Superseded, d.Ahead, d.Queued = WaitCancel, d.Ahead, nil, 0
		d.Runs = d.Holders[:max(0, int64(len(d.Holders))-d.Limit+1)]
	}
	return d
}

// wait is the decision to wait for a gate.
func (s State) wait(w Want, before []Claim) Decision {
	going := slices.Clone(s.Going)
	slices.SortFunc(going, byAge)
	return Decision{Verdict: Wait, Gate: w.Gate, Limit: s.limit(w), Holders: runsWith(going, w.Gate), Ahead: runsWith(before, w.Gate)}
}

// Next returns those that wait and may begin now, in order; nil if none may. Each finds its places also when all others have taken theirs.
func Next(s State) []Claim {
	used := s.used()
	var next []Claim
	for _, c := range s.Order() {
		if used.take(s, c) {
			next = append(next, c)
		}
	}
	return next
}

// Order returns those that wait in the order in which they are let in.
func (s State) Order() []Claim {
	order := slices.Clone(s.Waiting)
	slices.SortFunc(order, compare)
	return order
}

// before returns those that wait and come before the claim.
func (s State) before(c Claim) []Claim {
	return slices.DeleteFunc(s.Order(), func(w Claim) bool { return w.Run == c.Run || compare(w, c) > 0 })
}

func compare(a, b Claim) int { return cmp.Or(cmp.Compare(a.Priority, b.Priority), byAge(a, b)) }

func byAge(a, b Claim) int { return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Run, b.Run)) }

// limit returns how many places the gate has for the run that wants them.
func (s State) limit(w Want) int64 {
	switch {
	case w.Limit > 0:
		return w.Limit
	case w.IsTarget():
		return 1
	}
	return s.Pools[w.Gate]
}

// places are how many places of each gate are taken.
type places map[string]int64

// used returns which places runs hold.
func (s State) used() places {
	used := places{}
	for _, c := range s.Going {
		used.add(c)
	}
	return used
}

func (p places) add(c Claim) {
	for _, w := range c.Wants {
		p[w.Gate] += w.Places
	}
}

// take takes the places of a claim if all of its gates have room, and keeps them for it if it has waited for too long.
func (p places) take(s State, c Claim) (taken bool) {
	taken = p.full(s, c) == nil
	if taken || s.Now.Sub(c.Since) >= Patience {
		p.add(c)
	}
	return taken
}

// full returns the first gate of a claim that has no room for it; nil if all have.
func (p places) full(s State, c Claim) *Want {
	for i, w := range c.Wants {
		if limit := s.limit(w); limit < 1 || p[w.Gate]+min(w.Places, limit) > limit {
			return &c.Wants[i]
		}
	}
	return nil
}

// runsWith returns the runs of the claims that have the gate.
func runsWith(claims []Claim, gate string) []string {
	var runs []string
	for _, c := range claims {
		if slices.ContainsFunc(c.Wants, func(w Want) bool { return w.Gate == gate }) {
			runs = append(runs, c.Run)
		}
	}
	return runs
}

// named is how many runs a sentence names.
const named = 3

// joins is in the reason of a start that joined a run, before the run's id. It stands in landscapes: never change it.
const joins = "; the result is that of run "

// JoinedBy returns the run whose result a start has that did not begin for this reason; empty if it joined none.
func JoinedBy(reason string) string {
	_, run, _ := strings.Cut(reason, joins)
	return run
}

// Why says for people why the run does not begin; nothing if it does.
func (d Decision) Why() string {
	if d.Verdict == Begin {
		return ""
	}
	if d.Limit < 1 {
		return fmt.Sprintf("%s has no places: waymark limit set %[1]s 1 --why TEXT gives it one", d.Gate)
	}
	what, held, kept := fmt.Sprintf("%s has %d place%s, ", d.Gate, d.Limit, map[bool]string{false: "s"}[d.Limit == 1]), "held by ", "kept for others"
	if target, ok := strings.CutPrefix(d.Gate, targetPrefix); ok {
		what, held, kept = target+" is ", "being written by ", "to be written by others first"
	}
	why := what + kept
	if len(d.Holders) > 0 {
		why = what + held + list(d.Holders, "", "")
	}
	switch {
	case d.Verdict == Joined:
		why += joins + d.Runs[0]
	case len(d.Superseded) > 0:
		why += "; " + list(d.Superseded, " gives way", " give way")
	case len(d.Runs) > 0:
		why += "; " + list(d.Runs, " is cancelled", " are cancelled") + " for it"
	case len(d.Ahead) > 0:
		why += "; " + list(d.Ahead, " comes", " come") + " before it"
	}
	return why
}

// list names the first of some runs: "run a", "runs a, b, c and 4 others", and what they do.
func list(runs []string, one, many string) string {
	switch n := len(runs); {
	case n == 1:
		return "run " + runs[0] + one
	case n <= named:
		return "runs " + strings.Join(runs, ", ") + many
	default:
		return fmt.Sprintf("runs %s and %d more%s", strings.Join(runs[:named], ", "), n-named, many)
	}
}
