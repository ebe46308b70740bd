// Package buckets starts real S3 servers for tests. A package whose tests use it gives its TestMain to services.Main.
package buckets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"waymark/tests/services"
)

const (
	gatewayInstall = "run: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0"
	gatewayTimeout = 5 * time.Minute
	s3Region       = "us-east-1"
	s3AccessKey    = "WAYMARKTESTACCESS"
	s3SecretKey    = "waymark-test-secret-key"
)

// A Bucket is an empty bucket of a real S3 server (versitygw).
type Bucket struct {
	Name      string
	Endpoint  string // such as http://127.0.0.1:40123
	Region    string
	AccessKey string
	SecretKey string

	server *gateway
}

// New returns a new bucket of the server of this test process. Without the server's binary the test is skipped.
func New(t testing.TB) *Bucket {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.gateway == nil {
		g := newGateway(t)
		services.OnEnd(t, g.remove)
		shared.gateway = g
	}
	return shared.gateway.newBucket(t)
}

// Private returns a bucket of a server of its own, which the test may Stop and Start. It ends with the test.
func Private(t testing.TB) *Bucket {
	t.Helper()
	g := newGateway(t)
	t.Cleanup(g.remove)
	return g.newBucket(t)
}

// Locking is a Private whose bucket keeps versions, and can lock them.
func Locking(t testing.TB) *Bucket {
	t.Helper()
	g := newGateway(t, "--versioning-dir")
	t.Cleanup(g.remove)
	return g.newBucket(t)
}

var shared struct {
	mu      sync.Mutex
	gateway *gateway
}

// URL names the place in the bucket as the command line takes it. An empty prefix names the whole bucket.
func (b *Bucket) URL(prefix string) string {
	return b.URLAt(b.Endpoint, prefix)
}

// URLAt is URL with another endpoint, such as a proxy's.
func (b *Bucket) URLAt(endpoint, prefix string) string {
	query := url.Values{"endpoint": {endpoint}, "path_style": {"true"}, "region": {b.Region}}
	place := url.URL{Scheme: "s3", Host: b.Name, Path: strings.TrimSuffix("/"+prefix, "/"), RawQuery: query.Encode()}
	return place.String()
}

// Address is the host and port of the server.
func (b *Bucket) Address() string { return strings.TrimPrefix(b.Endpoint, "http://") }

// CPU is for how long the server has computed since it was started.
func (b *Bucket) CPU() time.Duration { return services.CPU(b.server.process.Pid) }

// Env gives a process the right to use the bucket, and keeps it from reading settings of the machine's user.
func (b *Bucket) Env() map[string]string { return bucketEnv() }

// bucketEnv is the same for all buckets.
func bucketEnv() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": s3AccessKey, "AWS_SECRET_ACCESS_KEY": s3SecretKey, "AWS_REGION": s3Region,
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	}
}

// Main is services.Main, with what Bucket.Setenv gives one test given to all: for packages with tests side by side.
func Main(m *testing.M) int {
	for name, value := range bucketEnv() {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, "buckets:", err)
			return 1
		}
	}
	return services.Main(m)
}

// Setenv gives this process what Env gives to others, until the end of the test.
func (b *Bucket) Setenv(t testing.TB) {
	for name, value := range b.Env() {
		t.Setenv(name, value)
	}
}

// Client returns a client for the server that sees what a test must see and plant.
func (b *Bucket) Client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(b.Endpoint),
		Region:       b.Region,
		UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: b.AccessKey, SecretAccessKey: b.SecretKey}, nil
		}),
	})
}

// Rot changes the bytes of an object on the server's disk. What the server keeps beside them, as a checksum and an entity
// tag, stays what it was.
func (b *Bucket) Rot(t testing.TB, name string, data []byte) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(b.server.data(), b.Name, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatalf("let an object rot: %v", err)
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatalf("let an object rot: %v", err)
	}
}

// Stop kills the server without warning, with all its connections. Only a Private may be stopped.
func (b *Bucket) Stop() { b.server.kill() }

