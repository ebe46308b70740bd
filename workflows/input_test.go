package workflows_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/pipeline"
	"waymark/workflows"
)

// startText runs the workflow with an input as a person writes it, or with several, one a line.
func startText(t *testing.T, w *world, text string) error {
	t.Helper()
	env := newEnvironment(t)
	env.RegisterActivity(w)
	var inputs []any
	for one := range strings.Lines(text) {
		inputs = append(inputs, json.RawMessage(one))
	}
	var named struct{ Run any }
	if err := json.Unmarshal([]byte(text), &named); err == nil && named.Run != nil {
		env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: workflows.WorkflowID(fmt.Sprint(named.Run))})
	}
	env.ExecuteWorkflow(workflows.RunPipelineName, inputs...)
	require.True(t, env.IsWorkflowCompleted())
	err := env.GetWorkflowError()
	if invalid := (*temporal.ApplicationError)(nil); errors.As(err, &invalid) && invalid.Type() == activities.TypeInput {
		requireView(t, env, workflows.View{Status: "refused", Reason: invalid.Message()})
	}
	return err
}

func TestInvalidInputDoesNothing(t *testing.T) {
	for _, test := range []struct{ name, text, says string }{
		{"a typing error", `{"pipeline":"big","param":{"limit":"1"}}`, `the input has the unknown key "param" (did you mean "params"?)`},
		{"another", `{"pipline":"big"}`, `the input has the unknown key "pipline" (did you mean "pipeline"?)`},
		{"another case", `{"Pipeline":"big"}`, `the input has the unknown key "Pipeline" (did you mean "pipeline"?)`},
		{"a word of nobody", `{"pipeline":"big","colour":1}`, `unknown key "colour"; it may have pipeline, environment, params, for, schedule, run, key, why, files`},
		{"a key below another", `{"pipeline":"big","retry":{"of":"r0","besides":"x"}}`, `unknown key "retry.besides" (did you mean "beside"?)`},
		{"a key twice", `{"pipeline":"big","pipeline":"small"}`, `the input has pipeline twice`},
		{"a text", `"big"`, `the input is no object: write {"pipeline": "NAME"}`},
		{"a list", `[{"pipeline":"big"}]`, `the input is no object`},
		{"a second input", `{"pipeline":"big"}` + "\n" + `{"params":{"limit":"1"}}`, `there is a second input: write one object with all keys`},
		{"a second input of nothing", `{"pipeline":"big"}` + "\nnull", `there is a second input`},
		{"a number for a text", `{"pipeline":5}`, `the input's pipeline must be a string, and is of the type number`},
		{"a text for an object", `{"pipeline":"big","params":"limit=1"}`, `the input's params`},
		{"a list for an object", `{"pipeline":"big","retry":[]}`, `the input's retry is no object`},
		{"a text for a number", `{"run":"r1","resume":{"epoch":"one"}}`, `the input's resume.epoch must be a whole number, and is of the type string`},
		{"several", `{"pipeline":5,"run":true,"colour":1}`, `pipeline must be a string, and is of the type number; the input's run must be a string, and is of the type bool; the input has the unknown key "colour"`},
		{"very many", `{"pipeline":"big","k1":1,"k2":1,"k3":1,"k4":1,"k5":1,"k6":1,"k7":1}`, `unknown key "k5"; it may have pipeline, environment, params, for, schedule, run, key, why, files; and 2 more faults`},
		{"a long key", `{"` + strings.Repeat("x", 1000) + `":1}`, `unknown key "` + strings.Repeat("x", 64) + `";`},
		{"a run in another folder", `{"pipeline":"big","run":"q/../y"}`, `the input's run: "q/../y" cannot be the id of a run`},
		{"the word for the last run", `{"pipeline":"big","run":"last"}`, `"last" cannot be the id of a run`},
		{"a run with a line end", `{"pipeline":"big","run":"a\nb"}`, `"a\nb" cannot be the id of a run`},
		{"outputs in another folder", `{"pipeline":"big","retry":{"of":"r0","beside":"../x"}}`, `the input's retry.beside: "../x" cannot be part of the names of outputs`},
		{"files without end", `{"pipeline":"big","files":"` + strings.Repeat("x", 256) + `"}`, `xxx" cannot be the name of any`},
		{"files with a bell", `{"pipeline":"big","files":"a\u0007"}`, `the input's files: "a\a" cannot be the name of any`},
		{"a key with a space", `{"pipeline":"big","key":"a b"}`, `the input's key: "a b" cannot be one: write up to 255 visible characters`},
		{"a key without end", `{"pipeline":"big","key":"` + strings.Repeat("k", 256) + `"}`, `kkk" cannot be one`},
		{"an empty key", `{"pipeline":"big","key":""}`, `the input's key is empty: give it a value, or leave it out`},
		{"an empty run", `{"pipeline":"big","run":""}`, `the input's run is empty`},
		{"an empty pipeline", `{"pipeline":""}`, `the input's pipeline is empty`},
		{"empty names", `{"pipeline":"big","environment":"","for":"","schedule":""}`, `environment is empty: give it a value, or leave it out; the input's for is empty: give it a value, or leave it out; the input's schedule is empty`},
		{"a key of no pipeline", `{"key":"k"}`, `the input has a key and no pipeline`},
		{"a key and a run", `{"pipeline":"big","key":"k","run":"r1"}`, `the input has a key and a run`},
		{"nothing to resume", `{"resume":{"epoch":1}}`, `the input says resume, and not which run`},
		{"a state of nobody", `{"run":"r1","state":{"plan":{"source":"in","sinks":[]}}}`, `the input has a state, which only a run hands on to itself`},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := new(world)
			err := startText(t, w, test.text)
			var application *temporal.ApplicationError
			require.ErrorAs(t, err, &application)
			require.Contains(t, application.Message(), test.says)
			require.Equal(t, activities.TypeInput, application.Type())
			require.True(t, application.NonRetryable())
			require.Less(t, len(application.Message()), 1000)
			require.Zero(t, w.opened)
			require.Nil(t, w.stopped, "nothing is recorded for a run that nobody may begin")
			if strings.Contains(test.text, `"resume":{`) || strings.Contains(test.text, `"state":{`) {
				require.Nil(t, w.refused, "who goes on with a run starts none")
				return
			}
			require.Equal(t, []string{activities.TypeInput, application.Message()}, []string{w.refused.Refusal, w.refused.Reason})
			require.NoError(t, pipeline.CheckRunID(w.refused.Begin.Run))
		})
	}
}

