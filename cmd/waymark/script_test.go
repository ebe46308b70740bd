package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/failpoint"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"waymark": main})
}

// TestScripts runs the scripts of tests/cli: each is a terminal session with the real program, in a folder of its own.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "../../tests/cli",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			return nil
		},
		Condition: func(condition string) (bool, error) {
			if condition != "failpoints" {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			return failpoint.Enabled, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "json": jsonField, "rows": manyRows, "signal": signalRun, "await": await,
			"cluster": startCluster, "worker": startWorker, "terminate": terminate, "failing": failing, "unread": unread,
		},
	})
}

// exits CODE PROGRAM ARGS… runs the program, which must end with the code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG…]")
	}
	err := ts.Exec(args[1], args[2:]...)
	if got := codeOf(ts, err); strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s ended with code %d, not %s\nstdout:\n%s\nstderr:\n%s", args[1], got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func codeOf(ts *testscript.TestScript, err error) int {
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		ts.Check(err)
	}
	if ended == nil {
		return 0
	}
	return ended.ExitCode()
}

// json LINE.PATH VALUE takes a line of stdout, counted from 0, as JSON; the value at PATH, such as sinks.review.rows, must
// print as VALUE. With !, there must be nothing at PATH. Without LINE the last line is meant.
func jsonField(ts *testscript.TestScript, neg bool, args []string) {
	var lines []any
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var value any
		ts.Check(json.Unmarshal([]byte(line), &value))
		lines = append(lines, value)
	}
	path := strings.Split(args[0], ".")
	if _, err := strconv.Atoi(path[0]); err != nil {
		path = append([]string{strconv.Itoa(len(lines) - 1)}, path...)
	}
	value, found := any(lines), true
	for _, key := range path {
		if value, found = at(value, key); !found {
			break
		}
	}
	switch {
	case neg && found:
		ts.Fatalf("%s is %v", args[0], value)
	case !neg && !found:
		ts.Fatalf("no %s in %v", args[0], lines)
	case !neg && fmt.Sprint(value) != args[1]:
		ts.Fatalf("%s is %v, not %s", args[0], value, args[1])
	}
}

func at(value any, key string) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		child, found := value[key]
		return child, found
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(value) {
			return nil, false
		}
		return value[i], true
	}
	return nil, false
}

// rows N FILE writes a CSV file with a header and N rows.
func manyRows(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var out bytes.Buffer
	out.WriteString("id,text\n")
	for i := range n {
		fmt.Fprintf(&out, "%d,this is the text of row %d\n", i, i)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

// signal SIGNAL CODE waymark run|resume ARGS… starts or goes on with a run, sends the signal as soon as more rows are on record
// than before, and checks the code; -1 for a process that did not end by itself. What it wrote is in the files run.out and
// run.err.
func signalRun(ts *testscript.TestScript, _ bool, args []string) {
	var stdout, stderr bytes.Buffer
	run := exec.Command("env", append([]string{"PATH=" + ts.Getenv("PATH")}, args[2:]...)...)
	run.Dir, run.Stdout, run.Stderr = ts.MkAbs("."), &stdout, &stderr
	word, before := lastRun, int64(0)
	if args[3] == "resume" {
		word = args[4]
		before, _ = runningRows(ts, word)
	}
	ts.Check(run.Start())
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	awaitRows(ts, word, before, func() {
		select {
		case err := <-ended:
			ts.Fatalf("the run ended too early: %v\n%s", err, &stderr)
		default:
		}
	})
	ts.Check(run.Process.Signal(map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}[args[0]]))
	got := codeOf(ts, <-ended)
	ts.Check(os.WriteFile(ts.MkAbs("run.out"), stdout.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("run.err"), stderr.Bytes(), 0o600))
	if strconv.Itoa(got) != args[1] {
		ts.Fatalf("ended with code %d, not %s\nstdout:\n%s\nstderr:\n%s", got, args[1], &stdout, &stderr)
	}
}

// await waits until the newest run has rows on record and is still running.
func await(ts *testscript.TestScript, _ bool, _ []string) { awaitRows(ts, lastRun, 0, func() {}) }

// awaitRows waits until the record says that the run is running and has read more rows than before. check is called again and
// again meanwhile.
func awaitRows(ts *testscript.TestScript, word string, before int64, check func()) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); check() {
		if rows, running := runningRows(ts, word); running && rows > before {
			return
		}
	}
	ts.Fatalf("no more rows than %d are on record after a minute", before)
}

// runningRows returns how many rows a run has read, and whether it is running on record; nothing if it is not there.
func runningRows(ts *testscript.TestScript, word string) (rows int64, running bool) {
	ask := exec.Command("env", "PATH="+ts.Getenv("PATH"), "waymark", "status", word, "--json")
	ask.Dir = ts.MkAbs(".")
	answer, err := ask.Output()
	if err != nil {
		return 0, false // no record yet
	}
	var status struct {
		Rows   int64  `json:"rows_read"`
		Status string `json:"status"`
	}
	ts.Check(json.Unmarshal(answer, &status))
	return status.Rows, status.Status == "running"
}
