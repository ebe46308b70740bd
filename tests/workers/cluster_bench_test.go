package workers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// BenchmarkRun measures whole runs of a million rows, or as many as -rows says: from an object in a bucket to parts in a bucket and
// a table, with the record in Postgres and the payloads in S3, all on this machine, by one worker process and by two. The two take
// turns, so that whatever else the machine does bears on both. CPU seconds are those of the worker processes.
func BenchmarkRun(b *testing.B) {
	c := startCluster(b)
	c.build = buildReleased
	c.deploy(*rows)
	first := c.worker("worker-1")
	var took, worked [2]time.Duration
	measure := func(out string, workers ...*process) {
		before, began := cpu(workers), time.Now()
		c.end(c.begin(out))
		took[len(workers)-1] += time.Since(began)
		worked[len(workers)-1] += cpu(workers) - before
	}
	round := 0
	for b.Loop() {
		round++
		measure(fmt.Sprintf("one_%d", round), first)
		second := c.worker(fmt.Sprintf("worker-2 of round %d", round))
		measure(fmt.Sprintf("two_%d", round), first, second)
		second.end()
	}
	for i, unit := range []string{"1worker", "2workers"} {
		b.ReportMetric(float64(*rows)*float64(round)/took[i].Seconds(), "rows/s/"+unit)
		b.ReportMetric(worked[i].Seconds()/float64(round), "cpu-s/"+unit)
	}
}

// BenchmarkSmallRuns measures runs of a hundred rows. Services ask for them through the HTTP API and wait for their end, eight for each processor at once.
// Each run reads an object from a bucket and writes two. The record is in Postgres, the payloads are in S3, and two worker processes do the work, all on this
// machine. CPU time is that of the workers.
func BenchmarkSmallRuns(b *testing.B) {
	c := startCluster(b)
	c.build = buildReleased
	c.deploySmall()
	c.serve()
	workers := []*process{c.worker("worker-1"), c.worker("worker-2")}
	before := cpu(workers)
	var mu sync.Mutex
	var took []time.Duration
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(loop *testing.PB) {
		for loop.Next() {
			one, err := c.runSmall()
			if err != nil {
				b.Error(err)
				return
			}
			mu.Lock()
			took = append(took, one)
			mu.Unlock()
		}
	})
	if b.Failed() {
		return
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64((cpu(workers)-before).Milliseconds())/float64(b.N), "cpu-ms/run")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
}

// small is the document of small runs.
const small = `
name: small
params: {to: {type: string}}
sources: {in: {csv: {path: "s3://BUCKET/in/small.csv", s3: {path_style: true}}, schema: {fields: {id: int, name: string, total: decimal}}}}
steps:
  - {name: judge, set: {large: row.total > 50}}
  - {name: triage, gate: row.large, routes: {"true": review, "false": all}}
sinks:
  review: {jsonl: {path: "s3://BUCKET/out/${param:to}.review", parts: true, s3: {path_style: true}}}
  all: {jsonl: {path: "s3://BUCKET/out/${param:to}.all", parts: true, s3: {path_style: true}}}
`

// deploySmall stores the input of small runs, and makes their document known to workers.
func (c *topology) deploySmall() {
	c.t.Helper()
	in := []byte("id,name,total\n")
	for i := range 100 {
		in = fmt.Appendf(in, "%d,name %d,%d.50\n", i, i, i)
	}
	_, err := c.bucket.Client().PutObject(c.t.Context(), &s3.PutObjectInput{Bucket: &c.bucket.Name, Key: aws.String("in/small.csv"), Body: bytes.NewReader(in)})
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(c.folder, "small.yaml"), []byte(strings.ReplaceAll(small, "BUCKET", c.bucket.Name)), 0o600))
}

// runSmall asks for a small run as a service does, and waits for its end.
func (c *topology) runSmall() (took time.Duration, err error) {
	began := time.Now()
	status, err := c.askSmall(time.Minute)
	if err == nil && status != "completed" {
		err = fmt.Errorf("it is %s", status)
	}
	return time.Since(began), err
}

// askSmall asks for a small run as a service does, waits for so long, and returns how the run is then.
func (c *topology) askSmall(wait time.Duration) (status string, err error) {
	key := uuid.NewString()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+"/v1/runs", strings.NewReader(`{"pipeline":"small","params":{"to":"`+key+`"}}`))
	if err != nil {
		return "", err
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + c.token, "Content-Type": "application/json", "Idempotency-Key": key, "Prefer": fmt.Sprint("wait=", int(wait.Seconds())),
	} {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(answer.Body)
	err = errors.Join(err, answer.Body.Close())
	var run struct{ Status, Reason string }
	if err != nil || json.Unmarshal(body, &run) != nil {
		err = errors.Join(err, fmt.Errorf("%s: %s", answer.Status, body))
	}
	return strings.TrimSpace(run.Status + " " + run.Reason), err
}

func cpu(workers []*process) (sum time.Duration) {
	for _, w := range workers {
		sum += w.cpu()
	}
	return sum
}
