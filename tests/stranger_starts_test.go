package tests

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/workflows"
	"waymark/workflows/slots"
)

// payloadOf is a payload with an encoding; none if that is empty.
func payloadOf(encoding, data string) *common.Payload {
	p := &common.Payload{Data: []byte(data)}
	if encoding != "" {
		p.Metadata = map[string][]byte{"encoding": []byte(encoding)}
	}
	return p
}

func plainJSON(data string) []*common.Payload {
	return []*common.Payload{payloadOf("json/plain", data)}
}

// anyInputs are inputs of any workflow that make no sense, by what is wrong with them.
func anyInputs() map[string][]*common.Payload {
	return map[string][]*common.Payload{
		"none":             nil,
		"null":             plainJSON("null"),
		"a number":         plainJSON("5"),
		"a text":           plainJSON(`"x"`),
		"a list":           plainJSON("[]"),
		"half an object":   plainJSON("{"),
		"no UTF-8":         plainJSON("{\"pipeline\":\"\xff\"}"),
		"deep":             plainJSON(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)),
		"a key twice":      plainJSON(`{"pipeline":"a","pipeline":"b"}`),
		"an unknown key":   plainJSON(`{"colour":1}`),
		"two":              {payloadOf("json/plain", `{"colour":1}`), payloadOf("json/plain", "{}")},
		"bytes":            {payloadOf("binary/plain", "{}")},
		"another encoding": {payloadOf("x", "{}")},
		"no encoding":      {payloadOf("", "{}")},
		"another's key":    {payloadOf("binary/encrypted", strings.Repeat("x", 100))},
		"2 MB":             plainJSON(`{"pipeline":"` + strings.Repeat("x", 1_990_000) + `"}`),
	}
}

// runInputs are inputs of runs that are refused.
func runInputs() map[string]string {
	all := map[string]string{
		"a resume of a run that is complete": `{"run":"whole","resume":{"run":"whole","epoch":1}}`,
		"a resume of another workflow's run": `{"run":"other","resume":{"run":"whole","epoch":1}}`,
		"a resume whose files are none": `{"run":"whole","resume":{"run":"whole","epoch":1,"files":"` +
			strings.Repeat("f", 2000) + `"}}`,
		"a resume of a later epoch":  `{"run":"whole","resume":{"run":"whole","epoch":-9223372036854775808}}`,
		"a run of another path":      `{"pipeline":"x","run":"../../etc/passwd"}`,
		"a run that is there":        `{"pipeline":"x","run":"whole"}`,
		"a retry of nothing":         `{"retry":{}}`,
		"a retry of another path":    `{"retry":{"of":"../x","beside":"../x"}}`,
		"a pipeline of another path": `{"pipeline":"../../etc/passwd"}`,
		"a document of another path": `{"document":"../../etc/passwd","file":"../x","folder":"/etc"}`,
		"rows of another path": `{"pipeline":"x","rows":[{"source":"in","payload":"../x",` +
			`"sha256":"../x","rows":-1,"bytes":-1}]}`,
		"a state": `{"state":{"plan":{"source":"in","sinks":[{"name":"a"}]},` +
			`"outputs":[{}]}}`,
		"a state of nothing":                   `{"state":{}}`,
		"a state that is a number":             `{"state":5}`,
		"a version below none":                 `{"pipeline":"x","version":-7}`,
		"a key with a line":                    `{"pipeline":"x","key":"a\nb"}`,
		"parameters with long names":           `{"pipeline":"x","params":{"` + strings.Repeat("é", 20_000) + `":"1"}}`,
		"a name that grows where it is quoted": `{"pipeline":"` + strings.Repeat("<", 2_000) + `"}`,
	}
	keys := []string{"pipeline", "environment", "for", "schedule", "why", "document", "folder", "parent", "link"}
	for _, key := range keys {
		quoted, _ := json.Marshal(strings.Repeat("é", 100_000)) //nolint:errchkjson // a string
		all["a long "+key] = `{"` + key + `":` + string(quoted) + `}`
		all["a number as "+key] = `{"` + key + `":-5}`
	}
	return all
}

