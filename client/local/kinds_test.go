package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/pipeline"
)

// homeWithRun opens a Home in which the run "done" is complete, and returns its document.
func homeWithRun(t *testing.T) (home *local.Home, file string) {
	t.Helper()
	folder := t.TempDir()
	file = filepath.Join(folder, "p.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id\n1\nx\n"), 0o600))
	require.NoError(t, os.WriteFile(file, []byte("name: p\nsources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}\n"+
		"sinks: {out: {csv: {path: out.csv}}}\n"), 0o600))
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(filepath.Join(folder, "state")), Actor: "ann"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = home.Close() }) // a test may have closed it
	execution, err := home.Start(t.Context(), client.StartRequest{Run: "done", File: file})
	require.NoError(t, err)
	status, err := execution.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, pipeline.CompletedWithFailures, status.Status)
	require.NoError(t, execution.Close())
	return home, file
}

// request is one thing that can be asked of a Home about a run.
type request func(ctx context.Context, home *local.Home, run landscape.Run) error

var why = client.By{Why: "a test"}

// requests are all that take a run, or its id.
var requests = map[string]request{
	"Status": func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Status(ctx, r.ID)) },
	"Counts": func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Counts(ctx, r.ID)) },
	"Advice": func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Advice(ctx, r)) },
	"Errors": func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Errors(ctx, r.ID)) },
	"RowErrors": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.RowErrors(ctx, r.ID, "", 0))
	},
	"Edges": func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Edges(ctx, r.ID)) },
	"Rows": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Rows(ctx, r.ID, client.RowFilter{}, "", 0))
	},
	"Files":  func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Files(ctx, r.ID)) },
	"Paused": func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Paused(ctx, r.ID)) },
	"Effects": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Effects(ctx, r.ID, "", 0, false))
	},
	"Resolve": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Resolve(ctx, r, "out", true, why))
	},
	"Waive": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Waive(ctx, r, "few refused", why))
	},
	"Resume": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Resume(ctx, r, client.ResumeRequest{}))
	},
	"Fork": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Fork(ctx, r, client.ForkRequest{}))
	},
	"Retry": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Retry(ctx, client.RetryRequest{Of: r.ID}))
	},
	"Pause": func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Pause(ctx, r, why)) },
	"Cancel": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Cancel(ctx, r, why, false))
	},
	"Find":   func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Find(ctx, r.ID)) },
	"Follow": func(ctx context.Context, h *local.Home, r landscape.Run) error { return second(h.Follow(ctx, r.ID)) },
	"Explain": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Explain(ctx, audit.Question{Run: r.ID, Row: 1}))
	},
	"WhyNot": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.WhyNot(ctx, audit.Question{Run: r.ID, Row: 1}, "out"))
	},
	"Verify": func(ctx context.Context, h *local.Home, r landscape.Run) error {
		return second(h.Verify(ctx, r.ID, audit.VerifyOptions{}))
	},
}

func second[T any](_ T, err error) error { return err }

// requireError requires an *Error of this kind and code.
func requireError(t *testing.T, kind client.Kind, code client.Code, err error) {
	t.Helper()
	failed, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, kind, failed.Kind, failed.Message)
	require.Equal(t, code, failed.Code, failed.Message)
}

// TestUnknownRun: whatever is asked about a run that is not recorded, the answer is that there is none.
func TestUnknownRun(t *testing.T) {
	t.Parallel()
	home, _ := homeWithRun(t)
	for name, ask := range requests {
		t.Run(name, func(t *testing.T) {
			for _, run := range []landscape.Run{
				{}, {RunHead: landscape.RunHead{ID: "nosuch", Status: pipeline.Completed}}, {RunHead: landscape.RunHead{ID: "nosuch", Status: pipeline.Failed}},
			} {
				requireError(t, client.NotFound, client.RunNotFound, ask(t.Context(), home, run))
			}
		})
	}
}

