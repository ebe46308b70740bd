package worker

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin/builtin"
	"waymark/plugin/object"
)

// Planner compiles documents with this machine's environment variables and secrets. It is safe for concurrent use.
type Planner struct {
	// Allow are folders, besides the document's own, in which a document's files may be.
	Allow []string
	// SecretsDir holds a file for each secret: `${secret:NAME}` is the content of SecretsDir/NAME without the line end.
	// Without it, or without such a file, the environment variable WAYMARK_SECRET_NAME is used.
	SecretsDir string
	// FingerprintKey keys the fingerprints by which a run's record tells that a secret changed. It must not be empty if a
	// document uses environment variables or secrets.
	FingerprintKey []byte
	// AllowNetworks are networks, besides the public web, that documents may lead to: with what they fetch, and with the
	// endpoints of buckets that they name.
	AllowNetworks []netip.Prefix
	// Stdio is where standard input and output of the process are kept; the zero Stdio refuses documents that use them.
	Stdio builtin.Stdio
}

// Plan compiles a document. The error is pipeline.Problems if the document is at fault.
func (p Planner) Plan(request plan.Request) (*plan.Plan, error) {
	loaded, err := pipeline.Load(request.File, request.Document, pipeline.Environment{
		Params: request.Params, Env: os.LookupEnv, Secret: p.secret, FingerprintKey: p.FingerprintKey,
	})
	if err != nil {
		return nil, err
	}
	root, err := builtin.NewRoot(request.Folder, p.Allow...)
	if err != nil {
		return nil, fmt.Errorf("folder of %s: %w", request.File, err)
	}
	compiled, err := plan.Compile(loaded, plugins{builtin.Plugins{
		Root: root, Tables: request.Tables, Beside: request.Beside, Remote: object.New(p.AllowNetworks), Stdio: p.Stdio,
	}})
	if err != nil {
		return nil, err
	}
	compiled.Beside = request.Beside
	return compiled, nil
}

// secretName is what a secret may be called: its name is a file's name.
var secretName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (p Planner) secret(name string) (string, error) {
	if !secretName.MatchString(name) {
		return "", fmt.Errorf("secret %q: a name is made of letters, digits, _ and -", name)
	}
	if p.SecretsDir != "" {
		content, err := os.ReadFile(filepath.Join(p.SecretsDir, name))
		if err == nil {
			return strings.TrimRight(string(content), "\r\n"), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("secret %s: %w", name, err)
		}
	}
	if value := os.Getenv("WAYMARK_SECRET_" + strings.ToUpper(name)); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("secret %s is neither a file of the secrets folder nor the environment variable WAYMARK_SECRET_%s", name, strings.ToUpper(name))
}
