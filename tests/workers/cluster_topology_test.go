package workers_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"waymark/client"
	"waymark/client/local"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/landscape/pgstore"
	"waymark/tests/services"
	"waymark/tests/services/buckets"
	"waymark/tests/services/pg"
	"waymark/tests/system"
)

// clusterHeartbeat is the timeout after which another worker gets what a killed one had in hand.
const clusterHeartbeat = 2 * time.Second

func (c *topology) program(build func() (string, error)) string {
	c.t.Helper()
	path, err := build()
	require.NoError(c.t, err)
	return path
}

// topology is what docker-compose.yml starts, as processes of this machine: a Temporal server, Postgres, an S3 server, workers.
type topology struct {
	t        testing.TB
	folder   string   // of the deployed pipelines, which all workers see
	server   *process // of Temporal
	address  string   // of the Temporal server
	postgres *pg.Server
	record   *pg.Database // with the landscape
	login    string       // URL with which workers connect to it
	goods    *pg.Database // with the tables of pipelines
	bucket   *buckets.Bucket
	home     *local.Home
	temporal sdk.Client
	log      *landscape.Log
	api      *remote.Client         // of a service; nil: nobody serves the API
	url      string                 // of the API
	token    string                 // of the service
	build    func() (string, error) // the workers' program
}

// startCluster starts everything but workers. Settings are those of Postgres.
func startCluster(t testing.TB, settings ...string) *topology {
	t.Helper()
	c := &topology{t: t, folder: t.TempDir(), postgres: pg.Private(t, settings...), bucket: buckets.Private(t), build: buildArmed}
	c.record, c.goods = c.postgres.Database(t), c.postgres.Database(t)
	c.makeRecord()
	c.startTemporal()
	secrets := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "goods_dsn"), []byte(c.goods.DSN()), 0o600))
	home, session := system.Open(t, local.Options{
		Landscape: c.record.DSN(), Payloads: c.bucket.URL("payloads"),
		Cluster: &client.Cluster{Address: c.address, CodecKeys: clusterKeys},
		Allow:   []string{c.folder}, Networks: []string{"127.0.0.0/8"}, Key: fingerprintKey, Secrets: secrets,
	})
	c.home, c.temporal, c.log = home, session.Temporal, session.Log
	return c
}

// makeRecord makes the landscape as its owner, for workers that may add to it and nothing else.
func (c *topology) makeRecord() {
	c.t.Helper()
	_, _, err := pgstore.Migrate(c.t.Context(), c.record.DSN())
	require.NoError(c.t, err)
	super, err := pgx.Connect(c.t.Context(), c.record.Superuser())
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, super.Close(background())) }()
	_, err = super.Exec(c.t.Context(), `create role waymark_writer nologin; create role waymark_reader nologin`)
	require.NoError(c.t, err)
	require.NoError(c.t, pgstore.Grant(c.t.Context(), c.record.DSN(), pgstore.Roles{Writer: "waymark_writer", Reader: "waymark_reader"}))
	c.login = c.record.Login(c.t, "waymark_worker", "waymark_writer")
}

// startTemporal starts the Temporal server, again at the same address if there was one.
func (c *topology) startTemporal() {
	c.t.Helper()
	if c.address == "" {
		c.address = fmt.Sprintf("127.0.0.1:%d", freePort(c.t))
	}
	_, port, err := net.SplitHostPort(c.address)
	require.NoError(c.t, err)
	self, err := os.Executable()
	require.NoError(c.t, err)
	database := filepath.Join(filepath.Dir(c.folder), filepath.Base(c.folder)+"-temporal.db")
	c.server = c.launch("temporal", map[string]string{
		serverVariable: database, portVariable: port, schedulesVariable: "yes",
	}, self)
	c.server.await("ready")
}

// worker starts a worker process with the environment that docker-compose.yml gives to one.
func (c *topology) worker(name string) *process {
	c.t.Helper()
	w := c.launch(name, c.workersEnvironment(), c.program(c.build))
	w.await("msg=working")
	return w
}

