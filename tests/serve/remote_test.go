package serve_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/tests/graphs"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

var randomDocuments = flag.Int("documents", 1, "of how many random documents TestRemoteSame compares the commands; make nightly takes 6")

// house is a server whose API is asked by the commands, beside those that ask the record itself.
type house struct {
	*serving.Server
	url, token string
}

// said is what a command said.
type said struct {
	out, err string
	code     int
}

// command runs a command that asks the record in the house, or its server.
func (h *house) command(t *testing.T, away bool, args ...string) said {
	t.Helper()
	return h.commandIn(t, h.Folder, away, args...)
}

func (h *house) commandIn(t *testing.T, folder string, away bool, args ...string) said {
	t.Helper()
	binary, err := programs.Waymark()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var out, failed bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &failed
	if away {
		cmd.Env = append(os.Environ(), "WAYMARK_TOKEN="+h.token)
		cmd.Args = slices.Insert(cmd.Args, 1, "--server", h.url)
	}
	err = cmd.Run()
	exit, exited := errors.AsType[*exec.ExitError](err)
	require.True(t, err == nil || exited, "%v", err)
	s := said{out: out.String(), err: failed.String()}
	if exited {
		s.code = exit.ExitCode()
	}
	return s
}

// same compares what a command says in the house and away from it, for people and for programs.
func (h *house) same(t *testing.T, args ...string) {
	t.Helper()
	for _, more := range [][]string{nil, {"--json"}} {
		asked := slices.Concat(args, more)
		here, away := h.command(t, false, asked...), h.command(t, true, asked...)
		require.Equal(t, here, away, "%v", asked)
	}
}

// sameButValues is same for what a server says without values.
func (h *house) sameButValues(t *testing.T, args ...string) {
	t.Helper()
	here, away := h.command(t, false, args...), h.command(t, true, args...)
	require.Equal(t, here.code, away.code)
	require.Equal(t, maskedText(here.out), maskedText(away.out), "%v", args)
	here, away = h.command(t, false, append(args, "--json")...), h.command(t, true, append(args, "--json")...)
	require.Equal(t, maskedGroups(t, here.out), away.out, "%v", args)
}

var spaces = regexp.MustCompile(` +`)

// maskedText is a text for people without values, and without what depends on how long these are.
func maskedText(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "  often: ") {
			lines = append(lines, spaces.ReplaceAllString(landscape.WithoutValues(line), " "))
		}
	}
	return strings.Join(lines, "")
}

// maskedGroups are groups of errors without values.
func maskedGroups(t *testing.T, text string) string {
	t.Helper()
	var masked bytes.Buffer
	encoder := json.NewEncoder(&masked)
	encoder.SetEscapeHTML(false)
	for line := range strings.Lines(text) {
		var group client.ErrorGroup
		require.NoError(t, json.Unmarshal([]byte(line), &group))
		group.Values, group.Message = nil, landscape.WithoutValues(group.Message)
		for i := range group.Samples {
			group.Samples[i].Message = landscape.WithoutValues(group.Samples[i].Message)
		}
		require.NoError(t, encoder.Encode(group))
	}
	return masked.String()
}

// serveHouse serves a folder, with an access token that may do everything.
func serveHouse(t *testing.T, files map[string]string) *house {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	h := &house{Server: serving.Start(t, folder, "--api", "127.0.0.1:0", "--api-rate", "0", "--allow-path", folder, "--allow-write", folder)}
	listens := regexp.MustCompile(`for=--api address=(\S+)`)
	require.Eventually(t, func() bool { return listens.MatchString(h.Log.String()) }, patience, 10*time.Millisecond)
	h.url = "http://" + listens.FindStringSubmatch(h.Log.String())[1]
	h.token = h.Grant(t, "ann", "auditor,deployer,admin")
	return h
}

// isAnchored waits until the log's entry about the end of a run is anchored: nothing about the run changes any more.
func (h *house) isAnchored(t *testing.T, run string) {
	t.Helper()
	c, err := remote.New(remote.Options{URL: h.url, Token: h.token})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		report, err := c.Run(t.Context(), run)
		return err == nil && report.Log != nil && report.Log.Anchored > 0
	}, patience, 20*time.Millisecond, run)
}