// TestStoppedRequests: a context that has ended is no fault of the run, the record or the request.
func TestStoppedRequests(t *testing.T) {
	t.Parallel()
	home, file := homeWithRun(t)
	run, err := home.Find(t.Context(), "done")
	require.NoError(t, err)
	all := besides(t, file)
	for name, ask := range requests {
		all[name] = ask
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, done := context.WithTimeout(t.Context(), 0)
	defer done()
	all["Open"] = func(ctx context.Context, _ *local.Home, _ landscape.Run) error {
		return second(local.Open(ctx, local.Options{State: local.Folder(t.TempDir())}))
	}
	all["Open what is there"] = func(ctx context.Context, _ *local.Home, _ landscape.Run) error {
		return second(local.Open(ctx, local.Options{State: local.Folder(filepath.Join(filepath.Dir(file), "state")), Existing: true}))
	}
	for name, ask := range all {
		t.Run(name, func(t *testing.T) {
			for want, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late} {
				err := ask(ctx, home, run)
				requireError(t, client.Interrupted, client.Stopped, err)
				require.ErrorIs(t, err, want)
			}
		})
	}
	for _, check := range home.Doctor(cancelled) {
		require.NotEqual(t, client.Unhealthy, check.State, check.Detail)
		require.Contains(t, check.Detail, "interrupted", check.Name)
	}
}

// besides are the requests that are about no recorded run.
func besides(t *testing.T, file string) map[string]request {
	t.Helper()
	return map[string]request{
		"Start": func(ctx context.Context, h *local.Home, _ landscape.Run) error {
			return second(h.Start(ctx, client.StartRequest{File: file}))
		},
		"Runs": func(ctx context.Context, h *local.Home, _ landscape.Run) error {
			_, _, err := h.Runs(ctx, 0)
			return err
		},
		"Beginning": func(ctx context.Context, h *local.Home, _ landscape.Run) error {
			return second(h.Beginning(ctx, "d", 0))
		},
	}
}

// TestClosedRequests: a closed Home says that it is closed, whatever is asked, and may be closed again.
func TestClosedRequests(t *testing.T) {
	t.Parallel()
	home, file := homeWithRun(t)
	run, err := home.Find(t.Context(), "done")
	require.NoError(t, err)
	require.NoError(t, home.Close())
	all := besides(t, file)
	for name, ask := range requests {
		all[name] = ask
	}
	for name, ask := range all {
		t.Run(name, func(t *testing.T) {
			requireError(t, client.Unavailable, client.HomeClosed, ask(t.Context(), home, run))
		})
	}
	_, err = home.Auditor(t.Context())
	requireError(t, client.Unavailable, client.HomeClosed, err)
	require.NoError(t, home.Close())
}

// TestQuestions: a question that does not mean one row, or names what the run does not have, is refused by Explain and WhyNot alike.
func TestQuestions(t *testing.T) {
	t.Parallel()
	home, _ := homeWithRun(t)
	for kind, questions := range map[client.Kind][]audit.Question{
		client.Invalid: {
			{}, {Row: 1, Token: "in:1"}, {Row: 1, Sink: "out", Line: 1}, {Row: -1}, {Sink: "out"}, {Line: 1}, {Sink: "nosuch", Line: 1}, {Row: 1, Limit: -1},
		},
		client.NotFound: {{Row: 3}, {Sink: "out", Line: 2}, {Token: "in:3"}},
	} {
		for _, q := range questions {
			q.Run = "done"
			requireOnly(t, kind, second(home.Explain(t.Context(), q)))
			requireOnly(t, kind, second(home.WhyNot(t.Context(), q, "out")))
		}
	}
	requireOnly(t, client.Invalid, second(home.WhyNot(t.Context(), audit.Question{Run: "done", Row: 1}, "nosuch")))
}

// requireOnly requires an *Error of this kind.
func requireOnly(t *testing.T, kind client.Kind, err error) {
	t.Helper()
	failed, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, kind, failed.Kind, failed.Message)
}

// TestFolderRefused: a state folder that cannot be written, or is in use, has a cure, and no word of a command line.
func TestFolderRefused(t *testing.T) {
	t.Parallel()
	_, err := local.Open(t.Context(), local.Options{State: "/sys/waymark"})
	requireError(t, client.Unavailable, client.StateUnwritable, err)
	requireCure(t, client.MakeWritable, err)

	home, file := homeWithRun(t)
	other, err := local.Open(t.Context(), local.Options{State: local.Folder(filepath.Join(filepath.Dir(file), "state"))})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	_, err = other.Start(t.Context(), client.StartRequest{File: file})
	requireError(t, client.Busy, client.StateFolderBusy, err)
	requireCure(t, client.OtherState, err)
	require.NotContains(t, err.Error(), "--")
	require.NoError(t, home.Close())
}

