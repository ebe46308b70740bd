package admit

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// claim is one that was asked for so many minutes after noon.
func claim(run string, minute int, wants ...Want) Claim {
	return Claim{Run: run, Since: noon.Add(time.Duration(minute) * time.Minute), Terms: Terms{Priority: 3, Wants: wants}}
}

func (c Claim) with(policy Policy) Claim {
	c.WhenFull = policy
	return c
}

func (c Claim) at(priority int64) Claim {
	c.Priority = priority
	return c
}

func TestDecide(t *testing.T) {
	own, two, db := Want{"pipeline:orders", 1, 1}, Want{"pipeline:orders", 1, 2}, Want{"pool:db", 1, 0}
	here, there := Target("out/a.csv"), Target("out/b.csv")
	pools := map[string]int64{"pool:db": 2, "pool:llm": 4}
	for name, c := range map[string]struct {
		going, waiting []Claim
		claim          Claim
		verdict        Verdict
		why            string
	}{
		"nobody is there":      {nil, nil, claim("c", 2, own, db), Begin, ""},
		"one is there":         {[]Claim{claim("a", 0, own)}, nil, claim("c", 2, own), Wait, "pipeline:orders has 1 place, held by run a"},
		"two are let in":       {[]Claim{claim("a", 0, two)}, nil, claim("c", 2, two), Begin, ""},
		"another pipeline":     {[]Claim{claim("a", 0, Want{"pipeline:other", 1, 1})}, nil, claim("c", 2, own), Begin, ""},
		"somebody was first":   {nil, []Claim{claim("b", 1, own)}, claim("c", 2, own), Wait, "pipeline:orders has 1 place, kept for others; run b comes before it"},
		"it was first":         {nil, []Claim{claim("d", 3, own)}, claim("c", 2, own), Begin, ""},
		"it is urgent":         {nil, []Claim{claim("b", 1, own)}, claim("c", 2, own).at(1), Begin, ""},
		"it waits already":     {nil, []Claim{claim("c", 2, own)}, claim("c", 2, own), Begin, ""},
		"a pool is full":       {[]Claim{claim("b", 1, db), claim("a", 0, db)}, nil, claim("c", 2, own, db), Wait, "pool:db has 2 places, held by runs a, b"},
		"a pool has no size":   {nil, nil, claim("c", 2, Want{"pool:x", 1, 0}), Wait, "pool:x has no places: waymark limit set pool:x 1 --why TEXT gives it one"},
		"more than there are":  {nil, nil, claim("c", 2, Want{"pool:db", 9, 0}), Begin, ""},
		"all are taken":        {[]Claim{claim("a", 0, Want{"pool:db", 9, 0})}, nil, claim("c", 2, db), Wait, "pool:db has 2 places, held by run a"},
		"a small one passes":   {[]Claim{claim("a", 0, db)}, []Claim{claim("b", 1, Want{"pool:db", 2, 0})}, claim("c", 2, db), Begin, ""},
		"patience has an end":  {[]Claim{claim("a", 0, db)}, []Claim{claim("b", -9, Want{"pool:db", 2, 0})}, claim("c", 2, db), Wait, "pool:db has 2 places, held by run a; run b comes before it"},
		"skip":                 {[]Claim{claim("a", 0, own)}, nil, claim("c", 2, own).with(Skip), Skipped, "pipeline:orders has 1 place, held by run a"},
		"skip with one ahead":  {nil, []Claim{claim("b", 1, own)}, claim("c", 2, own).with(Skip), Skipped, "pipeline:orders has 1 place, kept for others; run b comes before it"},
		"skip waits for pools": {[]Claim{claim("a", 0, db), claim("b", 0, db)}, nil, claim("c", 2, own, db).with(Skip), Wait, "pool:db has 2 places, held by runs a, b"},
		"join":                 {[]Claim{claim("a", 0, own)}, nil, claim("c", 2, own).with(Join), Joined, "pipeline:orders has 1 place, held by run a; the result is that of run a"},
		"cancel":               {[]Claim{claim("a", 0, own)}, nil, claim("c", 2, own).with(Cancel), WaitCancel, "pipeline:orders has 1 place, held by run a; run a is cancelled for it"},
		"cancel the oldest": {
			[]Claim{claim("b", 1, two), claim("a", 0, two)}, nil, claim("c", 2, two).with(Cancel), WaitCancel,
			"pipeline:orders has 2 places, held by runs a, b; run a is cancelled for it",
		},
		"cancel those that wait": {
			[]Claim{claim("a", 0, own)}, []Claim{claim("b", 1, own)}, claim("c", 2, own).with(Cancel), WaitCancel,
			"pipeline:orders has 1 place, held by run a; run b gives way",
		},
		"nobody writes there":       {[]Claim{claim("a", 0, there)}, nil, claim("c", 2, here), Begin, ""},
		"somebody writes there":     {[]Claim{claim("a", 0, there, here)}, nil, claim("c", 2, here), Wait, "out/a.csv is being written by run a"},
		"somebody wants it first":   {nil, []Claim{claim("b", 1, here)}, claim("c", 2, here), Wait, "out/a.csv is to be written by others first; run b comes before it"},
		"somebody waits for it":     {[]Claim{claim("a", 0, here)}, []Claim{claim("b", 1, here)}, claim("c", 2, here), Wait, "out/a.csv is being written by run a; run b comes before it"},
		"one of two is written":     {[]Claim{claim("a", 0, there)}, nil, claim("c", 2, here, there), Wait, "out/b.csv is being written by run a"},
		"its own limit comes first": {[]Claim{claim("a", 0, own, here)}, nil, claim("c", 2, own, here), Wait, "pipeline:orders has 1 place, held by run a"},
		"skip waits for targets":    {[]Claim{claim("a", 0, here)}, nil, claim("c", 2, own, here).with(Skip), Wait, "out/a.csv is being written by run a"},
		"join waits for targets":    {[]Claim{claim("a", 0, here)}, nil, claim("c", 2, own, here).with(Join), Wait, "out/a.csv is being written by run a"},
		"a target cancels nobody":   {[]Claim{claim("a", 0, here)}, nil, claim("c", 2, own, here).with(Cancel), Wait, "out/a.csv is being written by run a"},
	} {
		d := Decide(State{Now: noon.Add(4 * time.Minute), Pools: pools, Going: c.going, Waiting: c.waiting}, c.claim)
		require.Equal(t, c.verdict, d.Verdict, name)
		require.Equal(t, c.why, d.Why(), name)
	}
}