// workersEnvironment is the environment of a worker. Of pairs of addresses, the second of each stands for the first.
func (c *topology) workersEnvironment(instead ...string) map[string]string {
	c.t.Helper()
	environment, there := c.environment(), strings.NewReplacer(instead...)
	maps.Copy(environment, c.goodsEnvironment())
	for name, value := range environment {
		environment[name] = there.Replace(value)
	}
	return environment
}

// composed is what this test takes from docker-compose.yml.
type composed struct {
	Services map[string]struct {
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
	} `yaml:"services"`
}

func (c *topology) composed() composed {
	c.t.Helper()
	text, err := os.ReadFile("../../docker-compose.yml")
	require.NoError(c.t, err)
	var file composed
	require.NoError(c.t, yaml.Unmarshal(text, &file))
	return file
}

// environment is that of a worker in docker-compose.yml, with the addresses, folders and passwords of this topology.
func (c *topology) environment() map[string]string {
	c.t.Helper()
	file := c.composed()
	environment := file.Services["worker-1"].Environment
	require.Equal(c.t, file.Services["worker-2"].Environment, environment)
	login, err := url.Parse(c.login)
	require.NoError(c.t, err)
	password, _ := login.User.Password()
	here := strings.NewReplacer(
		"temporal:7233", c.address,
		"postgres:5432/waymark", c.postgres.Address()+"/"+c.record.Owner(),
		"http://s3:7070", c.bucket.Endpoint,
		"s3://waymark/", "s3://"+c.bucket.Name+"/",
		"/pipelines", c.folder,
		"0.0.0.0:8077", "127.0.0.1:0",
		"${WAYMARK_WORKER_PASSWORD}", password,
		"${S3_ACCESS_KEY}", c.bucket.AccessKey,
		"${S3_SECRET_KEY}", c.bucket.SecretKey,
		"${WAYMARK_FINGERPRINT_KEY}", fingerprintKey,
		"${WAYMARK_CODEC_KEYS:-}", clusterKeys,
	)
	for name, value := range environment {
		environment[name] = here.Replace(value)
		require.NotContains(c.t, environment[name], "${", "%s of docker-compose.yml", name)
	}
	require.NoError(c.t, os.MkdirAll(environment["WAYMARK_ALLOW_WRITE"], 0o700)) // the volume is there
	return environment
}

// goodsEnvironment is what the document of the test needs besides: the database that it writes, the network of that database, and
// where its bucket is; and the heartbeat.
func (c *topology) goodsEnvironment() map[string]string {
	return map[string]string{
		"WAYMARK_SECRET_GOODS_DSN": c.goods.DSN(), "WAYMARK_SECRETS": "{goods_dsn: {pipelines: [orders]}}",
		"WAYMARK_ALLOW_NETWORK": "127.0.0.0/8",
		"AWS_ENDPOINT_URL_S3":   c.bucket.Endpoint, "AWS_REGION": c.bucket.Region,
		"WAYMARK_HEARTBEAT": clusterHeartbeat.String(),
	}
}

// Keys that all workers share: of the fingerprints of secrets.
const fingerprintKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// clusterKeys are those for what Temporal stores.
var clusterKeys = "one:" + base64.StdEncoding.EncodeToString([]byte("thirty-two bytes of a key, so it"))

// launch starts a program with nothing else in its environment.
func (c *topology) launch(name string, environment map[string]string, program string, args ...string) *process {
	c.t.Helper()
	command := exec.Command(program, args...)
	command.Env = environ(os.Getenv("HOME"), environment)
	return launch(c.t, name, command)
}

// cpu is how long the process has computed, in the program and in the system.
func (p *process) cpu() time.Duration { return services.CPU(p.command.Process.Pid) }

// background is for what continues after the test's own context.
func background() context.Context { return context.Background() }

// reads reports whether the process listens on the queue, which names its process.
func (p *process) reads(queue string) bool {
	return strings.Contains(queue, fmt.Sprintf("/%d-", p.command.Process.Pid))
}
