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
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
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

// BenchmarkSmallRuns measures runs of ten rows, of which 16, 64 and 256 are under way at once. Services ask for them
// through the HTTP API and wait for their end. Each run reads an object from a bucket and writes two. The record is in
// Postgres, the payloads are in S3, and two worker processes do the work, all on this machine. CPU time is that of the
// workers. Statements are those that reach the record's database, whoever sends them; -v lists them.
func BenchmarkSmallRuns(b *testing.B) {
	c := startCluster(b, "shared_preload_libraries=pg_stat_statements")
	c.build = buildReleased
	c.deploySmall()
	c.serve()
	counted := count(c)
	workers := []*process{c.worker("worker-1"), c.worker("worker-2")}
	for _, atOnce := range []int{16, 64, 256} {
		b.Run(fmt.Sprint(atOnce), func(b *testing.B) {
			c.runSmalls(b, atOnce, atOnce) // who was idle connects, and plans
			counted.reset()
			before := cpu(workers)
			b.ResetTimer()
			took := c.runSmalls(b, b.N, atOnce)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64((cpu(workers)-before).Milliseconds())/float64(b.N), "cpu-ms/run")
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
			counted.report(b)
		})
	}
}

// runSmalls does small runs, some at once, and returns how long each took, in order.
func (c *topology) runSmalls(b *testing.B, runs, atOnce int) []time.Duration {
	b.Helper()
	took := make([]time.Duration, runs)
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range runs {
		all.Go(func() (err error) {
			took[i], err = c.runSmall()
			return err
		})
	}
	require.NoError(b, all.Wait())
	slices.Sort(took)
	return took
}

// statements counts what reaches the record's database.
type statements struct {
	c  *topology
	db *pgx.Conn // of a superuser, in the record's database
}

func count(c *topology) *statements {
	c.t.Helper()
	db, err := pgx.Connect(c.t.Context(), c.record.Superuser())
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, db.Close(background())) })
	_, err = db.Exec(c.t.Context(), "create extension pg_stat_statements schema public")
	require.NoError(c.t, err)
	return &statements{c, db}
}

func (s *statements) reset() {
	_, err := s.db.Exec(s.c.t.Context(), "select public.pg_stat_statements_reset()")
	require.NoError(s.c.t, err)
}

// report tells how many statements there were for each run, and logs those that each run sends.
func (s *statements) report(b *testing.B) {
	b.Helper()
	rows, err := s.db.Query(b.Context(), `select calls, total_exec_time, wal_bytes::bigint, regexp_replace(query, '\s+', ' ', 'g')
		from public.pg_stat_statements join pg_database d on d.oid = dbid where datname = current_database()
		order by calls desc, total_exec_time desc`)
	require.NoError(b, err)
	var calls, wal, all, written int64
	var took, spent float64
	var text string
	_, err = pgx.ForEachRow(rows, []any{&calls, &took, &wal, &text}, func() error {
		all, spent, written = all+calls, spent+took, written+wal
		if calls*2 > int64(b.N) {
			b.Logf("%7.2f calls, %7.3f ms, %6d B  %.200s", float64(calls)/float64(b.N), took/float64(b.N), wal/int64(b.N), text)
		}
		return nil
	})
	require.NoError(b, err)
	b.ReportMetric(float64(all)/float64(b.N), "statements/run")
	b.ReportMetric(spent/float64(b.N), "postgres-ms/run")
	b.ReportMetric(float64(written)/float64(b.N), "WAL-B/run")
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
	for i := range 10 {
		in = fmt.Appendf(in, "%d,name %d,%d.50\n", i, i, i*11)
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
