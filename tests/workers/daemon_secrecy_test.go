package workers_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/query/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/internal/temporal/codec"
	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/system"
	"waymark/worker/daemon"
	"waymark/workflows"
)

// canary is a word that is in everything that a run hands to Temporal: names of a pipeline, of files and nodes, reasons.
const canary = "canary7f3a"

// secret is the value of a secret.
const secret = "hunter2-\"ü\""

const canaryDocument = `
name: canary7f3a
sources: {canary7f3a_in: {csv: {path: "WEB/canary7f3a.csv", http: {headers: {X-Token: "${secret:TOKEN}"}}},
  schema: {fields: {id: int}}, on_invalid: quarantine}}
sinks: {canary7f3a_out: {csv: {path: out/canary7f3a.csv, overwrite: true}}}
`

// siteKeys are what WAYMARK_CODEC_KEYS may hold.
var siteKeys = "2026:" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))

// secretive returns a client that encrypts.
func (s *site) secretive(t *testing.T) client.Client {
	t.Helper()
	c, err := codec.Load("", siteKeys, true)
	require.NoError(t, err)
	var o client.Options
	codec.ClientOptions(&o, c)
	made, err := embedded.Dial(t.Context(), s.address(t), o)
	require.NoError(t, err)
	t.Cleanup(made.Close)
	return made
}

// stored returns everything that Temporal has of a workflow, as those see it who run the server.
func stored(t *testing.T, c client.Client, id string) string {
	t.Helper()
	var text strings.Builder
	add := func(message proto.Message) {
		encoded, err := protojson.Marshal(message)
		require.NoError(t, err)
		text.Write(encoded)
		raw, err := proto.Marshal(message) // payloads are not base64 here
		require.NoError(t, err)
		text.Write(raw)
	}
	for _, event := range system.Events(t, c, id, "") {
		add(event)
	}
	description, err := c.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	add(description)
	if id == workflows.WorkflowID("failed") {
		return text.String() // it answers nothing: it failed before it began to listen
	}
	answer, err := c.WorkflowService().QueryWorkflow(t.Context(), &workflowservice.QueryWorkflowRequest{
		Namespace: embedded.Namespace, Execution: &common.WorkflowExecution{WorkflowId: id}, Query: &query.WorkflowQuery{QueryType: workflows.ProgressQuery},
	})
	require.NoError(t, err)
	add(answer)
	return text.String()
}

