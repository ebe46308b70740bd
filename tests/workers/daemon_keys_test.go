package workers_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"waymark/internal/temporal/codec"
	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/worker/daemon"
	"waymark/workflows"
)

// keyOf is a codec key with the id.
func keyOf(id, letter string) string {
	return id + ":" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 32)))
}

// withKeys are the variables of a worker with the codec keys.
func withKeys(keys string) map[string]string {
	return map[string]string{daemon.CodecKeysVariable: keys}
}

// dial returns a client with the codec keys.
func (s *site) dial(t *testing.T, keys string) client.Client {
	t.Helper()
	c, err := codec.Load("", keys, false)
	require.NoError(t, err)
	var o client.Options
	codec.ClientOptions(&o, c)
	made, err := embedded.Dial(t.Context(), s.address(t), o)
	require.NoError(t, err)
	t.Cleanup(made.Close)
	return made
}

// gateOn is a gate that the first chunk of a run comes to.
func gateOn() *gate {
	return &gate{kind: landscape.Chunk{}, waits: make(chan struct{}, 1), open: make(chan struct{})}
}

// wrongKeys are keys of workers that cannot read what is encrypted with siteKeys, and what such a worker says.
var wrongKeys = map[string]struct{ keys, says string }{
	"another key":            {keyOf("2020", "o"), `encrypted with key "2026", which this program does not have`},
	"the same id":            {keyOf("2026", "o"), `its key is not the key "2026" that this program has`},
	"no key":                 {"", `encrypted with key "2026", and this program has no codec keys`},
	"the right one too late": {keyOf("2020", "o") + "," + keyOf("2025", "k"), `encrypted with key "2026"`},
}

func TestWrongKeyTakesNoWork(t *testing.T) {
	t.Parallel()
	for name, wrong := range wrongKeys {
		t.Run(name, func(t *testing.T) {
			if name != "another key" {
				sample.Rarely(t)
			}
			t.Parallel()
			s := newSite(t)
			g := gateOn()
			good := begin(t, s.config(s.address(t)), gated(g), withKeys(siteKeys))
			good.said(t, "working")
			run := s.run(t, s.dial(t, siteKeys), "r1", map[string]any{})
			<-g.waits

			odd := begin(t, s.config(s.address(t)), daemon.Program{}, withKeys(wrong.keys))
			err := <-odd.ended
			require.ErrorContains(t, err, wrong.says)
			require.ErrorContains(t, err, "run-r1")
			require.ErrorContains(t, err, "all workers of a queue need the same keys")
			require.NotContains(t, odd.text(), `"msg":"working"`)
			require.Contains(t, odd.text(), `"msg":"cannot go on"`)

			close(g.open)
			require.NoError(t, run.Get(t.Context(), nil))
			good.end(t)
		})
	}
}

func TestAWorkerWithTheWrongKeyHarmsNoRun(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	for _, name := range []string{"another key", "no key"} {
		wrong := wrongKeys[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			odd := begin(t, s.config(s.address(t)), daemon.Program{}, withKeys(wrong.keys))
			pages := odd.said(t, "listening")["address"]
			odd.said(t, "working") // nothing tells it yet that it is wrong
			run := s.run(t, s.dial(t, siteKeys), "r1", map[string]any{})
			told := odd.said(t, "cannot read a run: the task goes back, for a worker that can")
			require.Equal(t, "run-r1", told["workflow"])
			require.Contains(t, told["error"], wrong.says)
			code, text := get(t, pages, "/readyz")
			require.Equal(t, http.StatusOK, code, "whoever started the run may be the one with the wrong key: %s", text)

			g := gateOn()
			c := s.config(s.address(t))
			c.Drain = 0
			first := begin(t, c, gated(g), withKeys(siteKeys))
			first.said(t, "working")
			<-g.waits
			first.end(t) // as if it were killed: what it has in hand goes to others
			err := <-odd.ended
			require.ErrorContains(t, err, wrong.says)
			require.ErrorContains(t, err, "this worker does not have the codec keys of queue waymark")

			second := begin(t, s.config(s.address(t)), daemon.Program{}, withKeys(siteKeys))
			var result workflows.RunResult
			require.NoError(t, run.Get(t.Context(), &result))
			require.EqualValues(t, 3, result.Rows)
			second.end(t)
		})
	}
}