// startedAs starts a workflow with payloads as they are, and returns its id.
func (d door) startedAs(t *testing.T, id, kind string, input []*common.Payload) string {
	t.Helper()
	request := &workflowservice.StartWorkflowExecutionRequest{
		Namespace: d.Namespace, WorkflowId: id, RequestId: uuid.NewString(), Input: &common.Payloads{Payloads: input},
		WorkflowType: &common.WorkflowType{Name: kind}, TaskQueue: &taskqueue.TaskQueue{Name: workflows.TaskQueue},
	}
	_, err := d.Temporal.WorkflowService().StartWorkflowExecution(t.Context(), request)
	require.NoError(t, err)
	return id
}

// closes waits for the end of a workflow, none of whose tasks may have failed.
func (d door) closes(t *testing.T, id, what string) error {
	t.Helper()
	err := d.Temporal.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil)
	for _, event := range system.Events(t, d.Temporal, id, "") {
		require.Nil(t, event.GetWorkflowTaskFailedEventAttributes(), "%s: %s", what, event)
	}
	return err
}

// sampled returns some of what there is, by day: one of n, others each time.
func sampled[T any](n int, all map[string]T) map[string]T {
	some := map[string]T{}
	for name, one := range all { // in any order
		if len(some)*sample.Step(n) < len(all) {
			some[name] = one
		}
	}
	return some
}

// TestAStrangersStarts starts every workflow that workers register with inputs that make no sense. Each ends with an
// error, without a task that fails, and changes nothing of a run that is recorded.
func TestAStrangersStarts(t *testing.T) {
	t.Parallel()
	d := strange(t)
	kinds := []string{workflows.ListPipelinesName, workflows.PreflightName, slots.FiredName, workflows.RunPipelineName}
	slices.Sort(kinds)
	none := d.startedAs(t, "none", "None", nil)
	require.Equal(t, kinds, supported(t, d.taskFailure(t, none)), "what workers register")
	require.NoError(t, d.Temporal.TerminateWorkflow(t.Context(), none, "", "it is none"))

	run, output := d.run(t, "whole"), d.Read(t, "out/out.csv")
	begun := map[string]string{}
	for _, kind := range kinds {
		for what, input := range sampled(4, anyInputs()) {
			begun[d.startedAs(t, uuid.NewString(), kind, input)] = kind + " with " + what
		}
	}
	of := sampled(3, runInputs())
	for what, text := range of {
		if strings.Contains(what, "resume") { // by the workflow of the run, which takes turns
			id := d.startedAs(t, workflows.WorkflowID("whole"), workflows.RunPipelineName, plainJSON(text))
			require.Error(t, d.closes(t, id, what), what)
		}
	}
	for what, text := range of {
		begun[d.startedAs(t, uuid.NewString(), workflows.RunPipelineName, plainJSON(text))] = what
	}
	for id, what := range begun {
		err := d.closes(t, id, what)
		require.NotContains(t, cameOf(err), "terminated", what)
		if !strings.HasPrefix(what, workflows.ListPipelinesName) && !strings.HasPrefix(what, workflows.PreflightName) &&
			!strings.HasPrefix(what, slots.FiredName) {
			require.Error(t, err, what)
		}
	}
	require.Equal(t, run, d.run(t, "whole"))
	require.Equal(t, output, d.Read(t, "out/out.csv"))
	d.Verify(t, "whole")
	require.NoError(t, d.ask(t, "next", many).Get(t.Context(), nil), "the workers live")
}

// taskFailure waits until a task of a workflow fails, and returns why.
func (d door) taskFailure(t *testing.T, id string) (says string) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, event := range system.Events(t, d.Temporal, id, "") {
			if failed := event.GetWorkflowTaskFailedEventAttributes(); failed != nil {
				says = failed.GetFailure().GetMessage()
			}
		}
		return says != ""
	}, patience, 10*time.Millisecond)
	return says
}

