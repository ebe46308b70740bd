package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/client"
	"waymark/landscape"
	"waymark/workflows"
)

// startOf finds the last start of a run.
func (d *doorsteps) startOf(run string) func(context.Context) (landscape.Start, error) {
	return func(ctx context.Context) (landscape.Start, error) { return d.log.LastStart(ctx, run) }
}

// command is a command beside the server.
func command(args ...string) func(context.Context, *doorsteps, asking) (answer, error) {
	return func(ctx context.Context, d *doorsteps, a asking) (answer, error) {
		line := []string{"run", "--run-id", a.run, "--for", a.day}
		for _, arg := range args {
			line = append(line, strings.NewReplacer("FILE", a.pipeline+".yaml", "NAME", a.pipeline).Replace(arg))
		}
		for name, value := range a.params {
			line = append(line, "--param", name+"="+value)
		}
		word, said, err := d.execute(ctx, line...)
		return answer{d.startOf(a.run), word, said}, err
	}
}

// execute returns the exit code of a command, empty for 0, and what it wrote.
func (d *doorsteps) execute(ctx context.Context, args ...string) (word, said string, err error) {
	out, err := d.Try(ctx, append(args, "--quiet")...)
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return fmt.Sprint(exit.ExitCode()), out, nil
	}
	return "", out, err
}

func library(from func(*doorsteps) *client.Client, file bool) func(context.Context, *doorsteps, asking) (answer, error) {
	return func(ctx context.Context, d *doorsteps, a asking) (answer, error) {
		request := client.StartRequest{Run: a.run, Pipeline: a.pipeline, Params: a.params, For: a.day}
		if file {
			request.Pipeline, request.File = "", filepath.Join(d.Folder, a.pipeline+".yaml")
		}
		got := answer{start: d.startOf(a.run)}
		e, err := from(d).Start(ctx, request)
		if err == nil {
			_, err = e.Wait(ctx)
			err = errors.Join(err, e.Close())
		}
		if refused, ok := errors.AsType[*client.Error](err); ok {
			got.word, got.said, err = string(refused.Code), refused.Message, nil
		}
		if run, unknown := d.log.Run(ctx, a.run); unknown == nil && got.said == "" {
			got.said = run.Reason
		}
		return got, err
	}
}

// failed returns the type and the message of a workflow's failure.
func failed(err error) (word, said string, other error) {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return application.Type(), application.Message(), nil
	}
	return "", "", err
}

func (a asking) input() map[string]any {
	in := map[string]any{"pipeline": a.pipeline, "for": a.day, "params": a.params}
	if a.key != "" {
		in["key"] = a.key
	}
	return in
}

func stranger(withID bool) func(context.Context, *doorsteps, asking) (answer, error) {
	return func(ctx context.Context, d *doorsteps, a asking) (answer, error) {
		in, options := a.input(), sdk.StartWorkflowOptions{TaskQueue: workflows.TaskQueue}
		if withID && a.key == "" {
			in["run"], options.ID = a.run, workflows.WorkflowID(a.run)
		}
		handle, err := d.temporal.ExecuteWorkflow(ctx, options, workflows.RunPipelineName, in)
		if err != nil {
			return answer{}, err
		}
		got := answer{start: func(ctx context.Context) (landscape.Start, error) { return d.log.StartOfWorkflow(ctx, handle.GetID()) }}
		got.word, got.said, err = failed(handle.Get(ctx, nil))
		return got, err
	}
}

func parent(ctx context.Context, d *doorsteps, a asking) (answer, error) {
	in := a.input()
	run := activities.RunOfKey(a.pipeline, a.key)
	if a.key == "" {
		in["run"], run = a.run, a.run
	}
	handle, err := d.temporal.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{TaskQueue: "others"}, "Wants", in)
	if err != nil {
		return answer{}, err
	}
	got := answer{start: d.startOf(run)}
	got.word, got.said, err = failed(handle.Get(ctx, nil))
	return got, err
}

