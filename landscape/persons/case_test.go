package persons_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/persons"
	"waymark/pipeline"
	"waymark/tests/blank"
	"waymark/tests/sample"
)

// keyState is what became of a key between proposal and execution.
type keyState struct {
	name  string
	line  string        // what precedes the key in the approvers file of the end; "-" if the key is not in it any more
	known time.Duration // how long before the signatures it was seen; 0: when the rule came; negative: never
	wrong string        // why its signature does not count; empty if it does
}

var keyStates = []keyState{
	{"", "", 0, ""},
	{"known for a day", "", 24 * time.Hour, ""},
	{"new", "", 23 * time.Hour, "counts from "},
	{"never seen", "", -1, "the log has not seen the key yet"},
	{"removed", "-", 0, "it is of none of the approvers"},
	{"ended since", `valid-before="202610011400Z" `, 0, "may not sign from "},
	{"of another person now", "eve@example.com", 0, "its key is eve@example.com's now"},
}

// TestFourEyes tries who proposes and who approves an order, what became of their keys, and what of the order: only two persons execute it, once.
func TestFourEyes(t *testing.T) {
	keys := map[string]ssh.Signer{"ann": softKey(t), "bob": softKey(t), "ann2": softKey(t)}
	people := map[string]string{"ann": "ann@example.com", "bob": "bob@example.com", "ann2": "ann@example.com", "ann as bob": "bob@example.com"}
	verbs := map[landscape.OrderVerb]func(*landscape.Log) error{
		landscape.OrderPurge: func(l *landscape.Log) error {
			_, err := l.BeginPurge(t.Context(), landscape.Purge{Actor: "x", Why: "old", Rules: "{}"}, nil)
			return err
		},
		landscape.OrderForget: func(l *landscape.Log) error {
			_, err := l.BeginForgetting(t.Context(), landscape.Purge{Actor: "x", Why: "asked"}, nil, nil)
			return err
		},
		landscape.OrderWaive: func(l *landscape.Log) error {
			_, err := l.WaivePolicy(t.Context(), "r", "few refused", "x", "known")
			return err
		},
	}
	approvals := map[string]string{ // by who signs: why that does not count; "" if it does
		"bob": "", "ann": "proposed it with the same key", "ann2": "with another key, and is one person", "ann as bob": "ann@example.com proposed it with the same key", "nobody": "needs 2 persons",
	}
	states := map[string]string{"": "", "changed": "rows was 3 when it was proposed, and is 4", "expired": "expired at "}
	driver, at := blank.New(t), 0
	for verb, do := range verbs {
		for approver, wrongApprover := range approvals {
			for _, ofProposer := range keyStates {
				for _, ofApprover := range keyStates {
					for state, wrongState := range states {
						if at++; at%sample.Step(11) != 0 {
							continue
						}
						c := fourEyes{t: t, driver: driver, keys: keys, people: people, verb: verb, approver: approver, states: map[string]keyState{"ann": ofProposer, "bob": ofApprover}, expired: state == "expired"}
						name := fmt.Sprintf("%s by %s, key %q and %q, %s", verb, approver, ofProposer.name, ofApprover.name, state)
						err := c.execute(do, map[string]string{"rows": map[bool]string{true: "4", false: "3"}[state == "changed"]})
						wrong := ofProposer.wrong
						switch {
						case wrong != "":
						case state == "expired":
							wrong = wrongState
						case wrongApprover != "":
							wrong = wrongApprover
						case ofApprover.wrong != "":
							wrong = ofApprover.wrong
						default:
							wrong = wrongState
						}
						if wrong == "" {
							require.NoError(t, err, name)
						} else {
							require.ErrorContains(t, err, wrong, name)
						}
					}
				}
			}
		}
	}
}

// fourEyes is one order.
type fourEyes struct {
	t        *testing.T
	driver   *blank.Driver
	keys     map[string]ssh.Signer
	people   map[string]string
	verb     landscape.OrderVerb
	approver string
	states   map[string]keyState // by who signs
	expired  bool
}

