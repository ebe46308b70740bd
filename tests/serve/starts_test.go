package serve_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/tests/sample"
	"waymark/tests/serving"
	"waymark/workflows"
)

// doorsteps is one landscape that a server and a process of its own share, and all the ways of starting runs there.
type doorsteps struct {
	*serving.Server
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
	before   string // id of the run that a way prepared, if it begins others in its place or of its records
	key      string
	params   map[string]string
}

// answer is what became of it, as the one who asked knows.
type answer struct {
	start func(ctx context.Context) (landscape.Start, error) // that is recorded
	word  string                                             // exit code of a command, code of an error of the client, type of a workflow's failure; empty for success
	said  string
}

// way is one way of starting.
type way struct {
	name  string
	kind  string // of its words: exit, code or type
	ask   func(ctx context.Context, d *doorsteps, a asking) (answer, error)
	never map[string]string // causes that it cannot have, by why

	prepare func(ctx context.Context, d *doorsteps, a asking) error // what must be there before it can ask for a run of the pipeline; nil for nothing
	beside  string                                                  // what the names of its outputs have besides those of other ways
}

const (
	noName    = "a file has no name that could be deployed or retired"
	noIDs     = "each has an id of its own"
	noKeys    = "it takes no key: its run has an id, or is that of a slot"
	noParams  = "deploy refuses a schedule whose parameters do not fit its document"
	noParent  = "a schedule is one of a deployed pipeline"
	noSlots   = "its schedules are removed: nobody can ask for a slot"
	noEarlier = "there can be no such run before"
	compiled  = "it is compiled before anything is asked for: nothing is recorded"
	refusedBy = "it is refused before anything is asked for: nothing is recorded"
)

// ways are all of them. A slot that is due by itself begins as one that somebody asks for does.
var ways = []way{
	{name: "command, file", kind: "exit", ask: command("FILE"), never: map[string]string{"unknown": noName, "version": noName, "retired": noName, "key": noKeys, "reused": noKeys, "bad": compiled}},
	{name: "command, name", kind: "exit", ask: command("--pipeline", "NAME"), never: map[string]string{"key": noKeys, "reused": noKeys}},
	{name: "library, name", kind: "code", ask: library(func(d *doorsteps) *client.Client { return d.served }, false), never: map[string]string{"key": noKeys, "reused": noKeys}},
	{name: "library, name, own process", kind: "code", ask: library(func(d *doorsteps) *client.Client { return d.own }, false), never: map[string]string{"key": noKeys, "reused": noKeys}},
	{name: "library, file, own process", kind: "code", ask: library(func(d *doorsteps) *client.Client { return d.own }, true),
		never: map[string]string{"unknown": noName, "version": noName, "retired": noName, "key": noKeys, "reused": noKeys}},
	{name: "Temporal, with an id", kind: "type", ask: stranger(true)},
	{name: "Temporal, without an id", kind: "type", ask: stranger(false), never: map[string]string{"exists": noIDs}},
	{name: "Temporal's schedule", kind: "type", ask: strangeSchedule},
	{name: "workflow of another program", kind: "type", ask: parent},
	{name: "schedule run", kind: "slot", ask: slotAsked("run", "--for"), never: map[string]string{"bad": noParams, "unknown": noParent, "version": "it is of the current version",
		"retired": noSlots, "key": noKeys, "reused": noKeys, "exists": "its slot is done"}},
	{name: "schedule run --again", kind: "slot", ask: slotAsked("run", "--again", "--for"), prepare: slotDone, never: map[string]string{"bad": noParams, "unknown": noParent,
		"version": "it is of the current version", "retired": noSlots, "key": noKeys, "reused": noKeys, "exists": noIDs}},
	{name: "schedule backfill", kind: "slot", ask: slotAsked("backfill"), never: map[string]string{"bad": noParams, "unknown": noParent, "version": refusedBy,
		"retired": noSlots, "key": noKeys, "reused": noKeys, "exists": "its slot is done"}},
	{name: "errors --retry", kind: "exit", ask: retried, prepare: quarantined, beside: ".retry-1", never: map[string]string{"bad": compiled, "unknown": noEarlier, "version": noEarlier,
		"retired": "it takes the document that is recorded", "key": noKeys, "reused": noKeys}},
	{name: "resume --fork", kind: "exit", ask: forked, prepare: stopped, never: map[string]string{"bad": "its parameters are those of the run before", "unknown": noEarlier, "version": noEarlier,
		"retired": refusedBy, "key": noKeys, "reused": noKeys, "exists": noIDs}},
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
	says     string      // the recorded reason begins so; RUN is the start's
	busy     bool        // another run holds the targets until all wait for them
}

