package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"waymark/client/local"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/services/buckets"
	"waymark/tests/services/pg"
	"waymark/tests/serving"
)

var (
	arrivingFiles = flag.Int("files", 30, "how many files arrive in TestFilesArriveWhileProcessesAreKilled")
	arrivalKills  = flag.Int("kills", 1, "how often a process is killed meanwhile")
)

const (
	arrivalWriters = 4
	rowsPerFile    = 3
)

// TestFilesArriveWhileProcessesAreKilled puts files into a folder, and objects into a bucket, while the processes that watch, and execute the runs, are killed:
// each is in exactly one complete run; and so is each output of these for a pipeline after them.
func TestFilesArriveWhileProcessesAreKilled(t *testing.T) {
	sample.Rarely(t)
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		a := newArriving(t)
		a.path = filepath.Join(a.folder, "in", "*.csv")
		a.put = a.writeFile
		a.kinds = []string{"serve"}
		a.arrive()
	})
	t.Run("pipeline", func(t *testing.T) {
		t.Parallel()
		a := newArriving(t)
		a.path = filepath.Join(a.folder, "in", "*.csv")
		a.put = a.writeFile
		a.kinds = []string{"serve"}
		a.last = "out/done"
		a.arrive()
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		a := newArriving(t)
		bucket := buckets.New(t)
		for name, value := range bucket.Env() {
			a.env = append(a.env, name+"="+value)
		}
		a.shared = []string{"--landscape", pg.New(t).DSN(), "--payloads", bucket.URL("payloads")}
		a.flags = append(a.flags, "--allow-network", "127.0.0.0/8")
		a.path, a.options = "s3://"+bucket.Name+"/in/*.csv", fmt.Sprintf(", s3: {endpoint: %q, path_style: true}", bucket.Endpoint)
		to := bucket.Client()
		a.put = func(ctx context.Context, name, text string) error {
			key := "in/" + name
			_, err := to.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket.Name, Key: &key, Body: strings.NewReader(text)})
			return err
		}
		a.kinds = []string{"serve", "worker"}
		a.arrive()
	})
}

// arriving is files that arrive, and processes that are killed.
type arriving struct {
	*testing.T
	folder, port  string
	path, options string   // of the source
	shared        []string // flags of all commands
	flags, env    []string // flags of those that compile documents
	kinds         []string // of the processes
	// last is the folder of the outputs in which each row is once: out, or out/done if another pipeline reads what is
	// in out.
	last      string
	put       func(ctx context.Context, name, text string) error
	processes map[string]*exec.Cmd
	logs      map[string]*serving.Log
}

func newArriving(t *testing.T) *arriving {
	t.Helper()
	address, err := services.FreeAddress()
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	a := &arriving{T: t, folder: t.TempDir(), port: port, last: "out", env: os.Environ(), processes: map[string]*exec.Cmd{}, logs: map[string]*serving.Log{}}
	a.flags = []string{"--allow-path", a.folder}
	require.NoError(t, os.Mkdir(filepath.Join(a.folder, "in"), 0o700))
	return a
}

