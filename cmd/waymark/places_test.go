package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/internal/settings"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/worker"
	"waymark/worker/daemon"
)

// place is a file on the machine of a server, and what documents of other people may do with it.
type place struct{ read, write bool }

// The places that documents may use in one way or another: the folder is that of the server. All others they may not.
var (
	both     = place{read: true, write: true}
	readable = place{read: true}
	nothing  = place{}
)

// places are those that no option names.
var places = map[string]place{
	settings.DefaultFile:       nothing,
	"waymark.settings.YAML":    nothing,
	"orders.yaml":              nothing,
	"new.yaml":                 nothing,
	"orders/pipeline.yaml":     nothing,
	"new/pipeline.yaml":        nothing,
	"out/pipeline.yaml":        nothing,
	".git/config":              nothing,
	".env":                     nothing,
	"out/.a.csv.r.partial":     nothing,
	"../outside/a.csv":         nothing,
	"in.csv":                   readable,
	"backup.sh":                readable,
	"other/in.csv":             readable,
	"other/out/a.csv":          readable,
	"../used/a.csv":            readable,
	"out/a.csv":                both,
	"out/b/a.csv":              both,
	"orders/out/a.csv":         both,
	"../written/a.csv":         both,
	"../written/deeper/b/a.pq": both,
}

// kinds are what the values of options are that name no file or folder of the server. One whose value is a file
// or a folder is tried by itself.
var kinds = []string{
	"HOST:PORT", "MiB", "URL", "address", "anchor", "environment", "name", "network", "periods", "port", "profile",
	"queue", "requests", "rule", "rules", "scopes", "time", "variable", "version", "bool", "int", "duration", "string", "",
}

// forDocuments are options whose folders are for documents.
var forDocuments = map[string]string{"allow-path": "../used", "allow-write": "../written"}

// TestPlaces tries what a server has on its machine: each place by each way to read and to write, of a version
// that is deployed. A new option whose value is a file or folder, and a new format, are tried without a word
// here, or it fails.
func TestPlaces(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "served")
	require.NoError(t, os.Mkdir(folder, 0o700))
	t.Chdir(folder)
	table := maps.Clone(places)
	config, flags := daemon.Config{Pipelines: "."}, servingFlags(t)
	flags.VisitAll(func(flag *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(flag)
		at, given := forDocuments[flag.Name]
		switch {
		case given:
			require.Equal(t, "folder", kind)
			require.NoError(t, os.MkdirAll(at, 0o700))
			require.NoError(t, flag.Value.Set(at))
		case kind == "file":
			table["own/"+flag.Name] = nothing
			require.NoError(t, flag.Value.Set("own/"+flag.Name))
		case kind == "folder":
			table["own/"+flag.Name+"/x"], table["own/"+flag.Name+"/below/x"] = nothing, nothing
			require.NoError(t, flag.Value.Set("own/"+flag.Name))
		default:
			require.Contains(t, kinds, kind, "--%s: does its value name something on the server's machine?", flag.Name)
		}
	})
	for name := range table {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		if !strings.HasPrefix(name, "new") {
			require.NoError(t, os.WriteFile(name, []byte("id,text\n1,a\n"), 0o600))
		}
	}
	config.AllowPaths, config.AllowWrite = []string{"../used"}, []string{"../written"}
	config.Own = daemon.OwnFiles(flags)
	p := worker.Planner{FingerprintKey: []byte("key")}
	config.Confine(&p)
	forms := []bool{true}
	if sample.All() {
		forms = append(forms, false)
	}
	for name, may := range table {
		whole := filepath.Join(folder, name)
		for _, deployed := range forms {
			for how, source := range reads(whole) {
				found := mayRead(t, p, folder, deployed, source)
				require.Equal(t, may.read, found, "%s is read as %s, deployed: %t", name, how, deployed)
			}
			wants := may.write && (deployed || !strings.HasPrefix(name, "orders/")) // a served document of another name
			for how, sink := range writes(whole) {
				_, err := compiles(p, folder, deployed, "csv: {path: "+filepath.Join(folder, "in.csv")+"}", sink, "")
				require.Equal(t, wants, err == nil, "%s is written as %s, deployed: %t: %v", name, how, deployed, err)
			}
		}
	}
}

