package workers_test

import (
	"bufio"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/internal/temporal/embedded"
	"waymark/tests/sample"
)

var wanted = flag.Int("zombies", 1, "how many processes are stopped in the middle of an activity; make nightly has 200")

// temporal is a server, in this process or another.
type temporal struct {
	address string
	runs    atomic.Int64
}

func startTemporal(t *testing.T) *temporal {
	t.Helper()
	database := filepath.Join(t.TempDir(), "temporal.db")
	server, err := embedded.Start(t.Context(), embedded.Options{DatabasePath: database})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	holder, held, err := embedded.Holder(database)
	require.NoError(t, err)
	require.True(t, held)
	return &temporal{address: holder.Address}
}

// moment is one time that a process comes to a failpoint.
type moment struct {
	name string
	n    int // how often it came there, this time included
	at   int // which of all moments of an undisturbed run it was
}

func (m moment) String() string { return fmt.Sprintf("%s@%d", m.name, m.n) }

// undisturbed is what a run does and leaves that nobody disturbs.
type undisturbed struct {
	moments []moment
	outputs map[string]string
}

// observe performs a run that nobody disturbs.
func observe(t *testing.T, server *temporal) undisturbed {
	t.Helper()
	s := newScene(t, server)
	list := filepath.Join(s.state, "moments")
	decider := s.decider()
	quiet := s.launch("observed", []string{"WAYMARK_FAILPOINT_LOG=" + list}, "-state", s.state)
	s.begin()
	s.finish()
	quiet.end()
	decider.end()
	s.verify()
	return undisturbed{readMoments(t, list), s.outputs()}
}

func readMoments(t *testing.T, path string) []moment {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var moments []moment
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, count, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(count)
		require.NoError(t, err)
		moments = append(moments, moment{name, n, len(moments)})
	}
	require.NotEmpty(t, moments)
	return moments
}

// locking reports whether a process that stands still at the moment keeps everybody else from writing to the record.
func (m moment) locking() bool {
	return strings.HasPrefix(m.name, "landscape.") && (strings.HasSuffix(m.name, ".inserted") || strings.HasSuffix(m.name, ".committing"))
}

// telling is a moment at which a part is written and not confirmed: another process does both before this one
// continues.
const telling = "sink.part.synced"

// choose returns n of the moments, in their order: the first of every name, and of the others some at equal distances.
// One is a telling moment, if there is one.
func choose(moments []moment, n int) []moment {
	first, others := []moment{}, []moment{}
	for _, m := range moments {
		if n == 1 && m.name == telling {
			return []moment{m}
		}
		if m.n == 1 {
			first = append(first, m)
		} else {
			others = append(others, m)
		}
	}
	chosen := every(first, min(n, len(first)))
	chosen = append(chosen, every(others, min(n-len(chosen), len(others)))...)
	slices.SortFunc(chosen, func(a, b moment) int { return a.at - b.at })
	return chosen
}

// every returns n of the moments at equal distances.
func every(moments []moment, n int) []moment {
	var out []moment
	for i := range n {
		out = append(out, moments[i*len(moments)/n])
	}
	return out
}

// deal makes chains of moments that come one after the other in one run.
func deal(moments []moment, length int) [][]moment {
	chains := make([][]moment, (len(moments)+length-1)/length)
	for i, m := range moments {
		chains[i%len(chains)] = append(chains[i%len(chains)], m)
	}
	return chains
}

// since returns how often the moment comes to a process that begins to work where another one stopped.
func (u undisturbed) since(before int, m moment) int {
	n := 0
	for _, other := range u.moments[before+1 : m.at+1] {
		if other.name == m.name {
			n++
		}
	}
	return n
}

// TestZombies stops processes in the middle of activities, one after the other, each when another moment has come. Another process
// gets the next attempt after the heartbeat timeout and continues, and one finishes the run. Then all that were stopped go on, and
// change nothing. The same with processes that are killed: others go on by themselves.
func TestZombies(t *testing.T) {
	t.Parallel()
	server := startTemporal(t)
	u := observe(t, server)
	for name, v := range map[string]visit{
		"after the run": {}, "of earlier epochs": {resume: true}, "during the run": {early: true},
		"of earlier epochs, during the run": {resume: true, early: true}, "killed": {kill: true},
	} {
		processes := *wanted
		if v != (visit{}) {
			processes = max(1, processes/2)
		}
		t.Run(name, func(t *testing.T) {
			if v != (visit{}) {
				sample.Rarely(t)
			}
			t.Parallel()
			haunt(t, server, u, processes, v)
		})
	}
}

// visit says what is done to processes.
type visit struct {
	resume bool // the run is resumed after each
	early  bool // those that were stopped go on as soon as the next one is, and not when the run is complete
	kill   bool // they are killed, not stopped
}

func (v visit) action() string {
	if v.kill {
		return "kill"
	}
	return "stop"
}

// chainLength is how many processes are stopped in one run.
const chainLength = 8

// enough is so many processes that some of them come too late for what they have in hand. Of a few it may be none.
const enough = 12

