package bundle_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/bundle"
	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/landscape/persons/personstest"
)

const (
	ordersFile    = "record/approval_requests.ndjson"
	approvalsFile = "record/approvals.ndjson"
)

// ordered lets ann propose an order about the run, bob approve it, and cid look at what one person executed.
func (s *scene) ordered(t *testing.T, ann, bob, cid personstest.Person) landscape.ApprovalRequest {
	t.Helper()
	ctx, args := t.Context(), map[string]string{"verb": "waive", "persons": "1"}
	_, err := s.log.Rule(ctx, landscape.ApprovalRule{Verb: landscape.OrderWaive, Persons: 2, Actor: "ann",
		Why: "four eyes"})
	require.NoError(t, err)
	order := ann.Propose(t, landscape.OrderRule, run, args, time.Now())
	require.NoError(t, s.log.Propose(ctx, order))
	_, err = s.log.Assent(ctx, bob.Sign(t, order, landscape.Approves, time.Now()))
	require.NoError(t, err)
	under := s.log.Under(landscape.ApprovedExecution{Run: run, Order: order.Digest, Persons: 2, Emergency: true,
		Why: "fire", Actor: "ann"})
	_, err = under.Rule(ctx, landscape.ApprovalRule{Verb: landscape.OrderWaive, Persons: 1, Actor: "ann, bob",
		Why: "we are few"})
	require.NoError(t, err)
	_, err = s.log.Assent(ctx, cid.Sign(t, order, landscape.Reviews, time.Now()))
	require.NoError(t, err)
	return order
}

// inJSON is a text as a line of a table has it.
func inJSON(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(text))
	return strings.TrimSpace(b.String())
}

// TestOrders: a bundle has the approval requests about its run, and what of them is changed afterwards is named, in Go
// and in Python alike, although who changes it has a sealer's key.
func TestOrders(t *testing.T) {
	s := newScene(t).ended(t)
	ann, bob, cid, eve := personstest.New(t, "ann"), personstest.New(t, "bob"), personstest.New(t, "cid"), personstest.New(t, "eve")
	order := s.ordered(t, ann, bob, cid)
	early, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Equal(t, "approvals", manifest.Gaps[0].What, "no signed head has the entries yet")
	require.Empty(t, verify(t, early, s.trusted).Problem)
	require.NoError(t, s.notary.Pass(t.Context()))
	good, manifest := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Empty(t, manifest.Gaps)
	report := verify(t, good, s.trusted)
	require.Empty(t, report.Problem)
	require.Len(t, report.Orders, 1)
	require.Contains(t, report.Orders[0].String(), "to orders_rule, executed; proposal of ann; approval of bob; review of cid; by its own word: ")

	approvals, err := s.log.Approvals(t.Context(), order)
	require.NoError(t, err)
	another := ann.Propose(t, landscape.OrderRule, "two", map[string]string{"verb": "waive", "persons": "1"}, order.At.Time())
	named := "order " + order.Digest[:12] + ": "
	swap := func(file, old, with string) func(*parts) {
		return func(p *parts) { p.replace(file, inJSON(t, old), inJSON(t, with)) }
	}
	secondLine := func(text string) string { return text[strings.Index(text, "\n")+1:] }
	files, wants := [][]byte{good, early}, []string{"", ""}
	for name, h := range map[string]struct {
		want   string
		change func(*parts)
	}{
		"statement of the proposal": {named + "proposal of ann: ", func(p *parts) { p.replace(ordersFile, `they are known`, `it is known`) }},
		"statement of the approval": {named + "approval of bob: ", func(p *parts) { p.replace(approvalsFile, "I looked", "I slept") }},
		"signature of the proposal": {named + "proposal of ann: ", swap(ordersFile, order.Signature, approvals[0].Signature)},
		"signature of the approval": {named + "approval of bob: ", swap(approvalsFile, approvals[0].Signature, approvals[1].Signature)},
		"person of the proposal":    {named + "proposal of eve: ", func(p *parts) { p.replace(ordersFile, `"person":"ann"`, `"person":"eve"`) }},
		"person of the approval":    {named + "approval of eve: ", func(p *parts) { p.replace(approvalsFile, `"person":"bob"`, `"person":"eve"`) }},
		"person of the review":      {named + "review of eve: ", func(p *parts) { p.replace(approvalsFile, `"person":"cid"`, `"person":"eve"`) }},
		"line of the proposal":      {named + "proposal of ann: ", swap(ordersFile, order.Approver, eve.Line)},
		"line of the approval":      {named + "approval of bob: ", swap(approvalsFile, approvals[0].Approver, eve.Line)},
		"verb":                      {named + "proposal of ann: ", func(p *parts) { p.replace(ordersFile, `"verb":"orders_rule"`, `"verb":"purge"`) }},
		"statement of another run": {named + "proposal of ann: ", func(p *parts) {
			swap(ordersFile, order.Statement, another.Statement)(p)
			swap(ordersFile, order.Signature, another.Signature)(p)
		}},
		"approval of ann":            {named + "approval of ann: ", replaced(t, approvals[0], ann.Sign(t, order, landscape.Approves, approvals[0].At.Time()))},
		"approval with ann's key":    {named + "approval of bob: ", replaced(t, approvals[0], personstest.As(t, "bob", ann.Signer).Sign(t, order, landscape.Approves, approvals[0].At.Time()))},
		"approval that is taken out": {named + "it was executed as one that 2 persons had signed", func(p *parts) { p.contents[approvalsFile] = secondLine(p.contents[approvalsFile]) }},
		"proposal that is taken out": {"order " + order.Digest[:12], func(p *parts) { p.remove(ordersFile) }},
		"execution that is": {ordersFile + ": ",
			func(p *parts) { p.remove("record/approved_executions.ndjson") }},
		"approval of a made up eve": {"record/appro",
			replaced(t, approvals[0], eve.Sign(t, order, landscape.Approves, approvals[0].At.Time()))},
	} {
		p := takeApart(t, good)
		h.change(p)
		file := p.signed(t, s.key)
		problem := verify(t, file, s.trusted).Problem
		require.True(t, strings.HasPrefix(problem, "approvals: "+h.want), "%s: %s", name, problem)
		files, wants = append(files, file), append(wants, h.want)
	}
	for i, said := range python(t, files, policyOf(t, s.trusted)) {
		if wants[i] == "" {
			require.True(t, strings.HasPrefix(said, "0 "), said)
			continue
		}
		require.True(t, strings.HasPrefix(said, "4 NOT verified: approvals: "+wants[i]), "%s: %s", wants[i], said)
	}
	ordersBy(t, good, ann, bob, cid)
}

