package tests

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/worker"
	"waymark/workflows"
	"waymark/workflows/slots"
)

// A stranger reaches Temporal, and nothing else: no landscape, payloads, files or keys.

// theirs is the task queue of a stranger's worker.
const theirs = "theirs"

// asking is the input of a stranger's workflow.
type asking struct {
	Activity string          `json:"activity"`
	Input    json.RawMessage `json:"input"`
}

// asks is a workflow of a stranger that schedules activities of Waymark, and returns what came of each.
func asks(ctx workflow.Context, all []asking) (answers []string, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: workflows.TaskQueue, StartToCloseTimeout: patience,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var asked []workflow.Future
	for _, one := range all {
		asked = append(asked, workflow.ExecuteActivity(ctx, one.Activity, one.Input))
	}
	for _, future := range asked {
		answers = append(answers, cameOf(future.Get(ctx, nil)))
	}
	return answers, nil
}

// cameOf is the type and the message of an error; "done" if there is none.
func cameOf(err error) string {
	if err == nil {
		return "done"
	}
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return application.Type() + ": " + application.Message()
	}
	return err.Error()
}

// inputTypes are the types of the inputs of all activities, by their names.
func inputTypes() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	of := reflect.TypeFor[*activities.Activities]()
	for i := range of.NumMethod() {
		all[of.Method(i).Name] = of.Method(i).Type.In(2)
	}
	return all
}

// hostile returns a value of a type: all that can name a run names this one, all numbers and texts are the others.
func hostile(of reflect.Type, run string, number int64, text string) reflect.Value {
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(number)
	case reflect.Bool:
		v.SetBool(number%2 != 0)
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(hostile(of.Elem(), run, number, text))
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return v
		}
		v.Set(reflect.Append(v, hostile(of.Elem(), run, number, text)))
	case reflect.Struct:
		for i := range of.NumField() {
			switch f := of.Field(i); {
			case !f.IsExported():
			case (f.Name == "Run" || f.Name == "Of") && f.Type.Kind() == reflect.String:
				v.Field(i).SetString(run)
			default:
				v.Field(i).Set(hostile(f.Type, run, number, text))
			}
		}
	}
	return v
}

// strange is a Waymark with all that a process of a cluster registers, whose run "whole" is complete.
func strange(t *testing.T) door {
	t.Helper()
	keeper := &slots.Keeper{Queue: workflows.TaskQueue}
	s := system.StartWith(t, system.Options{Settings: short, Members: []worker.Member{{Keeper: keeper}}})
	keeper.Client, keeper.Log, keeper.Payloads = s.Temporal, s.Log, s.Payloads
	d := door{System: s}.has(t, fewRows)
	require.NoError(t, d.ask(t, "whole", many).Get(t.Context(), nil))
	w := sdkworker.New(d.Temporal, theirs, sdkworker.Options{})
	for _, name := range []string{"Theirs", workflows.RunPipelineName, workflows.PreflightName} {
		w.RegisterWorkflowWithOptions(asks, workflow.RegisterOptions{Name: name})
	}
	w.RegisterWorkflowWithOptions(continues, workflow.RegisterOptions{Name: "Continues"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return d
}

// scheduled has a workflow of the stranger schedule activities.
func (d door) scheduled(t *testing.T, kind string, all []asking) (answers []string) {
	t.Helper()
	started, err := d.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: theirs}, kind, all)
	require.NoError(t, err)
	require.NoError(t, started.Get(t.Context(), &answers))
	return answers
}

// scheduledAlone has an activity executed that no workflow scheduled.
func (d door) scheduledAlone(t *testing.T, one asking) string {
	t.Helper()
	handle, err := d.Temporal.ExecuteActivity(t.Context(), client.StartActivityOptions{
		ID: uuid.NewString(), TaskQueue: workflows.TaskQueue, StartToCloseTimeout: patience,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	}, one.Activity, one.Input)
	require.NoError(t, err)
	return cameOf(handle.Get(t.Context(), nil))
}

// supported returns the names that a worker says it has registered, of workflows or of activities.
func supported(t *testing.T, says string) []string {
	t.Helper()
	_, list, found := strings.Cut(says, "upported types: [")
	require.True(t, found, says)
	list, _, _ = strings.Cut(list, "]")
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(names)
	return names
}

// content is all that is recorded.
func (d door) content(t *testing.T) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+d.Database+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var all strings.Builder
	for _, table := range landscape.Tables() {
		rows, err := db.QueryContext(t.Context(), "select * from "+table.Name) //nolint:sqlclosecheck // Next does so
		require.NoError(t, err)
		values := make([]any, len(table.Columns))
		for i := range values {
			values[i] = new(any)
		}
		for rows.Next() {
			require.NoError(t, rows.Scan(values...))
			fmt.Fprint(&all, table.Name)
			for _, value := range values {
				fmt.Fprintf(&all, " %v", *value.(*any))
			}
			fmt.Fprintln(&all)
		}
		require.NoError(t, rows.Err())
	}
	return all.String()
}

// telling are activities that a workflow of the type of a run may have on any queue: they change nothing, and tell
// what whoever starts a run with a key learns too. What would stop an epoch that nothing began stops nothing.
var telling = []string{"FindKeyed", "LabelStart", "StopRun"}

// TestAStrangersActivities has every activity that workers register scheduled by a stranger: by nothing, by a workflow
// of another type, and by one that has the type of ours on a queue of the stranger. None does anything.
func TestAStrangersActivities(t *testing.T) {
	t.Parallel()
	d := strange(t)
	types := inputTypes()
	types[slots.TurnName] = reflect.TypeFor[slots.FiredInput]()
	names := slices.Sorted(maps.Keys(types))
	require.Equal(t, names, supported(t, d.scheduled(t, "Theirs", []asking{{"None", nil}})[0]), "what workers register")

	var all []asking
	for _, name := range names {
		for _, wrong := range []reflect.Value{
			hostile(types[name], "whole", 0, "out"),
			hostile(types[name], "whole", 1<<62, "in"),
			hostile(types[name], "../../etc/passwd", -1, "\x00<"),
		} {
			input, err := json.Marshal(wrong.Interface())
			require.NoError(t, err)
			all = append(all, asking{name, input})
		}
	}
	before := d.content(t)
	for i, answer := range d.scheduled(t, "Theirs", all) {
		require.Contains(t, answer, ", and a workflow of the type \"Theirs\" scheduled it", "%s", all[i])
	}
	for i, answer := range d.scheduled(t, workflows.RunPipelineName, all) {
		if !slices.Contains(telling, all[i].Activity) {
			require.Regexp(t, "^(InputInvalid|RunUnknown|RunSuperseded|RunElsewhere): ", answer, "%s", all[i])
		}
	}
	for i := 0; i < len(all); i += sample.Step(7) {
		require.Contains(t, d.scheduledAlone(t, all[i]),
			", and something that is not a workflow scheduled it", "%s", all[i])
	}
	require.Equal(t, before, d.content(t))
	d.Verify(t, "whole")
}

// continues is a workflow of a stranger that continues itself as a run of Waymark.
func continues(ctx workflow.Context, input json.RawMessage) error {
	ctx = workflow.WithWorkflowTaskQueue(ctx, workflows.TaskQueue)
	return workflow.NewContinueAsNewError(ctx, workflows.RunPipelineName, input)
}