// haunt stops so many processes at moments that hold no lock, or kills them at any.
func haunt(t *testing.T, server *temporal, u undisturbed, processes int, v visit) {
	t.Helper()
	chosen := choose(slices.DeleteFunc(slices.Clone(u.moments), func(m moment) bool { return m.locking() && !v.kill }), processes)
	var total tally
	for round := range 2 {
		length := chainLength
		if round > 0 { // moments that never came, because things went another way, are waited for from a run's beginning
			chosen, total.missed, length = total.missed, nil, 1
		}
		t.Run(fmt.Sprintf("round %d", round), func(t *testing.T) {
			sideBySide(t, deal(chosen, length), func(t *testing.T, chain []moment) {
				s := newScene(t, server)
				s.chain(u, chain, v, &total)
			})
		})
	}
	require.Empty(t, total.missed, "these moments never came")
	t.Logf("%d processes met their moments; %d events say that an attempt came too late", total.met, total.late)
	require.Equal(t, processes, total.met)
	if !v.kill && !v.early && processes >= enough {
		require.Positive(t, total.late, "no attempt noticed that it came too late")
	}
}

// sideBySide does something for each chain, for several at the same time.
func sideBySide(t *testing.T, chains [][]moment, do func(*testing.T, []moment)) {
	t.Helper()
	for _, chain := range chains {
		t.Run(fmt.Sprint(chain[0]), func(t *testing.T) {
			t.Parallel()
			do(t, chain)
		})
	}
}

// tally counts what all chains met with.
type tally struct {
	mu     sync.Mutex
	met    int // processes that were stopped or killed
	late   int // events that say that an attempt came too late
	missed []moment
}

func (t *tally) add(met, late int, missed []moment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.met, t.late, t.missed = t.met+met, t.late+late, append(t.missed, missed...)
}

// chain performs a run in which a process meets each of the moments.
func (s *scene) chain(u undisturbed, moments []moment, v visit, total *tally) {
	s.t.Helper()
	decider := s.decider()
	s.begin()
	var zombies []*process
	var missed []moment
	met, before := 0, -1
	for i, m := range moments {
		armed := moment{m.name, u.since(before, m), m.at}
		p := s.worker(armed.String(), armed.String()+"="+v.action(), 1, fmt.Sprintf("-deaf=%t", i%4 != 3))
		if !s.meets(p, armed, v) {
			missed = append(missed, m)
			continue
		}
		met, before = met+1, m.at
		if v.resume && s.resumable() {
			s.resume()
		}
		if !v.kill {
			s.unlock(p)
		}
		if v.early {
			endAll(s.t, zombies)
			zombies = nil
		}
		if !v.kill {
			zombies = append(zombies, p)
		}
	}
	healthy := s.worker("healthy", "", 3)
	s.finish()
	healthy.end()
	decider.end()
	late := s.wake(zombies)
	require.Equal(s.t, u.outputs, s.outputs())
	s.verify()
	total.add(met, late, missed)
}

// unlock lets a process that stands still go on, for moments, as long as it keeps everybody else from writing to the
// record: what it did besides may have begun a transaction.
func (s *scene) unlock(p *process) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.state, "landscape.db")+"?mode=rw&_pragma=busy_timeout(500)&_txlock=immediate")
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, db.Close()) }()
	await(s.t, "the record to be writable", func() bool {
		tx, err := db.BeginTx(s.t.Context(), nil)
		if err == nil {
			require.NoError(s.t, tx.Rollback())
			return true
		}
		p.signal(syscall.SIGCONT)
		time.Sleep(time.Millisecond)
		p.signal(syscall.SIGSTOP)
		return false
	})
}

// wake lets all processes go on that were stopped, requires that they change nothing, and returns how many events tell of that.
func (s *scene) wake(zombies []*process) (late int) {
	s.t.Helper()
	if len(zombies) == 0 {
		return 0
	}
	before := s.look()
	endAll(s.t, zombies)
	return requireUnchanged(s.t, before, s.look())
}

// meets waits until the process met the moment, and reports whether it did: if the run ended before, the process is told to end.
func (s *scene) meets(p *process, m moment, v visit) bool {
	s.t.Helper()
	met := func() bool { return p.stopped() || v.kill && p.over() }
	await(s.t, "the moment "+m.String(), func() bool { return met() || p.over() || s.over() })
	if !met() {
		p.end()
		return false
	}
	if v.kill {
		require.Equal(s.t, "signal: killed", p.command.ProcessState.String(), "%s", p.said())
	}
	return true
}

// mostSaid is how many lines a process may say that continues too late, besides those about heartbeats, which come as long as it works
// on without hearing that nobody wants it: it gives up, and does not try again and again.
const mostSaid = 25

// endAll lets processes go on that were stopped, and requires that they end what they do without a fault.
func endAll(t *testing.T, zombies []*process) {
	t.Helper()
	for _, zombie := range zombies {
		zombie.end()
		said := zombie.said()
		require.Less(t, strings.Count(said, "\n")-strings.Count(said, "RecordActivityHeartbeat"), mostSaid, "%s", said)
	}
}
