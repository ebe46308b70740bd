package tests

import (
	"go/build"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	linked := linking(t)
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

// linking returns the programs and test binaries of the module that link a package, by the package.
func linking(t *testing.T) map[string][]string {
	t.Helper()
	const deps = `{{if eq .Name "main"}}{{$binary := .ImportPath}}{{range .Deps}}` +
		`{{if or (eq . "` + serverPackage + `") (eq . "` + s3Package + `")}}` +
		`{{$binary}} {{.}}{{"\n"}}{{end}}{{end}}{{end}}`
	out, err := exec.CommandContext(t.Context(), "go", "list", "-test", "-f", deps, "waymark/...").Output()
	require.NoError(t, err)
	linked := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		binary, imported, _ := strings.Cut(strings.TrimSpace(line), " ")
		linked[imported] = append(linked[imported], strings.TrimPrefix(binary, "waymark/"))
	}
	return linked
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
