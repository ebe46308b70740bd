package serve_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/remote"
	"waymark/tests/manual"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/services"
)

// remotePage types what docs/remote.md shows, and runs its program, at a server of the two files that docs/api.md shows
// as well.
func (h *house) remotePage(t *testing.T) {
	services.Program(t, "sh", "dash")
	text, about := manual.Page(t, "remote.md"), manual.Page(t, "api.md")
	require.Equal(t, manual.Blocks(about, "yaml")[0], manual.Blocks(text, "yaml")[0])
	require.Equal(t, manual.Blocks(about, "csv")[0], manual.Blocks(text, "csv")[0])
	scripts := manual.Blocks(text, "sh")
	require.Len(t, scripts, 4)
	binary, err := programs.Waymark()
	require.NoError(t, err)
	tools := t.TempDir()
	require.NoError(t, os.Symlink(binary, filepath.Join(tools, "waymark")))
	shell := func(folder, script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", strings.ReplaceAll(script, "http://127.0.0.1:8686", h.url))
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	shell(h.Folder, scripts[1])
	other := t.TempDir() // the other machine
	require.NoError(t, os.Rename(filepath.Join(h.Folder, "token.txt"), filepath.Join(other, "token.txt")))
	said := shell(other, strings.Join(scripts[2:], ""))
	require.Contains(t, said, "3 rows read, 1 refused, 1 of these in quarantine, 1 filtered")
	require.Contains(t, said, `total: "…" is not a valid decimal`)
	require.Contains(t, said, "read from orders.csv, line 4")
	followed, err := os.ReadFile(filepath.Join(other, "followed.txt"))
	require.NoError(t, err)
	require.Contains(t, string(followed), "orders: completed_with_failures")
	require.Contains(t, h.Waymark(t, "access", "disclosures"), "in:3")

	if h.remoteProgram(t, other); sample.All() {
		for _, again := range []string{"false", "true"} {
			told := shell(other,
				"export WAYMARK_SERVER=http://127.0.0.1:8686 WAYMARK_TOKEN=$(cat token.txt)\nprogram/program")
			require.Contains(t, told, "completed_with_failures again: "+again)
			require.Contains(t, told, "true ann@example.com")
		}
	}
	h.remoteFiles(t)
}

// remoteProgram compiles the program of the page in a module of its own, program in the folder. To vet and link it
// takes a while: make nightly does, and by day it is compiled as a package, which is not linked.
func (h *house) remoteProgram(t *testing.T, folder string) {
	t.Helper()
	module := filepath.Join(folder, "program")
	require.NoError(t, os.Mkdir(module, 0o700))
	program := manual.Blocks(manual.Page(t, "remote.md"), "go")[0]
	program = strings.Replace(program, `"order-4711"`, `"order-4712"`, 1) // docs/api.md has a run under that key
	here, err := filepath.Abs("../..")
	require.NoError(t, err)
	version := strings.TrimPrefix(runtime.Version(), "go")
	last := [][]string{{"vet", "."}, {"build", "-ldflags=-s -w", "-o", "program", "."}}
	if !sample.All() {
		program = strings.Replace(program, "package main\n", "package program\n", 1)
		last = [][]string{{"build", "."}}
	}
	require.NoError(t, os.WriteFile(filepath.Join(module, "main.go"), []byte(program), 0o600))
	for _, command := range append([][]string{
		{"mod", "init", "example.com/program"},
		{"mod", "edit", "-go=" + version},
		{"work", "init", ".", here},
	}, last...) {
		step := exec.CommandContext(t.Context(), "go", command...)
		step.Dir, step.Env = module, append(os.Environ(), "GOWORK=", "GOFLAGS=")
		out, err := step.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// remoteFiles fetches what others can verify, and deploys, as Go programs do.
func (h *house) remoteFiles(t *testing.T) {
	c, err := remote.New(remote.Options{URL: h.url, Token: h.token})
	require.NoError(t, err)
	run, err := c.Find(t.Context(), "last")
	require.NoError(t, err)
	fetch := func(name string, write func(io.Writer) error) string {
		t.Helper()
		var file bytes.Buffer
		require.NoError(t, write(&file))
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
		return path
	}
	output, err := os.ReadFile(fetch("all.csv", func(w io.Writer) error { return c.Output(t.Context(), run.ID, "all", w) }))
	require.NoError(t, err)
	published, err := os.ReadFile(filepath.Join(h.Folder, "out/all.csv"))
	require.NoError(t, err)
	require.Equal(t, published, output)
	var failure *client.Error
	require.ErrorAs(t, c.Output(t.Context(), run.ID, "nope", io.Discard), &failure)
	require.Equal(t, client.OutputNotFound, failure.Code)
	h.Waymark(t, "verify", fetch("run.zip", func(w io.Writer) error { return c.Bundle(t.Context(), run.ID, remote.BundleFilter{Artifacts: true}, w) }))
	h.isAnchored(t, run.ID)
	require.Zero(t, h.command(t, true, "prove", run.ID, "--row", "1", "-o", "row.proof").code)
	h.Waymark(t, "verify", "row.proof")
	html, err := os.ReadFile(fetch("run.html", func(w io.Writer) error { return c.WriteReport(t.Context(), run.ID, w) }))
	require.NoError(t, err)
	require.Contains(t, string(html), "<title>Run "+run.ID+" of ")
	report, err := c.Run(t.Context(), run.ID)
	require.NoError(t, err)
	document, err := os.ReadFile(fetch("document", func(w io.Writer) error { return c.Payload(t.Context(), run.ID, report.Document, w) }))
	require.NoError(t, err)
	require.Equal(t, report.Document, fmt.Sprintf("%x", sha256.Sum256(document)))
	require.ErrorAs(t, c.Payload(t.Context(), run.ID, strings.Repeat("0", 64), io.Discard), &failure)
	require.Equal(t, client.PayloadNotFound, failure.Code)

	moved := "name: moved\nsources: {in: {csv: {path: " + h.Folder + "/orders.csv}, schema: {fields: {id: int, total: string}}}}\nsinks: {all: {csv: {path: " + h.Folder + "/out/moved.csv}}}\n"
	for _, changed := range []bool{true, false} {
		deployed, err := c.Deploy(t.Context(), remote.DeployRequest{Why: "moved", Document: moved})
		require.NoError(t, err)
		require.Equal(t, changed, deployed.Changed)
	}
	_, err = c.Deploy(t.Context(), remote.DeployRequest{Why: "moved", Document: "name: moved\n"})
	require.ErrorAs(t, err, &failure)
	require.Equal(t, client.InvalidDocument, failure.Code)
	history, err := c.PipelineHistory(t.Context(), "", "moved")
	require.NoError(t, err)
	require.Equal(t, "ann", history[0].Actor)
}