// replaced puts an approval in the place of another one, line and all.
func replaced(t *testing.T, old, with landscape.Approval) func(*parts) {
	t.Helper()
	with.Seq = old.Seq
	line := func(a landscape.Approval) string { return string(landscape.TableOf(a).AppendLine(nil, a)) }
	return func(p *parts) { p.replace(approvalsFile, line(old), line(with)) }
}

// ordersBy verifies a bundle by approvers files: with one, a line that is recorded says nothing.
func ordersBy(t *testing.T, file []byte, ann, bob, cid personstest.Person) {
	t.Helper()
	all := personstest.File(ann, bob, cid)
	by := map[string]string{
		all:                        "",
		personstest.File(ann, cid): "approval of bob: ",
		personstest.File(bob, cid): "proposal of ann: ",
		personstest.File(ann, bob): "review of cid: ",
		"# nobody":                 "proposal of ann: ",
		"rob" + bob.Line[len("bob"):] + "\n" + personstest.File(ann, cid):               "approval of bob: ",
		strings.Replace(all, "bob ", `bob valid-before="20200101Z" `, 1):                "approval of bob: ",
		strings.Replace(all, "bob ", `bob namespaces="waymark-sign-off" `, 1):           "approval of bob: ",
		strings.Replace(all, "bob ", `bob namespaces="waymark-approval,waymark-x" `, 1): "",
	}
	texts, lines := slices.Sorted(maps.Keys(by)), filepath.Join(t.TempDir(), "approvers")
	said, codes := pythonBy(t, file, texts)
	for i, text := range texts {
		require.NoError(t, os.WriteFile(lines, []byte(text), 0o600))
		approvers, err := persons.ReadApprovers(lines)
		require.NoError(t, err)
		report, err := bundle.Verify(bytes.NewReader(file), int64(len(file)), nil, approvers)
		require.NoError(t, err)
		if by[text] == "" {
			require.Empty(t, report.Problem, text)
			require.Zero(t, codes[i], said[i])
			require.Contains(t, said[i], ": approval of bob\n")
			require.Contains(t, said[i], "verified without a trust policy: ")
			continue
		}
		want := "approvals: order [0-9a-f]{12}: " + by[text]
		require.Regexp(t, "^"+want, report.Problem, text)
		require.NotZero(t, codes[i], text)
		want += "the key of (ann|bob|cid) is of none of the approvers, or may not sign then"
		require.Regexp(t, "NOT verified: "+want, said[i], text)
	}
}