// strangeSchedule lets a schedule that somebody made in Temporal fire once.
func strangeSchedule(ctx context.Context, d *doorsteps, a asking) (answer, error) {
	in := a.input()
	if a.key == "" {
		in["run"] = a.run
	}
	id := "strange-" + uuid.NewString()
	handle, err := d.temporal.ScheduleClient().Create(ctx, sdk.ScheduleOptions{
		ID: id, Action: &sdk.ScheduleWorkflowAction{ID: id, Workflow: workflows.RunPipelineName, TaskQueue: workflows.TaskQueue, Args: []any{in}}, TriggerImmediately: true,
	})
	if err != nil {
		return answer{}, err
	}
	for {
		described, err := handle.Describe(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // of one call: the server is busy
			continue
		case err != nil:
			return answer{}, err
		}
		if actions := described.Info.RecentActions; len(actions) > 0 {
			workflow := actions[0].StartWorkflowResult.WorkflowID
			got := answer{start: func(ctx context.Context) (landscape.Start, error) { return d.log.StartOfWorkflow(ctx, workflow) }}
			got.word, got.said, err = failed(d.temporal.GetWorkflow(ctx, workflow, "").Get(ctx, nil))
			return got, err // it does not fire again, and ends with the server
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// slotAsked asks for the run of a slot, and waits until it is decided.
func slotAsked(command ...string) func(context.Context, *doorsteps, asking) (answer, error) {
	return func(ctx context.Context, d *doorsteps, a asking) (answer, error) {
		args := append([]string{"schedule", command[0], a.pipeline + "/daily"}, command[1:]...)
		word, said, err := d.execute(ctx, append(args, a.day, "--json")...)
		if err != nil || word != "" {
			return answer{}, errors.Join(err, fmt.Errorf("exit code %s: %s", word, said))
		}
		var asked struct {
			Request string `json:"request"`
		}
		if err := json.Unmarshal([]byte(said), &asked); err != nil {
			return answer{}, err
		}
		for {
			events, err := d.log.SlotEvents(ctx, "default/"+a.pipeline+"/daily", a.day)
			if err != nil {
				return answer{}, err
			}
			if got, ended := d.slotEnded(asked.Request, events); ended {
				return got, nil
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// slotEnded returns what became of the run that was asked for, and whether that is known yet. A slot that had a complete run before is done whatever becomes
// of another one.
func (d *doorsteps) slotEnded(request string, events []landscape.SlotEvent) (got answer, ended bool) {
	run := ""
	for _, event := range events {
		switch {
		case event.Request != request:
		case event.State == landscape.SlotRunning:
			run = event.Run
		case event.State == landscape.SlotFailed, event.State == landscape.SlotDone:
			got, ended = answer{start: d.startOf(run), said: event.Reason}, true
			if event.State == landscape.SlotFailed || event.Run != run {
				got.word = "failed"
			}
		}
	}
	return got, ended
}

// slotDone lets the slot have a complete run.
func slotDone(ctx context.Context, d *doorsteps, a asking) error {
	got, err := slotAsked("run", "--for")(ctx, d, a)
	if got.word != "" {
		err = errors.Join(err, errors.New(got.said))
	}
	return err
}

// quarantined lets a run have all of its records in quarantine.
func quarantined(ctx context.Context, d *doorsteps, a asking) error {
	_, err := library(func(d *doorsteps) *client.Client { return d.served }, false)(ctx, d, asking{run: a.before, pipeline: a.pipeline, day: a.day, params: map[string]string{"by": "0"}})
	return err
}

// retried lets the records be retried that quarantined left.
func retried(ctx context.Context, d *doorsteps, a asking) (answer, error) {
	word, said, err := d.execute(ctx, "errors", a.before, "--retry", "--run-id", a.run, "--param", "by=1", "--allow-path", d.Folder)
	return answer{d.startOf(a.run), word, said}, err
}

// stopped lets a run fail because a folder is where its output is to be.
func stopped(ctx context.Context, d *doorsteps, a asking) error {
	in := filepath.Join(d.Folder, "out", a.pipeline+"-"+a.day+".csv")
	if err := os.Mkdir(in, 0o700); err != nil {
		return err
	}
	_, err := library(func(d *doorsteps) *client.Client { return d.served }, false)(ctx, d, asking{run: a.before, pipeline: a.pipeline, day: a.day})
	return errors.Join(err, os.Remove(in))
}

// forked begins a run in the place of the one that stopped. Its start is known by why it was asked for: it has an id of its own.
func forked(ctx context.Context, d *doorsteps, a asking) (answer, error) {
	word, said, err := d.execute(ctx, "resume", a.before, "--fork", "--why", a.run, "--allow-path", d.Folder)
	return answer{word: word, said: said, start: func(ctx context.Context) (landscape.Start, error) {
		starts, err := d.log.Starts(ctx, "", nil, 0)
		for _, start := range starts {
			if start.Why == a.run {
				return start, nil
			}
		}
		return landscape.Start{}, errors.Join(err, landscape.ErrNotFound)
	}}, err
}
