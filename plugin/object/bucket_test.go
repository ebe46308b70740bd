package object

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/egress"
	"waymark/tests/sample"
	"waymark/tests/services/buckets"
)

// trip is an http.RoundTripper.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through puts something between the remote and the network.
func through(r *Remote, wrap func(next http.RoundTripper) trip) *Remote {
	dial := r.dial
	r.dial = func(g *egress.Guard) *http.Client {
		client := dial(g)
		client.Transport = wrap(client.Transport)
		return client
	}
	return r
}

func putObject(t testing.TB, b *buckets.Bucket, key, content string) {
	t.Helper()
	_, err := b.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader(content)})
	require.NoError(t, err)
}

// objectSource returns a source of what the pattern matches in the bucket.
func objectSource(t testing.TB, b *buckets.Bucket, r *Remote, pattern string, csv pipeline.CSVSource) plugin.Source {
	csv.Path, csv.S3 = "s3://"+b.Name+"/"+pattern, bucketOf(b)
	return sourceOf(t, r, t.TempDir(), pipeline.Source{CSV: &csv})
}

// TestObjectsAreFiles shows that rows, rejections, lines, offsets and digests are those of the same file on disk, also if every chunk
// is read by a new process.
func TestObjectsAreFiles(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	for i, c := range fileCases() {
		t.Run(c.name, func(t *testing.T) {
			key := fmt.Sprintf("%d/%s", i, c.file)
			putObject(t, b, key, c.content)
			c.requireSame(t, objectSource(t, b, quick(newRemote(local(), nil)), key, c.csv))
		})
	}
}

func TestPatternsOfKeys(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	for _, key := range []string{"in/b.csv", "in/a.csv", "in/a b+ö&=.csv", "in/.hidden.csv", "in/deep/c.csv", "in/a.txt", "other/a.csv", "in2/x*y.csv"} {
		putObject(t, b, key, "a\n1\n")
	}
	list := func(pattern string) []string {
		info, err := objectSource(t, b, quick(newRemote(local(), nil)), pattern, pipeline.CSVSource{Files: pipeline.Files{AllowEmpty: true}}).Stat(t.Context())
		require.NoError(t, err)
		var keys []string
		for _, file := range info.Files {
			keys = append(keys, strings.TrimPrefix(file.Path, "s3://"+b.Name+"/"))
			require.Equal(t, int64(4), file.Bytes)
			require.Regexp(t, `^etag:[0-9a-f]{32}$`, file.Version)
		}
		return keys
	}
	require.Equal(t, []string{"in/a b+ö&=.csv", "in/a.csv", "in/b.csv"}, list("in/*.csv"))
	require.Equal(t, []string{"in/.hidden.csv"}, list("in/.*.csv"))
	require.Equal(t, []string{"in/deep/c.csv"}, list("in/*/*.csv"))
	require.Equal(t, []string{"in/a.csv", "other/a.csv"}, list("*/a.csv"))
	require.Equal(t, []string{"in/a.csv", "in/b.csv"}, list("i[m-o]/?.csv"))
	require.Equal(t, []string{"in2/x*y.csv"}, list(`in2/x\*y.csv`))
	require.Equal(t, []string{"in/a b+ö&=.csv"}, list("in/a b+ö&=.csv"))
	require.Empty(t, list("in/*.parquet"))

	got, err := collect(t, objectSource(t, b, quick(newRemote(local(), nil)), "in/*.csv", pipeline.CSVSource{}), plugin.Limits{Rows: 1, Bytes: 1}, true)
	require.NoError(t, err)
	require.Len(t, got.Rows, 3)
	require.Len(t, got.Digests, 3)
}

