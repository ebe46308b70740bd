package tests

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"waymark/engine/plan"
	"waymark/internal/settings"
	"waymark/worker"
	"waymark/worker/daemon"
)

// composed is what the tests look at in docker-compose.yml.
type composed struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Profiles    []string          `yaml:"profiles"`
		PullPolicy  string            `yaml:"pull_policy"`
		Build       map[string]string `yaml:"build"`
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
		Command     []string          `yaml:"command"`
		CPUs        string            `yaml:"cpus"`
		Memory      string            `yaml:"mem_limit"`
		Logging     struct {
			Options map[string]string `yaml:"options"`
		} `yaml:"logging"`
		Ports       []string       `yaml:"ports"`
		Healthcheck map[string]any `yaml:"healthcheck"`
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
	text = regexp.MustCompile(`\$\{[A-Z0-9_]+\}`).ReplaceAllFunc(text, func(name []byte) []byte {
		return []byte(dotenv(t)[strings.Trim(string(name), "${}")])
	})
	var file composed
	require.NoError(t, yaml.Unmarshal(text, &file))
	return file
}

// dotenv returns what .env gives to docker-compose.yml.
func dotenv(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../.env")
	require.NoError(t, err)
	given := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(line, "#") {
			require.NotEmpty(t, value, name)
			given[name] = value
		}
	}
	return given
}

