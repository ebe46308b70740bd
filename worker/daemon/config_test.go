package daemon

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// defaults are what the flags say, with a record.
func defaults(t *testing.T) Config {
	t.Helper()
	var c Config
	c.Bind(pflag.NewFlagSet("test", pflag.ContinueOnError))
	require.ErrorContains(t, c.check(), "is missing")
	c.Landscape, c.Payloads = "postgres://db/waymark", "file:payloads"
	require.NoError(t, c.check())
	return c
}

func TestWhatCannotWorkIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"landscape":      {func(c *Config) { c.Landscape = "" }, "--landscape is missing: say where it is, with the flag or with WAYMARK_LANDSCAPE"},
		"payloads":       {func(c *Config) { c.Payloads = "" }, "--payloads is missing"},
		"pipelines":      {func(c *Config) { c.Pipelines = "nowhere" }, `--pipelines: "nowhere" is not a folder`},
		"secrets":        {func(c *Config) { c.SecretsDir = "nowhere" }, `--secrets-dir: "nowhere" is not a folder`},
		"paths":          {func(c *Config) { c.AllowPaths = []string{".", "nowhere"} }, `--allow-path: "nowhere" is not a folder`},
		"http":           {func(c *Config) { c.HTTP = "8077" }, `--http "8077": write HOST:PORT`},
		"codec http":     {func(c *Config) { c.CodecHTTP = "on" }, `--codec-http "on": write HOST:PORT`},
		"queue":          {func(c *Config) { c.Queue = "" }, "--queue and --files are names"},
		"files":          {func(c *Config) { c.Files = "a/b" }, "--queue and --files are names"},
		"files of queue": {func(c *Config) { c.Files = "a@b" }, "--queue and --files are names"},
		"cache":          {func(c *Config) { c.CacheMiB = -1 }, "--payload-cache -1: write at least 1"},
		"workflow tasks": {func(c *Config) { c.MaxWorkflowTasks = 1 }, "--max-workflow-tasks 1: write at least 2"},
		"pollers":        {func(c *Config) { c.Pollers = 1 }, "--pollers 1: write at least 2"},
		"sticky":         {func(c *Config) { c.StickyCache = -1 }, "--sticky-cache -1: write at least 1"},
		"drain":          {func(c *Config) { c.Drain = -time.Second }, "--drain -1s"},
		"format":         {func(c *Config) { c.LogFormat = "xml" }, `--log-format "xml": write text or json`},
		"level":          {func(c *Config) { c.LogLevel = "loud" }, `--log-level "loud"`},
		"deployment":     {func(c *Config) { c.Deployment = "orders" }, "--deployment and --build-id belong together"},
		"build":          {func(c *Config) { c.BuildID = "7" }, "--deployment and --build-id belong together"},
		"dot":            {func(c *Config) { c.Deployment, c.BuildID = "a.b", "7" }, "no dot"},
	} {
		t.Run(name, func(t *testing.T) {
			c := defaults(t)
			test.change(&c)
			require.ErrorContains(t, c.check(), test.want)
		})
	}
}

func TestTuningReachesTheWorker(t *testing.T) {
	c := defaults(t)
	o := c.workerOptions()
	require.Zero(t, o.MaxConcurrentActivityTaskPollers, "the SDK's own default")
	require.False(t, o.DeploymentOptions.UseVersioning)

	c.MaxWorkflowTasks, c.Pollers, c.Deployment, c.BuildID = 6, 7, "waymark", "2026-11"
	o = c.workerOptions()
	require.Equal(t, 6, o.MaxConcurrentWorkflowTaskExecutionSize)
	require.Equal(t, 7, o.MaxConcurrentActivityTaskPollers)
	require.Equal(t, 7, o.MaxConcurrentWorkflowTaskPollers)
	require.True(t, o.DeploymentOptions.UseVersioning)
	require.Equal(t, "waymark", o.DeploymentOptions.Version.DeploymentName)
	require.Equal(t, "2026-11", o.DeploymentOptions.Version.BuildID)
}

func TestDocumentsCannotReachRecord(t *testing.T) {
	folder := t.TempDir()
	d := process{Config: Config{Landscape: "sqlite:" + folder + "/landscape.db", Payloads: "s3://record/payloads?endpoint=http://s3:7070"}}
	reserved := d.planner().Reserved
	require.Contains(t, reserved.Files, folder+"/landscape.db")
	require.Equal(t, "record", reserved.Bucket)
	require.Equal(t, []string{"payloads/"}, reserved.Prefixes)
}
