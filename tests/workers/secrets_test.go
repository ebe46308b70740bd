package workers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/client"
	"waymark/payload"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/workflows"
)

// TestSecretsAreNowhere lets runs succeed, fail and be refused with documents and an environment full of secrets, and looks for
// these, in many encodings, in everything that is left and said.
func TestSecretsAreNowhere(t *testing.T) {
	for name, sealed := range map[string]bool{"readable histories": false, "encrypted histories": true} {
		t.Run(name, func(t *testing.T) {
			if sealed {
				sample.Rarely(t)
			}
			w := newWorld(t, sealed)
			documents := w.documents()
			if sealed || !sample.All() { // what differs is in histories: a few documents do
				documents = named(documents,
					"tables", "planted", "web", "echo-401", "echo-500", "password", "address", "option-mode", "literal")
			}
			w.runAll(documents)
			if !sealed {
				if sample.All() {
					w.misconfigure()
				}
				w.ask(documents)
			}
			w.collect()
			w.check()
		})
	}
}

// named returns the documents with these names.
func named(documents []document, names ...string) []document {
	return slices.DeleteFunc(slices.Clone(documents), func(d document) bool { return !slices.Contains(names, d.name) })
}

// pipeline is the name of a document's pipeline.
func (w *world) pipeline(d document) string {
	if d.name == "planted" {
		return w.planted
	}
	return d.name
}

// runAll runs all documents, and ends the runs that would try again and again.
func (w *world) runAll(documents []document) {
	w.t.Helper()
	for _, d := range documents {
		require.NoError(w.t, os.WriteFile(filepath.Join(w.folder, "pipelines", w.pipeline(d)+".yaml"), []byte(d.text), 0o600))
	}
	p := w.worker("worker", nil)
	p.await(`"msg":"working"`)
	for _, d := range documents {
		request := client.StartRequest{Pipeline: w.pipeline(d), Run: d.name}
		if d.name == "planted" {
			request.Params = map[string]string{"p": w.planted}
		}
		system.Begin(w.t, w.home.Client, request)
	}
	for _, d := range documents {
		w.settle(d)
	}
	w.pages(p)
	w.end(p)
	for _, d := range documents {
		w.history(workflows.WorkflowID(d.name))
	}
}

// settle waits until a run has ended, or failed at something twice; then it is ended.
func (w *world) settle(d document) {
	w.t.Helper()
	id := workflows.WorkflowID(d.name)
	var failing bool
	var status enums.WorkflowExecutionStatus
	await(w.t, d.name, func() bool {
		description, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), id, "")
		require.NoError(w.t, err)
		status = description.GetWorkflowExecutionInfo().GetStatus()
		for _, activity := range description.GetPendingActivities() {
			if failing = activity.GetAttempt() > 2 && activity.GetLastFailure() != nil; failing {
				w.keepMessage("pending work of "+d.name, description)
				break
			}
		}
		return failing || status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	if failing {
		require.NoError(w.t, w.temporal.TerminateWorkflow(w.t.Context(), id, "", "the test has seen enough"))
	}
	err := w.temporal.GetWorkflow(w.t.Context(), id, "").Get(w.t.Context(), nil)
	w.t.Logf("%s: %v", d.name, err)
	if (err == nil) != d.ends {
		w.t.Errorf("%s: %s", d.name, status)
	}
	w.keep("error of "+d.name, []byte(fmt.Sprintf("%v %+v %#v", err, err, err)))
}

// pages keeps what a worker tells everybody who asks.
func (w *world) pages(p *process) {
	w.t.Helper()
	address := ""
	for line := range strings.Lines(p.said()) {
		var said struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "listening" {
			address = said.Address
		}
	}
	for _, page := range []string{"/metrics", "/readyz", "/healthz"} {
		reply, err := http.Get("http://" + address + page)
		require.NoError(w.t, err)
		body, err := io.ReadAll(reply.Body)
		require.NoError(w.t, err)
		require.NoError(w.t, reply.Body.Close())
		require.NotEmpty(w.t, body)
		w.keep(page, body)
	}
}

