package tests

import (
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"waymark/tests/manual"
)

// linksServer are the programs and test binaries that link Temporal's server, each with the reason. Linking one takes
// four seconds of CPU time, two more than a client of Temporal, and 60 MB.
var linksServer = map[string]string{
	"cmd/waymark":                     "executes runs in its own process",
	"cmd/waymark.test":                "the scripts run the commands",
	"client/local.test":               "runs are executed in the test's process",
	"internal/temporal/embedded.test": "the server itself",
	"serve/api.test":                  "the doors name local.Home",
	"tests.test":                      "whole runs",
	"tests/bench":                     "measures the server",
	"tests/connectors.test":           "whole runs",
	"tests/pages.test":                "reads the state folder of a server",
	"tests/serve.test":                "reads the state folder of a server",
	"tests/values.test":               "whole runs",
	"tests/workers.test":              "a server for worker processes",
}

// withoutS3 are the folders whose programs and test binaries link no client of S3.
var withoutS3 = []string{
	"engine", "landscape", "pipeline", "plugin/csv", "plugin/jsonl", "plugin/parquet", "plugin/postgres", "workflows",
}

// The packages by which is known what a binary links.
const (
	serverPackage = "go.temporal.io/server/temporal"
	s3Package     = "github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestFewLinkTheServer compares the lists with what `go build ./...` and `go test ./...` link.
func TestFewLinkTheServer(t *testing.T) {
	linked := linking(t).binaries
	for _, binary := range linked[serverPackage] {
		require.Contains(t, linksServer, binary,
			"it links Temporal's server: let it do without, or give the reason in the list")
	}
	for binary := range linksServer {
		require.Contains(t, linked[serverPackage], binary, "it does not link Temporal's server: take it from the list")
	}
	for _, binary := range linked[s3Package] {
		for _, folder := range withoutS3 {
			within := binary == folder+".test" || strings.HasPrefix(binary, folder+"/")
			require.False(t, within, "%s links a client of S3", binary)
		}
	}
}

// TestDependencies compares docs/dependencies.md with go.mod, and its tables with what the programs import: the second one
// has what tests alone import.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "go.mod"))
	require.NoError(t, err)
	module, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	used := map[string]bool{} // by a program
	for _, required := range module.Require {
		if !required.Indirect {
			used[required.Mod.Path] = false
		}
	}
	for _, imported := range linking(t).product {
		require.False(t, strings.HasPrefix(imported, "waymark/tests/"), "a program links %s", imported)
		if owner := moduleOf(imported, used); owner != "" {
			used[owner] = true
		}
	}
	inPrograms, inTests, two := strings.Cut(manual.Page(t, "dependencies.md"), "\n## Tests alone\n")
	require.True(t, two)
	for owner, byProgram := range used {
		row := "\n| `" + owner + "` |"
		require.Equal(t, byProgram, strings.Contains(inPrograms, row), "%s in the first table", owner)
		require.Equal(t, !byProgram, strings.Contains(inTests, row), "%s in the second table", owner)
	}
	require.Equal(t, len(used), strings.Count(inPrograms+inTests, "\n| `"), "a row is of no direct requirement")
}

// moduleOf returns the module that has the package; empty if none of them has it.
func moduleOf(imported string, modules map[string]bool) (owner string) {
	for path := range modules {
		if (imported == path || strings.HasPrefix(imported, path+"/")) && len(path) > len(owner) {
			owner = path
		}
	}
	return owner
}

// linkage is what `go list` reports of the module's packages.
type linkage struct {
	binaries map[string][]string // programs and test binaries, by one of two packages that they link
	product  []string            // what packages of the module that are linked by a program of cmd import
}

// linking asks `go list` once.
var linking = func() func(t *testing.T) linkage {
	asked := sync.OnceValues(askLinking)
	return func(t *testing.T) linkage {
		t.Helper()
		found, err := asked()
		require.NoError(t, err)
		return found
	}
}()

func askLinking() (linkage, error) {
	const format = `{{$path := .ImportPath}}{{range .Imports}}import {{$path}} {{.}}{{"\n"}}{{end}}` +
		`{{if eq .Name "main"}}{{range .Deps}}link {{$path}} {{.}}{{"\n"}}{{end}}{{end}}`
	out, err := exec.Command("go", "list", "-test", "-f", format, "waymark/...").Output()
	if err != nil {
		return linkage{}, err
	}
	found := linkage{binaries: map[string][]string{}}
	imports, product := map[string][]string{}, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		importer, imported, _ := strings.Cut(rest, " ")
		switch {
		case kind == "import":
			imports[importer] = append(imports[importer], imported)
			continue
		case imported == serverPackage || imported == s3Package:
			found.binaries[imported] = append(found.binaries[imported], strings.TrimPrefix(importer, "waymark/"))
		}
		if program := strings.HasPrefix(importer, "waymark/cmd/") && !strings.HasSuffix(importer, ".test"); program {
			product[importer], product[imported] = true, true
		}
	}
	for path := range product {
		found.product = append(found.product, imports[path]...)
	}
	return found, nil
}

// TestLargePackagesAreCompiledOnce: a test inside of a package has it compiled a second time, and with it all packages
// that its tests import and that import it: twelve seconds of CPU time for landscape, five for audit.
func TestLargePackagesAreCompiledOnce(t *testing.T) {
	for _, folder := range []string{"audit", "landscape"} {
		pkg, err := build.ImportDir(filepath.Join("..", folder), 0)
		require.NoError(t, err)
		require.Empty(t, pkg.TestGoFiles, "put these tests into package %s_test", folder)
	}
}