// TestARefusalThatCannotBeRecordedIsSaid gives an invalid input while the record cannot be written: the workflow still
// says what is wrong.
func TestARefusalThatCannotBeRecordedIsSaid(t *testing.T) {
	w := &world{fail: map[string]error{"RefuseStart": errors.New("the record is down")}}
	var application *temporal.ApplicationError
	require.ErrorAs(t, startText(t, w, `{"pipeline":5}`), &application)
	require.Equal(t, activities.TypeInput, application.Type())
	require.NotContains(t, application.Message(), "the record is down")
}

func TestAnInputThatMakesSenseIsAccepted(t *testing.T) {
	for _, text := range []string{
		`{"pipeline":"big"}`, `{"pipeline":"big","params":{"limit":"1"},"run":"Nightly_2026-11-20.1","files":"disk"}`,
		`{"pipeline":"big","params":null,"retry":null,"state":null}`, `{"pipeline":"big","retry":{"of":"r0","beside":"retry-1"}}`,
		`{"pipeline":"big","why":"","files":"","key":null}`, `null`, `{}`,
	} {
		w := new(world)
		require.NoError(t, startText(t, w, text), text)
		require.Equal(t, 1, w.opened, text)
	}
}

// TestARunHandsOnMoreThanIsKnownHere continues a run that a newer worker handed on, and takes a run up whose id nobody
// may give any more.
func TestARunHandsOnMoreThanIsKnownHere(t *testing.T) {
	w := new(world)
	env := newEnvironment(t)
	env.SetContinuedExecutionRunID("the one before")
	env.RegisterActivity(w)
	env.ExecuteWorkflow(workflows.RunPipelineName, json.RawMessage(`{"run":"a b","colour":1,"state":{"plan":{"sources":[{"name":"in"}],"sinks":[]},"sources":[{"source":"in"}],"shade":2}}`))
	require.NoError(t, env.GetWorkflowError())
	require.Zero(t, w.opened)
	require.Equal(t, []string{"finish after "}, w.done)
	var in workflows.RunInput
	require.Error(t, json.Unmarshal([]byte(`{"run":"r1","state":{"plan":5}}`), &in), "what a run hands on is not guessed at")

	err := startText(t, w, `{"run":"a b","resume":{"epoch":1}}`)
	require.ErrorContains(t, err, "ResumeRun", "it is looked for")
}
