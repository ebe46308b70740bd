package object

import (
	"bytes"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/builtin"
	"waymark/plugin/plugintest"
	"waymark/tests/services"
)

// local allows the servers of tests, which a document does not reach by itself.
func local() guard {
	return guard{allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
}

// bucketOf returns the options by which a document reaches the bucket.
func bucketOf(b *services.Bucket) *pipeline.S3 {
	return &pipeline.S3{Endpoint: b.Endpoint, Region: b.Region, PathStyle: true}
}

// testPlace is a folder of a bucket with one sink.
type testPlace struct {
	t      testing.TB
	bucket *services.Bucket
	remote *Remote
	header string
	shown  map[string]bool // the folders of runs that were published
}

func newTestPlace(t testing.TB, header string) *testPlace {
	b := services.S3(t)
	b.Setenv(t)
	return &testPlace{t, b, newRemote(local(), nil), header, map[string]bool{}}
}

func (p *testPlace) sink(overwrite bool) plugin.Sink {
	p.t.Helper()
	where := pipeline.FileTarget{Path: "s3://" + p.bucket.Name + "/out/all", Parts: true, Overwrite: overwrite, S3: bucketOf(p.bucket)}
	spec := pipeline.Sink{JSONL: &pipeline.JSONLSink{FileTarget: where}}
	if p.header != "" {
		spec = pipeline.Sink{CSV: &pipeline.CSVSink{FileTarget: where}}
	}
	sink, err := builtin.Plugins{Remote: p.remote}.Sink("all", spec)
	require.NoError(p.t, err)
	return sink
}

func (p *testPlace) target(run string, overwrite bool) plugin.Target {
	return p.sink(overwrite).Target(run)
}

// keys returns the keys of all objects in the bucket.
func (p *testPlace) keys() []string {
	p.t.Helper()
	out, err := p.bucket.Client().ListObjectsV2(p.t.Context(), &s3.ListObjectsV2Input{Bucket: &p.bucket.Name})
	require.NoError(p.t, err)
	var keys []string
	for _, object := range out.Contents {
		keys = append(keys, *object.Key)
	}
	return keys
}

func (p *testPlace) get(key string) []byte {
	p.t.Helper()
	out, err := p.bucket.Client().GetObject(p.t.Context(), &s3.GetObjectInput{Bucket: &p.bucket.Name, Key: &key})
	require.NoError(p.t, err)
	data, err := io.ReadAll(out.Body)
	require.NoError(p.t, err)
	return data
}

func (p *testPlace) put(key string, data []byte, metadata map[string]string) {
	p.t.Helper()
	_, err := p.bucket.Client().PutObject(p.t.Context(), &s3.PutObjectInput{Bucket: &p.bucket.Name, Key: &key, Body: bytes.NewReader(data), Metadata: metadata})
	require.NoError(p.t, err)
}

const manifestKey = "out/all/" + builtin.ManifestName

// read reads as anybody would who begins with the manifest.
func (p *testPlace) read(header []byte) ([]byte, bool) {
	p.t.Helper()
	if !slices.Contains(p.keys(), manifestKey) {
		return nil, false
	}
	m, is := builtin.ParseManifest(p.get(manifestKey))
	require.True(p.t, is)
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

func (p *testPlace) occupy() {
	p.t.Helper()
	p.put("out/all/before/part-00000.csv", []byte(p.header+"old"), nil)
	p.put(manifestKey, []byte(`{"waymark": "parts-v1", "folder": "before", "parts": [{"file": "part-00000.csv"}]}`), nil)
	p.shown["before"] = true
}

// tamper changes a byte and keeps what the run noted of the object.
func (p *testPlace) tamper(run string, part plugin.Part) {
	p.t.Helper()
	place, is := p.target(run, false).(*target)
	require.True(p.t, is)
	key := place.partKey(part)
	head, err := p.bucket.Client().HeadObject(p.t.Context(), &s3.HeadObjectInput{Bucket: &p.bucket.Name, Key: &key})
	require.NoError(p.t, err)
	data := p.get(key)
	data[len(data)-1] ^= 1
	p.put(key, data, head.Metadata)
}

// remains counts what belongs to no run that was published.
func (p *testPlace) remains() int {
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
			plugintest.TestTarget(t, header, func(t *testing.T) plugintest.Place {
				p := newTestPlace(t, header)
				return plugintest.Place{Target: p.target, Read: p.read, Occupy: p.occupy, Tamper: p.tamper, Remains: p.remains}
			})
		})
	}
}

// TestServiceChecksWhatItGets shows that the parts on the server have the checksum by which they are judged.
func TestServiceChecksWhatItGets(t *testing.T) {
	p := newTestPlace(t, "k,v\n")
	o := plugintest.NewOutput(p.header, "a,1\n")
	o.Write(t, p.target("one", false))
	place, is := p.target("one", false).(*target)
	require.True(t, is)
	there, err := place.head(t.Context(), place.partKey(o.Parts[0]))
	require.NoError(t, err)
	require.Len(t, there.sum, 64)
	require.Equal(t, there.about[aboutWhole], there.sum)
	err = place.put(t.Context(), &s3.PutObjectInput{Key: aws.String("x"), ChecksumCRC32: aws.String("AAAAAA==")}, []byte("data"))
	require.Error(t, err, "the server takes what has another checksum")
}