// sameFromAfar compares a few of the commands that TestRemoteSame compares, for the run same.
func (h *house) sameFromAfar(t *testing.T) {
	for _, words := range []string{"status same", "explain same --row 3 --json", "cancel same --why late"} {
		here, away := h.command(t, false, strings.Fields(words)...), h.command(t, true, strings.Fields(words)...)
		require.Equal(t, here, away, words)
		require.NotEmpty(t, here.out+here.err)
	}
	away := h.command(t, true, "effects", "last", "--all")
	require.Equal(t, 2, away.code, "what a server cannot do is refused")
	require.Contains(t, away.err, "no word for --all of waymark effects")
}

// stopping are documents whose runs stop, and that wait for orders.
var stopping = map[string]string{
	"failing.yaml": `
name: failing
sources: {in: {csv: {path: failing.csv}, schema: {fields: {id: int}}, on_invalid: fail}}
sinks: {all: {csv: {path: out/failing.csv, overwrite: true}}}
`,
	"failing.csv": "id\n1\nsecret-7\n",
	"deployed.yaml": `
name: deployed
params: {least: {type: int, default: 0}}
sources: {in: {csv: {path: FOLDER/in.csv}, schema: {fields: {id: int, kind: string}}}}
steps: [{name: some, filter: row.id >= param.least}]
sinks: {out: {csv: {path: FOLDER/out/deployed.csv, overwrite: true}}}
schedules: {daily: {every: day}}
`,
	"in.csv": "id,kind\n1,a\n2,b\nx,c\n",
}

// TestRemoteSame: whatever is asked of the record, a server says the same, byte for byte.
func TestRemoteSame(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	files := map[string]string{}
	for seed := range uint64(*randomDocuments) {
		document, parts := graphs.Random(seed + 100)
		files[fmt.Sprintf("random%d/pipeline.yaml", seed)] = document
		for name, text := range parts {
			files[fmt.Sprintf("random%d/%s", seed, name)] = text
		}
	}
	for name, text := range stopping {
		files[name] = text
	}
	h := serveHouse(t, files)
	deployed := strings.ReplaceAll(stopping["deployed.yaml"], "FOLDER", h.Folder)
	require.NoError(t, os.WriteFile(filepath.Join(h.Folder, "deployed.yaml"), []byte(deployed), 0o600))
	h.Waymark(t, "deploy", "deployed.yaml", "--allow-path", h.Folder)
	for seed := range *randomDocuments {
		require.Contains(t, []int{0, 3}, h.command(t, false, "run", fmt.Sprintf("random%d/pipeline.yaml", seed)).code)
	}
	require.Equal(t, 1, h.command(t, false, "run", "failing.yaml").code)
	require.Equal(t, 3, h.command(t, false, "run", "--pipeline", "deployed", "--param", "least=2").code)
	require.Equal(t, 2, h.command(t, false, "run", "--pipeline", "deployed", "--param", "least=x", "--run-id", "refused").code)
	runs := serving.Listed[client.Run](t, h.Server, "runs", "--limit", "0")
	require.Len(t, runs, *randomDocuments+2)
	for _, run := range runs { // then nothing changes any more
		h.isAnchored(t, run.ID)
	}
	t.Run("lists", h.sameLists)
	for i, run := range runs {
		if run.Pipeline == "failing" {
			continue
		}
		t.Run(run.Pipeline, func(t *testing.T) { h.sameRun(t, run.ID, runs[(i+1)%len(runs)].ID) })
	}
	t.Run("failing", h.sameFailing)
	t.Run("orders", h.sameOrders)
	t.Run("refusals", h.refusesRemote)
}