// jury decides when the order is executed.
func (c *fourEyes) jury() *persons.Jury {
	now := noon.Add(3 * time.Hour)
	if c.expired {
		now = now.Add(48 * time.Hour)
	}
	return &persons.Jury{Approvers: c.file(), Now: now, Known: func(person string, key ssh.PublicKey) (time.Time, bool) {
		who, signed := "ann", noon
		if person != c.people[who] {
			who, signed = "bob", noon.Add(time.Hour)
		}
		known := c.states[who].known
		if known <= 0 {
			return time.Time{}, known == 0
		}
		return signed.Add(-known), true
	}}
}

// file is the approvers file when the order is executed.
func (c *fourEyes) file() *persons.Approvers {
	var lines []string
	for _, who := range []string{"ann", "bob", "ann2"} {
		person, options, state := c.people[who], "", c.states[who].line
		switch {
		case state == "-":
			continue
		case strings.Contains(state, "@"):
			person = state
		default:
			options = state
		}
		lines = append(lines, person+" "+options+word(c.keys[who].PublicKey()))
	}
	approvers, err := persons.ParseApprovers(strings.Join(lines, "\n"))
	require.NoError(c.t, err)
	return approvers
}

// by is the line with which somebody signs.
func (c *fourEyes) by(who string) (ssh.Signer, persons.Approver) {
	key := c.keys[strings.TrimSuffix(who, " as bob")]
	line, err := persons.ParseApprover(c.people[who] + " " + word(key.PublicKey()))
	require.NoError(c.t, err)
	return key, line
}

// execute proposes, signs and executes an order; the error says why that is refused.
func (c *fourEyes) execute(do func(*landscape.Log) error, state map[string]string) error {
	ctx, expires := c.t.Context(), noon.Add(48*time.Hour)
	c.driver.Reset(c.t)
	log := landscape.New(c.driver, func() time.Time { return noon })
	run, graph := landscapetest.Scene{Run: "r"}.Graph()
	graph.Policies = landscapetest.ScenePolicies()
	err := errors.Join(log.BeginRun(ctx, run, graph),
		log.RecordPolicies(ctx, "r", []landscape.PolicyResult{{Policy: "few refused", Result: landscape.PolicyFailed, Detail: "12 of 20 rows", Figures: "{}"}}),
		log.StopRun(ctx, "r", pipeline.Blocked, "POLICY"))
	if err == nil {
		_, err = log.Rule(ctx, landscape.ApprovalRule{Verb: c.verb, Persons: 2, Actor: "ann", Why: "four eyes"})
	}
	require.NoError(c.t, err)
	require.ErrorAs(c.t, do(log), new(*landscape.NeedsOrderError))

	key, by := c.by("ann")
	statement, err := persons.NewOrder(c.verb, "r", map[string]string{}, map[string]string{"rows": "3"}, "old", by, "f00d", noon, expires)
	require.NoError(c.t, err)
	order, err := statement.Sign(key, by)
	require.NoError(c.t, err)
	require.NoError(c.t, log.Propose(ctx, order))
	if c.approver != "nobody" {
		key, by := c.by(c.approver)
		assent, err := persons.NewAssent(landscape.Approves, order.Digest, "I looked", by, "f00d", noon.Add(time.Hour))
		require.NoError(c.t, err)
		record, err := assent.Record(order, by)
		require.NoError(c.t, err)
		require.NoError(c.t, assent.Sign(key, &record))
		if _, err := log.Assent(ctx, record); errors.Is(err, landscape.ErrAssented) {
			require.Equal(c.t, "ann@example.com", by.Person)
			require.NoError(c.t, c.driver.Commit(ctx, landscape.Tx{Insert: []landscape.Record{record}}), "as the owner of the record would")
		} else {
			require.NoError(c.t, err)
		}
	}
	approvals, err := log.Approvals(ctx, order)
	require.NoError(c.t, err)
	found := c.jury().Consider(order, approvals)
	if err := found.Executable(2, false); err != nil {
		return err
	}
	if changed := found.Changed(state); changed != nil {
		return errors.New(strings.Join(changed, "; "))
	}
	x := landscape.ApprovedExecution{Run: "r", Order: order.Digest, Persons: found.Persons(), Actor: "ann"}
	require.NoError(c.t, do(log.Under(x)))
	executed, err := log.ExecutionOf(ctx, order)
	require.NoError(c.t, err)
	require.EqualValues(c.t, 2, executed.Persons)
	require.ErrorAs(c.t, do(log), new(*landscape.NeedsOrderError), "not without the order")
	return nil
}
