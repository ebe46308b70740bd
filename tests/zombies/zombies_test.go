// Package zombies holds tests of processes that stand still in the middle of their work, past the moment at which somebody else
// gets it, and then go on as if nothing had happened. Whatever they do then must change nothing.
package zombies

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"waymark/embedded"
)

var (
	wanted = flag.Int("zombies", 32, "how many processes are stopped in the middle of an activity")
	beside = flag.Int("beside", 4, "how many runs go on side by side")
)

// program is the worker's binary.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withProgram(m.Run))
}

func withProgram(do func() int) int {
	folder, err := os.MkdirTemp("", "zombies-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "worker")
	if out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", program, "./worker").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s\n", err, out)
		return 1
	}
	return do()
}

// temporal is a server in this process.
type temporal struct {
	address string
	client  client.Client
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
	c, err := server.Client(context.WithoutCancel(t.Context()), client.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &temporal{address: holder.Address, client: c}
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
	quiet.end(t)
	decider.end(t)
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

// choose returns n of the moments, in their order: the first of every name, and of the others some at equal distances.
func choose(moments []moment, n int) []moment {
	first, others := []moment{}, []moment{}
	for _, m := range moments {
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
// gets the next attempt after the heartbeat timeout and goes on, and one finishes the run. Then all that were stopped go on.
func TestZombies(t *testing.T) {
	haunt(t, *wanted, func(*scene) {})
}

// TestZombiesOfEarlierEpochs takes the run up again after each process that stands still.
func TestZombiesOfEarlierEpochs(t *testing.T) {
	haunt(t, *wanted/2, func(s *scene) {
		if s.resumable() {
			s.takeUp()
		}
	})
}

// chainLength is how many processes are stopped in one run.
const chainLength = 8

// haunt stops so many processes at moments that hold no lock, and wakes them when the run is complete. then is called after
// each stop.
func haunt(t *testing.T, zombies int, then func(*scene)) {
	t.Helper()
	server := startTemporal(t)
	u := observe(t, server)
	chosen := choose(slices.DeleteFunc(slices.Clone(u.moments), moment.locking), zombies)
	var stopped, events atomic.Int64
	var mu sync.Mutex
	var missed []moment
	for round := range 2 {
		length := chainLength
		if round > 0 { // moments that never came, because things went another way, are waited for from a run's beginning
			chosen, missed, length = missed, nil, 1
		}
		t.Run(fmt.Sprintf("round %d", round), func(t *testing.T) {
			places := make(chan struct{}, *beside)
			for _, chain := range deal(chosen, length) {
				t.Run(fmt.Sprint(chain[0]), func(t *testing.T) {
					t.Parallel()
					places <- struct{}{}
					defer func() { <-places }()
					s := newScene(t, server)
					s.t = t
					reached, late := s.chain(u, chain, then)
					stopped.Add(int64(reached))
					events.Add(int64(late.events))
					mu.Lock()
					defer mu.Unlock()
					missed = append(missed, late.missed...)
				})
			}
		})
	}
	require.Empty(t, missed, "these moments never came")
	t.Logf("%d processes of %d stopped in the middle of an activity and went on too late; %d events say so", stopped.Load(), zombies, events.Load())
	require.EqualValues(t, zombies, stopped.Load())
	require.Positive(t, events.Load(), "no attempt noticed that it came too late")
}

// aftermath is what there is to say after the processes that were stopped have gone on.
type aftermath struct {
	events int
	missed []moment
}

// chain performs a run in which a process is stopped at each of the moments.
func (s *scene) chain(u undisturbed, moments []moment, then func(*scene)) (reached int, after aftermath) {
	s.t.Helper()
	decider := s.decider()
	s.begin()
	var zombies []*process
	before := -1
	for i, m := range moments {
		armed := moment{m.name, u.since(before, m), m.at}
		p := s.worker(armed.String(), armed.String()+"=stop", 1, fmt.Sprintf("-deaf=%t", i%4 != 3))
		await(s.t, "the moment "+armed.String(), func() bool { return p.stopped(s.t) || p.over() || s.over() })
		if !p.stopped(s.t) {
			p.end(s.t)
			after.missed = append(after.missed, m)
			continue
		}
		zombies, before = append(zombies, p), m.at
		then(s)
	}
	healthy := s.worker("healthy", "", 3)
	s.finish()
	healthy.end(s.t)
	decider.end(s.t)
	left := s.look()
	for _, zombie := range zombies {
		zombie.end(s.t)
	}
	after.events = requireUnchanged(s.t, left, s.look())
	require.Equal(s.t, u.outputs, s.outputs())
	s.verify()
	return len(zombies), after
}
