package main

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"waymark/internal/failpoint"
	"waymark/internal/program"
	"waymark/tests/sample"
)

// sessionVariable is set for a process that executes commands of a script, in place of one command line.
const sessionVariable = "WAYMARK_TEST_SESSION"

// command is a command line, and all that a process of its own would have.
type command struct {
	Args, Env []string
	Folder    string
}

// answer is what a command leaves behind.
type answer struct {
	Code           int
	Stdout, Stderr []byte
}

// session is a process that executes the commands of a script, one after the other: most of what a command takes is
// the start of its process.
type session struct {
	commands *gob.Encoder
	answers  *gob.Decoder
}

// sessions are those of scripts, by their folders.
var sessions sync.Map // of *session

// inSession executes the command lines that come from its standard input, until that ends.
func inSession() {
	commands, answers := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr
	debug.SetGCPercent(400) // there is memory
	for {
		var c command
		if err := commands.Decode(&c); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			panic(err)
		}
		answer, err := c.execute()
		if err = errors.Join(err, answers.Encode(answer)); err != nil {
			panic(err)
		}
	}
}

// execute executes the command as main does.
func (c command) execute() (answer, error) {
	os.Clearenv()
	for _, variable := range c.Env {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return answer{}, err
		}
	}
	nothing, end, err := os.Pipe() // for standard input
	if err == nil {
		err = errors.Join(end.Close(), os.Chdir(c.Folder))
	}
	if err != nil {
		return answer{}, err
	}
	defer nothing.Close()
	os.Stdin = nothing
	var stdout, stderr transcript
	code := program.Main("waymark", &stderr, func() int { return execute(c.Args, &stdout, &stderr, os.LookupEnv) })
	return answer{Code: code, Stdout: stdout.all(), Stderr: stderr.all()}, nil
}

// transcript is what a command writes. As with a file, several goroutines may write at once.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *transcript) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(text)
}

func (w *transcript) all() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.text.Bytes())
}

// waymarkCommand ARGS… executes a command in the script's session, and with -every 1 in a process of its own, as exec
// does.
func waymarkCommand(ts *testscript.TestScript, neg bool, args []string) {
	if code := runWaymark(ts, args); (code != 0) != neg {
		ts.Fatalf("waymark ended with code %d", code)
	}
}

// runWaymark executes a command, and returns its exit code.
func runWaymark(ts *testscript.TestScript, args []string) int {
	if sample.All() || failpoint.Enabled { // which is armed when a process starts
		return codeOf(ts, ts.Exec("waymark", args...))
	}
	s := sessionOf(ts)
	ts.Check(s.commands.Encode(command{Args: args, Env: environment(ts), Folder: ts.MkAbs(".")}))
	var ended answer
	ts.Check(s.answers.Decode(&ended))
	_, err := ts.Stdout().Write(ended.Stdout)
	ts.Check(err)
	_, err = ts.Stderr().Write(ended.Stderr)
	ts.Check(err)
	return ended.Code
}

// sessionOf returns the session of a script, which it starts when it is first asked for. It ends with the script.
func sessionOf(ts *testscript.TestScript) *session {
	folder := ts.Getenv("WORK")
	if found, started := sessions.Load(folder); started {
		return found.(*session)
	}
	run := exec.Command(filepath.Join(programFolder, "waymark"))
	run.Env, run.Stderr = append(os.Environ(), sessionVariable+"=1"), os.Stderr
	in, err := run.StdinPipe()
	ts.Check(err)
	out, err := run.StdoutPipe()
	ts.Check(err)
	ts.Check(run.Start())
	ts.Defer(func() {
		sessions.Delete(folder)
		ts.Check(errors.Join(in.Close(), run.Wait()))
	})
	s := &session{gob.NewEncoder(in), gob.NewDecoder(out)}
	sessions.Store(folder, s)
	return s
}

// variables is the key of the names of all environment variables that a script sets.
type variables struct{}

// setsVariable matches a line of a script that sets an environment variable.
var setsVariable = regexp.MustCompile(`(?m)^(?:\[.*\] )?env (\w+)=`)

// noteVariables notes the names of the environment variables that a script begins with, and of those that it sets
// later.
func noteVariables(env *testscript.Env, script string) error {
	text, err := os.ReadFile(script)
	var names []string
	for _, variable := range env.Vars {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	for _, found := range setsVariable.FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1])
	}
	env.Values[variables{}] = append(names, givenVariables...)
	return err
}

// givenVariables are those that commands of scripts set: serve, cluster, and database.
var givenVariables = []string{
	"WAYMARK_ALLOW_NETWORK", "WAYMARK_SECRET_DW", "WAYMARK_TEMPORAL", "TEMPORAL_ADDRESS", "TEMPORAL_CONFIG_FILE",
}

// environment is that of a script. An empty variable is as good as none.
func environment(ts *testscript.TestScript) (env []string) {
	for _, name := range ts.Value(variables{}).([]string) {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// programFolder is a folder with the program under its name: this test.
var programFolder string

// mainWith makes the program for scripts, and passes the tests.
func mainWith(run func() int) int {
	test, err := os.Executable()
	if err == nil {
		programFolder, err = os.MkdirTemp("", "waymark-scripts-")
	}
	if err == nil {
		defer os.RemoveAll(programFolder) //nolint:errcheck // it holds a link
		err = os.Symlink(test, filepath.Join(programFolder, "waymark"))
	}
	if err == nil {
		err = os.Setenv("PATH", programFolder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a program for scripts:", err)
		return 1
	}
	return run()
}
