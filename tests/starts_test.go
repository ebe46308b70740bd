package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/workflows"
)

// doorsteps is one landscape that a server and a process of its own share, and all the ways of starting runs there.
type doorsteps struct {
	*serving
	log      *landscape.Reader
	temporal sdk.Client
	served   *client.Client // what it starts, the server executes
	own      *client.Client // what it starts, the process of the test executes
}

// asking is what one way of starting asks for.
type asking struct {
	run      string // its id, if the way gives runs ids
	pipeline string // its name, or NAME@VERSION
	day      string // the slot
	key      string
	params   map[string]string
}

// answer is what became of it, as the one who asked knows.
type answer struct {
	start func(ctx context.Context) (landscape.Start, error) // that is recorded; nil if none can be
	word  string                                             // exit code of a command, code of an error of the client, type of a workflow's failure; empty for success
	said  string
}

// way is one way of starting.
type way struct {
	name  string
	kind  string // of its words: exit, code or type
	ask   func(ctx context.Context, d *doorsteps, a asking) (answer, error)
	never map[string]string // causes that it cannot have, by why
}

const (
	noName   = "a file has no name that could be deployed or retired"
	noIDs    = "each has an id of its own"
	noKeys   = "it takes no key: its run has an id, or is that of a slot"
	noParams = "deploy refuses a schedule whose parameters do not fit its document"
	noParent = "a schedule is one of a deployed pipeline"
)

// ways are all of them. A slot that is due by itself begins as one that somebody asks for does.
var ways = []way{
	{"command, file", "exit", command("FILE"), map[string]string{"unknown": noName, "version": noName, "retired": noName, "key": noKeys, "reused": noKeys,
		"bad": "it is compiled before anything is asked for: nothing is recorded"}},
	{"command, name", "exit", command("--pipeline", "NAME"), map[string]string{"key": noKeys, "reused": noKeys}},
	{"library, name", "code", library(func(d *doorsteps) *client.Client { return d.served }, false), map[string]string{"key": noKeys, "reused": noKeys}},
	{"library, name, own process", "code", library(func(d *doorsteps) *client.Client { return d.own }, false), map[string]string{"key": noKeys, "reused": noKeys}},
	{"library, file, own process", "code", library(func(d *doorsteps) *client.Client { return d.own }, true),
		map[string]string{"unknown": noName, "version": noName, "retired": noName, "key": noKeys, "reused": noKeys}},
	{"Temporal, with an id", "type", stranger(true), nil},
	{"Temporal, without an id", "type", stranger(false), map[string]string{"exists": noIDs}},
	{"workflow of another program", "type", parent, nil},
	{"schedule run", "slot", slotAsked("run", "--for"), map[string]string{"bad": noParams, "unknown": noParent, "version": "it is of the current version",
		"retired": "its schedules are removed: nobody can ask for a slot", "key": noKeys, "reused": noKeys, "exists": "its slot is done"}},
	{"schedule backfill", "slot", slotAsked("backfill", ""), map[string]string{"bad": noParams, "unknown": noParent, "version": "it is refused before anything is recorded",
		"retired": "its schedules are removed: nobody can ask for a slot", "key": noKeys, "reused": noKeys, "exists": "its slot is done"}},
}

// cause is why a start is answered as it is.
type cause struct {
	name     string
	pipeline string
	params   map[string]string
	key      string
	state    landscape.StartState
	refusal  string      // type of the refusal
	code     client.Code // the same in the words of the library
	exit     string      // the same for the shell
	says     string      // the recorded reason begins so; RUN and DAY are the start's

}