// causes are those that can be tried side by side, and then those that ask for the run of one of these.
var causes = [][]cause{{
	{name: "ok", pipeline: "good", state: landscape.StartBegun},
	{name: "key", pipeline: "good", key: "order-4711", state: landscape.StartBegun},
	{name: "bad", pipeline: "good", params: map[string]string{"least": "many"}, state: landscape.StartRefused, refusal: activities.TypeInput, code: client.InvalidInput, exit: "2",
		says: `good.yaml:5:3: params.least: the value given for the run: "many" is not a valid int`},
	{name: "unknown", pipeline: "nobody", state: landscape.StartRefused, refusal: activities.TypeNoPipeline, code: client.PipelineNotFound, exit: "2", says: `no pipeline "nobody" is deployed in default`},
	{name: "version", pipeline: "good@9", state: landscape.StartRefused, refusal: activities.TypeNoPipeline, code: client.PipelineNotFound, exit: "2", says: "pipeline good has no version 9; its current one is 1"},
	{name: "retired", pipeline: "old", state: landscape.StartRefused, refusal: activities.TypeRetired, code: client.PipelineRetired, exit: "2", says: "pipeline old is retired in default since "},
	{name: "queue full", pipeline: "full", state: landscape.StartRefused, refusal: activities.TypeQueueFull, code: client.QueueFull, exit: "2",
		says: "as many runs wait as may: 1 (concurrency.queue.max): pool:none has no places: waymark limit set pool:none 1 --why TEXT gives it one; waymark queue lists those that wait: start again when fewer do"},
	{name: "target there", pipeline: "taken", state: landscape.StartBegun, refusal: activities.TypeTarget, exit: "1", says: ".csv: TARGET_EXISTS: exists already; move it away, choose another path, or set overwrite: true"},
	{name: "target busy", pipeline: "busy", state: landscape.StartBegun, busy: true},
}, {
	{name: "exists", pipeline: "good", state: landscape.StartRefused, refusal: activities.TypeExists, code: client.RunExists, exit: "2", says: "run RUN is recorded: completed of good, begun "},
	{name: "reused", pipeline: "good", key: "order-4711", params: map[string]string{"least": "1"}, state: landscape.StartRefused, refusal: workflows.TypeKeyReused,
		says: "KEY_REUSED: run RUN was asked for under this key with other values of the parameters least: give another key"},
}}

const startable = `
name: NAME
params:
  day: {type: date, default: "${slot:date}"}
  least: {type: int, default: 0}
  by: {type: int, default: 1}
sources: {in: {csv: {path: "FOLDER/in.csv"}, schema: {fields: {id: int}}}}
steps: [{name: keep, filter: row.id / param.by >= param.least, on_error: quarantine}]
sinks: {out: {csv: {path: "FOLDER/out/NAME-${param:day}.csv"MORE}}}
schedules: {daily: {every: day}}
`

// TestTheSameCauseHasTheSameWords starts runs in every way for every cause: the record and the answer say the same whichever door was used.
func TestTheSameCauseHasTheSameWords(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	d := openDoorsteps(t)
	for _, stage := range causes {
		answers := d.ask(t, stage)
		for _, c := range stage {
			t.Run(c.name, func(t *testing.T) {
				for i, w := range ways {
					if w.can(c) {
						d.check(t, w, c, answers[c.name][i])
					}
				}
			})
		}
	}
}

// ask starts runs in all ways for all causes that they can have, side by side, and returns the answers, by cause and way.
func (d *doorsteps) ask(t *testing.T, stage []cause) map[string][]answer {
	t.Helper()
	var all errgroup.Group
	answers := map[string][]answer{}
	for _, c := range stage {
		if c.busy {
			d.hold(t)
		}
		of := make([]answer, len(ways))
		for i, w := range ways {
			if w.can(c) {
				all.Go(func() (err error) {
					if of[i], err = w.ask(t.Context(), d, d.asking(i, c)); err != nil {
						err = fmt.Errorf("%s, %s: %w", c.name, w.name, err)
					}
					return err
				})
			}
		}
		answers[c.name] = of
	}
	for _, c := range stage {
		if c.busy {
			d.requireWaiting(t, c)
			d.release(t)
		}
	}
	require.NoError(t, all.Wait())
	return answers
}

// can reports whether somebody can ask in this way, and have the cause.
func (w way) can(c cause) bool { return w.never[c.name] == "" }

// dayOf is the slot about which a way asks: none asks for what another one does.
func dayOf(way int) string { return fmt.Sprintf("2026-10-%02d", way+1) }

