package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheWorkerIsLean keeps out what makes a program large, and what a worker of a cluster must not have: a server of its own.
func TestTheWorkerIsLean(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "go.temporal.io/sdk/worker")
	for _, name := range packages {
		for _, heavy := range []string{"go.temporal.io/server", "modernc.org/sqlite", "waymark/internal/temporal/embedded", "waymark/landscape/sqlitestore"} {
			require.False(t, name == heavy || strings.HasPrefix(name, heavy+"/"), "waymark-worker links %s", name)
		}
	}
}

// run runs the command line with nothing but these variables.
func run(env map[string]string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = execute(context.Background(), args, &out, &errs, func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	})
	return code, out.String(), errs.String()
}

func TestWrongUse(t *testing.T) {
	t.Chdir(t.TempDir())
	const landscape, payloads = "postgres://ada:hunter2@127.0.0.1:1/db", "file:payloads"
	for name, test := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"nothing":       {nil, nil, "waymark-worker: --landscape is missing: say where it is, with the flag or with WAYMARK_LANDSCAPE\n--payloads is missing"},
		"no payloads":   {map[string]string{"WAYMARK_LANDSCAPE": landscape}, nil, "WAYMARK_PAYLOADS"},
		"argument":      {nil, []string{"now"}, `unknown command "now"`},
		"flag":          {nil, []string{"--landscpe", "x"}, "unknown flag: --landscpe"},
		"variable":      {map[string]string{"WAYMARK_DRAIN": "soon"}, nil, "environment variable WAYMARK_DRAIN"},
		"settings":      {map[string]string{"WAYMARK_SETTINGS": "gone.yaml"}, nil, "gone.yaml"},
		"codec keys":    {map[string]string{"WAYMARK_LANDSCAPE": landscape, "WAYMARK_PAYLOADS": payloads, "WAYMARK_CODEC_KEYS": "canary"}, nil, "codec key 1"},
		"codec require": {nil, []string{"--landscape", landscape, "--payloads", payloads, "--codec-require"}, "--codec-keys-file"},
		"key":           {map[string]string{"WAYMARK_LANDSCAPE": landscape, "WAYMARK_PAYLOADS": payloads, "WAYMARK_FINGERPRINT_KEY": "canary"}, nil, "64 hex digits"},
		"ready, off":    {nil, []string{"ready", "--http", "off"}, "--http is off"},
		"address":       {nil, []string{"--landscape", landscape, "--payloads", payloads, "--http", "8077"}, "--http"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(test.env, test.args...)
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, test.want)
			require.Empty(t, stdout)
			require.NotContains(t, stderr, "hunter2")
			require.NotContains(t, stderr, "canary")
		})
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, entries, "nothing was made")
}

func TestReadyAsksTheProcessOnThisMachine(t *testing.T) {
	status := http.StatusOK
	process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/readyz", r.URL.Path)
		w.WriteHeader(status)
		_, err := io.WriteString(w, "temporal: nobody listens there\nlandscape: ok\n")
		require.NoError(t, err)
	}))
	_, port, err := net.SplitHostPort(process.Listener.Addr().String())
	require.NoError(t, err)
	env := map[string]string{"WAYMARK_HTTP": "0.0.0.0:" + port} // as in docker-compose.yml
	code, _, stderr := run(env, "ready")
	require.Equal(t, 0, code, stderr)
	status = http.StatusServiceUnavailable
	code, _, stderr = run(env, "ready")
	require.Equal(t, 1, code)
	require.Equal(t, "waymark-worker: not ready: temporal: nobody listens there; landscape: ok\n", stderr)
	process.Close()
	code, _, stderr = run(env, "ready")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "refused")
}

func TestVersionAndHelp(t *testing.T) {
	code, stdout, _ := run(nil, "--version")
	require.Equal(t, 0, code)
	require.Regexp(t, "^waymark-worker .*go1", stdout)
	code, stdout, _ = run(nil, "--help")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "WAYMARK_POLLERS")

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for _, flag := range []string{"--version", "--help"} {
		code = execute(t.Context(), []string{flag}, full, io.Discard, func(string) (string, bool) { return "", false })
		require.Equal(t, exitFailed, code, flag)
	}
}
