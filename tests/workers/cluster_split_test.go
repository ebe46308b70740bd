package workers_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/internal/failpoint"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/system"
	"waymark/workflows"
)

var disturbed = flag.Duration("disturbed", 15*time.Second,
	"how long a worker or a service is away, for TestASplitRunIsDisturbed")

// helper is a worker that reaches each service on a way of its own.
type helper struct {
	*process
	temporal, postgres, bucket *services.Proxy
}

// disturbance is what happens while workers share a run. It happens when a part of the rows is on record: to who
// surveys, or to another one.
type disturbance struct {
	name    string
	begin   func(s *shared, of *helper) // nil: nothing
	after   func(s *shared, of *helper) // the run has ended; nil: nothing
	reader  bool
	resumed bool   // it ends the run, which is resumed
	clock   string // by how much the clock of the worker that was started last is wrong, from the beginning
}

var disturbances = []disturbance{
	{name: "who surveys is killed", reader: true, begin: (*shared).kill},
	{name: "who helps is killed", begin: (*shared).kill},
	{name: "who surveys is frozen", reader: true, begin: (*shared).freeze},
	{name: "who helps is frozen", begin: (*shared).freeze},
	{
		name:  "who helps is frozen until the end",
		begin: func(_ *shared, of *helper) { of.signal(syscall.SIGSTOP) },
		after: func(_ *shared, of *helper) { of.signal(syscall.SIGCONT) },
	},
	{
		name: "who surveys is cut off from Temporal", reader: true,
		begin: away(func(of *helper) *services.Proxy { return of.temporal }),
	},
	{name: "who helps is cut off from Temporal", begin: away(func(of *helper) *services.Proxy { return of.temporal })},
	{name: "who helps is cut off from Postgres", begin: away(func(of *helper) *services.Proxy { return of.postgres })},
	{name: "who helps is cut off from the bucket", begin: away(func(of *helper) *services.Proxy { return of.bucket })},
	{name: "all are killed, and others come", begin: func(s *shared, _ *helper) {
		for _, h := range s.working {
			h.kill()
		}
		s.working = s.helpers("others", "")
	}},
	{name: "the workflow is terminated, and the run resumed", resumed: true, begin: func(s *shared, _ *helper) {
		require.NoError(s.t, s.temporal.TerminateWorkflow(s.t.Context(), workflows.WorkflowID(s.run), "", "a test"))
	}},
	{name: "a clock is an hour slow", clock: "-1h"},
	{name: "a clock is an hour fast", clock: "1h"},
	{name: "the bucket answers 503", begin: (*shared).unavailable},
	{name: "Postgres is killed", begin: func(s *shared, _ *helper) {
		s.postgres.Kill()
		s.postgres.Start(s.t)
	}},
}

// TestASplitRunIsDisturbed disturbs runs that three workers share, each in one way, and compares what they leave with a
// run that nobody disturbed.
func TestASplitRunIsDisturbed(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := &shared{topology: startCluster(t)}
	s.put("in/orders.csv", input(*rows))
	s.document(strings.Replace(clusterOrders, "params:", fmt.Sprintf("chunk: {rows: %d}\nparams:", *rows/150), 1))
	s.serveBucket()
	helpers := s.helpers("calm", "")
	calm := s.begin("calm")
	calmRun := s.end(calm)
	want := s.result(calm.Run, "calm")
	want.check(s.topology, *rows)
	require.Greater(t, len(s.scaleHistory(calm.Workflow).by("Pass")), 1, "it was not split")
	endHelpers(helpers)
	for i, d := range disturbances {
		t.Run(d.name, func(t *testing.T) {
			defer func(outer testing.TB) { s.t = outer }(s.t)
			s.t = t
			out := fmt.Sprintf("rough_%d", i)
			s.working = s.helpers(out, d.clock)
			rough := s.begin(out)
			s.run = rough.Run
			s.reached(rough.Run, *rows/5)
			of := s.choose(rough, d.reader)
			if d.begin != nil {
				d.begin(s, of)
			}
			if d.resumed {
				_, err := system.End(t, rough)
				require.Error(t, err)
				rough = system.Resume(t, s.home.Client, rough.Run, "a test")
			}
			roughRun := s.end(rough)
			if d.after != nil {
				d.after(s, of)
			}
			require.Equal(t, calmRun.Rows, roughRun.Rows)
			require.Equal(t, want, s.result(rough.Run, out))
			require.Equal(t, d.clock != "", s.hasStrangeTimes(rough.Run))
			s.verify(rough.Run)
			endHelpers(s.working)
		})
	}
}