func (h *house) sameLists(t *testing.T) {
	for _, words := range []string{
		"runs --limit 0", "starts --limit 0", "starts --only refused", "queue", "find deployed", "find nothing-is-called-so", "pipelines", "pipelines show deployed", "pipelines show deployed@1 --document", "pipelines show nope",
		"pipelines history deployed", "pipelines diff deployed@1 deployed", "schedule list", "access list", "access disclosures --limit 3", "outbox", "outbox --after 3 --kinds run.started",
	} {
		if strings.HasPrefix(words, "runs") {
			continue // the reason of one quotes a value
		}
		h.same(t, strings.Fields(words)...)
	}
	here, away := h.command(t, false, "runs", "--limit", "2"), h.command(t, true, "runs", "--limit", "2")
	require.Equal(t, here.out, away.out)
	require.Contains(t, away.err, "older runs are not shown; --limit 0 shows all")
	require.Equal(t, maskedReasons(h.command(t, false, "runs", "--limit", "0", "--json").out), h.command(t, true, "runs", "--limit", "0", "--json").out)
}

var reason = regexp.MustCompile(`"(reason|error)":("(?:[^"\\]|\\.)*")`)

// maskedReasons is a text of JSON whose reasons have no values.
func maskedReasons(text string) string {
	return reason.ReplaceAllStringFunc(text, func(found string) string {
		parts := reason.FindStringSubmatch(found)
		var said string
		_ = json.Unmarshal([]byte(parts[2]), &said)
		masked, _ := json.Marshal(landscape.WithoutValues(said))
		return fmt.Sprintf("%q:%s", parts[1], masked)
	})
}

// sameRun asks everything about a run.
func (h *house) sameRun(t *testing.T, run, other string) {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for _, words := range []string{
		"status RUN", "errors RUN --each", "errors RUN --each --limit 2", "effects RUN", "effects RUN --limit 1", "rows RUN", "timeline RUN", "events RUN", "compare OTHER RUN", "compare RUN RUN", "follow RUN",
		"explain RUN --row 1 --source nope", "explain RUN --row 999999", "verify RUN", "errors RUN --each --after nope@nope",
	} {
		words := strings.NewReplacer("RUN", run, "OTHER", other).Replace(words)
		switch {
		case strings.HasPrefix(words, "follow"):
			here, away := h.command(t, false, strings.Fields(words)...), h.command(t, true, strings.Fields(words)...)
			require.Equal(t, strings.ReplaceAll(here.out, ".waymark/landscape.db", h.url), away.out)
			require.Equal(t, here.code, away.code)
			require.Equal(t, here.err, away.err)
		case strings.HasSuffix(words, "nope@nope"):
			require.Equal(t, 2, h.command(t, true, strings.Fields(words)...).code)
		case strings.HasPrefix(words, "verify"):
			require.Equal(t, h.command(t, false, append(strings.Fields(words), "--json")...), h.command(t, true, append(strings.Fields(words), "--json")...))
		default:
			h.same(t, strings.Fields(words)...)
		}
	}
	h.sameButValues(t, "errors", run)
	parts := serving.Listed[client.Effect](t, h.Server, "effects", run)
	h.same(t, "effects", run, "--after", parts[0].ID)
	edges := slices.DeleteFunc(serving.Listed[client.Edge](t, h.Server, "rows", run), func(e client.Edge) bool { return e.Rows == 0 })
	rng.Shuffle(len(edges), func(i, k int) { edges[i], edges[k] = edges[k], edges[i] })
	for _, edge := range edges[:min(len(edges), 2)] {
		h.same(t, "rows", run, "--edge", edge.ID, "--limit", "3")
		rows := serving.Listed[client.Row](t, h.Server, "rows", run, "--edge", edge.ID, "--limit", "0")
		row := rows[rng.IntN(len(rows))]
		h.same(t, "rows", run, "--edge", edge.ID, "--after", rows[0].Token)
		h.same(t, "explain", run, "--token", row.Token)
		h.same(t, "explain", run, "--token", row.Token, "--why-not", parts[0].Sink)
		h.sameDossier(t, run, row.Token)
	}
	h.samePayload(t, run)
	h.samePast(t, run, edges[0].ID)
	if refused := serving.Listed[client.RowError](t, h.Server, "errors", run, "--each", "--limit", "0"); len(refused) > 0 {
		h.same(t, "explain", run, "--token", refused[0].ID)
	}
	h.same(t, "explain", run, "--sink", parts[0].Sink, "--line", "1")
	h.same(t, "status", run[:len(run)-2])
}