// servingFlags are those of waymark serve.
func servingFlags(t *testing.T) *pflag.FlagSet {
	t.Helper()
	root := (&app{stdout: io.Discard, stderr: io.Discard}).rootCommand()
	serve, _, err := root.Find([]string{"serve"})
	require.NoError(t, err)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddFlagSet(serve.InheritedFlags())
	flags.AddFlagSet(serve.Flags())
	return flags
}

// reads are the ways in which a document reads a file: each format as a source, by its name and by a pattern,
// and as a table.
func reads(path string) map[string]string {
	pattern := filepath.Join(filepath.Dir(path), "["+filepath.Base(path)[:1]+"]"+filepath.Base(path)[1:])
	ways := map[string]string{"pattern": fmt.Sprintf("csv: {path: %q}", pattern)}
	for _, format := range formatsOf[pipeline.Source]("postgres", "webhook") {
		ways[format] = fmt.Sprintf("%s: {path: %q}", format, path)
	}
	for _, format := range formatsOf[pipeline.Lookup]() {
		ways["table of "+format] = fmt.Sprintf(
			"lookup: {%s: {path: %q}, on: {text: text}, add: {other: id}}", format, path)
	}
	return ways
}

// writes are the ways in which a document writes a file.
func writes(path string) map[string]string {
	beside := filepath.Join(filepath.Dir(path), "beside-"+strings.TrimPrefix(filepath.Base(path), "."))
	ways := map[string]string{"parts": fmt.Sprintf("csv: {path: %q, parts: true, overwrite: true}", path)}
	if !strings.HasPrefix(filepath.Base(path), ".") {
		ways["latest"] = fmt.Sprintf("csv: {path: %q, latest: %q}", beside, path)
	}
	for _, format := range formatsOf[pipeline.Sink]("postgres") {
		ways[format] = fmt.Sprintf("%s: {path: %q, overwrite: true}", format, path)
	}
	return ways
}

// formatsOf are the keys of the formats that a part of a document has, but for those that are about no files.
func formatsOf[T any](but ...string) (formats []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if field.Tag.Get("one") == "format" && !slices.Contains(but, key) {
			formats = append(formats, key)
		}
	}
	return formats
}

// mayRead reports whether a document may read a file, and finds it.
func mayRead(t *testing.T, p worker.Planner, folder string, deployed bool, source string) bool {
	t.Helper()
	step, in := "", source
	if strings.HasPrefix(source, "lookup") {
		step, in = source, "csv: {path: "+filepath.Join(folder, "in.csv")+"}"
	}
	if step != "" {
		return mayLookUp(t, p, folder, in, step)
	}
	compiled, err := compiles(p, folder, deployed, in, "csv: {path: "+filepath.Join(folder, "out", "never.csv")+"}",
		step)
	if err != nil {
		return false
	}
	info, err := compiled.Nodes[compiled.Sources()[0]].Source.Stat(t.Context())
	return err == nil && len(info.Files) == 1
}

// mayLookUp is about a table, which is read when the document is compiled: of a version that is once, by the process
// that deploys.
func mayLookUp(t *testing.T, p worker.Planner, folder, in, step string) bool {
	t.Helper()
	_, err := compiles(p, folder, false, in, "csv: {path: "+filepath.Join(folder, "out", "never.csv")+"}", step)
	return err == nil || !strings.Contains(err.Error(), "which no document reads or writes") &&
		!strings.Contains(err.Error(), "outside the document")
}

func compiles(p worker.Planner, folder string, deployed bool, source, sink, step string) (*plan.Plan, error) {
	document := "name: orders\nsources: {in: {" + source + ", schema: {fields: {id: string, text: string}}}}\n"
	if step != "" {
		document += "steps: [{name: look, " + step + "}]\n"
	}
	document += "sinks: {out: {" + sink + "}}\n"
	return p.Plan(plan.Request{File: "orders.yaml", Folder: folder, Deployed: deployed, Document: []byte(document)})
}
