// Command picture draws docs/img/run.svg: it runs the example, and shows how many rows went where, and what `waymark explain`
// says of one of them. `make picture` writes it; a test holds what is committed against what this draws.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"waymark/tests/programs"
)

// A run is what the picture shows, as `plan`, `status` and `explain` print it.
type run struct {
	Edges   []edge
	Nodes   []node
	Explain []string // lines
}

type edge struct{ Kind, From, To, Label string }

type node struct {
	Node, Kind, Operation string
	In, Dropped, Diverted int64
}

func main() {
	root := flag.String("root", ".", "folder of the repository")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	picture, err := picture(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs/img/run.svg"), picture, 0o644)
}

// picture runs the example in a folder of its own and draws the run.
func picture(root string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "picture")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a folder of temporary files
	if err := os.CopyFS(filepath.Join(folder, "examples/bird-strikes/data"), os.DirFS(filepath.Join(root, "examples/bird-strikes/data"))); err != nil {
		return nil, err
	}
	document, err := os.ReadFile(filepath.Join(root, "examples/bird-strikes/pipeline.yaml"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "examples/bird-strikes/pipeline.yaml"), document, 0o644); err != nil {
		return nil, err
	}
	binary, err := programs.Build("waymark/cmd/waymark")
	if err != nil {
		return nil, err
	}
	shown, err := observe(binary, folder)
	if err != nil {
		return nil, err
	}
	return draw(shown), nil
}

// refusedRows reports whether a run is complete, and some of its rows were refused.
func refusedRows(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == 3
}

// observe runs the example, and asks for what the picture shows of it.
func observe(binary, folder string) (run, error) {
	var shown run
	const document = "examples/bird-strikes/pipeline.yaml"
	if out, err := waymark(binary, folder, "run", "--quiet", document); err != nil && !refusedRows(err) {
		return shown, fmt.Errorf("waymark run: %w\n%s", err, out)
	}
	var plan struct {
		Nodes []struct{ Name, Operation string }
		Edges []edge
	}
	var status struct{ Nodes []node }
	for into, args := range map[any][]string{&plan: {"plan", "--json", document}, &status: {"status", "--json", "last"}} {
		out, err := waymark(binary, folder, args...)
		if err != nil {
			return shown, fmt.Errorf("waymark %s: %w", args[0], err)
		}
		if err := json.Unmarshal(out, into); err != nil {
			return shown, fmt.Errorf("waymark %s: %w", args[0], err)
		}
	}
	shown.Nodes = status.Nodes
	shown.Edges = slices.DeleteFunc(plan.Edges, func(e edge) bool { return e.Kind == "error" })
	for i := range shown.Nodes {
		shown.Nodes[i].Operation = plan.Nodes[slices.IndexFunc(plan.Nodes, func(n struct{ Name, Operation string }) bool { return n.Name == shown.Nodes[i].Node })].Operation
	}
	told, err := waymark(binary, folder, "explain", "last", "--sink", "review", "--line", "3")
	if err != nil {
		return shown, fmt.Errorf("waymark explain: %w", err)
	}
	shown.Explain = excerpt(strings.ReplaceAll(string(told), folder+"/", ""))
	return shown, nil
}

func waymark(binary, folder string, args ...string) ([]byte, error) {
	command := exec.Command(binary, args...)
	command.Dir = folder
	return command.Output()
}

// excerpt leaves out the first line, which names the run, and the middle of the story: all but why the row is severe.
func excerpt(story string) []string {
	lines := strings.Split(strings.TrimSpace(story), "\n")
	read := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "read from") })
	severity := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "  severity:") })
	end := severity + slices.Index(lines[severity:], "")
	way := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "way ") })
	kept := slices.Concat(lines[read:read+3], []string{"…", "judge (set)"}, lines[severity:end], []string{"…"}, lines[way:])
	for i, line := range kept {
		if runes := []rune(line); len(runes) > columns {
			kept[i] = string(runes[:columns-1]) + "…"
		}
	}
	return kept
}