// states are what a stranger's workflow hands on to a run, as if the run had done so itself.
var states = map[string]string{
	"of nothing":      `{}`,
	"that is a list":  `[]`,
	"without outputs": `{"plan":{"source":"in","sinks":[{"name":"a"}]},"sources":[{"source":"in"}]}`,

	"with another source":  `{"plan":{"source":"in","sinks":[]},"sources":[{"source":"on"}]}`,
	"with no source":       `{"plan":{"source":"in","sinks":[]},"sources":[]}`,
	"with a chunk below 0": `{"plan":{"source":"in","sinks":[]},"sources":[{"source":"in","chunk":-1}]}`,
	"with another barrier": `{"plan":{"source":"in","sinks":[],"barriers":["b"]},"sources":[{"source":"in"}],
		"held":[{"barrier":"c"}]}`,
	"with chunks to come": `{"plan":{"source":"in","sinks":[],"barriers":["b"]},"sources":[{"source":"in"}],
		"held":[{"barrier":"b","passed":2}]}`,
	"of a run that is over": `{"plan":{"source":"in","sinks":[{"name":"out"}]},"sources":[{"source":"in"}],
		"outputs":[{}]}`,
	"of a whole run": `{"plan":{"source":"in","sinks":[{"name":"out"}],"whole":true},"sources":[{"source":"in"}],
		"outputs":[{}],"epoch":7}`,
	"on a queue that cannot be": `{"plan":{"source":"in","sinks":[{"name":"out"}],"queue":"` +
		strings.Repeat("q", 2_000) + `"},"sources":[{"source":"in"}],"outputs":[{}]}`,
}

// TestAStrangersStates has workflows of a stranger continue themselves as runs, with states of their own. They end with
// an error, and change nothing.
func TestAStrangersStates(t *testing.T) {
	t.Parallel()
	d := strange(t)
	before := d.content(t)
	for name, state := range states {
		id := uuid.NewString()
		input := json.RawMessage(`{"run":"whole","state":` + state + `}`)
		by := client.StartWorkflowOptions{ID: id, TaskQueue: theirs}
		started, err := d.Temporal.ExecuteWorkflow(t.Context(), by, "Continues", input)
		require.NoError(t, err)
		require.Error(t, started.Get(t.Context(), nil), name)
		require.Error(t, d.closes(t, id, name), name)
	}
	require.Equal(t, before, d.content(t))
	d.Verify(t, "whole")
}

// TestARefusedStartCallsOffNoOther lets a run wait for places, and has a stranger ask for the same run in words that
// are refused, under ids of theirs: the refusals are recorded under those, and the run begins when it may.
func TestARefusedStartCallsOffNoOther(t *testing.T) {
	t.Parallel()
	d := open(t)
	holder := d.holder(t, one("queue"))
	waits := d.ask(t, "b", one("queue"))
	d.becomes(t, "b", landscape.StartWaiting)
	for id, text := range map[string]string{
		"a stranger's":  `{"pipeline":"x","run":"b","colour":1}`,
		"a stranger's2": `{"pipeline":"x","run":"b"}`,
	} {
		require.Error(t, d.closes(t, d.startedAs(t, id, workflows.RunPipelineName, plainJSON(text)), id))
	}
	require.Equal(t, landscape.StartWaiting, d.becomes(t, "b", landscape.StartWaiting).State)
	refused, err := d.Log.Starts(t.Context(), landscape.StartRefused, nil, 0)
	require.NoError(t, err)
	require.Len(t, refused, 2)
	for _, start := range refused {
		require.NotEqual(t, "b", start.Run)
		require.True(t, strings.HasPrefix(start.Workflow, "a stranger's"))
	}
	d.order(t, workflows.ContinueUpdate)
	require.NoError(t, holder.Get(t.Context(), nil))
	require.NoError(t, waits.Get(t.Context(), nil))
	d.Verify(t, "b")
}