// sameDossier takes the dossier of a row in the house and away from it.
func (h *house) sameDossier(t *testing.T, run, token string) {
	var files [2][]byte
	for i, away := range []bool{false, true} {
		s := h.command(t, away, "explain", run, "--token", token, "--dossier", "row.html")
		require.Zero(t, s.code, s.err)
		var err error
		files[i], err = os.ReadFile(filepath.Join(h.Folder, "row.html"))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("row.html  %d bytes\n", len(files[i])), s.out)
	}
	require.Equal(t, string(files[0]), string(files[1]))
	require.Contains(t, string(files[0]), token)
}

// samePayload takes the bytes of the run's document, as a payload.
func (h *house) samePayload(t *testing.T, run string) {
	var status client.RunReport
	require.NoError(t, json.Unmarshal([]byte(h.command(t, true, "status", run, "--json").out), &status))
	here, away := h.command(t, false, "payload", run, status.Document), h.command(t, true, "payload", run, status.Document)
	require.Equal(t, here, away)
	require.Equal(t, status.Document, fmt.Sprintf("%x", sha256.Sum256([]byte(away.out))))
}

// samePast asks how a run stood at its beginning and at a moment within, and for the rows that had taken an edge then.
func (h *house) samePast(t *testing.T, run, edge string) {
	var begin client.Past
	require.NoError(t, json.Unmarshal([]byte(h.command(t, true, "status", run, "--at", "0s", "--json").out), &begin))
	require.Zero(t, begin.Rows)
	within := (begin.Begun + (begin.End-begin.Begun)/2).Time().Format(time.RFC3339Nano)
	h.same(t, "status", run, "--at", within)
	edges := serving.Listed[client.Edge](t, h.Server, "rows", run, "--at", within)
	i := slices.IndexFunc(edges, func(e client.Edge) bool { return e.ID == edge })
	require.Len(t, serving.Listed[client.Row](t, h.Server, "rows", run, "--edge", edge, "--at", within, "--limit", "0"), int(edges[i].Rows))
	h.same(t, "rows", run, "--edge", edge, "--at", "1h", "--limit", "3")
	for _, at := range []string{"yesterday", "-1s"} {
		require.Equal(t, 2, h.command(t, true, "status", run, "--at", at).code)
	}
}

// sameFailing asks about a run whose reason quotes a value, which a server leaves out.
func (h *house) sameFailing(t *testing.T) {
	runs := serving.Listed[client.Run](t, h.Server, "runs", "--limit", "0")
	run := runs[slices.IndexFunc(runs, func(r client.Run) bool { return r.Pipeline == "failing" })].ID
	here, away := h.command(t, false, "status", run, "--json"), h.command(t, true, "status", run, "--json")
	require.Equal(t, maskedReasons(here.out), away.out)
	require.Contains(t, here.out, "refused row 2 (line 3)")
	require.Contains(t, away.out, "refused row 2 (line 3)")
	require.Contains(t, away.out, `"advice":{"cures":["`)
	for _, away := range []bool{false, true} {
		again := h.command(t, away, "errors", run, "--retry", "--why", "again", "--run-id", fmt.Sprintf("again-%t", away))
		require.Equal(t, 2, again.code, again.out)
		require.Contains(t, again.err, "resume it first: waymark resume "+run)
	}
	here, away = h.command(t, false, "follow", run), h.command(t, true, "follow", run)
	require.Equal(t, 1, away.code)
	require.Equal(t, here.code, away.code)
	require.Equal(t, maskedText(here.err), maskedText(away.err))
	require.NotContains(t, away.out+away.err, "secret-7")
	for _, words := range []string{"status refused", "follow refused", "compare " + run, "explain " + run + " --row 2", "effects " + run, "events " + run, "errors " + run + " --each"} {
		h.same(t, strings.Fields(words)...)
	}
}