// Start starts the server again, at the same address, with what it had stored.
func (b *Bucket) Start(t testing.TB) {
	t.Helper()
	if err := b.server.start(); err != nil {
		t.Fatalf("start the S3 server again: %v", err)
	}
}

// gateway is a process of versitygw that keeps objects in a folder.
type gateway struct {
	binary  string
	dir     string
	folders []string
	address string
	buckets int

	process *os.Process
	done    <-chan struct{}
}

// data is the folder with a folder for each bucket.
func (g *gateway) data() string { return filepath.Join(g.dir, "data") }

// newGateway starts a server. folders are flags of it, each of which gets a folder.
func newGateway(t testing.TB, folders ...string) *gateway {
	t.Helper()
	g := &gateway{binary: findGateway(t), folders: folders}
	dir, err := services.NewFolder("s3")
	if err != nil {
		t.Fatalf("S3 server: %v", err)
	}
	g.dir = dir
	// Somebody else may take the port between our asking for a free one and the server's listening on it.
	for range 5 {
		if g.address, err = services.FreeAddress(); err != nil {
			break
		}
		if err = g.start(); err == nil {
			return g
		}
	}
	g.remove()
	t.Fatalf("S3 server: %v", err)
	return nil
}

// findGateway looks for the binary on the path, and where `go install` puts it.
func findGateway(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path
	}
	home, _ := os.UserHomeDir()
	for _, dir := range []string{os.Getenv("GOBIN"), filepath.Join(os.Getenv("GOPATH"), "bin"), filepath.Join(home, "go", "bin")} {
		if path, err := exec.LookPath(filepath.Join(dir, "versitygw")); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	services.Missing(t, "the S3 server versitygw", gatewayInstall)
	return ""
}

// start starts the server and waits until it answers.
func (g *gateway) start() error {
	data, logged := g.data(), filepath.Join(g.dir, "log")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	args, folders := []string{"--port", g.address, "--region", s3Region, "--keep-alive", "--quiet", "posix"}, g.folders
	if syscall.Setxattr(data, "user.waymark", []byte("x"), 0) != nil { // then the server keeps what it must know in files
		folders = append(slices.Clone(folders), "--sidecar")
	}
	for _, flag := range folders {
		folder := filepath.Join(g.dir, strings.TrimLeft(flag, "-"))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		args = append(args, flag, folder)
	}
	output, err := os.OpenFile(logged, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.Command(g.binary, append(args, data)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = g.dir, output, output
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s3AccessKey, "ROOT_SECRET_KEY="+s3SecretKey)
	if g.done, err = services.Start(cmd); err != nil {
		return err
	}
	g.process = cmd.Process
	return g.await(logged)
}

// await returns when the server answers, or says why it will not.
func (g *gateway) await(logged string) error {
	ctx, cancel := context.WithTimeout(context.Background(), gatewayTimeout)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.address+"/", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case <-g.done:
			said, _ := os.ReadFile(logged)
			return fmt.Errorf("versitygw ended at once and said:\n%s", said)
		case <-ctx.Done():
			g.kill()
			return errors.Join(fmt.Errorf("versitygw does not answer at %s", g.address), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (g *gateway) kill() {
	if g.process != nil {
		_ = g.process.Kill() // it may have ended already
		<-g.done
	}
}

func (g *gateway) remove() {
	g.kill()
	_ = os.RemoveAll(g.dir) // a folder in the system's temporary folder; the next test process tries again
}

func (g *gateway) newBucket(t testing.TB) *Bucket {
	t.Helper()
	g.buckets++
	b := &Bucket{
		Name: fmt.Sprintf("bucket-%d", g.buckets), Endpoint: "http://" + g.address, Region: s3Region,
		AccessKey: s3AccessKey, SecretKey: s3SecretKey, server: g,
	}
	if _, err := b.Client().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &b.Name, ObjectLockEnabledForBucket: aws.Bool(len(g.folders) > 0)}); err != nil {
		t.Fatalf("create %s: %v", b.Name, err)
	}
	return b
}