// misconfigure starts worker processes that cannot work, for a reason that holds a secret.
func (w *world) misconfigure() {
	w.t.Helper()
	for name, other := range map[string]map[string]string{
		"landscape refuses":  {"WAYMARK_LANDSCAPE": strings.Replace(w.record.DSN(), w.record.Password(), w.canaries["worker's password"], 1)},
		"landscape away":     {"WAYMARK_LANDSCAPE": "postgres://u:" + w.canaries["worker's password"] + "@127.0.0.1:1/x"},
		"landscape URL":      {"WAYMARK_LANDSCAPE": "postgres://u:%zz" + w.canaries["worker's password"] + "@localhost/x"},
		"landscape scheme":   {"WAYMARK_LANDSCAPE": "mysql://u:" + w.canaries["worker's password"] + "@localhost/x"},
		"landscape port":     {"WAYMARK_LANDSCAPE": "postgres://u:" + w.canaries["worker's password"] + "@localhost:five/x"},
		"landscape words":    {"WAYMARK_LANDSCAPE": w.canaries["worker's password"]},
		"codec key":          {"WAYMARK_CODEC_KEYS": w.canaries["worker's codec key"]},
		"codec key, named":   {"WAYMARK_CODEC_KEYS": "one:" + w.canaries["worker's codec key"]},
		"fingerprint key":    {"WAYMARK_FINGERPRINT_KEY": w.canaries["worker's fingerprint key"]},
		"payloads with user": {"WAYMARK_PAYLOADS": "s3://u:" + w.canaries["worker's S3 key"] + "@" + w.bucket.Name + "/x"},
		"payloads with key":  {"WAYMARK_PAYLOADS": w.bucket.URL("x") + "&secret_key=" + w.canaries["worker's S3 key"]},
		"payloads scheme":    {"WAYMARK_PAYLOADS": "gs://u:" + w.canaries["worker's S3 key"] + "@x/y"},
		"payloads refuse":    {"AWS_SECRET_ACCESS_KEY": w.canaries["worker's S3 key"]},
		"API key with TLS":   {"TEMPORAL_TLS": "true"},
	} {
		p := w.worker(name, other)
		p.tells(`"level":"WARN"`, `"level":"ERROR"`)
		require.NotContains(w.t, p.said(), `"msg":"working"`, name)
		p.kill()
		w.keep("log of a worker: "+name, []byte(p.said()))
	}
}

// ask asks everything that the command line answers; by day a few of these questions.
func (w *world) ask(documents []document) {
	w.t.Helper()
	runs := []string{"tables", "planted", "web", "target"}
	if !sample.All() {
		documents, runs = named(documents, "planted", "option-mode"), []string{"planted"}
	}
	for _, d := range documents {
		w.command("validate", "--json", w.pipeline(d)+".yaml")
		if d.ends || strings.HasPrefix(d.name, "option-") || strings.HasPrefix(d.name, "literal") {
			w.command("plan", "--json", w.pipeline(d)+".yaml")
		}
	}
	for _, run := range runs {
		w.command("status", "--json", run)
		w.command("errors", "--json", run)
		w.command("effects", "--all", "--json", run)
		w.command("explain", run, "--row", "3", "--json")
	}
	w.command("verify", "--json", "tables")
	w.command("doctor", "--json")
	w.command("run", "literal.yaml", "--detach")
	if !sample.All() {
		return
	}
	w.command("explain", "tables", "--source", "one", "--row", "6")
	w.command("runs", "--json")
	w.command("run", "option-mode.yaml", "--detach")
	w.command("landscape", "migrate")
}

// keepMessage keeps a message of Temporal, as it is stored and with all payloads decrypted.
func (w *world) keepMessage(where string, message proto.Message) {
	w.t.Helper()
	add := func() {
		raw, err := proto.Marshal(message)
		require.NoError(w.t, err)
		encoded, err := protojson.Marshal(message)
		require.NoError(w.t, err)
		w.keep(where, slices.Concat(raw, encoded))
	}
	add()
	if w.codec == nil {
		return
	}
	message = proto.Clone(message)
	err := proxy.VisitPayloads(w.t.Context(), message, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*common.Payload) ([]*common.Payload, error) {
			return w.codec.Decode(payloads)
		},
	})
	require.NoError(w.t, err)
	add()
}

func (w *world) history(id string) {
	w.t.Helper()
	for _, event := range system.Events(w.t, w.temporal, id, "") {
		w.keepMessage("history of "+id, event)
	}
}

