package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/internal/failpoint"
	"waymark/internal/sqlitefile"
	"waymark/pipeline"
	"waymark/tests/sample"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "waymark" { // a script starts it as the program
		if os.Getenv(sessionVariable) == "" {
			main()
		}
		inSession()
		os.Exit(0)
	}
	// Scripts mostly wait. The command line may say otherwise.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(mainWith(m.Run))
}

// scripts is the folder with the scripts.
const scripts = "../../tests/cli"

// TestScripts runs the scripts of tests/cli: each is a terminal session with the real program, in a folder of its own.
// What begins with waymark may be executed by one process for all of a script; exec waymark is a process of its own.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	if signal.Ignored(syscall.SIGHUP) { // as under nohup: what the scripts start must not be deaf to it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Run(t, testscript.Params{
		Dir: scripts,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			return noteVariables(env, filepath.Join(scripts, filepath.Base(env.T().(testing.TB).Name())+".txtar"))
		},
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "failpoints":
				return failpoint.Enabled, nil
			case "nightly":
				return sample.All(), nil
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waymark": waymarkCommand, "exits": exits, "json": jsonField, "rows": manyRows,
			"signal": signalRun, "await": await, "told": told,
			"serve": serveHeld, "hold": hold, "release": release, "ordered": ordered, "busy": busyFile, "idle": idleFile,
			"lock": lock, "unlock": unlock, "database": databases(t), "sql": runSQL,
			"cluster": startCluster, "worker": startWorker, "terminate": terminate, "failing": failing,
		},
	})
}

// exits CODE[,CODE…] PROGRAM ARGS… runs the program, which must end with one of the codes.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG…]")
	}
	var got int
	if args[1] == "waymark" {
		got = runWaymark(ts, args[2:])
	} else {
		got = codeOf(ts, ts.Exec(args[1], args[2:]...))
	}
	if !slices.Contains(strings.Split(args[0], ","), strconv.Itoa(got)) {
		ts.Fatalf("%s ended with code %d, not %s", args[1], got, args[0])
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

// signal SIGNAL CODE waymark run|resume|errors ARGS… starts or goes on with a run, sends the signal as soon as a sink has more chunks on
// record than before, and checks the code; -1 for a process that did not end by itself. What it wrote is in the files run.out and
// run.err. Something must hold the run in its middle: it must not end before the signal. If there is more that it may have then, it gets
// that when the signal is on record.
func signalRun(ts *testscript.TestScript, _ bool, args []string) {
	var stdout, stderr bytes.Buffer
	run := exec.Command("env", append([]string{"PATH=" + ts.Getenv("PATH"), "WAYMARK_ALLOW_NETWORK=" + ts.Getenv("WAYMARK_ALLOW_NETWORK")}, args[2:]...)...)
	run.Dir, run.Stdout, run.Stderr = ts.MkAbs("."), &stdout, &stderr
	word, before := pipeline.LastRun, 0
	if args[3] == "resume" {
		word = args[4]
		before, _ = written(ts, word)
	}
	ts.Check(run.Start())
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	awaitWritten(ts, word, before, func() {
		select {
		case err := <-ended:
			ts.Fatalf("the run ended too early: %v\n%s", err, &stderr)
		default:
		}
	})
	ts.Check(run.Process.Signal(map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": os.Kill}[args[0]]))
	if args[0] != "KILL" {
		ordered(ts, false, nil)
	}
	got := codeOf(ts, <-ended)
	ts.Check(os.WriteFile(ts.MkAbs("run.out"), stdout.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("run.err"), stderr.Bytes(), 0o600))
	if strconv.Itoa(got) != args[1] {
		ts.Fatalf("ended with code %d, not %s\nstdout:\n%s\nstderr:\n%s", got, args[1], &stdout, &stderr)
	}
}

// await waits until the newest run is running and a sink of it has a chunk on record.
func await(ts *testscript.TestScript, _ bool, _ []string) {
	awaitWritten(ts, pipeline.LastRun, 0, func() {})
}

// lock FILE keeps the database FILE locked until the command unlock.
func lock(ts *testscript.TestScript, _ bool, args []string) {
	uri, err := sqlitefile.URI(ts.MkAbs(args[0]), url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout=60000"}})
	ts.Check(err)
	db, err := sql.Open("sqlite", uri)
	ts.Check(err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("begin immediate")
	ts.Check(err)
	end := sync.OnceFunc(func() { ts.Check(db.Close()) })
	ts.Defer(end)
	locks.Store(ts.Getenv("WORK"), end)
}

// unlock ends what the last lock began.
func unlock(ts *testscript.TestScript, _ bool, _ []string) { endOf(ts, &locks)() }

// told FILE TEXT waits until the text is in the file, to which something writes.
func told(ts *testscript.TestScript, _ bool, args []string) {
	until(ts, fmt.Sprintf("nobody writes %q to %s", args[1], args[0]), func() bool {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && strings.Contains(string(text), args[1])
	})
}

// until waits until it is so.
func until(ts *testscript.TestScript, otherwise string, so func() bool) {
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s within two minutes", otherwise)
		}
	}
}

// awaitWritten waits until the record says that the run is running and has written more chunks than before. check is called again
// and again meanwhile.
func awaitWritten(ts *testscript.TestScript, word string, before int, check func()) {
	until(ts, fmt.Sprintf("no more chunks than %d are written", before), func() bool {
		check()
		chunks, running := written(ts, word)
		return running && chunks > before
	})
}

// written returns how many chunks are in the sinks of a run on record, and whether it is running there; nothing if it is not there.
func written(ts *testscript.TestScript, word string) (chunks int, running bool) {
	var answer bytes.Buffer
	args := []string{"status", word, "--json", "--state", ts.MkAbs(".waymark")}
	if execute(args, &answer, io.Discard, func(string) (string, bool) { return "", false }) != 0 {
		return 0, false // no record yet
	}
	var status struct {
		Status string `json:"status"`
		Sinks  []struct {
			Chunks int `json:"chunks_completed"`
		} `json:"sinks"`
	}
	ts.Check(json.Unmarshal(answer.Bytes(), &status))
	for _, sink := range status.Sinks {
		chunks += sink.Chunks
	}
	return chunks, status.Status == "running"
}