func requireCure(t *testing.T, want client.Cure, err error) {
	t.Helper()
	failed, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, want, failed.Cure)
}

// TestBrokenInput: standard input that cannot be read is no fault of the request, and there is no run then.
func TestBrokenInput(t *testing.T) {
	t.Parallel()
	home, file := homeWithRun(t)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "path: in.csv", `path: "-"`, 1)), 0o600))
	broken := errors.New("the line is dead")
	_, err = home.Start(t.Context(), client.StartRequest{Run: "broken", File: file, Input: iotest.ErrReader(broken)})
	requireError(t, client.Failed, client.RunFailed, err)
	require.ErrorIs(t, err, broken)
	_, err = home.Find(t.Context(), "broken")
	requireError(t, client.NotFound, client.StartRefused, err)
	require.ErrorContains(t, err, "run broken did not begin: it was refused ")
}

// TestReasons: what ends a run, or decides about it, needs a reason before anything is asked.
func TestReasons(t *testing.T) {
	t.Parallel()
	home, _ := homeWithRun(t)
	run, err := home.Find(t.Context(), "done")
	require.NoError(t, err)
	for _, by := range []client.By{{}, {Why: " \n"}} {
		for _, err := range []error{
			second(home.Cancel(t.Context(), run, by, false)), second(home.Cancel(t.Context(), run, by, true)), second(home.Pause(t.Context(), run, by)),
			second(home.Resolve(t.Context(), run, "out", true, by)), second(home.Waive(t.Context(), run, "few refused", by)),
		} {
			requireError(t, client.Invalid, client.InvalidRequest, err)
			require.ErrorContains(t, err, "Why")
		}
	}
}

// TestStartRefuses holds which requests name nothing to start, or more than one thing.
func TestStartRefuses(t *testing.T) {
	t.Parallel()
	home, file := homeWithRun(t)
	planner, err := local.Options{State: local.Folder(t.TempDir())}.Planner(client.ToResume)
	require.NoError(t, err)
	doc, err := client.Compile(planner, file, nil)
	require.NoError(t, err)
	open, err := client.Open(file, nil)
	require.NoError(t, err)
	for message, r := range map[string]client.StartRequest{
		"name a File, a Document or a Pipeline":       {},
		"the Document is empty":                       {Document: &client.Document{}},
		"the Document is not compiled":                {Document: open},
		"File and Document exclude each other":        {File: file, Document: doc},
		"File and Pipeline exclude each other":        {File: file, Pipeline: "p"},
		"Document and Pipeline exclude each other":    {Document: doc, Pipeline: "p"},
		"For and Schedule belong to a File":           {Document: doc, For: "2026-11-21"},
		"nothing in " + file + " depends on the slot": {File: file, For: "2026-11-21"},
		"p.yaml has no schedules":                     {File: file, Schedule: "nightly"},
		"Params and Document exclude each other: a ":  {Document: doc, Params: map[string]string{"a": "b"}},
	} {
		_, err := home.Start(t.Context(), r)
		requireError(t, client.Invalid, client.InvalidRequest, err)
		require.ErrorContains(t, err, message)
	}
	_, err = home.Start(t.Context(), client.StartRequest{Pipeline: "p"})
	requireError(t, client.NotFound, client.PipelineNotFound, err)
	_, err = home.Start(t.Context(), client.StartRequest{Pipeline: "p@0"})
	requireError(t, client.Invalid, client.InvalidOption, err)
	runs, total, err := home.Runs(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, total, "%v", runs)
}

// TestPages: what a list begins after must be there, and no limit of a list is below none.
func TestPages(t *testing.T) {
	t.Parallel()
	home, _ := homeWithRun(t)
	_, err := home.Effects(t.Context(), "done", "nosuch", 0, false)
	requireError(t, client.NotFound, client.EffectNotFound, err)
	_, err = home.Effects(t.Context(), "done", "out/", 0, false)
	requireError(t, client.Invalid, client.InvalidEffect, err)
	all, err := home.Effects(t.Context(), "done", "", 0, false)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	some, err := home.Effects(t.Context(), "done", "", -1, false)
	require.NoError(t, err)
	require.Equal(t, all, some)
	refused, err := home.RowErrors(t.Context(), "done", "", -1)
	require.NoError(t, err)
	require.Len(t, refused, 1)
	runs, total, err := home.Runs(t.Context(), -1)
	require.NoError(t, err)
	require.Len(t, runs, total)
}