// sameOrders gives orders in the house and away from it, each to a run of its own.
func (h *house) sameOrders(t *testing.T) {
	pause := strings.Fields("schedule pause daily --why holidays --until 2099-12-01T06:00:00Z")
	here := h.command(t, false, pause...)
	require.Contains(t, here.out, "2099-12-01")
	h.Waymark(t, "schedule", "resume", "daily", "--why", "undo")
	require.Equal(t, here, h.command(t, true, pause...))
	require.Contains(t, h.command(t, false, "schedule", "list").out, "2099-12-01")
	h.makesUp(t)
	for _, words := range []string{"run --pipeline deployed --run-id RUN", "run --pipeline deployed --param least=2 --why test", "run --pipeline deployed --param nope=2", "run --pipeline nope", "run --pipeline deployed@7"} {
		for _, more := range []string{"", " --json"} {
			here := h.command(t, false, strings.Fields(strings.ReplaceAll(words, "RUN", "here"+strings.TrimSpace(more))+more)...)
			away := h.command(t, true, strings.Fields(strings.ReplaceAll(words, "RUN", "away"+strings.TrimSpace(more))+more)...)
			require.Equal(t, here.code, away.code, words)
			require.Equal(t, h.unnamed(here.out), h.unnamed(away.out), words)
		}
	}
	for _, away := range []bool{false, true} {
		id := fmt.Sprintf("blocked-%t", away)
		require.Equal(t, 1, h.command(t, away, "run", "--pipeline", "failing", "--run-id", id).code)
	}
	for _, words := range []string{
		"cancel ID --why over", "cancel ID --why over --json", "cancel ID --why over --final", "cancel ID --why over --final --json", "resume ID --why again", "pause ID --why x", "resolve ID all --applied --why x", "status ID", "errors ID --each",
		"retire deployed --why x", "run --pipeline deployed", "restore nope --why x", "restore deployed --why", "rollback deployed --why x", "promote deployed --to other --why x --json", "pause ID --why",
	} {
		here := h.command(t, false, strings.Fields(strings.ReplaceAll(words, "ID", "blocked-false"))...)
		if strings.HasPrefix(words, "retire") { // as it was before
			h.Waymark(t, "restore", "deployed", "--why", "undo")
		}
		away := h.command(t, true, strings.Fields(strings.ReplaceAll(words, "ID", "blocked-true"))...)
		require.Equal(t, here.code, away.code, "%s: %s%s", words, away.out, away.err)
		require.Equal(t, h.unnamed(here.out), h.unnamed(away.out), words)
		require.Equal(t, h.unnamed(here.err), h.unnamed(away.err), words)
	}
}

const beats = `
name: beats
sources: {in: {csv: {path: FOLDER/in.csv}, schema: {fields: {id: int, kind: string}}}}
sinks: {out: {csv: {path: FOLDER/out/beats.csv, overwrite: true}}}
schedules: {beat: {every: 1s}}
`

// makesUp pauses a schedule until it misses slots, and resumes it: once beside the record, and once over the API.
func (h *house) makesUp(t *testing.T) {
	document := strings.ReplaceAll(beats, "FOLDER", h.Folder)
	require.NoError(t, os.WriteFile(filepath.Join(h.Folder, "beats.yaml"), []byte(document), 0o600))
	h.Waymark(t, "deploy", "beats.yaml", "--allow-path", h.Folder)
	missed := func() int {
		return strings.Count(h.command(t, false, "schedule", "grid", "beat", "--json").out, `"missed"`)
	}
	for _, away := range []bool{false, true} {
		h.Waymark(t, "schedule", "pause", "beat", "--why", "a test")
		before := missed()
		require.Eventually(t, func() bool { return missed() > before }, patience, 100*time.Millisecond)
		did := h.command(t, away, "schedule", "resume", "beat", "--make-up", "last", "--why", "x", "--json")
		require.Equal(t, 0, did.code, did.err)
		var told client.ScheduleResumed
		require.NoError(t, json.Unmarshal([]byte(did.out), &told))
		require.True(t, told.Changed)
		require.NotNil(t, told.MadeUp, did.out)
		require.Len(t, told.MadeUp.Slots, 1)
		require.NotEmpty(t, told.MadeUp.Request)
	}
	h.Waymark(t, "schedule", "pause", "beat", "--why", "a test")
}

