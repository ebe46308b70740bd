package workers_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/pipeline"
	"waymark/tests/quota"
	"waymark/tests/services"
	"waymark/workflows"
)

var (
	scaleWorkers = flag.String("workers", "1,2,4", "numbers of workers that BenchmarkScale measures")
	scaleCores   = flag.Float64("cores", 0.2, "cores of each worker of BenchmarkScale")
	scaleSpans   = flag.Bool("spans", false, "print when each worker did what, for BenchmarkScale")
	scaleTimes   = flag.Int("times", 1, "how often BenchmarkScale measures each number of workers; the median counts")
)

// How much longer a round trip to a service takes that is far.
const (
	farRecord = time.Millisecond // also Temporal
	farBucket = 15 * time.Millisecond
)

// BenchmarkScale measures one run by ever more worker processes, of which each has a part of a core, so that more of
// them than this machine has cores show what they are worth: `make bench-scale`. Services are near, or as far as those
// of a cloud. It prints what each run took of everything, and what it waited for, as it goes; the last line of the
// program's output is JSON.
func BenchmarkScale(b *testing.B) {
	for _, job := range scaleJobs {
		b.Run(job.name, func(b *testing.B) { nearAndFar(b, job, (*scale).ever) })
	}
	b.Run("join", func(b *testing.B) { nearAndFar(b, scaleJobs[0], (*scale).join) })
}

func nearAndFar(b *testing.B, job scaleJob, measure func(*scale, *scaleResult)) {
	for _, place := range []string{"near", "far"} {
		b.Run(place, func(b *testing.B) {
			name, _, _ := strings.Cut(strings.TrimPrefix(b.Name(), "BenchmarkScale/"), "/")
			result := &scaleResult{
				job: name, place: place, seconds: map[int][]float64{}, perMillion: map[int]map[string]float64{},
			}
			for round := range *scaleTimes {
				b.Run(fmt.Sprint(round+1), func(b *testing.B) {
					measure(newScale(b, job, place), result)
				})
			}
			if !b.Failed() {
				scaleResults = append(scaleResults, result)
				fmt.Printf("%s\n\n", result.line())
			}
		})
	}
}

// scale is a cluster with workers of little CPU.
type scale struct {
	*topology
	counted *statements
	instead []string // of the address of each service, the one at which the workers reach it
	workers []*process
	runs    int
}

func newScale(b *testing.B, job scaleJob, place string) *scale {
	b.Helper()
	cluster := startCluster(b, "shared_preload_libraries=pg_stat_statements", "max_wal_size=8GB")
	s := &scale{topology: cluster}
	s.build, s.counted = buildReleased, count(s.topology)
	job.store(s.topology)
	s.document(job.document)
	if place == "far" {
		for address, roundTrip := range map[string]time.Duration{
			s.address: farRecord, s.postgres.Address(): farRecord, s.bucket.Address(): farBucket,
		} {
			proxy := services.Cut(b, address)
			proxy.Delay(roundTrip)
			s.instead = append(s.instead, address, proxy.Address())
		}
	}
	return s
}

// add starts one more worker, which may not be ready yet.
func (s *scale) add() *process {
	s.t.Helper()
	name := fmt.Sprint("worker-", len(s.workers)+1)
	group, err := quota.New(name, *scaleCores)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, group.Remove()) })
	command := group.Command(s.program(s.build))
	w := s.launch(name, s.workersEnvironment(s.instead...), command[0], command[1:]...)
	s.workers = append(s.workers, w)
	return w
}

// start starts a run.
func (s *scale) start() *client.Execution {
	s.runs++
	return s.begin(fmt.Sprintf("out_%d", s.runs))
}

// finish waits for the end of a run, however long that takes.
func (s *scale) finish(run *client.Execution) {
	s.t.Helper()
	var result workflows.RunResult
	require.NoError(s.t, s.temporal.GetWorkflow(s.t.Context(), run.Workflow, "").Get(s.t.Context(), &result))
	require.NoError(s.t, run.Close())
	require.Contains(s.t, []pipeline.RunStatus{pipeline.Completed, pipeline.CompletedWithFailures}, result.Status)
	require.Equal(s.t, int64(*rows), result.Rows)
}

// spent is what was used until a moment; of statements, those of the workers, and of transactions those for runs: each
// holds its run.
type spent struct {
	cpu                           map[string]time.Duration // by worker or service
	statements, transactions, wal int64
}

