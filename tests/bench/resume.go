package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	_ "modernc.org/sqlite" // reads the landscape

	"waymark/workflows"
)

// kills is at which shares of the undisturbed run's time the process is killed, in percent.
var kills = []int{30, 50, 70, 90}

// resumeAfterKill kills runs of the job with SIGKILL and measures how the next process continues with them.
func (m measurement) resumeAfterKill(job job, rows int, undisturbed float64) error {
	for _, percent := range kills {
		after := time.Duration(undisturbed * float64(percent) / 100 * float64(time.Second))
		if err := m.killAndResume(job, rows, after); err != nil {
			return err
		}
	}
	return nil
}

func (m measurement) killAndResume(job job, rows int, after time.Duration) error {
	folder := m.place(rows)
	if err := errors.Join(m.prepare(job, rows), os.RemoveAll(filepath.Join(folder, "out"))); err != nil {
		return err
	}
	const id = "killed"
	killed := exec.Command(m.binary, "run", "pipeline.yaml", "--quiet", "--run-id", id)
	killed.Dir = folder
	if err := killed.Start(); err != nil {
		return err
	}
	time.AfterFunc(after, func() { _ = killed.Process.Kill() })
	if err := killed.Wait(); err == nil {
		fmt.Printf("kill -9 after %.2f s: the run was over by then\n", after.Seconds())
		return nil
	}
	resumed := exec.Command(m.binary, "resume", id, "--quiet")
	resumed.Dir = folder
	start := time.Now()
	if output, err := resumed.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", resumed, err, output)
	}
	seconds := time.Since(start).Seconds()
	again, err := lookBack(filepath.Join(folder, stateFolder), id, resumed.Process.Pid)
	if err != nil {
		return err
	}
	if again.first.IsZero() {
		fmt.Printf("kill -9 after %.2f s: nothing was left to do\n", after.Seconds())
		return nil
	}
	fmt.Printf("kill -9 after %.2f s with %d of %d chunks through the steps: resume processes again after %.2f s, does %d chunks again, takes %.2f s in all\n",
		after.Seconds(), again.before, again.chunks, again.first.Sub(start).Seconds(), again.redone, seconds)
	return nil
}

// resumed is what a resume did.
type resumed struct {
	chunks int64     // of the run
	before int64     // of these, through the steps before the resume
	redone int64     // of these, sent through the steps again
	first  time.Time // when the first chunk went through the steps or to a sink, or an output was published; zero if nothing was left to do
}

// lookBack reads from the record and the workflow's history what the process did.
func lookBack(state, run string, pid int) (again resumed, err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(state, "landscape.db")+"?mode=ro")
	if err != nil {
		return again, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const query = `select count(*), count(*) filter (where worker not like '%/' || ?2), min(
			coalesce(min(finished_us) filter (where worker like '%/' || ?2), 1 << 62),
			(select min(at_us) from effect_events where run_id = ?1 and worker like '%/' || ?2)
		) from passages where run_id = ?1 and lane = 0`
	var first sql.NullInt64
	if err := db.QueryRow(query, run, pid).Scan(&again.chunks, &again.before, &first); err != nil {
		return again, err
	}
	if first.Valid {
		again.first = time.UnixMicro(first.Int64)
	}
	sent, err := activitiesOf(state, run, "Pass")
	again.redone = sent - (again.chunks - again.before)
	return again, err
}

// activitiesOf counts the activities of one type in the latest history of a run.
func activitiesOf(state, run, kind string) (count int64, err error) {
	err = withTemporal(state, func(ctx context.Context, client sdk.Client) error {
		events := client.GetWorkflowHistory(ctx, workflows.WorkflowID(run), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return err
			}
			if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == kind {
				count++
			}
		}
		return nil
	})
	return count, err
}