// TestQueued: the length of a queue is about the runs of one pipeline. Others that wait for the same pool are none of its business.
func TestQueued(t *testing.T) {
	own, other, db := Want{"pipeline:orders", 1, 1}, Want{"pipeline:other", 1, 1}, Want{"pool:db", 1, 0}
	going := []Claim{claim("a", 0, own, db)}
	waiting := []Claim{claim("b", 1, own, db), claim("c", 3, own), claim("x", 1, other, db), claim("y", 1, db), claim("me", 2, own)}
	for name, c := range map[string]struct {
		claim  Claim
		queued int64
	}{
		"those of its pipeline, also with less urgency":    {claim("me", 2, own), 2},
		"not those of another that want the same pool":     {claim("me", 2, db, own), 2},
		"without a limit, all that want what is full":      {claim("me", 2, db), 3},
		"those in whose place it comes are not waited for": {claim("me", 9, own).with(Cancel), 0},
		"it begins": {claim("me", 2, Target("out/a.csv")), 0},
	} {
		require.Equal(t, c.queued, Decide(State{Now: noon, Pools: map[string]int64{"pool:db": 1}, Going: going, Waiting: waiting}, c.claim).Queued, name)
	}
}

func TestTargetsOfAnyNameHaveGates(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	require.Equal(t, "target:out/a.csv", Target("out/a.csv").Gate)
	require.Equal(t, "target:out/\uFFFD.csv", Target("out/\xff.csv").Gate)
	require.Less(t, len(Target(long).Gate), 1100)
	require.True(t, utf8.ValidString(Target("x"+long).Gate))
	require.Equal(t, Target(long), Target(long))
	require.NotEqual(t, Target(long), Target(long+"b"))
}

func TestManyAreNotAllNamed(t *testing.T) {
	require.Equal(t, "pool:db has 5 places, held by runs a, b, c and 2 more", Decision{
		Verdict: Wait, Gate: "pool:db", Limit: 5, Holders: []string{"a", "b", "c", "d", "e"},
	}.Why())
}

func TestCancelStopsWhatItComesAfter(t *testing.T) {
	own := Want{"pipeline:orders", 1, 1}
	d := Decide(State{
		Now: noon, Going: []Claim{claim("a", 0, own)}, Waiting: []Claim{claim("b", 1, own), claim("d", 3, own), claim("x", 1, Want{"pipeline:x", 1, 1})},
	}, claim("c", 2, own).with(Cancel))
	require.Equal(t, []string{"a"}, d.Runs)
	require.Equal(t, []string{"b"}, d.Superseded, "and not who came later, or is of another pipeline")
}