func (s *scale) spent() spent {
	s.t.Helper()
	is := spent{cpu: map[string]time.Duration{
		"Temporal": s.server.cpu(), "Postgres": s.postgres.CPU(), "S3": s.bucket.CPU(), "this": ownCPU(),
	}}
	for _, w := range s.workers {
		is.cpu[w.name] = w.cpu()
	}
	err := s.counted.db.QueryRow(s.t.Context(), `
		select coalesce(sum(calls), 0)::bigint, coalesce(sum(calls) filter (where query like '%hold_run(%'), 0)::bigint,
			(select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint)
		from public.pg_stat_statements join pg_roles r on r.oid = userid join pg_database d on d.oid = dbid
		where rolname = 'waymark_worker' and datname = current_database()`).
		Scan(&is.statements, &is.transactions, &is.wal)
	require.NoError(s.t, err)
	return is
}

// ownCPU is how long this process has computed: it is the proxies of services that are far.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // it fails for unknown processes
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (a spent) since(b spent) spent {
	out := spent{cpu: map[string]time.Duration{}, statements: a.statements - b.statements}
	out.transactions, out.wal = a.transactions-b.transactions, a.wal-b.wal
	for name, cpu := range a.cpu {
		out.cpu[name] = cpu - b.cpu[name]
	}
	return out
}

// ever measures runs by ever more workers.
func (s *scale) ever(result *scaleResult) {
	s.t.Helper()
	for _, text := range strings.Split(*scaleWorkers, ",") {
		number, err := strconv.Atoi(text)
		require.NoError(s.t, err)
		for len(s.workers) < number {
			s.add().await("msg=working")
		}
		s.counted.reset()
		before, began := s.spent(), time.Now()
		run := s.start()
		s.finish(run)
		took := time.Since(began).Seconds()
		result.seconds[number] = append(result.seconds[number], took)
		fmt.Printf("%s, %s: %d rows by %d workers of %v cores: %.1f s\n",
			result.job, result.place, *rows, number, *scaleCores, took)
		result.perMillion[number] = s.tell(run, s.spent().since(before), took)
	}
}

// tell prints what a run took, and returns what a million rows took.
func (s *scale) tell(run *client.Execution, used spent, took float64) map[string]float64 {
	s.t.Helper()
	h := s.scaleHistory(run.Workflow)
	reads, passes, writes := h.by("Read"), s.passed(run.Run, 0), h.by("Write")
	for _, w := range s.workers {
		pid := fmt.Sprint(w.command.Process.Pid)
		cpu := used.cpu[w.name].Seconds()
		fmt.Printf("  %s: %.1f CPU-s, %.0f %% of what it may; %d reads, passes of %.0f %% of the rows, %d writes\n",
			w.name, cpu, 100*cpu / *scaleCores / took, reads[pid], 100*share(passes, pid), writes[pid])
	}
	million := float64(*rows) / 1e6
	per := map[string]float64{
		"events": float64(h.events), "workflow_tasks": float64(h.tasks), "activities": float64(len(h.spans)),
		"statements": float64(used.statements), "transactions": float64(used.transactions),
		"wal_mb": float64(used.wal) / 1e6,
	}
	for _, service := range []string{"Temporal", "Postgres", "S3"} {
		per[strings.ToLower(service)+"_cpu_s"] = used.cpu[service].Seconds()
		per["services_cpu_s"] += used.cpu[service].Seconds()
	}
	for _, w := range s.workers {
		per["workers_cpu_s"] += used.cpu[w.name].Seconds()
	}
	fmt.Print("  per million rows:")
	for _, name := range slices.Sorted(maps.Keys(per)) {
		per[name] = hundredths(per[name] / million)
		fmt.Printf(" %s %v", name, per[name])
	}
	kinds, workers := h.shares()
	fmt.Printf("\n  activities: %s\n  of the time worked at: %s\n  of the time worked: %s\n", h.kinds(), kinds, workers)
	if *scaleSpans {
		fmt.Print(h.timeline())
	}
	fmt.Printf("  the measuring itself: %.1f CPU-s\n", used.cpu["this"].Seconds())
	if testing.Verbose() {
		s.list(million)
	}
	return per
}

// list prints the statements of the workers, for a million rows each: with -test.v.
func (s *scale) list(million float64) {
	s.t.Helper()
	all, err := s.counted.db.Query(s.t.Context(), `
		select calls, total_exec_time, wal_bytes::bigint, regexp_replace(query, '\s+', ' ', 'g')
		from public.pg_stat_statements join pg_roles r on r.oid = userid join pg_database d on d.oid = dbid
		where rolname = 'waymark_worker' and datname = current_database() order by calls desc, query`)
	require.NoError(s.t, err)
	var calls, wal int64
	var took float64
	var text string
	_, err = pgx.ForEachRow(all, []any{&calls, &took, &wal, &text}, func() error {
		fmt.Printf("  %8.1f calls %8.1f ms %8.0f kB of WAL  %.160s\n",
			float64(calls)/million, took/million, float64(wal)/million/1000, text)
		return nil
	})
	require.NoError(s.t, err)
}

func hundredths(f float64) float64 { return float64(int(f*100+0.5)) / 100 }