// TestTheHeadOfAnObject shows that the columns of an object are held against the schema by its first bytes.
func TestTheHeadOfAnObject(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	putObject(t, b, "big.csv", "a\n"+strings.Repeat("1\n", 4<<20))
	var read atomic.Int64
	check := func(fields ...string) error {
		var schema pipeline.Schema
		for _, name := range fields {
			schema.Fields = append(schema.Fields, pipeline.Named[pipeline.Field]{Name: name, Value: pipeline.Field{Type: "int"}})
		}
		remote := through(quick(newRemote(local(), nil)), func(next http.RoundTripper) trip {
			return func(r *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(r)
				if err == nil {
					response.Body = counted{response.Body, &read}
				}
				return response, err
			}
		})
		source := sourceOf(t, remote, t.TempDir(), pipeline.Source{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: "s3://" + b.Name + "/big.csv", S3: bucketOf(b)}}, Schema: schema})
		info, err := source.Stat(t.Context())
		require.NoError(t, err)
		return source.(plugin.HeadChecker).CheckHead(t.Context(), info.Files[0])
	}
	require.NoError(t, check("a"))
	fault, ok := errors.AsType[*plugin.SourceError](check("a", "b"))
	require.True(t, ok)
	require.Equal(t, "HEADER_MISMATCH", fault.Code)
	require.Equal(t, "s3://"+b.Name+"/big.csv", fault.File)
	require.Less(t, read.Load(), int64(1<<20))
}

// counted counts what is read of a body.
type counted struct {
	io.ReadCloser
	read *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// TestBucketsInTrouble shows what people are told.
func TestBucketsInTrouble(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	putObject(t, b, "in.csv", "a\n1\n")
	cases := []struct {
		name, path, code, message string
		prepare                   func(t *testing.T, how *pipeline.S3)
	}{
		{"no object", "s3://" + b.Name + "/none.csv", "NOT_FOUND", "no such object at " + b.Endpoint, nil},
		{"no match", "s3://" + b.Name + "/none/*.csv", "EMPTY_SOURCE", "no file matches", nil},
		{"no bucket", "s3://no-such-bucket/*.csv", "NOT_FOUND", "no such bucket at " + b.Endpoint, nil},
		{"other key", "s3://" + b.Name + "/in.csv", "NO_PERMISSION", "check the worker's AWS credentials", func(t *testing.T, _ *pipeline.S3) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", "an0ther-canary")
		}},
		{"no credentials", "s3://" + b.Name + "/in.csv", "NO_PERMISSION", "no AWS credentials: set AWS_ACCESS_KEY_ID",
			func(t *testing.T, _ *pipeline.S3) {
				t.Setenv("AWS_ACCESS_KEY_ID", "")
				t.Setenv("AWS_SECRET_ACCESS_KEY", "")
			}},
		{"no profile", "s3://" + b.Name + "/in.csv", "NO_PERMISSION",
			"the AWS configuration of the worker cannot be read: failed to get shared config profile, none",
			func(t *testing.T, _ *pipeline.S3) {
				t.Setenv("AWS_PROFILE", "none")
			}},
		{"nobody there", "s3://" + b.Name + "/in.csv", "", "http://127.0.0.1:1 cannot be reached: connection refused; check the address, and that the service is up",
			func(_ *testing.T, how *pipeline.S3) { how.Endpoint = "http://127.0.0.1:1" }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			how := bucketOf(b)
			if c.prepare != nil {
				c.prepare(t, how)
			}
			source := sourceOf(t, quick(newRemote(local(), nil)), t.TempDir(), pipeline.Source{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: c.path, S3: how}}})
			_, err := source.Stat(t.Context())
			require.ErrorContains(t, err, c.message)
			require.NotContains(t, err.Error(), "canary")
			require.NotContains(t, err.Error(), b.SecretKey)
			var fault *plugin.SourceError
			require.Equal(t, c.code != "", errors.As(err, &fault), "%v", err)
			if c.code != "" {
				require.Equal(t, c.code, fault.Code)
				require.Equal(t, c.path, fault.File)
			}
		})
	}
}

// cut breaks the body of a reply after so many bytes.
type cut struct {
	io.ReadCloser
	left int
}