// writeFile lets a file appear at once, as files should.
func (a *arriving) writeFile(_ context.Context, name, text string) error {
	file := filepath.Join(a.folder, "in", name)
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// arrive lets everything arrive, kills processes meanwhile, and requires that each file is in one complete run.
func (a *arriving) arrive() {
	a.deploy()
	for _, kind := range a.kinds {
		a.start(kind)
	}
	begun := time.Now()
	putting := a.putAll()
	chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	for i := range *arrivalKills {
		enough := a.done() + 1
		require.Eventually(a, func() bool { return a.done() >= min(enough, *arrivingFiles) }, 3*patience, 100*time.Millisecond, "nothing is done any more")
		time.Sleep(time.Duration(chance.IntN(1000)) * time.Millisecond)
		a.kill(a.kinds[i%len(a.kinds)])
	}
	require.NoError(a, putting.Wait())
	put := time.Since(begun)
	require.Eventually(a, func() bool { return a.done() == *arrivingFiles }, 5*time.Minute+time.Duration(*arrivingFiles)*100*time.Millisecond, 200*time.Millisecond)
	a.Logf("%d files in %v, done after %v, in %d runs, %d kills", *arrivingFiles, put.Round(time.Second), time.Since(begun).Round(time.Second), a.check(), *arrivalKills)
}

// deploy deploys the pipeline that reads what arrives.
func (a *arriving) deploy() {
	document := fmt.Sprintf(`
name: orders
params: {part: {type: string, default: all}}
sources: {orders: {csv: {path: %q%s}, schema: {fields: {id: int}}}}
sinks: {out: {jsonl: {path: "%s/out/${param:part}.jsonl"}}}
triggers: {drop: {source: orders, every: 200ms, quiet: 200ms, batch: {files: %d, wait: 500ms}, at_once: 2, run_id: part}}
`, a.path, a.options, a.folder, max(10, *arrivingFiles/100))
	require.NoError(a, os.WriteFile(filepath.Join(a.folder, "orders.yaml"), []byte(document), 0o600))
	if a.shared != nil {
		a.waymark("landscape", "migrate", a.shared[0], a.shared[1])
	}
	a.waymark(slices.Concat([]string{"deploy", "orders.yaml"}, a.flags, a.shared)...)
	if a.last == "out" {
		return
	}
	document = fmt.Sprintf(`
name: after
params: {part: {type: string, default: all}}
sources: {orders: {jsonl: {path: "%[1]s/out/*.jsonl"}, schema: {fields: {id: int}}}}
sinks: {done: {jsonl: {path: "%[1]s/out/done/${param:part}.jsonl"}}}
triggers: {orders: {source: orders, after: {pipeline: orders, sink: out}, every: 200ms, batch: {files: 2, wait: 500ms}, at_once: 2, run_id: part}}
`, a.folder)
	require.NoError(a, os.WriteFile(filepath.Join(a.folder, "after.yaml"), []byte(document), 0o600))
	require.NoError(a, os.Mkdir(filepath.Join(a.folder, "out"), 0o700))
	a.waymark(slices.Concat([]string{"deploy", "after.yaml"}, a.flags)...)
}

func (a *arriving) command(args ...string) *exec.Cmd {
	binary, err := programs.Waymark()
	require.NoError(a, err)
	cmd := exec.CommandContext(context.WithoutCancel(a.Context()), binary, args...)
	cmd.Dir, cmd.Env = a.folder, a.env
	return cmd
}

func (a *arriving) waymark(args ...string) string {
	out, err := a.command(args...).CombinedOutput()
	require.NoError(a, err, string(out))
	return string(out)
}

// start starts a process of a kind, and waits until it works.
func (a *arriving) start(kind string) {
	args := map[string][]string{
		"serve":  {"serve", ".", "--port", a.port, "--api", "off", "--pages", "off"},
		"worker": {"worker", "--temporal", "127.0.0.1:" + a.port, "--keys", local.Folder(filepath.Join(a.folder, ".waymark")).Keys()},
	}[kind]
	cmd := a.command(slices.Concat(args, []string{"--http", "off"}, a.flags, a.shared)...)
	log := new(serving.Log)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(a, cmd.Start())
	a.processes[kind], a.logs[kind] = cmd, log
	a.Cleanup(func() {
		if a.Failed() {
			a.Log(kind, log.String())
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(a, func() bool { return strings.Contains(log.String(), "msg=working") }, patience, 20*time.Millisecond, kind)
}

// kill kills a process, and starts another one.
func (a *arriving) kill(kind string) {
	require.NoError(a, a.processes[kind].Process.Kill())
	_ = a.processes[kind].Wait()
	a.start(kind)
}

// putAll lets all files arrive, from several writers, the later ones not always with the greater names.
func (a *arriving) putAll() *errgroup.Group {
	putting, ctx := errgroup.WithContext(a.Context())
	for writer := range arrivalWriters {
		putting.Go(func() error {
			for i := writer; i < *arrivingFiles; i += arrivalWriters {
				text := "id\n"
				for row := range rowsPerFile {
					text += fmt.Sprintln(i*rowsPerFile + row)
				}
				if err := a.put(ctx, fmt.Sprintf("%04x-%d.csv", (i*40503)%65536, i), text); err != nil {
					return err
				}
				time.Sleep(2 * time.Millisecond)
			}
			return nil
		})
	}
	return putting
}

// outputs returns what complete runs have published in a folder.
func (a *arriving) outputs(folder string) []string {
	found, err := filepath.Glob(filepath.Join(a.folder, folder, "*.jsonl"))
	require.NoError(a, err)
	return found
}

// done counts the files of which there are rows in outputs.
func (a *arriving) done() int { return len(a.rows()) / rowsPerFile }

// rows returns the rows of all outputs in the last folder.
func (a *arriving) rows() (ids []int) {
	for _, output := range a.outputs(a.last) {
		file, err := os.Open(output)
		require.NoError(a, err)
		for line := bufio.NewScanner(file); line.Scan(); {
			var row struct {
				ID int `json:"id"`
			}
			require.NoError(a, json.Unmarshal(line.Bytes(), &row), output)
			ids = append(ids, row.ID)
		}
		require.NoError(a, file.Close())
	}
	return ids
}

// check requires that every row is there once, and returns how many runs there were.
func (a *arriving) check() int {
	want := make([]int, *arrivingFiles*rowsPerFile)
	for i := range want {
		want[i] = i
	}
	require.Eventually(a, func() bool {
		for line := range strings.Lines(a.waymark(slices.Concat([]string{"triggers", "--json"}, a.shared)...)) {
			var trigger triggered
			require.NoError(a, json.Unmarshal([]byte(line), &trigger))
			if trigger.Waiting+trigger.Taken > 0 {
				return false
			}
		}
		return true
	}, patience, 200*time.Millisecond)
	ids := a.rows()
	slices.Sort(ids)
	require.Equal(a, want, ids)
	complete := 0
	for line := range strings.Lines(a.waymark(slices.Concat([]string{"runs", "--limit", "0", "--json"}, a.shared)...)) {
		var run struct {
			Status string `json:"status"`
		}
		require.NoError(a, json.Unmarshal([]byte(line), &run))
		require.Equal(a, "completed", run.Status, line)
		complete++
	}
	published := a.outputs("out")
	if a.last != "out" {
		published = append(published, a.outputs(a.last)...)
	}
	require.Len(a, published, complete)
	return complete
}