func (d *doorsteps) asking(way int, c cause) asking {
	a := asking{pipeline: c.pipeline, day: dayOf(way), before: fmt.Sprintf("before-%s-%d", c.pipeline, way), params: c.params, key: c.key}
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
	if c.busy {
		d.requireAfterHolder(t, w, start.Run)
	}
	if c.name != "exists" || !d.clientRefuses(w) {
		require.Equal(t, []any{c.state, c.refusal}, []any{start.State, refusal}, "%s: %s", w.name, start.Reason)
		require.Contains(t, reason, strings.ReplaceAll(c.says, "RUN", start.Run), w.name)
	}
	want := map[string]string{"exit": c.exit, "code": string(c.code), "type": c.refusal}[w.kind]
	if w.kind == "slot" && c.exit != "" {
		want = "failed"
	}
	require.Equal(t, want, got.word, "%s: %s", w.name, got.said)
	require.Contains(t, got.said, strings.ReplaceAll(c.says, "RUN", start.Run), w.name)
}

// clientRefuses reports whether a program that may have no right to write the record refuses an id that is taken: nothing is recorded of that.
func (d *doorsteps) clientRefuses(w way) bool {
	return w.name == "command, file" || w.name == "command, name" || w.name == "library, name" || w.name == "errors --retry"
}

func openDoorsteps(t *testing.T) *doorsteps {
	t.Helper()
	folder := t.TempDir()
	d := &doorsteps{Server: serving.Start(t, folder)}
	require.NoError(t, os.Mkdir(filepath.Join(folder, "out"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte("id\n1\n2\n"), 0o600))
	files := []string{d.holder(t)}
	for name, more := range map[string]string{"good": "", "old": "", "taken": "", "busy": "", "full": "pools: {none: 1}\nconcurrency: {queue: {max: 1}}\n"} {
		overwrite := ", overwrite: true"
		if name == "taken" {
			overwrite = ""
		}
		document := strings.NewReplacer("NAME", name, "FOLDER", folder, "MORE", overwrite).Replace(startable) + more
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(document), 0o600))
		files = append(files, name+".yaml")
	}
	var deploying errgroup.Group
	for _, file := range files {
		deploying.Go(func() error {
			out, err := d.Try(t.Context(), "deploy", file, "--allow-path", folder, "--anyway", "to see")
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
	}
	require.NoError(t, deploying.Wait())
	d.Waymark(t, "retire", "old", "--why", "to see")
	d.Waymark(t, "limit", "set", "pool:none", "9", "--why", "runs before")
	d.connect(t, local.Folder(filepath.Join(folder, ".waymark")))
	d.prepare(t)
	d.Waymark(t, "limit", "set", "pool:none", "0", "--why", "to see")
	_, err := d.temporal.ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{ID: "first", TaskQueue: workflows.TaskQueue}, workflows.RunPipelineName, map[string]string{"pipeline": "full", "for": "2026-09-01"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		start, err := d.log.StartOfWorkflow(t.Context(), "first")
		return err == nil && start.State == landscape.StartWaiting
	}, patience, 20*time.Millisecond)
	return d
}

// connect opens what the ways go through.
func (d *doorsteps) connect(t *testing.T, state local.Folder) {
	t.Helper()
	d.temporal = d.Temporal(t)
	store, err := sqlitestore.Open(t.Context(), state.File("landscape.db"), sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	d.log = landscape.NewReader(store)
	address, queue := state.Server()
	d.served = homeOf(t, local.Options{State: state, Cluster: &client.Cluster{Address: address, Queue: queue}})
	d.own = homeOf(t, local.Options{State: local.Folder(t.TempDir()), Landscape: state.Landscape(), Payloads: state.Payloads(), Allow: []string{d.Folder}})
	other := sdkworker.New(d.temporal, "others", sdkworker.Options{})
	other.RegisterWorkflowWithOptions(wants, workflow.RegisterOptions{Name: "Wants"})
	require.NoError(t, other.Start())
	t.Cleanup(other.Stop)
}

// prepare makes what ways need, of all pipelines of which runs begin, and the targets that are there already.
func (d *doorsteps) prepare(t *testing.T) {
	t.Helper()
	var all errgroup.Group
	for i, w := range ways {
		for _, pipeline := range []string{"good", "full", "taken", "busy"} {
			if w.prepare != nil {
				all.Go(func() error { return w.prepare(t.Context(), d, d.asking(i, cause{name: "before", pipeline: pipeline})) })
			}
		}
	}
	require.NoError(t, all.Wait())
	for i, w := range ways {
		require.NoError(t, os.WriteFile(filepath.Join(d.Folder, "out", w.target("taken", i)), nil, 0o600))
	}
}

// target is the name of the file to which a way lets a run write.
func (w way) target(pipeline string, way int) string {
	return pipeline + "-" + dayOf(way) + w.beside + ".csv"
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