func (c *cut) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// TestObjectsWhoseConnectionsBreak cuts two replies after a number of bytes, each one at night. If the object has
// changed since then, the run fails.
func TestObjectsWhoseConnectionsBreak(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	c := fileCases()[0]
	putObject(t, b, "in.csv", c.content)
	want := c.onDisk(t, large)
	for after := 0; after < len(c.content); after += sample.Step(9) {
		gets := 0
		remote := through(quick(newRemote(local(), nil)), func(next http.RoundTripper) trip {
			return func(r *http.Request) (*http.Response, error) {
				reply, err := next.RoundTrip(r)
				if err == nil && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "in.csv") {
					if gets++; gets <= 2 {
						reply.Body = &cut{reply.Body, after}
					}
				}
				return reply, err
			}
		})
		got, err := collect(t, objectSource(t, b, remote, "in.csv", c.csv), large, false)
		require.NoError(t, err)
		require.Equal(t, want, got, "cut after %d bytes", after)
		require.GreaterOrEqual(t, gets, 2)
	}
	t.Run("and change", func(t *testing.T) {
		remote := through(quick(newRemote(local(), nil)), func(next http.RoundTripper) trip {
			return func(r *http.Request) (*http.Response, error) {
				reply, err := next.RoundTrip(r)
				if err == nil && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "in.csv") && reply.StatusCode < 300 {
					reply.Body = &cut{reply.Body, 60}
					putObject(t, b, "in.csv", strings.Replace(c.content, "1,2", "7,8", 1))
				}
				return reply, err
			}
		})
		got, err := collect(t, objectSource(t, b, remote, "in.csv", c.csv), large, false)
		require.NoError(t, err)
		require.Equal(t, "SOURCE_CHANGED", got.Code)
	})
}

// TestVersions shows that an object of a bucket with versions is read on as the run found it, whatever is under its key by now.
func TestVersions(t *testing.T) {
	buckets.New(t).Setenv(t)
	var latest atomic.Value
	latest.Store("2")
	content := map[string]string{"1": "a\nold\n", "2": "a\nnew\n", "3": "a\nnewer\n"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, _ := latest.Load().(string)
		if asked := r.URL.Query().Get("versionId"); asked != "" {
			version = asked
		}
		body, ok := content[version]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("X-Amz-Version-Id", version)
		w.Header().Set("ETag", `"`+version+`"`)
		http.ServeContent(w, r, "", timeOf(t), bytes.NewReader([]byte(body)))
	}))
	t.Cleanup(server.Close)
	source := sourceOf(t, quick(newRemote(local(), nil)), t.TempDir(), pipeline.Source{CSV: &pipeline.CSVSource{
		Files: pipeline.Files{Path: "s3://bucket/in.csv", S3: &pipeline.S3{Endpoint: server.URL, PathStyle: true}},
	}})
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	require.Equal(t, "version:2", info.Files[0].Version)
	latest.Store("3")
	got, err := collectFrom(t, source, info, plugin.Limits{Rows: 1, Bytes: 1}, true)
	require.NoError(t, err)
	require.Equal(t, []string{`{"a":"new"}`}, got.Rows)
	delete(content, "2")
	got, err = collectFrom(t, source, info, large, false)
	require.NoError(t, err)
	require.Equal(t, "SOURCE_CHANGED", got.Code)
}

// TestReaderAt reads pieces of an object, as formats with an index do.
func TestReaderAt(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 3<<20+17)
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	putObject(t, b, "in.bin", string(content))
	var requests atomic.Int64
	remote := through(quick(newRemote(local(), nil)), func(next http.RoundTripper) trip {
		return func(r *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(r)
		}
	})
	store, err := remote.Store(pipeline.Files{Path: "s3://" + b.Name + "/in.bin", S3: bucketOf(b)})
	require.NoError(t, err)
	files, err := store.List(t.Context(), "s3://"+b.Name+"/in.bin")
	require.NoError(t, err)
	file, err := store.Open(t.Context(), files[0])
	require.NoError(t, err)
	defer file.Close()
	at, whole := file.ReaderAt(t.Context()), bytes.NewReader(content)
	for range 300 {
		offset, size := random.Int64N(int64(len(content))+100), random.IntN(600_000)
		got, want := make([]byte, size), make([]byte, size)
		n, err := at.ReadAt(got, offset)
		wanted, expected := whole.ReadAt(want, offset)
		require.Equal(t, expected, err)
		require.Equal(t, wanted, n)
		require.True(t, bytes.Equal(want, got))
	}
	require.Less(t, requests.Load(), int64(20), "blocks are fetched once")
	putObject(t, b, "in.bin", "other")
	again, err := store.Open(t.Context(), files[0])
	require.NoError(t, err)
	_, err = again.ReaderAt(t.Context()).ReadAt(make([]byte, 10), 5)
	var fault *plugin.SourceError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "SOURCE_CHANGED", fault.Code)
}
