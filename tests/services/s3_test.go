package services_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"waymark/tests/services/buckets"
)

// holdS3 makes this test binary a process that starts an S3 server, names its address, and waits to be killed.
const holdS3 = "WAYMARK_TEST_HOLD_S3"

func TestBucketsAreSeparateAndHoldObjects(t *testing.T) {
	one, two := buckets.New(t), buckets.New(t)
	require.NotEqual(t, one.Name, two.Name)
	require.Equal(t, one.Endpoint, two.Endpoint, "one server per process")
	putObject(t, one, "hello")
	require.Equal(t, "hello", getObject(t, one))
	listed, err := two.Client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &two.Name})
	require.NoError(t, err)
	require.Empty(t, listed.Contents)
}

func TestBucketURL(t *testing.T) {
	b := buckets.New(t)
	u, err := url.Parse(b.URL("some/prefix"))
	require.NoError(t, err)
	require.Equal(t, "s3", u.Scheme)
	require.Equal(t, b.Name, u.Host)
	require.Equal(t, "/some/prefix", u.Path)
	require.Equal(t, url.Values{"endpoint": {b.Endpoint}, "path_style": {"true"}, "region": {b.Region}}, u.Query())
	require.True(t, strings.HasPrefix(b.URL(""), "s3://"+b.Name+"?"))
}

func TestStoppedServerKeepsWhatItHad(t *testing.T) {
	b := buckets.Private(t)
	putObject(t, b, "kept")
	b.Stop()
	_, err := net.Dial("tcp", b.Address())
	require.Error(t, err, "nobody listens")
	b.Start(t)
	require.Equal(t, "kept", getObject(t, b))
}

func TestServerDiesWithAKilledTestProcess(t *testing.T) {
	if os.Getenv(holdS3) != "" {
		fmt.Println(buckets.New(t).Address())
		select {}
	}
	buckets.New(t) // skips where there is no server
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), holdS3+"=1")
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(output)
	address, err := lines.ReadString('\n')
	require.NoError(t, err)
	conn, err := net.Dial("tcp", strings.TrimSpace(address))
	require.NoError(t, err)
	defer conn.Close()

	require.NoError(t, cmd.Process.Kill())
	_, err = io.ReadAll(conn) // ends when the server does
	require.True(t, err == nil || strings.Contains(err.Error(), "reset"), "%v", err)
	require.Error(t, cmd.Wait())
}

func putObject(t *testing.T, b *buckets.Bucket, body string) {
	t.Helper()
	key := "a/b"
	_, err := b.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader(body)})
	require.NoError(t, err)
}

func getObject(t *testing.T, b *buckets.Bucket) string {
	t.Helper()
	key := "a/b"
	got, err := b.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
	require.NoError(t, err)
	body, err := io.ReadAll(got.Body)
	require.NoError(t, errors.Join(err, got.Body.Close()))
	return string(body)
}
