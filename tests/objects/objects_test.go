// Package objects_test runs whole pipelines whose sources and sinks are not on this host.
package objects_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/tests/services"
	"waymark/tests/system"
	"waymark/worker"
)

func TestMain(m *testing.M) { os.Exit(services.Main(m)) }

const example = "../../examples/bird-strikes"

// start starts a System whose operator allows documents to reach this host.
func start(t *testing.T) *system.System {
	planner := worker.Planner{FingerprintKey: []byte("a key for tests")}
	require.NoError(t, planner.AllowNetworks.Set("127.0.0.0/8,::1"))
	return system.StartWith(t, system.Options{Planner: func(activities.Planner) activities.Planner { return planner }})
}

// get returns an object.
func get(t *testing.T, b *services.Bucket, key string) []byte {
	t.Helper()
	out, err := b.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
	require.NoError(t, err)
	data, err := io.ReadAll(out.Body)
	require.NoError(t, err)
	return data
}

// output returns the rows of an output in a bucket, with the header once, as the manifest says.
func output(t *testing.T, b *services.Bucket, prefix string, header int) string {
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
	b := services.S3(t)
	b.Setenv(t)
	const token = "c4nary-of-the-web-server"
	t.Setenv("WAYMARK_SECRET_TOKEN", token)
	data, err := os.ReadFile(filepath.Join(example, "data/birdstrikes.csv"))
	require.NoError(t, err)
	document, err := os.ReadFile(filepath.Join(example, "pipeline.yaml"))
	require.NoError(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(data)
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
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	t.Cleanup(server.Close)

	s := start(t)
	s.Write(t, map[string]string{"data/birdstrikes.csv": string(data)})
	onDisk, err := s.Run(t, "disk", string(document))
	require.NoError(t, err)
	review, strikes := s.Read(t, "out/review.csv"), s.Read(t, "out/strikes.jsonl")

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
		result.Run = onDisk.Run
		require.Equal(t, onDisk, result)
		require.Equal(t, review, output(t, b, run+"/review", strings.Index(review, "\n")+1))
		require.Equal(t, strikes, output(t, b, run+"/strikes", 0))
		s.Verify(t, run)
	}
	requireNowhere(t, filepath.Dir(s.Database), token, b.SecretKey)
}

// requireNowhere requires that no file below the folder holds one of the words: the record, the payloads, Temporal's histories.
func requireNowhere(t *testing.T, folder string, words ...string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		files++
		for _, word := range words {
			require.NotContains(t, string(content), word, path)
		}
		return err
	}))
	require.Greater(t, files, 5)
}

// TestARunGoesOnAfterTheServersAreBack stops the S3 server while a run writes to it: the run waits, and nothing is there twice.
func TestARunGoesOnAfterTheServersAreBack(t *testing.T) {
	b := services.PrivateS3(t)
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
	handle := s.Begin(t, "waits", `
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
	require.NoError(t, handle.Get(t.Context(), nil))
	require.Equal(t, rows.String(), output(t, b, "out", len("id\n")))
	s.Verify(t, "waits")
}
