package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAProcessIsToldHowItEnded(t *testing.T) {
	shell := process{binary: "/bin/sh", folder: t.TempDir(), plan: "a=kill", log: "/log"}
	ended := shell.run(t.Context(), "-c", `echo "$WAYMARK_FAILPOINTS $WAYMARK_FAILPOINT_LOG"; echo bad >&2; exit 3`)
	require.Equal(t, end{code: 3, stdout: []byte("a=kill /log\n"), stderr: []byte("bad\n")}, ended)
	require.Equal(t, "exit code 3: bad", ended.String())
	require.Zero(t, shell.run(t.Context(), "-c", "true").code)

	ended = shell.run(t.Context(), "-c", "kill -9 $$")
	require.True(t, ended.killed)
	require.False(t, ended.hung)
	require.False(t, shell.run(t.Context(), "-c", "kill -15 $$").killed, "only SIGKILL is what was asked for")

	shell.timeout = 10 * time.Millisecond
	ended = shell.run(t.Context(), "-c", "exec sleep 60")
	require.True(t, ended.hung)
	require.False(t, ended.killed, "a process that is given up did not die at its moment")

	ended = process{binary: "/no/such/program", folder: t.TempDir()}.run(t.Context())
	require.Equal(t, -1, ended.code)
	require.Contains(t, ended.String(), "/no/such/program")
}

// TestTheProgramIsNotLedElsewhere: settings in the environment would make it work on somebody's real record.
func TestTheProgramIsNotLedElsewhere(t *testing.T) {
	for _, name := range []string{"STATE", "LANDSCAPE", "PAYLOADS", "SETTINGS", "FAILPOINTS", "FAILPOINT_LOG", "JSON", "SECRET_TOKEN", "ALLOW_PATH"} {
		t.Setenv("WAYMARK_"+name, "x")
	}
	kept := slices.DeleteFunc(environment(), func(entry string) bool { return !strings.HasPrefix(entry, "WAYMARK_") })
	slices.Sort(kept)
	require.Equal(t, []string{"WAYMARK_ALLOW_PATH=x", "WAYMARK_SECRET_TOKEN=x"}, kept)
}

func TestFaultsHappenWhereTheyCan(t *testing.T) {
	write, step := Moment{"payload.writing", 1}, Moment{"payload.renamed", 1}
	for fault, want := range map[string][2]bool{
		Kill: {true, true}, "delay:1ms": {true, true}, "short": {true, false}, "short:3": {true, false}, "error:EIO": {false, true},
	} {
		require.Equal(t, want, [2]bool{write.takes(fault), step.takes(fault)}, fault)
	}
}