func TestAClientWithTheWrongKeyEndsNoWorker(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := newSite(t)
	p := begin(t, s.config(s.address(t)), daemon.Program{}, withKeys(siteKeys))
	p.said(t, "working")
	odd := s.run(t, s.dial(t, keyOf("2020", "o")), "odd", map[string]any{})
	require.Equal(t, "run-odd", p.said(t, "cannot read a run: the task goes back, for a worker that can")["workflow"])
	require.NoError(t, s.run(t, s.dial(t, siteKeys), "r1", map[string]any{}).Get(t.Context(), nil))

	with := begin(t, s.config(s.address(t)), daemon.Program{}, withKeys(siteKeys+","+keyOf("2020", "o")))
	require.NoError(t, odd.Get(t.Context(), nil), "the run waited for a worker with its key")
	with.end(t)
	p.end(t)
}

func TestAnOrderWithTheWrongKeyIsRefused(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := newSite(t)
	g := gateOn()
	p := begin(t, s.config(s.address(t)), gated(g), withKeys(siteKeys))
	p.said(t, "working")
	run := s.run(t, s.dial(t, siteKeys), "r1", map[string]any{})
	<-g.waits
	order, err := s.dial(t, keyOf("2020", "o")).UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: run.GetID(), UpdateName: workflows.CancelUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{workflows.Command{Actor: "somebody", Why: "to see"}},
	})
	if err == nil {
		err = order.Get(t.Context(), nil)
	}
	require.ErrorContains(t, err, `encrypted with key "2026"`, "who does not have the key cannot read the refusal either, and is told so")
	close(g.open)
	require.NoError(t, run.Get(t.Context(), nil))
	p.end(t)
}

func TestWhatHasToBeEncryptedIsRefusedInWords(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config(s.address(t))
	c.CodecRequire = true
	p := begin(t, c, daemon.Program{}, withKeys(siteKeys))
	p.said(t, "working")
	const why = "the payload is not encrypted, and --codec-require says that all must be"
	s.run(t, s.client, "plain", map[string]any{})
	told := p.said(t, "run failed")
	require.Equal(t, "run-plain", told["workflow"])
	require.Contains(t, told["error"], why)
	err := s.dial(t, siteKeys).GetWorkflow(t.Context(), "run-plain", "").Get(t.Context(), nil)
	require.ErrorContains(t, err, why)
	require.NoError(t, s.run(t, s.dial(t, siteKeys), "r1", map[string]any{}).Get(t.Context(), nil))
	p.end(t)
}

func TestRequiredEncryptionLeavesRunsAlone(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := newSite(t)
	g := gateOn()
	c := s.config(s.address(t))
	c.Drain = 0
	first := begin(t, c, gated(g), withKeys(siteKeys))
	first.said(t, "working")
	run := s.run(t, s.client, "r1", map[string]any{}) // by hand, without the keys
	<-g.waits
	strict := s.config(s.address(t))
	strict.CodecRequire = true
	odd := begin(t, strict, daemon.Program{}, withKeys(siteKeys))
	odd.said(t, "working")
	first.end(t)
	told := odd.said(t, "cannot read a run: the task goes back, for a worker that can")
	require.Equal(t, "run-r1", told["workflow"])
	require.Contains(t, told["error"], "the payload is not encrypted")
	second := begin(t, s.config(s.address(t)), daemon.Program{}, withKeys(siteKeys))
	var result workflows.RunResult
	require.NoError(t, s.dial(t, siteKeys).GetWorkflow(t.Context(), run.GetID(), "").Get(t.Context(), &result))
	require.EqualValues(t, 3, result.Rows)
	second.end(t)
	odd.end(t)
}

func TestAnInputThatIsRefusedIsInTheLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := begin(t, s.config(s.address(t)), daemon.Program{}, withKeys(siteKeys))
	p.said(t, "working")
	for name, test := range map[string]struct {
		input any
		says  string
	}{
		"a text":           {"big", "the input is no object"},
		"a list of values": {map[string]any{"pipeline": "orders", "params": map[string]any{"limit": []int{1}}}, `the value of parameter "limit" must be`},
		"no such document": {map[string]any{"pipeline": "gone"}, `no pipeline "gone"`},
	} {
		t.Run(name, func(t *testing.T) {
			id := strings.ReplaceAll(name, " ", "-")
			require.Error(t, system.Execute(t, s.client, id, test.input).Get(t.Context(), nil))
			for told := p.said(t, "run failed"); ; told = p.said(t, "run failed") {
				require.Contains(t, told["error"], test.says)
				if told["workflow"] == id {
					return
				}
			}
		})
	}
	p.end(t)
}