// causes are in this order: those that ask for the run of an earlier one come after it.
var causes = []cause{
	{name: "ok", pipeline: "good", state: landscape.StartBegun},
	{name: "exists", pipeline: "good", state: landscape.StartRefused, refusal: activities.TypeExists, code: client.RunExists, exit: "2", says: "run RUN is recorded: completed of good, begun "},
	{name: "key", pipeline: "good", key: "order-4711", state: landscape.StartBegun},
	{name: "reused", pipeline: "good", key: "order-4711", params: map[string]string{"least": "1"}, state: landscape.StartRefused, refusal: workflows.TypeKeyReused,
		says: "KEY_REUSED: run RUN was asked for under this key with other values of the parameters least: give another key"},
	{name: "bad", pipeline: "good", params: map[string]string{"least": "many"}, state: landscape.StartRefused, refusal: activities.TypeDocument, code: client.InvalidDocument, exit: "2",
		says: `good.yaml:5:3: params.least: the value given for the run: "many" is not a valid int`},
	{name: "unknown", pipeline: "nobody", state: landscape.StartRefused, refusal: activities.TypeNoPipeline, code: client.PipelineNotFound, exit: "2", says: `no pipeline "nobody" is deployed in default`},
	{name: "version", pipeline: "good@9", state: landscape.StartRefused, refusal: activities.TypeNoPipeline, code: client.PipelineNotFound, exit: "2", says: "pipeline good has no version 9; its current one is 1"},
	{name: "retired", pipeline: "old", state: landscape.StartRefused, refusal: activities.TypeRetired, code: client.PipelineRetired, exit: "2", says: "pipeline old is retired in default since "},
	{name: "queue full", pipeline: "full", state: landscape.StartRefused, refusal: activities.TypeQueueFull, code: client.QueueFull, exit: "1",
		says: "as many runs wait as may: pool:none has no places: waymark limit set pool:none N --why TEXT gives it some"},
	{name: "target there", pipeline: "taken", state: landscape.StartBegun, refusal: activities.TypeTarget, exit: "1", says: ".csv: TARGET_EXISTS: exists already; move it away, choose another path, or set overwrite: true"},
}

const startable = `
name: NAME
params:
  day: {type: date, default: "${slot:date}"}
  least: {type: int, default: 0}
sources: {in: {csv: {path: "FOLDER/in.csv"}, schema: {fields: {id: int}}}}
steps: [{name: keep, filter: row.id >= param.least}]
sinks: {out: {csv: {path: "FOLDER/out/NAME-${param:day}.csv"MORE}}}
schedules: {daily: {every: day}}
`

// TestTheSameCauseHasTheSameWords starts runs in every way for every cause: the record and the answer say the same whichever door was used.
func TestTheSameCauseHasTheSameWords(t *testing.T) {
	t.Parallel()
	d := openDoorsteps(t)
	for _, c := range causes {
		t.Run(c.name, func(t *testing.T) {
			answers := make([]answer, len(ways))
			var all errgroup.Group
			for i, w := range ways {
				if w.never[c.name] == "" && (c.key == "" || w.kind == "type") {
					all.Go(func() (err error) {
						answers[i], err = w.ask(t.Context(), d, d.asking(i, c))
						return err
					})
				}
			}
			require.NoError(t, all.Wait())
			for i, w := range ways {
				if answers[i].start != nil {
					d.check(t, w, c, answers[i])
				}
			}
		})
	}
}

// dayOf is the slot about which a way asks: none asks for what another one does.
func dayOf(way int) string { return fmt.Sprintf("2026-10-%02d", way+1) }

func (d *doorsteps) asking(way int, c cause) asking {
	a := asking{pipeline: c.pipeline, day: dayOf(way), params: c.params, key: c.key}
	if c.key != "" {
		a.key += fmt.Sprint("-", way)
		return a
	}
	name := c.name
	if name == "exists" {
		name = "ok"
	}
	a.run = strings.ReplaceAll(fmt.Sprint(name, "-", way), " ", "-")
	return a
}

// check compares what is recorded, and what was answered, with what the cause has in all ways.
func (d *doorsteps) check(t *testing.T, w way, c cause, got answer) {
	t.Helper()
	start, err := got.start(t.Context())
	require.NoError(t, err, w.name)
	reason, refusal := start.Reason, start.Refusal
	if c.state == landscape.StartBegun && c.says != "" {
		run, err := d.log.Run(t.Context(), start.Run)
		require.NoError(t, err, w.name)
		reason, refusal = run.Reason, c.refusal
	}
	if c.name != "exists" || !d.clientRefuses(w) {
		require.Equal(t, []any{c.state, c.refusal}, []any{start.State, refusal}, "%s: %s", w.name, start.Reason)
		require.Contains(t, reason, strings.ReplaceAll(c.says, "RUN", start.Run), w.name)
	}
	want := map[string]string{"exit": c.exit, "code": string(c.code), "type": c.refusal, "slot": c.exit}[w.kind]
	require.Equal(t, want, got.word, "%s: %s", w.name, got.said)
	require.Contains(t, got.said, strings.ReplaceAll(c.says, "RUN", start.Run), w.name)
}

