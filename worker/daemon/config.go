package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	sdkworker "go.temporal.io/sdk/worker"

	"waymark/activities"
	"waymark/audit/retain"
	"waymark/internal/settings"
	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/worker"
	"waymark/worker/secrets"
	"waymark/worker/storage"
	"waymark/workflows"
)

// Config is everything that an operator decides about a worker process. The flags that Bind defines document the fields.
type Config struct {
	Temporal string // HOST:PORT, or cluster.Environment
	Queue    string
	Files    string

	Landscape string // URL
	Payloads  string // URL
	CacheMiB  int

	Pipelines     string
	Environment   string
	AllowPaths    []string
	AllowWrite    []string
	AllowNetworks worker.Networks
	AllowEnv      []string
	// Own are files and folders, besides those that other fields name, that the process reads as its own: settings,
	// certificates.
	Own        []string
	SecretsDir string
	Secrets    secrets.Rules

	DocumentProfile string

	Keys       string   // folder
	MakeKeys   bool     // that are missing there
	LogAnchors []string // folders, and URLs of buckets and witnesses

	FingerprintKeyFile string
	OwnKey             []byte // the fingerprint key if none is given; nil if the program has none of its own
	CodecKeysFile      string
	CodecRequire       bool
	CodecHTTP          string
	CodecOrigin        string

	Alone bool // no other process delivers the events of the landscape

	Retention retain.Periods // after which what is due is deleted

	Spans string // folder

	HTTP      string
	Drain     time.Duration
	LogFormat string
	LogLevel  string

	MaxWorkflowTasks int
	Pollers          int
	StickyCache      int
	Deployment       string
	BuildID          string
}

// Variables that hold secrets, which no flag does: everybody on a machine sees the command lines of its processes.
const (
	FingerprintKeyVariable = "WAYMARK_FINGERPRINT_KEY"
	CodecKeysVariable      = "WAYMARK_CODEC_KEYS"
)

// off is the address of an endpoint that is not wanted.
const off = "off"

const (
	formatText = "text"
	formatJSON = "json"
)

// Bind defines the flags. Their defaults are the lowest layer of the configuration.
func (c *Config) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&c.Temporal, "temporal", cluster.Environment, "`address` of the Temporal cluster; env: take it from TEMPORAL_ADDRESS and Temporal's other variables")
	flags.StringVar(&c.Queue, "queue", workflows.TaskQueue, "task `queue` that the workers of a cluster share")
	flags.StringVar(&c.Files, "files", "", "`name` of the set of files that this process sees; workers with the same name must see the same files (default the host's name)")
	flags.StringVar(&c.Landscape, "landscape", "", "`URL` of the landscape")
	flags.StringVar(&c.Payloads, "payloads", "", "`URL` of the payload store")
	flags.IntVar(&c.CacheMiB, "payload-cache", storage.DefaultCacheBytes>>20, "`MiB` of memory for caching payloads of a remote store")
	flags.StringVar(&c.Pipelines, "pipelines", "", "`folder` of deployed pipelines: NAME.yaml or NAME/pipeline.yaml")
	flags.StringVar(&c.Environment, "environment", landscape.DefaultEnvironment, "`environment` in which a run's deployed pipeline is looked up if the run names none")
	flags.StringArrayVar(&c.AllowPaths, "allow-path", nil, "additional `folder`, besides --pipelines, that documents may use; can be repeated")
	flags.StringArrayVar(&c.AllowWrite, "allow-write", nil,
		"additional `folder`, besides out beside a document in --pipelines, in which documents may write; "+
			"can be repeated")
	flags.StringArrayVar(&c.AllowEnv, "allow-env", nil, "environment `variable` that documents may use as ${VARIABLE}; can be repeated")
	flags.Var(&c.AllowNetworks, "allow-network", "additional `network`, besides the public internet, that documents may connect to, such as 10.0.0.0/8; can be repeated")
	flags.StringVar(&c.DocumentProfile, "document-profile", "", "AWS SDK `profile` with which documents access buckets (or "+worker.DocumentKeyVariable+"; default the payload store's)")
	flags.StringVar(&c.SecretsDir, "secrets-dir", "",
		"`folder` with one file for each secret: PIPELINE/NAME, or NAME for one that --secrets gives to pipelines")
	flags.Var(&c.Secrets, "secrets",
		"`rules` for secrets that are not in the folder of one pipeline: whose they are, and where they may "+
			"go, such as {CRM: {pipelines: [orders], hosts: [db.example.com]}}")
	flags.StringVar(&c.Keys, "keys", "", "`folder` of the keys that sign the landscape's log: sealer.key for entries, log.key for heads")
	flags.StringArrayVar(&c.LogAnchors, "log-anchor", nil, "`anchor` for the log's signed heads, if this process has log.key: a folder, s3://BUCKET/PREFIX?lock=3650d, a repository of git, git:PATH, a time-stamping authority, tsa:URL?roots=FILE, or a witness, https://HOST/PATH?key=KEY; can be repeated")
	flags.StringVar(&c.FingerprintKeyFile, "fingerprint-key-file", "", "`file` with the key for fingerprints of secrets, the same on all workers (or "+FingerprintKeyVariable+")")
	flags.StringVar(&c.CodecKeysFile, "codec-keys-file", "", "`file` with the keys that encrypt what Temporal stores (or "+CodecKeysVariable+")")
	flags.BoolVar(&c.CodecRequire, "codec-require", false, "refuse payloads that Temporal stores unencrypted")
	flags.StringVar(&c.CodecHTTP, "codec-http", off, "`address` at which Temporal's UI, and anyone else who can reach it, can have payloads decrypted")
	flags.StringVar(&c.CodecOrigin, "codec-origin", "", "`URL` of the UI whose pages may use --codec-http, such as http://localhost:8080")
	flags.Var(&c.Retention, "retention",
		"`periods` after which what is due is deleted, such as "+
			"'{source: 90d, derived: 7d, debugging: 30d}', best as a mapping of the settings file and the same on "+
			"all workers (default: only events, after 30 days)")
	flags.StringVar(&c.HTTP, "http", "127.0.0.1:8077", "`address` of /healthz, /readyz and /metrics, without a password; off for none")
	flags.StringVar(&c.Spans, "spans-dir", "", "`folder` in which spans wait while their collector is away, if OTEL_* variables name one (default: in the state folder, if there is one)")
	flags.DurationVar(&c.Drain, "drain", 30*time.Second, "how long work in flight may take after the first SIGTERM; unfinished work is handed back to Temporal")
	flags.StringVar(&c.LogFormat, "log-format", formatText, "text or json")
	flags.StringVar(&c.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.IntVar(&c.MaxWorkflowTasks, "max-workflow-tasks", 0, "how many workflow tasks run at once (default 1000)")
	flags.IntVar(&c.Pollers, "pollers", 0, "how many pollers of each kind the shared queue has (default 2)")
	flags.IntVar(&c.StickyCache, "sticky-cache", 0, "how many workflows are kept in memory between workflow tasks (default 10000)")
	flags.StringVar(&c.Deployment, "deployment", "", "`name` of the deployment that this worker is a version of; needs --build-id")
	flags.StringVar(&c.BuildID, "build-id", "", "`version` of that deployment: runs stay on the version on which they began")
}

