package object

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/egress"
	"waymark/plugin/file"
	"waymark/plugin/plugintest"
	"waymark/tests/services/buckets"
	"waymark/worker/formats"
)

// local allows the servers of tests, which a document does not reach by itself.
func local() egress.Guard {
	return egress.Web([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")})
}

// bucketOf returns the options by which a document reaches the bucket.
func bucketOf(b *buckets.Bucket) *pipeline.S3 {
	return &pipeline.S3{Endpoint: b.Endpoint, Region: b.Region, PathStyle: true}
}

// testDestination is a folder of a bucket with one sink.
type testDestination struct {
	t      testing.TB
	bucket *buckets.Bucket
	remote *Remote
	header string
	shown  map[string]bool // the folders of runs that were published
}

func newTestPlace(t testing.TB, header string) *testDestination {
	b := buckets.New(t)
	b.Setenv(t)
	return &testDestination{t, b, newRemote(local(), nil), header, map[string]bool{}}
}

func (p *testDestination) sink(overwrite bool) plugin.Sink {
	p.t.Helper()
	where := pipeline.FileTarget{Path: "s3://" + p.bucket.Name + "/out/all", Parts: true, Overwrite: overwrite, S3: bucketOf(p.bucket)}
	spec := pipeline.Sink{JSONL: &pipeline.JSONLSink{FileTarget: where}}
	if p.header != "" {
		spec = pipeline.Sink{CSV: &pipeline.CSVSink{FileTarget: where}}
	}
	sink, err := formats.Formats{Files: file.Access{Remote: p.remote}}.Sink("all", spec)
	require.NoError(p.t, err)
	return sink
}

func (p *testDestination) target(run string, overwrite bool) plugin.Target {
	return p.sink(overwrite).Target(run)
}

// keys returns the keys of all objects in the bucket.
func (p *testDestination) keys() []string {
	p.t.Helper()
	out, err := p.bucket.Client().ListObjectsV2(p.t.Context(), &s3.ListObjectsV2Input{Bucket: &p.bucket.Name})
	require.NoError(p.t, err)
	var keys []string
	for _, object := range out.Contents {
		keys = append(keys, *object.Key)
	}
	return keys
}

func (p *testDestination) get(key string) []byte {
	p.t.Helper()
	out, err := p.bucket.Client().GetObject(p.t.Context(), &s3.GetObjectInput{Bucket: &p.bucket.Name, Key: &key})
	require.NoError(p.t, err)
	data, err := io.ReadAll(out.Body)
	require.NoError(p.t, err)
	return data
}

func (p *testDestination) put(key string, data []byte, metadata map[string]string) {
	p.t.Helper()
	_, err := p.bucket.Client().PutObject(p.t.Context(), &s3.PutObjectInput{
		Bucket: &p.bucket.Name, Key: &key, Body: bytes.NewReader(data), Metadata: metadata, ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
	})
	require.NoError(p.t, err)
}

const manifestKey = "out/all/" + file.ManifestName

// read reads as anybody would who begins with the manifest.
func (p *testDestination) read(header []byte) ([]byte, bool) {
	p.t.Helper()
	if !slices.Contains(p.keys(), manifestKey) {
		return nil, false
	}
	m, ok := file.ParseManifest(p.get(manifestKey))
	require.True(p.t, ok)
	p.shown[m.Folder] = true
	whole := header
	for _, part := range m.Parts {
		data := p.get("out/all/" + m.Folder + "/" + part.File)
		rest, ok := bytes.CutPrefix(data, header)
		require.True(p.t, ok, "%s has no header", part.File)
		whole = append(whole[:len(whole):len(whole)], rest...)
	}
	return whole, true
}

func (p *testDestination) occupy() {
	p.t.Helper()
	p.put("out/all/before/part-00000.csv", []byte(p.header+"old"), nil)
	p.put(manifestKey, []byte(`{"waymark": "parts-v1", "folder": "before", "parts": [{"file": "part-00000.csv"}]}`), nil)
	p.shown["before"] = true
}

// tamper changes a byte and keeps what the run noted of the object; the service has a checksum of what is there.
func (p *testDestination) tamper(run string, part plugin.Part) {
	p.t.Helper()
	place, ok := p.target(run, false).(*target)
	require.True(p.t, ok)
	key := place.partKey(part)
	head, err := p.bucket.Client().HeadObject(p.t.Context(), &s3.HeadObjectInput{Bucket: &p.bucket.Name, Key: &key})
	require.NoError(p.t, err)
	data := p.get(key)
	data[len(data)-1] ^= 1
	p.put(key, data, head.Metadata)
}

// remains counts what belongs to no run that was published.
func (p *testDestination) remains() int {
	p.read([]byte(p.header))
	n := 0
	for _, key := range p.keys() {
		folder, name, _ := strings.Cut(strings.TrimPrefix(key, "out/all/"), "/")
		if key != manifestKey && (!p.shown[folder] || name == headerName) {
			n++
		}
	}
	return n
}

func TestTargetContract(t *testing.T) {
	for name, header := range map[string]string{"csv": "k,v\n", "jsonl": ""} {
		t.Run(name, func(t *testing.T) {
			plugintest.TestTarget(t, header, func(t *testing.T) plugintest.Destination {
				p := newTestPlace(t, header)
				return plugintest.Destination{Target: p.target, Read: p.read, Occupy: p.occupy, Tamper: p.tamper, Remains: p.remains}
			})
		})
	}
}

// TestServiceChecksWhatItGets shows that the parts on the server have the checksum by which they are judged.
func TestServiceChecksWhatItGets(t *testing.T) {
	p := newTestPlace(t, "k,v\n")
	o := plugintest.NewOutput(p.header, "a,1\n")
	o.Write(t, p.target("one", false))
	place, ok := p.target("one", false).(*target)
	require.True(t, ok)
	there, err := place.head(t.Context(), place.partKey(o.Parts[0]))
	require.NoError(t, err)
	require.Len(t, there.sum, 64)
	require.Equal(t, there.about[aboutWhole], there.sum)
	err = place.put(t.Context(), &s3.PutObjectInput{Key: aws.String("x"), ChecksumCRC32: aws.String("AAAAAA==")}, []byte("data"))
	require.Error(t, err, "the server takes what has another checksum")
}

// TestLostReplies loses every request and every reply of a small run in turn: of one request, which the client repeats, and of so many
// that the attempt fails and another one starts over. What is visible in the end is the output, once and whole, and nothing is left.
func TestLostReplies(t *testing.T) {
	for name, lost := range map[string]struct {
		reply bool // the request arrives
		many  int  // requests in a row
	}{"one request": {false, 1}, "one reply": {true, 1}, "requests of an attempt": {false, 3}, "replies of an attempt": {true, 3}} {
		t.Run(name, func(t *testing.T) {
			points := 0
			for first := 0; ; first++ {
				p := newTestPlace(t, "k,v\n")
				var sent atomic.Int64 // requests may go side by side
				var hit atomic.Bool
				quick(through(p.remote, func(next http.RoundTripper) trip {
					return func(r *http.Request) (*http.Response, error) {
						place := int(sent.Add(1)) - 1
						if place < first || place >= first+lost.many {
							return next.RoundTrip(r)
						}
						hit.Store(true)
						if lost.reply {
							reply, err := next.RoundTrip(r)
							if err == nil {
								_ = reply.Body.Close()
							}
						}
						return nil, io.ErrUnexpectedEOF
					}
				}))
				o := plugintest.NewOutput(p.header, "a,1\nb,2\n", "c,3\nd,4\n")
				runToItsEnd(t, p, o)
				if !hit.Load() {
					break
				}
				points++
				data, ok := p.read(o.Header)
				require.True(t, ok)
				require.Equal(t, string(o.Whole()), string(data), "request %d", first)
				require.Zero(t, p.remains(), "request %d", first)
			}
			require.Greater(t, points, 10)
		})
	}
}

// runToItsEnd does what a run does, and each step again until it succeeds, as Temporal would.
func runToItsEnd(t *testing.T, p *testDestination, o plugintest.Output) {
	t.Helper()
	again := func(step func(target plugin.Target) error) {
		t.Helper()
		var err error
		for range 5 {
			if err = step(p.target("one", false)); err == nil {
				return
			}
			var fault *plugin.TargetError
			require.NotErrorAs(t, err, &fault)
		}
		require.NoError(t, err)
	}
	again(func(target plugin.Target) error {
		_, err := target.Open(t.Context(), o.Header)
		return err
	})
	for i, part := range o.Parts {
		again(func(target plugin.Target) error {
			if applied, err := target.Check(t.Context(), part); err != nil || applied == plugin.Exactly {
				return err
			}
			return target.Write(t.Context(), part, o.Data[i])
		})
	}
	again(func(target plugin.Target) error {
		_, err := target.Publish(t.Context(), o.Header, o.Parts)
		return err
	})
}

// TestOpenKnowsItsOwn: whoever made the place ready knows it, though the reply to the request was lost.
func TestOpenKnowsItsOwn(t *testing.T) {
	p := newTestPlace(t, "")
	lost := false
	quick(through(p.remote, func(next http.RoundTripper) trip {
		return func(r *http.Request) (*http.Response, error) {
			reply, err := next.RoundTrip(r)
			if err == nil && r.Method == http.MethodPut && !lost {
				lost = true
				_ = reply.Body.Close()
				return nil, io.ErrUnexpectedEOF
			}
			return reply, err
		}
	}))
	made, err := p.target("one", false).Open(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, lost)
	require.True(t, made)
}

// TestTwoRunsOverwrite: of two runs that both found the same output, the second one is told.
func TestTwoRunsOverwrite(t *testing.T) {
	p := newTestPlace(t, "k,v\n")
	p.occupy()
	one, two := plugintest.NewOutput(p.header, "a,1\nb,2\n"), plugintest.NewOutput(p.header, "c,3\nd,4\n")
	one.Write(t, p.target("one", true))
	two.Write(t, p.target("two", true))
	_, err := p.target("one", true).Publish(t.Context(), one.Header, one.Parts)
	require.NoError(t, err)
	_, err = p.target("two", true).Publish(t.Context(), two.Header, two.Parts)
	plugintest.RequireCode(t, codeTargetExists, err)
	require.ErrorContains(t, err, "another run published here since this one began")
	data, _ := p.read(one.Header)
	require.Equal(t, string(one.Whole()), string(data))
	require.NoError(t, p.target("two", true).Discard(t.Context()))
	require.Zero(t, p.remains())
}

// TestManifestOfOthers: overwrite replaces what a run of Waymark wrote, and nothing else.
func TestManifestOfOthers(t *testing.T) {
	for _, text := range []string{`{"name": "app"}`, "no JSON", `{"waymark": "parts-v1", "parts": []}`} {
		p := newTestPlace(t, "")
		p.put(manifestKey, []byte(text), nil)
		_, err := p.target("one", true).Open(t.Context(), nil)
		plugintest.RequireCode(t, codeTargetRefused, err)
		require.Equal(t, []string{manifestKey}, p.keys())
	}
}

// TestArtifactCanBeComputed: the artifact's SHA-256 is that of the manifest without the line that names the folder: docs/sinks.md.
func TestArtifactCanBeComputed(t *testing.T) {
	p := newTestPlace(t, "k,v\n")
	o := plugintest.NewOutput(p.header, "a,1\nb,2\n")
	o.Write(t, p.target("one", false))
	artifact, err := p.target("one", false).Publish(t.Context(), o.Header, o.Parts)
	require.NoError(t, err)
	var kept []string
	for line := range strings.SplitAfterSeq(string(p.get(manifestKey)), "\n") {
		if !strings.Contains(line, `"folder": "one"`) {
			kept = append(kept, line)
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(kept, "")))
	require.Equal(t, hex.EncodeToString(sum[:]), artifact.SHA256)
	require.Equal(t, "s3://"+p.bucket.Name+"/out/all", artifact.Path)
}