// clientRefuses reports whether a program that may have no right to write the record refuses an id that is taken: nothing is recorded of that.
func (d *doorsteps) clientRefuses(w way) bool {
	return w.name == "command, file" || w.name == "command, name" || w.name == "library, name"
}

func openDoorsteps(t *testing.T) *doorsteps {
	t.Helper()
	folder := t.TempDir()
	d := &doorsteps{serving: serve(t, folder)}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id\n1\n2\n"), 0o600))
	for name, more := range map[string]string{"good": "", "old": "", "taken": "", "full": "pools: {none: 1}\nconcurrency: {queue: {max: 1}}\n"} {
		overwrite := ", overwrite: true"
		if name == "taken" {
			overwrite = ""
		}
		document := strings.NewReplacer("NAME", name, "FOLDER", folder, "MORE", overwrite).Replace(startable) + more
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(document), 0o600))
		d.waymark(t, "deploy", name+".yaml", "--allow-path", folder, "--anyway", "to see")
	}
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "out"), 0o700))
	for i := range ways {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "out", "taken-"+dayOf(i)+".csv"), nil, 0o600))
	}
	d.waymark(t, "retire", "old", "--why", "to see")
	d.temporal = d.serving.temporal(t)

	state := local.Folder(filepath.Join(folder, ".waymark"))
	store, err := sqlitestore.Open(t.Context(), state.File("landscape.db"), sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	d.log = landscape.NewReader(store)
	address, queue := state.Server()
	d.served = homeOf(t, local.Options{State: state, Cluster: &client.Cluster{Address: address, Queue: queue}})
	d.own = homeOf(t, local.Options{State: local.Folder(t.TempDir()), Landscape: state.Landscape(), Payloads: state.Payloads(), Allow: []string{folder}})

	other := sdkworker.New(d.temporal, "others", sdkworker.Options{})
	other.RegisterWorkflowWithOptions(wants, workflow.RegisterOptions{Name: "Wants"})
	require.NoError(t, other.Start())
	t.Cleanup(other.Stop)
	_, err = d.temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{ID: "first", TaskQueue: workflows.TaskQueue}, workflows.RunPipelineName, map[string]string{"pipeline": "full", "for": "2026-09-01"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		start, err := d.log.StartOfWorkflow(t.Context(), "first")
		return err == nil && start.State == landscape.StartWaiting
	}, time.Minute, 20*time.Millisecond)
	return d
}

func homeOf(t *testing.T, o local.Options) *client.Client {
	t.Helper()
	home, err := local.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, home.Close()) })
	return home.Client
}

// wants is a workflow of another program.
func wants(ctx workflow.Context, input map[string]any) error {
	return workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{TaskQueue: workflows.TaskQueue}), workflows.RunPipelineName, input).Get(ctx, nil)
}

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
	out, err := d.try(ctx, append(args, "--quiet")...)
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return fmt.Sprint(exit.ExitCode()), out, nil
	}
	return "", out, err
}

func library(from func(*doorsteps) *client.Client, file bool) func(context.Context, *doorsteps, asking) (answer, error) {
	return func(ctx context.Context, d *doorsteps, a asking) (answer, error) {
		request := client.StartRequest{Run: a.run, Pipeline: a.pipeline, Params: a.params, For: a.day}
		if file {
			request.Pipeline, request.File = "", filepath.Join(d.folder, a.pipeline+".yaml")
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

// slotAsked asks for the run of a slot, and waits until it is decided.
func slotAsked(command, flag string) func(context.Context, *doorsteps, asking) (answer, error) {
	return func(ctx context.Context, d *doorsteps, a asking) (answer, error) {
		args := []string{"schedule", command, a.pipeline + "/daily", a.day}
		if flag != "" {
			args = []string{"schedule", command, a.pipeline + "/daily", flag, a.day}
		}
		if word, said, err := d.execute(ctx, args...); err != nil || word != "" {
			return answer{}, errors.Join(err, fmt.Errorf("exit code %s: %s", word, said))
		}
		for {
			slot, err := d.log.Slot(ctx, "default/"+a.pipeline+"/daily", a.day)
			if err != nil {
				return answer{}, err
			}
			got := answer{start: d.startOf(slot.Run), said: slot.Reason}
			switch slot.State {
			case landscape.SlotDone:
				return got, nil
			case landscape.SlotFailed:
				got.word = "1" // as the command of such a run
				return got, nil
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}