var (
	anyRun    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\b(here|away)(--json)?\b|blocked-(true|false)`)
	anyMoment = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z`)
	anySpeed  = regexp.MustCompile(`in [0-9.]+ s, [0-9,]+ rows/s|"seconds":[0-9.e-]+|took +[0-9.]+ s`)
	anyActor  = regexp.MustCompile(`by +\S+ \((cli|api)\)|by (root|ann)\b|"actor":"\w+","trigger":"\w+"|"actor":"\w+"`)
	anyEntry  = regexp.MustCompile(`"entry":\d+|entry \d+.*|"root":"\w+"|"(signed|anchored)":\w+|sealed.*|"version":\d+|"before":\d+|"seq":\d+`)
)

// unnamed is a text without what no two runs have in common: ids, moments, and who gave the order.
func (h *house) unnamed(text string) string {
	text = strings.ReplaceAll(text, h.url, ".waymark/landscape.db")
	for _, pattern := range []*regexp.Regexp{anyRun, anyMoment, anySpeed, anyActor, anyEntry} {
		text = pattern.ReplaceAllString(text, "…")
	}
	return text
}

// refusesRemote: what a server cannot do is refused before anything is done, and never done to a record in the house.
func (h *house) refusesRemote(t *testing.T) {
	for words, wrong := range map[string]string{
		"--state x runs":                          "--server and --state exclude each other",
		"--landscape sqlite:x runs":               "--server and --landscape exclude each other",
		"--temporal 127.0.0.1:1 run --pipeline p": "--server and --temporal exclude each other",
		"--secrets-dir . status last":             "--secrets-dir means nothing to a server",
		"outputs x.csv":                           "waymark outputs cannot be done over the HTTP API",
		"doctor":                                  "cannot be done over the HTTP API",
		"serve .":                                 "waymark serve cannot be done over the HTTP API",
		"validate p.yaml":                         "waymark validate needs no record",
		"effects last --all":                      "no word for --all of waymark effects",
		"resume last --fork --why x":              "no word for --fork",
		"run p.yaml":                              "waymark deploy p.yaml deploys the document",
		"resume last":                             "--why",
		"errors last --retry --pipeline p.yaml --why x": "no word for --pipeline",
	} {
		away := h.command(t, true, strings.Fields(words)...)
		require.Equal(t, 2, away.code, words)
		require.Contains(t, away.err, wrong, words)
		require.Empty(t, away.out)
	}
	for key, value := range map[string]string{"state": "x", "landscape": "sqlite:x", "payloads": "file:x", "temporal": "env"} {
		settled := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(settled, "waymark.settings.yaml"), []byte(key+": "+value+"\n"), 0o600))
		away := h.commandIn(t, settled, true, "runs")
		require.Equal(t, 2, away.code)
		require.Contains(t, away.err, "--server and WAYMARK_"+strings.ToUpper(key)+" exclude each other: take one back, with --server '' or --"+key+" ''")
	}
	elsewhere := t.TempDir()
	require.Zero(t, h.commandIn(t, elsewhere, true, "status", "last").code)
	left, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Empty(t, left, "a command that asks a server leaves nothing")
	url, token := h.url, h.token
	defer func() { h.url, h.token = url, token }()
	for _, test := range [][3]string{
		{"http://192.0.2.1:8686", token, "is not encrypted"}, {url, "", "needs an access token: set WAYMARK_TOKEN"}, {url, "wmk_no", "this access token does not count"}, {"https://ann:" + token + "@127.0.0.1", token, "has no user"},
	} {
		h.url, h.token = test[0], test[1]
		away := h.command(t, true, "runs")
		require.Equal(t, 2, away.code)
		require.Contains(t, away.err, test[2])
		require.NotContains(t, away.err, cmp.Or(test[1], "\x00"))
	}
	h.url, h.token = url, h.Grant(t, "vic", "viewer")
	away := h.command(t, true, "explain", "last", "--row", "1")
	require.Equal(t, 2, away.code)
	require.Contains(t, away.err, "it needs one of the roles auditor")
}