// Check refuses what cannot work, with a *UsageError. Whether services are there is for later: they may come.
func (c *Config) Check() error {
	if err := c.check(); err != nil {
		return &UsageError{err}
	}
	return nil
}

func (c *Config) check() error {
	if strings.ContainsAny(c.Files+c.Queue, "@/ \t\r\n") || c.Queue == "" {
		return errors.New("--queue and --files are names: without blanks, @ and /")
	}
	return errors.Join(
		checkEnvironment(c.Environment),
		checkURL("landscape", c.Landscape), checkURL("payloads", c.Payloads),
		checkFolder("--pipelines", c.Pipelines), checkFolder("--secrets-dir", c.SecretsDir), checkFolder("--allow-path", c.AllowPaths...),
		checkFolder("--allow-write", c.AllowWrite...), c.checkOwn(),
		checkAddress("--http", c.HTTP), checkAddress("--codec-http", c.CodecHTTP),
		c.checkNumbers(), c.checkLog(), c.checkVersion(),
	)
}

func checkEnvironment(name string) error {
	if name == "" {
		return nil
	}
	return landscape.CheckEnvironment(name)
}

func checkURL(flag, url string) error {
	if url == "" {
		return fmt.Errorf("--%s is missing: say where it is, with the flag or with %s", flag, settings.Variable(flag))
	}
	return nil
}

func checkFolder(flag string, folders ...string) error {
	for _, folder := range folders {
		if info, err := os.Stat(folder); folder != "" && (err != nil || !info.IsDir()) {
			return fmt.Errorf("%s: %q is not a folder", flag, folder)
		}
	}
	return nil
}

func checkAddress(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil && address != off {
		return fmt.Errorf("%s %q: write HOST:PORT, such as 127.0.0.1:8077, or off", flag, address)
	}
	return nil
}

func (c *Config) checkNumbers() error {
	for _, number := range []struct {
		flag         string
		value, least int
	}{
		{"--payload-cache", c.CacheMiB, 1}, {"--max-workflow-tasks", c.MaxWorkflowTasks, 2},
		{"--pollers", c.Pollers, 2}, {"--sticky-cache", c.StickyCache, 1},
	} {
		if number.value != 0 && number.value < number.least {
			return fmt.Errorf("%s %d: write at least %d", number.flag, number.value, number.least)
		}
	}
	if c.Drain < 0 {
		return fmt.Errorf("--drain %v: write a duration such as 30s", c.Drain)
	}
	return nil
}

func (c *Config) checkLog() error {
	if !slices.Contains([]string{formatText, formatJSON}, c.LogFormat) {
		return fmt.Errorf("--log-format %q: write text or json", c.LogFormat)
	}
	if _, err := c.level(); err != nil {
		return fmt.Errorf("--log-level %q: write debug, info, warn or error", c.LogLevel)
	}
	return nil
}

func (c *Config) level() (slog.Level, error) {
	var level slog.Level
	return level, level.UnmarshalText([]byte(c.LogLevel))
}

func (c *Config) checkVersion() error {
	if (c.Deployment == "") != (c.BuildID == "") {
		return errors.New("--deployment and --build-id belong together: give both, or none")
	}
	if strings.Contains(c.Deployment, ".") {
		return fmt.Errorf("--deployment %q: Temporal allows no dot in the name of a deployment", c.Deployment)
	}
	return nil
}

// workerOptions are what the configuration says about the common queue's worker.
func (c *Config) workerOptions() sdkworker.Options {
	o := sdkworker.Options{
		MaxConcurrentWorkflowTaskExecutionSize: c.MaxWorkflowTasks,
		MaxConcurrentActivityTaskPollers:       c.Pollers,
		MaxConcurrentWorkflowTaskPollers:       c.Pollers,
	}
	if c.Deployment != "" {
		o.DeploymentOptions = sdkworker.DeploymentOptions{
			UseVersioning: true, Version: sdkworker.WorkerDeploymentVersion{DeploymentName: c.Deployment, BuildID: c.BuildID},
		}
	}
	return o
}

// files is the name of the files that the process sees.
func (c *Config) files() string {
	host, _ := activities.HostName() // of a machine without a name the member says so
	return cmp.Or(c.Files, host)
}