func TestComposeHasEverythingAClusterNeeds(t *testing.T) {
	file := compose(t)
	for _, name := range []string{"postgres", "s3", "temporal", "temporal-ui", "landscape-migrate", "landscape-grant", "worker-1", "worker-2"} {
		require.Contains(t, file.Services, name)
	}
	require.Equal(t, file.Services["worker-1"].Environment, file.Services["worker-2"].Environment)
	pinned := regexp.MustCompile(`:v?\d+\.\d+[a-z0-9.-]*$`)
	for name, service := range file.Services {
		if service.Build == nil && service.PullPolicy != "never" {
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

// TestComposeLeavesPortsFreeThatOthersUse: those of a worker and of Postgres beside it, and all that docs/cluster.md names for something else.
func TestComposeLeavesPortsFreeThatOthersUse(t *testing.T) {
	var config daemon.Config
	config.Bind(pflag.NewFlagSet("", pflag.ContinueOnError))
	_, own, err := net.SplitHostPort(config.HTTP)
	require.NoError(t, err)
	docs, err := os.ReadFile("../docs/cluster.md")
	require.NoError(t, err)
	codec := regexp.MustCompile(`WAYMARK_CODEC_HTTP=127\.0\.0\.1:(\d+)`).FindSubmatch(docs)
	require.NotNil(t, codec)
	taken := map[string]string{own: "a worker", string(codec[1]): "a codec endpoint", "5432": "Postgres"}
	for name, service := range compose(t).Services {
		for _, port := range service.Ports {
			parts := strings.Split(port, ":")
			require.Len(t, parts, 3, port)
			require.NotEmpty(t, parts[1], port)
			require.Empty(t, taken[parts[1]], "%s takes the port %s", name, parts[1])
			taken[parts[1]] = name
			if name != "temporal" {
				require.Contains(t, string(docs), parts[1], "docs/cluster.md tells the port of %s", name)
			}
		}
	}
}

// TestComposeBuildsNothingWhenTheToolsAreRun: what up --build did not build with the rest would be built again, or be of another version.
func TestComposeBuildsNothingWhenTheToolsAreRun(t *testing.T) {
	for name, service := range compose(t).Services {
		if len(service.Profiles) > 0 {
			require.Empty(t, service.Build, name)
		}
	}
}

// TestComposeBuildsEachImageOnce: services are built side by side, and two that write one name fail. Who uses an image that another
// service builds waits for that one, and asks no registry.
func TestComposeBuildsEachImageOnce(t *testing.T) {
	file, builders := compose(t), map[string]string{}
	for name, service := range file.Services {
		if service.Build != nil {
			require.NotContains(t, builders, service.Image, "%s builds it as well", name)
			builders[service.Image] = name
		}
	}
	require.Contains(t, builders, file.Services["worker-2"].Image)
	for name, service := range file.Services {
		if service.Build != nil || service.PullPolicy == "" {
			require.NotEqual(t, service.Build == nil, builders[service.Image] != "", "%s: an image that is built here is asked for at a registry", name)
			continue
		}
		require.Equal(t, "never", service.PullPolicy, name)
		require.NotEmpty(t, builders[service.Image], "%s: nobody builds %s", name, service.Image)
		require.Contains(t, service.DependsOn, builders[service.Image], name)
	}
}

// TestComposeWorkersSeeWhatPipelinesWrite compiles all examples as the workers do, with the variables that these give to documents, and
// looks on which volumes the outputs lie. Workers with the same name for their files continue what the other one wrote.
func TestComposeWorkersSeeWhatPipelinesWrite(t *testing.T) {
	file := compose(t)
	environment := file.Services["worker-1"].Environment
	allowed := filepath.SplitList(environment["WAYMARK_ALLOW_ENV"])
	for _, name := range allowed {
		t.Setenv(name, environment[name])
	}
	examples, err := filepath.Abs("../examples")
	require.NoError(t, err)
	planner := worker.Planner{
		Allow: []string{examples}, Served: examples, Confined: true, AllowEnv: allowed,
		FingerprintKey: make([]byte, worker.KeyBytes),
	}
	documents, err := filepath.Glob(filepath.Join(examples, "*", "*.yaml"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(documents), 5)
	for _, document := range documents {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		compiled, err := planner.Plan(plan.Request{File: document, Folder: filepath.Dir(document), Document: text})
		require.NoError(t, err, "the workers refuse it; what it needs belongs in WAYMARK_ALLOW_ENV")
		for _, node := range compiled.Describe().Nodes {
			if node.Location == "" {
				continue
			}
			name, err := filepath.Rel(examples, node.Location)
			require.NoError(t, err)
			output := path.Join(environment["WAYMARK_PIPELINES"], filepath.ToSlash(name))
			volume := volumeOf(file, "worker-1", output)
			require.NotEmpty(t, volume, "%s writes %s, which no other container sees", document, output)
			for _, other := range []string{"worker-2", "waymark"} {
				require.Equal(t, volume, volumeOf(file, other, output), "%s: %s", other, output)
			}
		}
	}
}

// volumeOf returns the volume on which the folder lies where the service would make and rename the output; "" for the container's own.
func volumeOf(file composed, service, output string) string {
	for _, mount := range file.Services[service].Volumes {
		volume, at, _ := strings.Cut(mount, ":")
		if _, named := file.Volumes[volume]; named && (path.Dir(output) == at || strings.HasPrefix(path.Dir(output), at+"/")) {
			return volume
		}
	}
	return ""
}

// TestComposeVolumesMatchImage: a folder that is not there would belong to root, and the user of the image
// could not write into it.
func TestComposeVolumesMatchImage(t *testing.T) {
	text, err := os.ReadFile("../Dockerfile")
	require.NoError(t, err)
	require.Contains(t, string(text), `for pipeline in /out/pipelines/*/; do mkdir -p "${pipeline}out"; done`)
	require.Contains(t, string(text), "cp -r examples/* /out/pipelines/")
	volumes := compose(t).Services["worker-1"].Volumes
	require.NotEmpty(t, volumes)
	for _, mount := range volumes {
		_, at, _ := strings.Cut(mount, ":")
		example, found := strings.CutPrefix(at, "/pipelines/")
		require.True(t, found, mount)
		example, found = strings.CutSuffix(example, "/out")
		require.True(t, found, mount)
		require.DirExists(t, filepath.Join("../examples", example))
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
	for _, name := range filepath.SplitList(environment["WAYMARK_ALLOW_ENV"]) {
		require.NotEmpty(t, environment[name], name)
		delete(environment, name) // it is the documents'
	}
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
	var used []string
	for _, match := range regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`).FindAllStringSubmatch(string(text), -1) {
		used = append(used, match[1])
	}
	slices.Sort(used)
	require.Equal(t, slices.Sorted(maps.Keys(dotenv(t))), slices.Compact(used))
}

// TestAlertsAreAboutMetricsThatThereAre: every metric and label in the rules of Prometheus is one that docs/cluster.md lists, and every worker is asked.
func TestAlertsAreAboutMetricsThatThereAre(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	text, err := os.ReadFile("../examples/compose/prometheus/alerts.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalWithOptions(text, &rules, yaml.Strict()))
	found := 0
	for _, rule := range rules.Groups[0].Rules {
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.Contains(t, []string{"info", "warning", "critical"}, rule.Labels["severity"], rule.Alert)
		require.Equal(t, strings.Count(rule.Expr, "("), strings.Count(rule.Expr, ")"), rule.Alert)
		for _, row := range metricsOf(t, rule.Expr) {
			found++
			for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(rule.Annotations["summary"], -1) {
				require.Contains(t, row, "`"+label[1]+"`", rule.Alert)
				require.Contains(t, rule.Expr, label[1], rule.Alert)
			}
		}
	}
	require.Greater(t, found, 4)
	config, err := os.ReadFile("../examples/compose/prometheus/prometheus.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(config, new(map[string]any)))
	require.Contains(t, string(config), "targets: [worker-1:8077, worker-2:8077]")
	for _, worker := range []string{"worker-1", "worker-2"} {
		require.Equal(t, "0.0.0.0:8077", compose(t).Services[worker].Environment["WAYMARK_HTTP"])
	}
	require.Contains(t, compose(t).Services["prometheus"].Volumes, "./examples/compose/prometheus:/etc/prometheus:ro")
}

// metricsOf returns the rows in which docs/cluster.md lists the metrics of an expression.
func metricsOf(t *testing.T, expr string) (rows []string) {
	t.Helper()
	for _, metric := range regexp.MustCompile(`waymark_\w+`).FindAllString(expr, -1) {
		row := regexp.MustCompile("(?m)^\\| `" + strings.TrimSuffix(metric, "_bucket") + "` \\| .*$").FindString(docs(t, "cluster.md"))
		require.NotEmpty(t, row, "docs/cluster.md does not list %s", metric)
		rows = append(rows, row)
	}
	return rows
}

// TestDashboardIsAboutMetricsThatThereAre: the panels of Grafana ask for metrics, with labels, that docs/cluster.md lists, and every file is where the
// container looks for it.
func TestDashboardIsAboutMetricsThatThereAre(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	text, err := os.ReadFile("../examples/compose/grafana/waymark.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &dashboard))
	found := 0
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			for _, row := range metricsOf(t, target.Expr) {
				found++
				for _, label := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
					require.Contains(t, row, "`"+label[1]+"`", panel.Title)
					require.Contains(t, target.Expr, label[1], panel.Title)
				}
			}
		}
	}
	require.Greater(t, found, 6)
	mounts := strings.Join(compose(t).Services["grafana"].Volumes, "\n")
	for from, to := range map[string]string{"datasource.yaml": "datasources/waymark.yaml", "dashboards.yaml": "dashboards/waymark.yaml", "waymark.json": "dashboards/waymark.json"} {
		require.Contains(t, mounts, "./examples/compose/grafana/"+from+":/etc/grafana/provisioning/"+to+":ro")
	}
}

// TestComposeLimitsEveryService: none takes the whole machine, or fills its disk with a log.
func TestComposeLimitsEveryService(t *testing.T) {
	for name, service := range compose(t).Services {
		require.NotEmpty(t, service.Memory, name)
		require.NotEmpty(t, service.CPUs, name)
		require.NotEmpty(t, service.Logging.Options["max-size"], name)
	}
}

// TestComposeDeploysANightlyRun: what it reads and writes is where the workers have it. That it runs is tested in tests/cli.
func TestComposeDeploysANightlyRun(t *testing.T) {
	file := compose(t)
	deploy := file.Services["deploy-nightly"]
	require.Equal(t, file.Services["worker-1"].Environment, deploy.Environment, "it deploys where the workers look")
	document, err := os.ReadFile("../examples/compose/" + strings.TrimPrefix(deploy.Command[1], "/"))
	require.NoError(t, err)
	paths := regexp.MustCompile(`path: "?(/[^",}]+)`).FindAllStringSubmatch(string(document), -1)
	require.Len(t, paths, 2)
	name, found := strings.CutPrefix(paths[0][1], "/pipelines/")
	require.True(t, found)
	require.FileExists(t, filepath.Join("../examples", name))
	volume := volumeOf(file, "worker-1", paths[1][1])
	require.NotEmpty(t, volume)
	require.Equal(t, volume, volumeOf(file, "worker-2", paths[1][1]))
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
	released, err := os.ReadFile("../.ci/image/Dockerfile")
	require.NoError(t, err)
	same := regexp.MustCompile(`(?m)^(USER|WORKDIR|EXPOSE|HEALTHCHECK|STOPSIGNAL|ENTRYPOINT) .+$`)
	instructions := same.FindAllString(string(released), -1)
	require.Len(t, instructions, 7)
	for _, instruction := range instructions {
		require.Contains(t, string(text), "\n"+instruction+"\n", "the images of a release are as the others")
	}
}
