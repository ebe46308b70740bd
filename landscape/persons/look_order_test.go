package persons_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/landscape/persons/personstest"
)

// orderScene is an order that ann proposed and bob approved, that was executed, and at which cid looked.
type orderScene struct {
	order landscape.ApprovalRequest
	bob   landscape.Approval
	cid   landscape.Approval
	done  landscape.ApprovedExecution
}

// look returns what is wrong with the scene.
func (s orderScene) look(approvers *persons.Approvers) string {
	all := persons.LookAtOrders([]landscape.ApprovalRequest{s.order}, []landscape.Approval{s.bob, s.cid},
		[]landscape.ApprovedExecution{s.done}, approvers)
	var found []string
	for _, o := range all {
		found = append(found, o.Problems()...)
	}
	return strings.Join(found, "; ")
}

// TestLookAtOrders: whatever of an order is changed is named; who was an approver is what the file says, or else the recorded line.
func TestLookAtOrders(t *testing.T) {
	ann, bob, cid, eve := personstest.New(t, "ann"), personstest.New(t, "bob"), personstest.New(t, "cid"), personstest.New(t, "eve")
	order := ann.Propose(t, landscape.OrderWaive, "one", map[string]string{"policy": "enough"}, noon)
	later := noon.Add(time.Minute)
	good := orderScene{
		order, bob.Sign(t, order, landscape.Approves, later), cid.Sign(t, order, landscape.Reviews, later),
		landscape.ApprovedExecution{Run: "one", Order: order.Digest, Persons: 2, Actor: "ann"},
	}
	file, err := persons.ParseApprovers(personstest.File(ann, bob, cid))
	require.NoError(t, err)
	require.Empty(t, good.look(nil))
	require.Empty(t, good.look(file))
	all := persons.LookAtOrders([]landscape.ApprovalRequest{order}, []landscape.Approval{good.bob},
		[]landscape.ApprovedExecution{good.done}, nil)
	require.Equal(t, order.Digest[:12]+" to waive, executed; proposal of ann; approval of bob; by its own word: no approvers file here says whose keys these are", all[0].String())
	require.Nil(t, persons.LookAtOrders(nil, nil, nil, nil))

	other := ann.Propose(t, landscape.OrderWaive, "two", map[string]string{"policy": "enough"}, noon)
	for name, c := range map[string]struct {
		change func(*orderScene)
		wrong  string // whoever says whose keys count
	}{
		"the statement of the proposal": {func(s *orderScene) { s.order.Statement = strings.Replace(s.order.Statement, "enough", "all", 1) }, "proposal of ann: the signature does not hold"},
		"the statement of the approval": {func(s *orderScene) { s.bob.Statement = strings.Replace(s.bob.Statement, "looked", "slept", 1) }, "approval of bob: the signature does not hold"},
		"the statement of the review":   {func(s *orderScene) { s.cid.Statement = strings.Replace(s.cid.Statement, "looked", "slept", 1) }, "review of cid: the signature does not hold"},
		"the signature of the proposal": {func(s *orderScene) { s.order.Signature = s.bob.Signature }, "proposal of ann: the signature does not hold"},
		"the signature of the approval": {func(s *orderScene) { s.bob.Signature = s.cid.Signature }, "approval of bob: the signature does not hold"},
		"the person of the proposal":    {func(s *orderScene) { s.order.Person = "eve" }, "proposal of eve: ann signed another order than is recorded beside that"},
		"the person of the approval":    {func(s *orderScene) { s.bob.Person = "eve" }, "approval of eve: bob signed under another order than is recorded beside that"},
		"the line of the proposal":      {func(s *orderScene) { s.order.Approver = eve.Line }, "proposal of ann: ann signed with the key "},
		"the line of the approval":      {func(s *orderScene) { s.bob.Approver = eve.Line }, "approval of bob: bob signed with the key "},
		"the time of the proposal":      {func(s *orderScene) { s.order.At++ }, "proposal of ann: ann signed another order"},
		"the end of the order":          {func(s *orderScene) { s.order.Expires++ }, "proposal of ann: ann signed another order"},
		"the verb":                      {func(s *orderScene) { s.order.Verb = landscape.OrderPurge }, "proposal of ann: ann signed another order"},
		"another run":                   {func(s *orderScene) { s.order.Run = "two" }, "proposal of ann: ann signed another order"},
		"the order of another run":      {func(s *orderScene) { s.order = other; s.order.Run, s.order.Digest = "one", order.Digest }, "proposal of ann: ann signed another order"},
		"an approval of another order":  {func(s *orderScene) { s.bob = bob.Sign(t, other, landscape.Approves, later); s.bob.Order = order.Digest }, "approval of bob: bob signed under another order"},
		"a review that is no approval":  {func(s *orderScene) { s.bob.Kind = landscape.Reviews }, "review of bob: bob signed under another order"},
		"who proposes approves":         {func(s *orderScene) { s.bob = ann.Sign(t, order, landscape.Approves, later) }, "ann proposed it with the same key"},
		"one key of two persons": {func(s *orderScene) {
			s.bob = personstest.As(t, "bob", ann.Signer).Sign(t, order, landscape.Approves, later)
		}, "approval of bob: "},
		"two keys of one person": {func(s *orderScene) {
			s.bob = personstest.As(t, "ann", bob.Signer).Sign(t, order, landscape.Approves, later)
		}, "with another key, and is one person"},
		"an approval is taken out":      {func(s *orderScene) { s.bob = s.cid }, "it was executed as one that 2 persons had signed, and the signatures of 1 count"},
		"an execution of another order": {func(s *orderScene) { s.done.Order = other.Digest }, "signatures or an execution of it are recorded, and the order is not"},
		"an approval of no order":       {func(s *orderScene) { s.bob.Order = other.Digest }, "signatures or an execution of it are recorded, and the order is not"},
		"something else was signed":     {func(s *orderScene) { s.order.Statement, s.order.Signature = s.bob.Statement, s.bob.Signature }, "proposal of ann: what was signed is not an order"},
		"an order in place of approval": {func(s *orderScene) { s.bob.Statement, s.bob.Signature = s.order.Statement, s.order.Signature }, "approval of bob: what was signed is not a signature under an order"},
		"a key of nobody, line and all": {func(s *orderScene) { s.bob = eve.Sign(t, order, landscape.Approves, later) }, ""},
		"the key of nobody as bob, line": {func(s *orderScene) {
			s.bob = personstest.As(t, "bob", eve.Signer).Sign(t, order, landscape.Approves, later)
		}, ""},
	} {
		changed := good
		c.change(&changed)
		if c.wrong != "" {
			require.Contains(t, changed.look(nil), c.wrong, name)
		}
		require.Contains(t, changed.look(file), c.wrong, name)
		require.NotEmpty(t, changed.look(file), name)
	}

	for lines, wrong := range map[string]string{
		personstest.File(ann, cid): "approval of bob: the signature of bob does not count: the key ",
		personstest.File(bob, cid): "proposal of ann: the signature of ann does not count: the key ",
		strings.Replace(personstest.File(ann, bob, cid), "bob ", `bob valid-before="20260901Z" `, 1): "may not sign from 2026-09-01T00:00:00Z on",
		strings.Replace(personstest.File(ann, bob, cid), "bob ", `bob namespaces="waymark-sign-off" `,
			1): "may not sign in the namespace waymark-approval",
		strings.Replace(personstest.File(ann, bob, cid), "bob ", `bob valid-before="20270101Z" `, 1): "",
		strings.Replace(personstest.File(ann, bob, cid), "bob ", "rob ", 1):                          "approval of bob: the signature of bob does not count: its key is rob's now",
	} {
		now, err := persons.ParseApprovers(lines)
		require.NoError(t, err)
		if wrong == "" {
			require.Empty(t, good.look(now), lines)
			continue
		}
		require.Contains(t, good.look(now), wrong, lines)
	}
}