// passed is how many rows of a run each process sent through the steps whose pass ended after a moment, in microseconds
// since 1970.
func (s *scale) passed(run string, after int64) map[string]int64 {
	s.t.Helper()
	all, err := s.counted.db.Query(s.t.Context(), `select worker, sum(rows)::bigint from waymark.passages
		where run_id = $1 and lane = 0 and finished_us > $2 group by worker`, run, after)
	require.NoError(s.t, err)
	passed := map[string]int64{}
	for all.Next() {
		var worker string
		var number int64
		require.NoError(s.t, all.Scan(&worker, &number))
		passed[worker[strings.LastIndexByte(worker, '/')+1:]] += number // HOST/PID
	}
	require.NoError(s.t, all.Err())
	return passed
}

func share(passed map[string]int64, pid string) float64 {
	sum := int64(0)
	for _, number := range passed {
		sum += number
	}
	return float64(passed[pid]) / float64(max(sum, 1))
}

// settled is when a worker that joins a run has had the time to come to its share.
const settled = 30 * time.Second

// join has one more worker join a run after a third of its rows.
func (s *scale) join(result *scaleResult) {
	s.t.Helper()
	before, _, _ := strings.Cut(*scaleWorkers, ",")
	number, err := strconv.Atoi(before)
	require.NoError(s.t, err)
	for len(s.workers) < number {
		s.add().await("msg=working")
	}
	s.counted.reset()
	used, began := s.spent(), time.Now()
	run := s.start()
	for read := int64(0); read < int64(*rows)/3; time.Sleep(time.Second) {
		progress, err := s.log.Progress(s.t.Context(), run.Run)
		if err == nil { // it may not have begun
			read = progress.Rows
		}
	}
	launched := time.Now()
	w := s.add()
	w.await("msg=working")
	ready := time.Since(launched)
	s.finish(run)
	took := time.Since(began).Seconds()
	pid, first := fmt.Sprint(w.command.Process.Pid), time.Duration(-1)
	for _, span := range s.scaleHistory(run.Workflow).spans {
		after := span.began.Sub(launched)
		if span.pid == pid && !slices.Contains(atTheEnd, span.kind) && (first < 0 || after < first) {
			first = after
		}
	}
	result.more = map[string]any{"took_s": hundredths(took), "ready_s": hundredths(ready.Seconds())}
	work, of := "never", "the run was over"
	if first >= 0 {
		work = fmt.Sprintf("%.1f s", first.Seconds())
		result.more["first_work_s"] = hundredths(first.Seconds())
	}
	if passed := s.passed(run.Run, launched.Add(settled).UnixMicro()); len(passed) > 0 {
		equal := share(passed, pid) * float64(len(s.workers))
		of = fmt.Sprintf("passed %.2f of an equal share", equal)
		result.more["of_equal_share"] = hundredths(equal)
	}
	fmt.Printf("%s, %s: %d rows by %d workers of %v cores, and one more after %.1f s: %.1f s\n",
		result.job, result.place, *rows, number, *scaleCores, launched.Sub(began).Seconds(), took)
	fmt.Printf("  it was ready after %.1f s, did its first work for chunks after: %s, and from %v on: %s\n",
		ready.Seconds(), work, settled, of)
	s.tell(run, s.spent().since(used), took)
}

// atTheEnd are the activities that are left when all chunks are done.
var atTheEnd = []string{"Publish", "FinishRun"}

// scaleResult is what was measured of a job.
type scaleResult struct {
	job, place string
	seconds    map[int][]float64          // by number of workers
	perMillion map[int]map[string]float64 // by number of workers
	more       map[string]any
}

var scaleResults []*scaleResult

func (r *scaleResult) fields() map[string]any {
	workers := map[string]float64{}
	fields := map[string]any{"job": r.job, "place": r.place, "rows": *rows, "cores": *scaleCores}
	for number, times := range r.seconds {
		workers[fmt.Sprint(number)] = hundredths(median(times))
		if one := r.seconds[1]; one != nil && number > 1 {
			fields[fmt.Sprint("ratio_", number)] = hundredths(median(one) / median(times))
		}
	}
	if len(workers) > 0 {
		fields["workers"], fields["per_million"] = workers, r.perMillion
	}
	maps.Copy(fields, r.more)
	return fields
}

func median(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }

// line is the result as JSON.
func (r *scaleResult) line() string { return lineOf(r.fields()) }

func lineOf(fields map[string]any) string {
	line, err := json.Marshal(fields)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

// scaleLine is what was measured of the first job, with all others; "" if nothing was.
func scaleLine() string {
	if len(scaleResults) == 0 {
		return ""
	}
	all, others := scaleResults[0].fields(), []map[string]any{}
	for _, r := range scaleResults[1:] {
		others = append(others, r.fields())
	}
	all["others"] = others
	return lineOf(all)
}
