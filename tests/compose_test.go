package tests

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"waymark/settings"
	"waymark/worker/daemon"
)

// composed is what the tests look at in docker-compose.yml.
type composed struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Build       map[string]string `yaml:"build"`
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
		Ports       []string          `yaml:"ports"`
		Healthcheck map[string]any    `yaml:"healthcheck"`
		DependsOn   map[string]struct {
			Condition string `yaml:"condition"`
		} `yaml:"depends_on"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

func compose(t *testing.T) composed {
	t.Helper()
	text, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	var file composed
	require.NoError(t, yaml.Unmarshal(text, &file))
	return file
}

func TestComposeHasEverythingAClusterNeeds(t *testing.T) {
	file := compose(t)
	for _, name := range []string{"postgres", "s3", "temporal", "temporal-ui", "landscape-migrate", "landscape-grant", "worker-1", "worker-2"} {
		require.Contains(t, file.Services, name)
	}
	require.Equal(t, file.Services["worker-1"].Environment, file.Services["worker-2"].Environment)
	pinned := regexp.MustCompile(`:v?\d+\.\d+[a-z0-9.-]*$`)
	for name, service := range file.Services {
		if service.Build == nil {
			require.Regexp(t, pinned, service.Image, "%s: an image without a version is another one tomorrow", name)
		}
		for _, port := range service.Ports {
			require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s: %s is open to other machines", name, port)
		}
		for other, needs := range service.DependsOn {
			require.Contains(t, file.Services, other, "%s waits for it", name)
			if needs.Condition == "service_healthy" {
				require.NotEmpty(t, file.Services[other].Healthcheck, "%s waits until %s is healthy", name, other)
			}
		}
		for _, volume := range service.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if strings.HasPrefix(from, ".") {
				_, err := os.Stat(filepath.Join("..", from))
				require.NoError(t, err, name)
				continue
			}
			require.Contains(t, file.Volumes, from)
		}
	}
}

// TestComposeTellsWorkersOnlyWhatTheyKnow finds variables with a mistake in their names, which nobody else would miss.
func TestComposeTellsWorkersOnlyWhatTheyKnow(t *testing.T) {
	known := []string{
		daemon.FingerprintKeyVariable, daemon.CodecKeysVariable, "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "PGPASSWORD",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
	}
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	new(daemon.Config).Bind(flags)
	flags.VisitAll(func(flag *pflag.Flag) { known = append(known, settings.Variable(flag.Name)) })
	environment := compose(t).Services["worker-1"].Environment
	require.NotEmpty(t, environment["WAYMARK_LANDSCAPE"])
	for name, value := range environment {
		require.Contains(t, known, name)
		flag := flags.Lookup(strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "WAYMARK_"), "_", "-")))
		if strings.HasPrefix(name, "WAYMARK_") && flag != nil {
			require.NoError(t, flag.Value.Set(value), name)
		}
		require.Contains(t, docs(t, "cluster.md"), name, "docs/cluster.md says what each variable means")
	}
}

func docs(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../docs", name))
	require.NoError(t, err)
	return string(text)
}

// TestComposeVariablesHaveDefaults holds what docker-compose.yml takes from .env against what is there.
func TestComposeVariablesHaveDefaults(t *testing.T) {
	text, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	env, err := os.ReadFile("../.env")
	require.NoError(t, err)
	var given, used []string
	for line := range strings.Lines(string(env)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(line, "#") {
			require.NotEmpty(t, value, name)
			given = append(given, name)
		}
	}
	for _, match := range regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`).FindAllStringSubmatch(string(text), -1) {
		used = append(used, match[1])
	}
	slices.Sort(given)
	slices.Sort(used)
	require.Equal(t, given, slices.Compact(used))
}

// TestTheImageHasWhatItNeeds holds the paths in the Dockerfile against the repository.
func TestTheImageHasWhatItNeeds(t *testing.T) {
	text, err := os.ReadFile("../Dockerfile")
	require.NoError(t, err)
	module, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (.+)$`).FindSubmatch(module)
	require.Contains(t, string(text), fmt.Sprintf("golang:%s-", version[1]), "the Go of go.mod")
	for _, command := range []string{"waymark", "waymark-worker"} {
		require.Contains(t, string(text), " ./cmd/"+command+"\n")
		_, err := fs.Stat(os.DirFS(".."), "cmd/"+command+"/main.go")
		require.NoError(t, err)
	}
	for name, service := range compose(t).Services {
		if target := service.Build["target"]; target != "" {
			require.Contains(t, string(text), " AS "+target+"\n", name)
		}
	}
}
