package connectors_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/client"
	"waymark/tests/sample"
	"waymark/tests/services/buckets"
	"waymark/tests/system"
)

// get returns an object.
func get(t *testing.T, b *buckets.Bucket, key string) []byte {
	t.Helper()
	out, err := b.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
	require.NoError(t, err)
	data, err := io.ReadAll(out.Body)
	require.NoError(t, err)
	return data
}

// output returns the rows of an output in a bucket, with the header once, as the manifest says.
func output(t *testing.T, b *buckets.Bucket, prefix string, header int) string {
	t.Helper()
	var manifest struct {
		Folder string
		Parts  []struct{ File string }
	}
	require.NoError(t, json.Unmarshal(get(t, b, prefix+"/manifest.json"), &manifest))
	var whole strings.Builder
	for i, part := range manifest.Parts {
		data := get(t, b, prefix+"/"+manifest.Folder+"/"+part.File)
		if i > 0 {
			data = data[header:]
		}
		whole.Write(data)
	}
	return whole.String()
}

// TestTheExampleReadsAndWritesElsewhere runs the example on its file on disk, in a bucket and on a web server, and writes to disk and to
// a bucket: what comes out is the same, byte for byte, and so is the account.
func TestTheExampleReadsAndWritesElsewhere(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	const token = "c4nary-of-the-web-server"
	t.Setenv("WAYMARK_SECRET_TOKEN", token)
	data, _ := strikes(t, 12)
	document, err := os.ReadFile(filepath.Join(example, "pipeline.yaml"))
	require.NoError(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write([]byte(data))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	key := "in/birdstrikes.csv.gz"
	_, err = b.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: bytes.NewReader(packed.Bytes())})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(data))
	}))
	t.Cleanup(server.Close)

	s := start(t)
	s.Write(t, map[string]string{"data/birdstrikes.csv": data})
	onDisk, err := s.Run(t, "disk", string(document))
	require.NoError(t, err)
	review, lines := s.Read(t, "out/review.csv"), s.Read(t, "out/strikes.jsonl")

	how := "s3: {endpoint: \"" + b.Endpoint + "\", region: " + b.Region + ", path_style: true}"
	elsewhere := func(source, prefix string) string {
		text := string(document)
		for from, to := range map[string]string{
			"path: data/birdstrikes.csv": source,
			"path: out/review.csv":       `path: "s3://` + b.Name + "/" + prefix + "/review\"\n      parts: true\n      " + how,
			"path: out/strikes.jsonl":    `path: "s3://` + b.Name + "/" + prefix + `/strikes", parts: true, ` + how,
		} {
			require.Contains(t, text, from)
			text = strings.Replace(text, from, to, 1)
		}
		return text
	}
	for run, source := range map[string]string{
		"bucket": `path: "s3://` + b.Name + `/in/*.csv.gz", ` + how,
		"web":    `path: "` + server.URL + `/birdstrikes.csv", http: {headers: {Authorization: "Bearer ${secret:TOKEN}"}}`,
	} {
		result, err := s.Run(t, run, elsewhere(source, run))
		require.NoError(t, err)
		require.Equal(t, "s3://"+b.Name+"/"+run+"/review", result.Outputs[0].Path)
		require.Equal(t, onDisk.RefusedBy, result.RefusedBy)
		result.Run, result.Outputs = onDisk.Run, onDisk.Outputs
		require.Equal(t, onDisk, result)
		require.Equal(t, review, output(t, b, run+"/review", strings.Index(review, "\n")+1))
		require.Equal(t, lines, output(t, b, run+"/strikes", 0))
		s.Verify(t, run)
		written, err := s.Client.Outputs(t.Context(), "s3://"+b.Name+"/"+run+"/review/", 0)
		require.NoError(t, err)
		require.Equal(t, []any{client.OutputPublished, run}, []any{written.State, written.Run})
	}
	gone := "web/review/manifest.json"
	_, err = b.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b.Name, Key: &gone})
	require.NoError(t, err)
	written, err := s.Client.Outputs(t.Context(), "s3://"+b.Name+"/web/review", 0)
	require.NoError(t, err)
	require.Equal(t, client.OutputChanged, written.State, written.Detail)
	requireNowhere(t, filepath.Dir(s.Database), token, b.SecretKey)
}

// TestARunGoesOnAfterTheServersAreBack stops the S3 server while a run writes to it: the run waits, and nothing is there twice.
func TestARunGoesOnAfterTheServersAreBack(t *testing.T) {
	sample.Rarely(t)
	b := buckets.Private(t)
	b.Setenv(t)
	s := start(t)
	var rows strings.Builder
	rows.WriteString("id\n")
	for i := range 20_000 {
		rows.WriteString(strings.Repeat("7", 1+i%9) + "\n")
	}
	stopped := false
	served := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("Range") == "" && len(served) == 0 && !stopped {
			stopped = true
			served <- struct{}{}
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(rows.String()))
	}))
	t.Cleanup(server.Close)
	run := s.Begin(t, "waits", `
name: waits
chunk: {rows: 500}
sources:
  in: {csv: {path: "`+server.URL+`/in.csv"}, schema: {fields: {id: string}}}
sinks:
  out: {csv: {path: "s3://`+b.Name+`/out", parts: true, s3: {endpoint: "`+b.Endpoint+`", region: `+b.Region+`, path_style: true}}}
`)
	<-served
	b.Stop()
	b.Start(t)
	_, err := system.End(t, run)
	require.NoError(t, err)
	require.Equal(t, rows.String(), output(t, b, "out", len("id\n")))
	s.Verify(t, "waits")
}

// TestLatestInABucket looks where the object leads that has the name of the latest output, when a run put it there and when somebody else did.
func TestLatestInABucket(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	s := start(t)
	s.Write(t, map[string]string{"in.csv": "id\n7\n"})
	for _, run := range []string{"first", "second"} {
		_, err := s.Run(t, run, `
name: pointed
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: string}}}}
sinks:
  out: {csv: {path: "s3://`+b.Name+`/`+run+`", parts: true, latest: "s3://`+b.Name+`/latest.json", s3: {endpoint: "`+b.Endpoint+`", region: `+b.Region+`, path_style: true}}}
`)
		require.NoError(t, err)
	}
	endpoint, err := url.Parse(b.Endpoint)
	require.NoError(t, err)
	name := "s3://" + b.Name + "/latest.json at " + endpoint.Host
	leads := audit.Check{What: audit.CheckedLatest, Name: "out", Detail: name + " leads to s3://" + b.Name + "/second, which run second published"}
	for _, run := range []string{"first", "second"} {
		report, err := s.Client.Verify(t.Context(), run, audit.VerifyOptions{})
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.Contains(t, report.Checked, leads)
	}
	written, err := s.Client.Outputs(t.Context(), name, 0)
	require.NoError(t, err)
	require.Equal(t, []any{client.OutputPublished, "second"}, []any{written.State, written.Run})

	key, other := "latest.json", bytes.ReplaceAll(get(t, b, "latest.json"), []byte("/second"), []byte("/first"))
	_, err = b.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: bytes.NewReader(other)})
	require.NoError(t, err)
	report, err := s.Client.Verify(t.Context(), "second", audit.VerifyOptions{})
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	require.Equal(t, audit.ArtifactDiffers, report.Problems[0].Kind)
	require.Contains(t, report.Problems[0].Detail, name+" leads to s3://"+b.Name+"/first, and not to s3://"+b.Name+"/second")
	written, err = s.Client.Outputs(t.Context(), name, 0)
	require.NoError(t, err)
	require.Equal(t, client.OutputChanged, written.State)
}
