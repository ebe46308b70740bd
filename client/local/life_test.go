package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/audit"
	"waymark/audit/evidence"
	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/trust"
	"waymark/audit/retain"
	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/pipeline"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
	"waymark/worker/delivery"
)

const (
	// lifeDocument is a pipeline with steps, a barrier, a policy, and outputs that are attested. Its
	// name, which its files have, and its policy are the arguments.
	lifeDocument = `name: %s
sources:
  in: {csv: {path: %s-in.csv}, key: [customer], schema: {fields: {customer: string, total: int}}, on_invalid: quarantine}
steps:
  - {name: each, set: {each: 100 / row.total}, on_error: quarantine}
  - {name: both, fork: [each_row, summed]}
  - {name: sum, from: summed, aggregate: {group_by: [customer], compute: {total: sum(row.total)}}}
sinks:
  all: {from: each_row, csv: {path: %s.csv, overwrite: true}}
  sums: {from: sum, csv: {path: %s-sums.csv, overwrite: true}}
attest: {every: 2d, for: 30d}
policies:
  - {name: few refused, assert: run.refused < %d}
`
	lifeInput = "customer,total\nann,10\nbob,20\ncid,x\nann,0\ndan,50\n"
)

// life is a landscape whose clock a test moves, with the runs in it.
type life struct {
	*Home
	t        *testing.T
	now      atomic.Int64
	record   *inprocess.Record
	keeper   *retain.Keeper
	schedule *audit.AttestSchedule
	ann, bob string // files with the keys of two persons
	endpoint *delivery.Deliverer
	policy   *trust.Policy
	runs     []string // that have ended
	archived map[string]bool
}

func (l *life) clock() time.Time { return time.UnixMicro(l.now.Load()) }

// days lets so many pass.
func (l *life) days(n int) { l.now.Add((time.Duration(n) * 24 * time.Hour).Microseconds()) }