// collect keeps what is stored: every table, every object, and Temporal's database.
func (w *world) collect() {
	w.t.Helper()
	w.tables("landscape", w.record.Superuser(), "waymark")
	w.tables("tables", w.goods.Superuser(), "public")
	w.objects()
	require.NoError(w.t, w.home.Close())
	require.NoError(w.t, w.stop())
	files, err := filepath.Glob(w.database() + "*")
	require.NoError(w.t, err)
	require.NotEmpty(w.t, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(w.t, err)
		w.keep("Temporal's database: "+filepath.Base(file), content)
	}
}

func (w *world) tables(where, url, schema string) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), url)
	require.NoError(w.t, err)
	defer conn.Close(w.t.Context()) //nolint:errcheck // nothing is left to be done
	rows, err := conn.Query(w.t.Context(), "select tablename from pg_tables where schemaname = $1 order by tablename", schema)
	require.NoError(w.t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	require.NotEmpty(w.t, names)
	for _, name := range names {
		rows, err := conn.Query(w.t.Context(), "select * from "+pgx.Identifier{schema, name}.Sanitize())
		require.NoError(w.t, err)
		var all []byte
		for rows.Next() {
			for _, value := range rows.RawValues() {
				all = append(append(all, value...), ' ')
			}
		}
		require.NoError(w.t, rows.Err())
		w.keep(where+": "+name, all)
	}
}

// objects keeps all objects of the bucket, as they are and decompressed.
func (w *world) objects() {
	w.t.Helper()
	zipped, err := zstd.NewReader(nil)
	require.NoError(w.t, err)
	defer zipped.Close()
	pages := s3.NewListObjectsV2Paginator(w.bucket.Client(), &s3.ListObjectsV2Input{Bucket: &w.bucket.Name})
	packs := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.t.Context())
		require.NoError(w.t, err)
		for _, object := range page.Contents {
			got, err := w.bucket.Client().GetObject(w.t.Context(), &s3.GetObjectInput{Bucket: &w.bucket.Name, Key: object.Key})
			require.NoError(w.t, err)
			data, err := io.ReadAll(got.Body)
			require.NoError(w.t, err)
			require.NoError(w.t, got.Body.Close())
			where := "object " + *object.Key
			w.keep(where, slices.Concat([]byte(*object.Key+fmt.Sprint(got.Metadata)), data))
			if pack, err := payload.DecodePack(data); err == nil {
				packs++
				w.keep(where+", unpacked", slices.Concat(pack.Context, pack.Data))
			}
			if whole, err := zipped.DecodeAll(data, nil); err == nil {
				w.keep(where+", decompressed", whole)
			}
		}
	}
	require.Positive(w.t, packs)
}

// check looks for the canaries.
func (w *world) check() {
	w.t.Helper()
	w.checkSearch()
	require.GreaterOrEqual(w.t, len(w.canaries), 20)
	searched := newSearch(w.canaries)
	total := 0
	for _, text := range w.texts {
		total += len(text.bytes)
		if found := searched.in(text.bytes); len(found) > 0 {
			w.t.Errorf("%s: %d forms of canaries, such as %s", text.where, len(found), found[0])
		}
	}
	w.t.Logf("%d canaries, %d texts, %d bytes", len(w.canaries), len(w.texts), total)
}

// checkSearch requires that what is no secret is found wherever a run leaves it: the name of a pipeline, which is a value of a row and a
// parameter as well.
func (w *world) checkSearch() {
	w.t.Helper()
	searched, found := newSearch(map[string]string{"planted": w.planted}), map[string]bool{}
	for _, text := range w.texts {
		kind, _, _ := strings.Cut(text.where, ":")
		if kind == "log of worker" {
			require.Contains(w.t, string(text.bytes), "run-echo-401", "the log tells of failures")
		}
		if kind, is := strings.CutPrefix(kind, "object "); is {
			_, how, _ := strings.Cut(kind, ", ")
			found["object "+how] = found["object "+how] || len(searched.in(text.bytes)) > 0
			continue
		}
		found[kind] = found[kind] || len(searched.in(text.bytes)) > 0
	}
	for _, kind := range []string{"landscape", "object ", "object unpacked", "/metrics", "history of run-planted"} {
		require.True(w.t, found[kind], "what is planted is found in %s", kind)
	}
	require.Equal(w.t, !w.sealed, found["Temporal's database"], "what Temporal stores is encrypted if there are keys")
	if !w.sealed {
		require.True(w.t, found["waymark status --json planted"])
		require.True(w.t, found["waymark plan --json "+w.planted+".yaml"])
	}
}