func TestTemporalSeesNamesOfNothingAndNoSecret(t *testing.T) {
	s := newSite(t)
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path != "/"+canary+".csv" || in.Header.Get("X-Token") != secret {
			http.NotFound(out, in)
			return
		}
		out.Header().Set("ETag", `"1"`)
		_, _ = io.WriteString(out, "id\n1\nx\n")
	}))
	t.Cleanup(web.Close)
	s.write(t, "pipelines/"+canary+".yaml", strings.ReplaceAll(canaryDocument, "WEB", web.URL))
	s.write(t, "pipelines/"+canary+"-gone.yaml", strings.NewReplacer(
		"WEB/"+canary, web.URL+"/gone-"+canary, "name: "+canary, "name: "+canary+"-gone",
	).Replace(canaryDocument))
	t.Setenv("WAYMARK_SECRET_TOKEN", secret)
	g := &gate{kind: landscape.Chunk{}, waits: make(chan struct{}, 1), open: make(chan struct{})}
	c := s.config(s.address(t))
	require.NoError(t, c.Secrets.Set("{TOKEN: {pipelines: ["+canary+", "+canary+"-gone], hosts: [127.0.0.1]}}"))
	require.NoError(t, c.AllowNetworks.Set("127.0.0.0/8"))
	p := begin(t, c, gated(g), map[string]string{
		"WAYMARK_CODEC_KEYS": siteKeys, "WAYMARK_FINGERPRINT_KEY": strings.Repeat("ab", 32),
	})
	pages := p.said(t, "listening")["address"]
	p.said(t, "working")
	temporal := s.secretive(t)

	cancelled := s.run(t, temporal, "cancelled", map[string]any{"pipeline": canary})
	<-g.waits
	update, err := temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: cancelled.GetID(), UpdateName: workflows.CancelUpdate, WaitForStage: client.WorkflowUpdateStageAccepted,
		Args: []any{workflows.Command{Actor: canary, Why: canary}},
	})
	require.NoError(t, err)
	close(g.open)
	require.NoError(t, update.Get(t.Context(), nil))
	var result workflows.RunResult
	require.NoError(t, cancelled.Get(t.Context(), &result))
	require.Equal(t, pipeline.Cancelled, result.Status)

	require.NoError(t, s.run(t, temporal, "complete", map[string]any{"pipeline": canary}).Get(t.Context(), &result))
	require.EqualValues(t, 2, result.Rows)
	err = s.run(t, temporal, "failed", map[string]any{"pipeline": canary + "-gone"}).Get(t.Context(), nil)
	require.ErrorContains(t, err, canary, "who has the key sees why")

	for _, run := range []string{"cancelled", "complete", "failed"} {
		text := stored(t, s.client, workflows.WorkflowID(run))
		require.Contains(t, text, "encryption-key-id")
		require.NotContains(t, text, canary, "of run %s", run)
		require.NotContains(t, text, base64.StdEncoding.EncodeToString([]byte(canary))[:12], "of run %s", run)
		require.NotContains(t, text, secret[:7])
	}
	_, text := get(t, pages, "/metrics")
	require.NotContains(t, text, secret[:7])
	p.end(t)
	require.NotContains(t, p.text(), secret[:7])
	require.NotContains(t, p.text(), siteKeys[5:])
}

func TestARunByHandNeedsNoEncryption(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := begin(t, s.config(s.address(t)), daemon.Program{}, map[string]string{"WAYMARK_CODEC_KEYS": siteKeys})
	p.said(t, "working")
	run := s.run(t, s.client, "by-hand", map[string]any{}) // by somebody without the keys
	var result workflows.RunResult
	require.NoError(t, s.secretive(t).GetWorkflow(t.Context(), run.GetID(), "").Get(t.Context(), &result))
	require.EqualValues(t, 3, result.Rows)
	p.end(t)
}

func TestTheUIIsShownWhatIsEncrypted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config(s.address(t))
	c.CodecHTTP, c.CodecOrigin = "127.0.0.1:0", "http://localhost:8080"
	p := begin(t, c, daemon.Program{}, map[string]string{"WAYMARK_CODEC_KEYS": siteKeys})
	p.said(t, "listening")
	decoder := p.said(t, "listening")
	require.Equal(t, "--codec-http", decoder["for"])
	p.said(t, "working")
	keys, err := codec.Load("", siteKeys, false)
	require.NoError(t, err)
	encrypted, err := keys.Encode([]*common.Payload{{Data: []byte(canary)}})
	require.NoError(t, err)
	body, err := protojson.Marshal(&common.Payloads{Payloads: encrypted})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%s/decode", decoder["address"]), bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Origin", c.CodecOrigin)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, errors.Join(err, answer.Body.Close()))
	require.Contains(t, string(text), base64.StdEncoding.EncodeToString([]byte(canary)))
	p.end(t)
}

func TestSecretsNeedFingerprintKey(t *testing.T) {
	s := newSite(t)
	s.write(t, "pipelines/"+canary+".yaml", canaryDocument)
	t.Setenv("WAYMARK_SECRET_TOKEN", secret)
	c := s.config(s.address(t))
	require.NoError(t, c.Secrets.Set("{TOKEN: {pipelines: ["+canary+"]}}"))
	p := begin(t, c, daemon.Program{}, nil)
	p.said(t, "working")
	err := s.run(t, s.client, "r1", map[string]any{"pipeline": canary}).Get(t.Context(), nil)
	require.ErrorContains(t, err, "--fingerprint-key-file or WAYMARK_FINGERPRINT_KEY")
	p.end(t)
}
