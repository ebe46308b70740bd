package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/tests/services/pg"
)

// job is what a process of its own is to write.
type job struct {
	Spec   pipeline.PostgresSink
	DSN    string // which a spec does not tell
	Run    string
	Parts  []plugin.Part
	Data   [][]byte
	DieAt  string // a moment, at which it kills itself
	DieIn  int64  // of this part
	Header []byte
}

const jobVariable = "WAYMARK_TEST_POSTGRES_JOB"

func writerWasStarted() bool { return os.Getenv(jobVariable) != "" }

// runWriter does the job of the environment.
func runWriter() int {
	var j job
	if err := json.Unmarshal([]byte(os.Getenv(jobVariable)), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	j.Spec.DSN = j.DSN
	sink, err := newSink("out", j.Spec, anywhere)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	for i, part := range j.Parts {
		die := func(moment string) {
			if moment == j.DieAt && part.Ordinal == j.DieIn {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		sink.moment = die
		if err := sink.Target(j.Run).Write(ctx, part, j.Data[i]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		die("committed")
	}
	return 0
}

// start does the job in a process of its own, and returns what killed it, if anything did.
func (j job) start(t *testing.T) (killed bool) {
	t.Helper()
	j.DSN = j.Spec.DSN
	text, err := json.Marshal(j)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		require.Equal(t, syscall.SIGKILL, status.Signal())
		return true
	}
	require.NoError(t, err, "%s", out)
	return false
}

func TestKilledWriterLeavesWholeParts(t *testing.T) {
	for _, mode := range []string{pipeline.InsertMode, pipeline.UpsertMode} {
		for moment, applied := range map[string]plugin.Applied{
			"entered": plugin.NotApplied, "copied": plugin.NotApplied, "committed": plugin.Exactly,
		} {
			t.Run(mode+" "+moment, func(t *testing.T) {
				db := pg.New(t)
				d := connect(t, db.DSN())
				d.exec("create table t (id bigint primary key, name text)")
				spec := pipeline.PostgresSink{DSN: db.DSN(), Table: "t", Mode: mode}
				if mode == pipeline.UpsertMode {
					spec.Key = []string{"id"}
				}
				w := newWriter(t, spec, "run", []plugin.Field{{Name: "id", Kind: row.Int}, {Name: "name", Kind: row.String}})
				for ordinal := range 3 {
					var rows [][]row.Value
					for i := range 10 {
						rows = append(rows, []row.Value{row.IntValue(int64(10*ordinal + i)), row.StringValue("n" + strconv.Itoa(i))})
					}
					w.add(rows...)
				}
				w.open()
				j := job{Spec: spec, Run: "run", Parts: w.parts, Data: w.data, DieAt: moment, DieIn: 1}
				require.True(t, j.start(t))

				check, err := w.target.Check(t.Context(), w.parts[1])
				require.NoError(t, err)
				require.Equal(t, applied, check)
				require.Equal(t, map[plugin.Applied]string{plugin.NotApplied: "10", plugin.Exactly: "20"}[applied], d.one("select count(*) from t"))

				j.DieAt = ""
				require.False(t, j.start(t))
				require.Equal(t, "30", d.one("select count(*) from t"))
				require.Equal(t, "30", d.one("select count(distinct id) from t"))
				w.publish()
			})
		}
	}
}