func newLife(t *testing.T) *life {
	t.Helper()
	ctx, folder := t.Context(), t.TempDir()
	l := &life{t: t, archived: map[string]bool{}}
	l.now.Store(time.Now().UnixMicro())
	var first, second string
	l.ann, first = person(t, folder, "ann")
	l.bob, second = person(t, folder, "bob")
	approvers := filepath.Join(folder, "approvers")
	require.NoError(t, os.WriteFile(approvers, []byte(first+second), 0o600))
	state := Folder(filepath.Join(folder, "state"))
	home, err := Open(ctx, Options{State: state, Approvers: approvers, Actor: "tester", Clock: l.clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, home.Close()) })
	l.Home = home
	_, err = home.sealing(ctx)
	require.NoError(t, err)
	said, err := home.TrustPolicy(ctx)
	require.NoError(t, err)
	l.policy, err = trust.Parse(said.Policy)
	require.NoError(t, err)

	store, err := sqlitestore.Open(ctx, state.File("landscape.db"), sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	objects, err := fsstore.Open(state.File("payloads"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	l.record = inprocess.Over(t, folder, store, objects, func(d landscape.Driver) *landscape.Log {
		e, err := evidence.Open(context.WithoutCancel(ctx), landscape.New(d, l.clock), home.options.evidence())
		require.NoError(t, err)
		return e.Log
	})
	deposit, err := home.Deposit(ctx, true)
	require.NoError(t, err)
	l.record.Planner = deposit.Planner
	l.keeper = &retain.Keeper{Log: home.stores.Log, Payloads: deposit.Payloads, Actor: "waymark at here"}
	require.NoError(t, l.keeper.Periods.Set("{debugging: 3d, source: 300d}"))
	home.options.Retention = l.keeper.Periods
	l.schedule = audit.NewAttestSchedule(home.stores.Log.Reader)
	l.listen()
	return l
}

// listen lets an endpoint take every event.
func (l *life) listen() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	l.t.Cleanup(server.Close)
	secret := func(_, _, _ string) (string, error) { return "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", nil }
	sender := delivery.NewSender(l.stores.Log.Reader, secret, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	l.endpoint = delivery.New(l.stores.Log, sender, slog.New(slog.DiscardHandler), delivery.Alone)
	_, err := l.SetEndpoint(l.t.Context(), EndpointRequest{
		Name: "ledger", URL: server.URL, Format: landscape.StandardFormat, Order: landscape.StrictOrder, Secrets: []string{"s"}, Why: "they ask",
	})
	require.NoError(l.t, err)
}

// run executes a document, with fewer refused rows than most or a policy that does not pass.
func (l *life) run(id, name string, most int) {
	l.t.Helper()
	input := lifeInput + name + ",40\n" // each pipeline reads another one
	require.NoError(l.t, os.WriteFile(filepath.Join(l.record.Folder, name+"-in.csv"), []byte(input), 0o600))
	document := fmt.Sprintf(lifeDocument, name, name, name, name, most)
	err := l.record.Start(l.t, document, activities.OpenInput{Run: id, File: "p.yaml", Folder: l.record.Folder}, nil)
	if most > 2 {
		require.NoError(l.t, err)
		l.runs = append(l.runs, id)
	}
}

// daemon does what serve and workers do beside runs.
func (l *life) daemon() {
	l.t.Helper()
	ctx, log := l.t.Context(), l.stores.Log
	_, err := log.Sequence(ctx)
	require.NoError(l.t, err)
	endpoint, err := l.Endpoint(ctx, "ledger")
	require.NoError(l.t, err)
	require.NoError(l.t, l.endpoint.Deliver(ctx, endpoint))
	due, err := l.schedule.Look(ctx, log.Now())
	require.NoError(l.t, err)
	for _, d := range due.Due {
		l.attest(d.Run)
	}
	done, _, err := l.keeper.Turn(ctx)
	require.NoError(l.t, err)
	require.Empty(l.t, done.Problem)
	require.NoError(l.t, l.evidence.Notary.Pass(ctx))
}

func (l *life) attest(id string) {
	l.t.Helper()
	run, err := l.Find(l.t.Context(), id)
	require.NoError(l.t, err)
	found, err := l.Attest(l.t.Context(), run, client.AttestRequest{By: client.By{Why: "yearly"}})
	require.NoError(l.t, err)
	for _, o := range found.Outputs {
		require.Zero(l.t, o.Changed+o.Missing, "%s of %s", o.Sink, id)
	}
}

// check requires that nothing is found to be missing or changed: by verify, the log's check and a scrub, and if everything
// is to be asked by doctor and a bundle.
func (l *life) check(after string, everything bool, runs ...string) {
	l.t.Helper()
	ctx := l.t.Context()
	l.daemon()
	for _, id := range runs {
		report, err := l.Verify(ctx, id, audit.VerifyOptions{})
		require.NoError(l.t, err)
		require.Empty(l.t, report.Problems, "verify %s after %s", id, after)
		if everything {
			l.diagnose(id, after)
		}
	}
	checked, err := l.CheckLog(ctx, "")
	require.NoError(l.t, err)
	require.Empty(l.t, checked.Problems, after)
	scrubbed, err := l.Scrub(ctx, func(p payload.Problem) { require.NoError(l.t, p.Err, after) })
	require.NoError(l.t, err)
	require.Zero(l.t, scrubbed.Missing, after)
}

// diagnose requires that doctor finds nothing that must be cured, and that a run's bundle verifies.
func (l *life) diagnose(id, after string) {
	l.t.Helper()
	ctx := l.t.Context()
	run, err := l.Find(ctx, id)
	require.NoError(l.t, err)
	checks, err := l.Diagnose(ctx, run)
	require.NoError(l.t, err)
	d := doctor{Options: &l.options}
	for _, look := range []func(context.Context) client.Check{d.log, d.orders, d.outputs, d.archives, d.retention} {
		checks = append(checks, look(ctx))
	}
	for _, c := range checks {
		require.NotEqual(l.t, client.Unhealthy, c.State, "doctor %s after %s: %s: %s", id, after, c.Name, c.Detail)
	}
	if !l.archived[id] {
		l.bundle(id, after)
	}
}

func (l *life) bundle(id, after string) {
	l.t.Helper()
	var file bytes.Buffer
	_, err := l.Export(l.t.Context(), id, &file, Exported{Payloads: bundle.AllPayloads})
	require.NoError(l.t, err)
	report, err := bundle.Verify(bytes.NewReader(file.Bytes()), int64(file.Len()), l.policy, nil)
	require.NoError(l.t, err)
	require.Empty(l.t, report.Problem, "bundle of %s after %s", id, after)
}

// order lets two persons order a guarded change.
func (l *life) order(verb landscape.OrderVerb, run string, args map[string]string, subject string) {
	l.t.Helper()
	ctx := l.t.Context()
	_, err := l.RuleOrders(ctx, verb, 2, client.By{Why: "four eyes"})
	require.NoError(l.t, err)
	order, err := l.Propose(ctx, ProposeRequest{
		Verb: verb, Run: run, Args: args, Subject: subject, Why: "it is time", Expires: time.Hour, Key: l.ann,
	})
	var refused *client.Error
	if errors.As(err, &refused) && refused.Code == client.NothingToOrder {
		return // in another order than the usual
	}
	require.NoError(l.t, err)
	_, err = l.Assent(ctx, AssentRequest{Order: order.Digest, Why: "it is", Key: l.bob})
	require.NoError(l.t, err)
	_, err = l.Execute(ctx, ExecuteRequest{Order: order.Digest, Subject: subject})
	require.NoError(l.t, err)
}

// purge purges what is older than so many days, by class.
func (l *life) purge(keep map[landscape.Class]string) {
	l.t.Helper()
	args := map[string]string{"as_of": l.clock().UTC().Format(time.RFC3339Nano)}
	for class, text := range keep {
		args["keep_"+string(class)] = text
	}
	l.order(landscape.OrderPurge, "", args, "")
}

// deeds are what may become of a record once its run has ended, each for one run, in an order in which all make sense.
func (l *life) deeds(id, name, customer string) []deedOfLife {
	t, ctx, why := l.t, l.t.Context(), client.By{Why: "the test says so"}
	return []deedOfLife{
		{name: "attest", do: func() { l.attest(id) }},
		{name: "sign-off", do: func() {
			_, err := l.SignOff(ctx, SignOffRequest{Run: id, Role: "reviewer", Meaning: "reviewed", Key: l.ann})
			require.NoError(t, err)
		}},
		{name: "hold", do: func() {
			hold, err := l.AddHold(ctx, client.HoldRequest{By: why, Run: id})
			require.NoError(t, err)
			l.days(5)
			_, err = l.EndHold(ctx, hold.ID, why)
			require.NoError(t, err)
		}},
		{name: "purge of derived", takes: true, do: func() {
			l.purge(map[landscape.Class]string{landscape.DerivedClass: "0d"})
		}},
		{name: "forget", takes: true, do: func() {
			l.order(landscape.OrderForget, "", ForgetArgs("customer", nil), "customer="+customer)
		}},
		{name: "purge", takes: true, do: func() {
			l.purge(map[landscape.Class]string{landscape.SourceClass: "1d"})
		}},
		{name: "the same again", takes: true, do: func() {
			l.run(id+"-again", name, 9)
			purged, err := l.Purged(ctx, id+"-again")
			require.NoError(t, err)
			require.Empty(t, purged, "whatever became of what earlier runs stored")
		}},
		{name: "rotate", do: func() {
			_, err := l.RotateKey(ctx, RotateRequest{Kind: RotateSealer, Why: "yearly"})
			require.NoError(t, err)
		}},
		{name: "archive", takes: true, do: func() {
			to := filepath.Join(l.record.Folder, "archive")
			require.NoError(t, os.MkdirAll(to, 0o700))
			args, err := ArchiveArgs(ArchiveRequest{Run: id, To: to})
			require.NoError(t, err)
			args["as_of"] = l.clock().UTC().Format(time.RFC3339Nano)
			l.order(landscape.OrderArchive, id, args, "")
			l.archived[id] = true
		}},
	}
}

type deedOfLife struct {
	name  string
	do    func()
	takes bool // something away, or brings it back
}

// TestALifeOfARecord lives through a month: a run waits for a person who waives its policy, and goes on; its events are
// told and dropped, its outputs attested, its payloads held and purged, one of its rows forgotten, its bytes read again, and
// its record archived. Nothing that was taken away by order is missing to anybody who looks, after any step. At night
// it is a year, and the orders come in any order.
func TestALifeOfARecord(t *testing.T) {
	l := newLife(t)
	ctx := t.Context()
	l.run("a", "p", 9)
	l.run("b", "p", 9)
	l.run("c", "strict", 1)
	blocked, err := l.Find(ctx, "c")
	require.NoError(t, err)
	require.Equal(t, pipeline.Blocked, blocked.Status)
	l.check("the runs", false, l.runs...)
	waived, err := l.Waive(ctx, blocked, "few refused", client.By{Why: "it was a test"})
	require.NoError(t, err)
	require.True(t, waived.Changed)
	require.NoError(t, l.record.Resume(t, "c", nil))
	l.runs = append(l.runs, "c")
	for i, deed := range l.deeds("a", "p", "ann") {
		l.days(3)
		deed.do()
		if deed.takes || sample.All() {
			l.check(fmt.Sprintf("step %d, %s", i, deed.name), deed.name == "the same again" || sample.All(), "a")
		}
	}
	l.days(5)
	l.check("a month", true, l.runs[1:]...)
	head, err := l.stores.Log.OutboxHead(ctx)
	require.NoError(t, err)
	require.Positive(t, head.Dropped)
	for month := 1; month <= 12 && sample.All(); month++ {
		l.month(fmt.Sprintf("p%d", month))
	}
	if sample.All() {
		l.check("a year", true, l.runs...)
	}
}

// month lets 30 days pass, with every order but an archive in any order, and then that.
func (l *life) month(name string) {
	l.run(name, name, 9)
	deeds := l.deeds(name, name, name)
	last := len(deeds) - 1
	order := append(rand.Perm(last), last)
	for at, i := range order {
		for range 3 {
			l.days(1)
			l.daemon()
		}
		deeds[i].do()
		l.check(fmt.Sprintf("%v, %s", order[:at+1], deeds[i].name), true, name)
	}
}
