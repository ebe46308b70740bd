// Package serving is a `waymark serve` of the real program, for tests of what people and programs see of it.
package serving

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"waymark/client/local"
	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/held"
	"waymark/tests/programs"
	"waymark/tests/services"
	"waymark/tests/system"
	"waymark/workflows"
)

// Patience is how long something is waited for that comes at once on an idle machine. It is less than the two minutes after which a run
// that waits asks by itself: what comes earlier was told.
const Patience = 100 * time.Second

// Server is a `waymark serve` on a folder of its own.
type Server struct {
	Folder  string
	Pages   string // HOST:PORT of Temporal's web pages
	Command *exec.Cmd
	Log     *Log // what it has written so far
	Out     *Log // of that, to its standard output

	opening sync.Mutex
	home    *local.Home        // nil until a test asks the record
	store   *sqlitestore.Store // nil until a test reads the landscape
}

// Log is what a process has written so far.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds what the process writes.
func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// String returns all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Start begins to serve the folder, and waits until there is a worker. The server ends with the test.
func Start(t *testing.T, folder string, flags ...string) *Server {
	t.Helper()
	for {
		s := begin(t, folder, flags...)
		require.Eventually(t, func() bool { return strings.Contains(s.Log.String(), "msg=working") || s.portIsTaken() }, Patience, 20*time.Millisecond)
		if !s.portIsTaken() {
			return s
		}
	}
}

// portIsTaken reports whether somebody else listens where the pages were to be, since it was looked for a port.
func (s *Server) portIsTaken() bool {
	return strings.Contains(s.Log.String(), s.Pages+": bind: address already in use")
}

func begin(t *testing.T, folder string, flags ...string) *Server {
	t.Helper()
	binary, err := programs.Waymark()
	require.NoError(t, err)
	address, err := services.FreeAddress()
	require.NoError(t, err)
	s := &Server{Folder: folder, Pages: address, Log: new(Log), Out: new(Log)}
	args := append([]string{"serve", ".", "--port", "0", "--http", "off", "--api", "off", "--pages", s.Pages}, flags...)
	s.Command = exec.CommandContext(context.WithoutCancel(t.Context()), binary, args...)
	s.Command.Dir, s.Command.Stdout, s.Command.Stderr = folder, io.MultiWriter(s.Out, s.Log), s.Log
	require.NoError(t, s.Command.Start())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Log.String())
		}
		_ = s.Command.Process.Kill()
		_ = s.Command.Wait()
		if s.home != nil {
			_ = s.home.Close() // it has executed nothing
		}
		if s.store != nil {
			_ = s.store.Close() // it has written nothing
		}
	})
	return s
}

// Home is the record of the server, for the process of the test: a question costs a thousandth of what a command costs,
// which matters to tests that ask again and again. It is closed with the server.
func (s *Server) Home(t *testing.T) *local.Home {
	t.Helper()
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.home == nil {
		state := local.Folder(filepath.Join(s.Folder, ".waymark"))
		home, err := local.Open(t.Context(), local.Options{State: state, Existing: true})
		require.NoError(t, err)
		s.home = home
	}
	return s.home
}

// Landscape reads the landscape of the server, for what no question is about. It is closed with the server: to open one
// takes ten milliseconds of CPU time, the most of what a test takes that opens one each time that it asks.
func (s *Server) Landscape(t *testing.T) *landscape.Reader {
	t.Helper()
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.store == nil {
		path := filepath.Join(s.Folder, ".waymark", "landscape.db")
		store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
		require.NoError(t, err)
		s.store = store
	}
	return landscape.NewReader(s.store)
}

// Temporal connects to its Temporal.
func (s *Server) Temporal(t *testing.T) sdk.Client {
	t.Helper()
	address, queue := local.Folder(filepath.Join(s.Folder, ".waymark")).Server()
	require.Equal(t, workflows.TaskQueue, queue)
	c, err := embedded.Dial(t.Context(), address, sdk.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// Waymark runs a command beside it, and returns what that printed.
func (s *Server) Waymark(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.Try(t.Context(), args...)
	require.NoError(t, err, out)
	return out
}

// Try is Waymark for a command that may fail.
func (s *Server) Try(ctx context.Context, args ...string) (string, error) {
	binary, err := programs.Waymark()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = s.Folder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Give gives an order to a workflow, and returns when it is obeyed.
func (s *Server) Give(t *testing.T, workflow, name string, order any) error {
	t.Helper()
	return system.Give(t, s.Temporal(t), workflow, name, order)
}

// IsRecorded waits until the run that began has a record.
func (s *Server) IsRecorded(t *testing.T, run string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := s.Home(t).Counts(t.Context(), run)
		return err == nil
	}, Patience, 20*time.Millisecond)
}

// Followed follows runs, from commands of their own. It returns, when all are at it, what gives what each has said when it has ended.
func (s *Server) Followed(t *testing.T, runs ...string) map[string]func() string {
	t.Helper()
	binary, err := programs.Waymark()
	require.NoError(t, err)
	said := map[string]func() string{}
	for _, run := range runs {
		var out Log
		cmd := exec.CommandContext(t.Context(), binary, "follow", run, "--json")
		cmd.Dir, cmd.Stdout, cmd.Stderr = s.Folder, &out, &out
		require.NoError(t, cmd.Start())
		said[run] = func() string { return fmt.Sprint(cmd.Wait(), out.String()) }
		require.Eventually(t, func() bool { return out.String() != "" }, Patience, 20*time.Millisecond, "it says what keeps the run")
	}
	return said
}

// Listed is what a command prints with --json.
func Listed[T any](t *testing.T, s *Server, args ...string) (all []T) {
	t.Helper()
	for line := range strings.Lines(s.Waymark(t, append(args, "--json")...)) {
		var one T
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		all = append(all, one)
	}
	return all
}

// Run is what `waymark runs --json` prints of a run.
type Run struct {
	Run     string             `json:"run"`
	Status  pipeline.RunStatus `json:"status"`
	Trigger string             `json:"trigger"`
}

// StrangersRows are those of the pipeline that strangers start.
const StrangersRows = 301

// Strangers is a server at which programs that know nothing of this module start runs.
type Strangers struct {
	*Server
	Address string // of its Temporal

	// Web is of what the runs read. It holds back half, so that a run can be paused whenever the order comes: release
	// it.
	Web *held.Web
}

// StartForStrangers serves a pipeline named orders, of whose rows one is refused.
func StartForStrangers(t *testing.T) *Strangers {
	t.Helper()
	folder, from := t.TempDir(), t.TempDir()
	s := &Strangers{Web: held.Serve(from)}
	t.Cleanup(s.Web.Close)
	s.Web.Hold(StrangersRows / 2)
	rows := strings.Replace(fixtures.Numbered(0, StrangersRows), "\n7,", "\nseven,", 1)
	document := strings.NewReplacer(
		"id: int", "id: int, kind: string",
		"orders.csv", s.Web.URL+"/orders.csv",
	).Replace(fixtures.Orders) + "chunk: {rows: 100}\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.yaml"), []byte(document), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(from, "orders.csv"), []byte(rows), 0o600))
	s.Server = Start(t, folder, "--allow-network", held.Networks)
	s.Address, _ = local.Folder(filepath.Join(folder, ".waymark")).Server()
	return s
}