// shared is a cluster whose workers share a run.
type shared struct {
	*topology
	front   string       // the address of what stands before the bucket
	sick    *atomic.Bool // it answers 503
	working []*helper
	run     string
}

// serveBucket has workers reach the bucket by a server that may say that it is unavailable.
func (s *shared) serveBucket() {
	s.t.Helper()
	at, err := url.Parse(s.bucket.Endpoint)
	require.NoError(s.t, err)
	forward, sick := httputil.NewSingleHostReverseProxy(at), new(atomic.Bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sick.Load() {
			http.Error(w, "<Error><Code>ServiceUnavailable</Code></Error>", http.StatusServiceUnavailable)
			return
		}
		r.Header.Del("Expect") // or else each upload waits a second for leave
		forward.ServeHTTP(w, r)
	}))
	s.t.Cleanup(server.Close)
	s.front, s.sick = server.Listener.Addr().String(), sick
}

// helpers starts three workers. The clock of the last one is wrong by so much; empty for not.
func (s *shared) helpers(of, wrong string) []*helper {
	s.t.Helper()
	var all []*helper
	for i := range 3 {
		h := &helper{
			temporal: services.Cut(s.t, s.address), postgres: services.Cut(s.t, s.postgres.Address()),
			bucket: services.Cut(s.t, s.front),
		}
		environment := s.workersEnvironment(s.address, h.temporal.Address(), s.postgres.Address(), h.postgres.Address(),
			s.bucket.Address(), h.bucket.Address())
		environment["WAYMARK_SECRET_GOODS_DSN"] = s.goods.DSN() // part of the plan: the same for all
		environment[failpoint.SplitVariable] = "1"
		if i == 2 {
			environment[failpoint.ClockVariable] = wrong
		}
		h.process = s.launch(fmt.Sprintf("%s-%d", of, i), environment, s.program(s.build))
		all = append(all, h)
	}
	for _, h := range all {
		h.await("msg=working")
	}
	return all
}

// endHelpers ends the workers that there still are.
func endHelpers(helpers []*helper) {
	for _, h := range helpers {
		if !h.over() {
			h.end()
		}
	}
}

// choose returns the worker that reads, or another one.
func (s *shared) choose(run *client.Execution, reader bool) *helper {
	s.t.Helper()
	queue := s.reader(run)
	for _, h := range s.working {
		if h.reads(queue) == reader {
			return h
		}
	}
	require.Fail(s.t, "nobody reads", "%s", queue)
	return nil
}

// hasStrangeTimes reports whether a chunk went through the steps long ago, or is yet to, by its record.
func (s *shared) hasStrangeTimes(run string) bool {
	s.t.Helper()
	db, err := pgx.Connect(s.t.Context(), s.record.DSN())
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, db.Close(background())) }()
	var strange bool
	require.NoError(s.t, db.QueryRow(s.t.Context(), `select exists (select from waymark.passages where run_id = $1
		and abs(finished_us / 1e6 - extract(epoch from now())) > 1800)`, run).Scan(&strange))
	return strange
}

func (s *shared) kill(of *helper) { of.kill() }

func (s *shared) freeze(of *helper) {
	of.signal(syscall.SIGSTOP)
	time.Sleep(*disturbed)
	of.signal(syscall.SIGCONT)
}

// away has nothing pass between a worker and a service for a time.
func away(from func(of *helper) *services.Proxy) func(*shared, *helper) {
	return func(_ *shared, of *helper) {
		over := from(of).Silence()
		time.Sleep(*disturbed)
		over()
	}
}

func (s *shared) unavailable(*helper) {
	s.sick.Store(true)
	time.Sleep(*disturbed)
	s.sick.Store(false)
}
