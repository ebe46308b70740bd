package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"waymark/internal/settings"
	"waymark/worker"
)

// house is a folder as an operator has it, which is the working folder.
func house(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{
		"pipelines/orders/pipeline.yaml", "pipelines/p.yaml", "pipelines/orders/out/a.csv",
		"pipelines/orders/out/cert.pem", "secrets/HOOK", "data/in/a.csv",
		"data/waymark.settings.yaml", "conf/client.secret", "state/keys/sealer.key", "waymark.settings.yaml",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	require.NoError(t, os.Symlink("data", "link"))
}

func TestNobodyWritesWhatAProcessReads(t *testing.T) {
	house(t)
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"settings": {
			func(c *Config) { c.AllowWrite = []string{"data"} },
			"--allow-write data: data/waymark.settings.yaml is there, which this process reads as its own: " +
				"move that, or name another folder",
		},
		"settings by link": {
			func(c *Config) { c.AllowWrite = []string{"link"} },
			"--allow-write link: data/waymark.settings.yaml is there",
		},
		"above": {
			func(c *Config) { c.AllowWrite = []string{"."} },
			"is there, which this process reads as its own",
		},
		"beside a document": {
			func(c *Config) { c.Own = append(c.Own, "pipelines/orders/out/cert.pem") },
			"documents write in pipelines/orders/out: pipelines/orders/out/cert.pem is there",
		},
		"secrets": {
			func(c *Config) { c.SecretsDir, c.AllowWrite = "data/in", []string{"data/in"} },
			"--allow-write data/in: it lies in data/in, which is this process's own",
		},
		"secrets below": {
			func(c *Config) { c.SecretsDir, c.Own, c.AllowWrite = "data/in", nil, []string{"data"} },
			"--allow-write data: data/in is there",
		},
		"in secrets": {
			func(c *Config) { c.AllowPaths = []string{"secrets"} },
			"--allow-path secrets: it lies in secrets, which is this process's own: name another folder",
		},
		"in the state": {
			func(c *Config) { c.Pipelines = "state/keys" },
			"the folder of pipelines, state/keys: it lies in state, which is this process's own",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := defaults(t)
			c.Pipelines, c.SecretsDir = "pipelines", "secrets"
			c.Own = []string{"data/waymark.settings.yaml", "waymark.settings.yaml", "state"}
			require.NoError(t, c.check())
			test.change(&c)
			require.ErrorContains(t, c.check(), test.want)
		})
	}
	c := defaults(t)
	c.Pipelines, c.AllowPaths, c.AllowWrite = "pipelines", []string{"data"}, []string{"data/in"}
	c.Own = []string{"data/waymark.settings.yaml", "state"}
	require.NoError(t, c.check())
}

// TestWhatIsOwn has a flag of each kind: a new one whose value is a file or a folder is the process's own,
// unless it is for documents.
func TestWhatIsOwn(t *testing.T) {
	house(t)
	var c Config
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.String(settings.FileFlag, "", "settings `file`")
	flags.String("client-secret-file", "conf/client.secret", "`file` with the secret of the client")
	flags.String("state", "state", "`folder` where runs keep their state")
	flags.String("other", "waymark.settings.yaml", "`name` of something")
	c.Bind(flags)
	c.AllowPaths, c.AllowWrite, c.Pipelines = []string{"data"}, []string{"data/in"}, "pipelines"
	c.SecretsDir, c.Keys, c.FingerprintKeyFile, c.CodecKeysFile = "secrets", "state/keys", "conf/fp", "conf/codec"
	c.LogAnchors = []string{
		"anchors", "git:repository", "s3://bucket/x", "tsa:https://tsa.example?roots=conf/roots.pem",
		"https://witness/x?key=k",
	}
	c.Landscape, c.Payloads = "sqlite:state/landscape.db", "file:state/payloads"
	c.Own = OwnFiles(flags)
	require.ElementsMatch(t, []string{
		"waymark.settings.yaml", "conf/client.secret", "state", "secrets", "state/keys", "conf/fp", "conf/codec",
	}, c.Own)

	t.Setenv("PGPASSFILE", "conf/client.secret")
	t.Setenv("AWS_PROFILE", "none")
	var p worker.Planner
	c.Confine(&p)
	require.True(t, p.Confined)
	require.Subset(t, p.Own, append(c.Own, "anchors", "repository", "conf/roots.pem",
		"conf/client.secret", "state/landscape.db", "state/payloads"))
	program, err := os.Executable()
	require.NoError(t, err)
	require.Contains(t, p.Own, program)
	require.NotContains(t, p.Own, "data")
	require.Equal(t, []string{"data", "data/in", "pipelines"}, p.Allow)
	require.Equal(t, []string{"data/in"}, p.AllowWrite)
}
