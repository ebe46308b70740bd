package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/remote"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// requested is a document whose rows come with the request for a run.
const requested = `
name: asked
params: {part: {type: string, default: all}}
sources: {orders: {webhook: {records: data.items}, key: [id], schema: {mode: flexible, fields: {id: int}}}}
sinks: {out: {jsonl: {path: "FOLDER/out/${param:part}.jsonl"}}}
`

// asks serves a folder with a deployed pipeline whose rows come with requests.
func asks(t *testing.T) *house {
	t.Helper()
	h := serveHouse(t, nil)
	h.deployAsked(t)
	return h
}

func (h *house) deployAsked(t *testing.T) {
	t.Helper()
	document := strings.ReplaceAll(requested, "FOLDER", h.Folder)
	require.NoError(t, os.WriteFile(filepath.Join(h.Folder, "asked.yaml"), []byte(document), 0o600))
	h.Waymark(t, "deploy", "asked.yaml", "--allow-path", h.Folder)
}

// post asks for a run and waits for its end. headers are pairs.
func (h *house) post(t *testing.T, query, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/v1/runs"+query, strings.NewReader(body))
	require.NoError(t, err)
	request.Header = http.Header{"Authorization": {"Bearer " + h.token}, "Content-Type": {"application/json"}, "Prefer": {"wait=60"}}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(text)
}

// runOf returns the run in an answer, which has ended.
func runOf(t *testing.T, answer *http.Response, text string) client.RunReport {
	t.Helper()
	var report client.RunReport
	require.Equal(t, http.StatusOK, answer.StatusCode, text)
	require.NoError(t, json.Unmarshal([]byte(text), &report), text)
	return report
}

// stored reports whether a text is in a file of the payload store.
func (h *house) stored(t *testing.T, text string) (found bool) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(h.Folder, ".waymark", "payloads"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || strings.Contains(string(content), text)
		return err
	}))
	return found
}

// TestRowsComeWithARequest: they are read by the run as they stand in the request, which is explained by it; and the run is as good as any other.
func TestRowsComeWithARequest(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	h := asks(t)
	const body = `{"pipeline":"asked","params":{"part":"one"},"rows":{"orders":[` +
		`{"id": 4711,  "note":"a<b"}, {"id":4712,"total":9.990},` + "\n" + `{"id":"x"}]}}`
	answer, text := h.post(t, "", body, "Idempotency-Key", "order-4711")
	run := runOf(t, answer, text)
	require.Equal(t, "completed_with_failures", string(run.Status.Status), text)
	content, err := os.ReadFile(filepath.Join(h.Folder, "out", "one.jsonl"))
	require.NoError(t, err)
	require.Equal(t, `{"id":4711,"note":"a<b"}`+"\n"+`{"id":4712,"total":9.99}`+"\n", string(content))

	told := h.Waymark(t, "explain", run.ID, "--row", "1")
	require.Contains(t, told, `{"id": 4711,  "note":"a<b"}`, "its bytes")
	require.Regexp(t, `read from request://`+run.ID+`/orders, line 1, .*\n +came +20\S+, with the request of ann \(api\), row 1 of 3\n`, told)
	require.Contains(t, h.Waymark(t, "starts", "--json"), `"rows":{"orders":3}`)

	// Sent again it is the same run, with other rows it is refused.
	answer, text = h.post(t, "", strings.ReplaceAll(body, ",\n", ", "), "Idempotency-Key", "order-4711")
	require.Equal(t, run.ID, runOf(t, answer, text).ID)
	require.Equal(t, "true", answer.Header.Get("Idempotent-Replayed"))
	for _, other := range []string{
		strings.Replace(body, "4712", "4713", 1),
		strings.Replace(body, `{"id":4712,"total":9.990},`, "", 1),
		`{"pipeline":"asked","params":{"part":"one"}}`,
	} {
		answer, text = h.post(t, "", other, "Idempotency-Key", "order-4711")
		require.Equal(t, []any{422, "KEY_REUSED"}, []any{answer.StatusCode, code(t, []byte(text))}, text)
	}
	require.Len(t, serving.Listed[any](t, h.Server, "runs"), 1)

	// The run is as good as any other.
	h.Waymark(t, "verify", run.ID)
	h.Waymark(t, "reproduce", run.ID)
	h.Waymark(t, "export", run.ID, "--payloads", "all", "-o", "bundle.zip")
	h.Waymark(t, "verify", "bundle.zip")
	out, err := h.Try(t.Context(), "errors", run.ID, "--retry", "--allow-path", h.Folder, "--why", "to see", "--run-id", "again", "--json")
	require.Error(t, err, "the rows are as they were")
	require.Contains(t, out, `"completed_with_failures"`)
	h.Waymark(t, "verify", "again")
	h.Waymark(t, "scrub")

	// What is kept of a row is forgotten with it.
	require.True(t, h.stored(t, "4712"))
	h.Waymark(t, "forget", "id=4712", "--why", "request 88")
	require.False(t, h.stored(t, "4712"))
	require.Contains(t, h.Waymark(t, "explain", run.ID, "--row", "1"), `{"id": 4711,`)
	h.Waymark(t, "verify", run.ID)
	require.Eventually(t, func() bool {
		h.Waymark(t, "purge", "--keep-source", "1s", "--why", "old")
		return !h.stored(t, "4711")
	}, patience, 500*time.Millisecond)
	answer, text = h.post(t, "", body, "Idempotency-Key", "order-4711")
	require.Equal(t, run.ID, runOf(t, answer, text).ID, "it is known yet")
	require.False(t, h.stored(t, "4711"))
	h.Waymark(t, "scrub")
}

// TestRowsThatNobodyReads: a request of which no run comes leaves rows that can be purged, and its key is free.
func TestRowsThatNobodyReads(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	h := asks(t)
	const body = `{"pipeline":"asked","rows":{"orders":[{"id":4711}]}}`
	answer, text := h.post(t, "", strings.Replace(body, `"rows"`, `"params":{"nope":"1"},"rows"`, 1), "Idempotency-Key", "a")
	report := runOf(t, answer, text)
	require.Equal(t, "refused", string(report.Status.Status), text)
	require.True(t, h.stored(t, "4711"))
	h.Waymark(t, "purge", "--keep-source", "1h", "--why", "too early")
	require.True(t, h.stored(t, "4711"))
	require.Eventually(t, func() bool {
		h.Waymark(t, "purge", "--keep-source", "1s", "--why", "old")
		return !h.stored(t, "4711")
	}, patience, 500*time.Millisecond)
	h.Waymark(t, "scrub")

	answer, text = h.post(t, "", body, "Idempotency-Key", "a")
	report = runOf(t, answer, text)
	require.Equal(t, "completed", string(report.Status.Status), text)
	require.True(t, h.stored(t, "4711"), "the rows of the request that counts")
	h.Waymark(t, "verify", report.ID)
	h.Waymark(t, "scrub")
}

// rowsOfRequest: what cannot be read by any run is refused before it is stored, and what can is read as it stands in
// the request.
func (h *house) rowsOfRequest(t *testing.T) {
	h.deployAsked(t)
	begun, _, err := h.Home(t).Runs(t.Context(), 0)
	require.NoError(t, err)
	file := "name: files\nsources: {in: {csv: {path: " + h.Folder + "/in.csv}, schema: {fields: {id: int}}}, orders: {webhook: {}, schema: {fields: {id: int}}}}\n" +
		"sinks: {out: {jsonl: {path: " + h.Folder + "/out/files.jsonl}}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(h.Folder, "files.yaml"), []byte(file), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(h.Folder, "in.csv"), []byte("id\n1\n"), 0o600))
	h.Waymark(t, "deploy", "files.yaml", "--allow-path", h.Folder)
	const lines = "application/x-ndjson"
	many := `{"pipeline":"asked","rows":{"orders":[` + strings.Repeat("1,", client.MostRows) + "1]}}"
	large := `{"pipeline":"asked","rows":{"orders":["` + strings.Repeat("x", client.MostRowBytes) + `"]}}`
	for name, c := range map[string]struct {
		query, body, media string
		status             int
		code, says         string
	}{
		"no such source": {
			"", `{"pipeline":"asked","rows":{"order":[]}}`, "",
			400, "INVALID_REQUEST", "for the rows: the sources are [orders]",
		},
		"another format": {
			"", `{"pipeline":"files","rows":{"in":[],"orders":[]}}`, "",
			400, "INVALID_REQUEST", "source in takes no rows",
		},
		"one is missing": {
			"", `{"pipeline":"files","rows":{}}`, "",
			400, "INVALID_REQUEST", "no rows are given for source orders",
		},
		"no JSON": {
			"", `{"pipeline":"asked","rows":{"orders":[{"id":}]}}`, "",
			400, "MALFORMED", "no JSON",
		},
		"no array":  {"", `{"pipeline":"asked","rows":{"orders":5}}`, "", 400, "MALFORMED", "/rows"},
		"too many":  {"", many, "", 413, "ROWS_TOO_LARGE", "Put them into a bucket"},
		"too large": {"", large, "", 413, "ROWS_TOO_LARGE", "Put them into a bucket"},
		"much too large": {
			"", strings.Replace(large, `["`, `["`+strings.Repeat("y", 2<<20), 1), "",
			413, "ROWS_TOO_LARGE", "Put them into a bucket",
		},
		"a line is no JSON": {
			"?pipeline=asked&source=orders", "{\"id\":1}\n\n{\"id\":\n", lines,
			400, "INVALID_REQUEST", "line 3 is no JSON",
		},
		"no source":         {"?pipeline=asked", "{}", lines, 400, "BAD_QUERY", "source"},
		"query beside JSON": {"?pipeline=asked", `{"pipeline":"asked"}`, "", 400, "BAD_QUERY", "belong to a body"},
		"param without value": {
			"?pipeline=asked&source=orders&param=part", "{}", lines,
			400, "BAD_QUERY", "NAME=VALUE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			headers := []string{"Idempotency-Key", "k"}
			if c.media != "" {
				headers = append(headers, "Content-Type", c.media)
			}
			answer, text := h.post(t, c.query, c.body, headers...)
			require.Equal(t, []any{c.status, c.code}, []any{answer.StatusCode, code(t, []byte(text))}, text)
			require.Contains(t, text, c.says)
		})
	}
	runs, _, err := h.Home(t).Runs(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, runs, len(begun))

	answer, text := h.post(t, "", `{"pipeline":"asked"}`)
	report := runOf(t, answer, text)
	require.Contains(t, report.Reason, "NOT_DELIVERED")
	const query = "?pipeline=asked&source=orders&param=part=lines&why=noon"
	const sent = "{\"id\":1}\r\n\n{\"id\":1,\"id\":2}\n[3]\n"
	answer, text = h.post(t, query, sent, "Content-Type", lines, "Idempotency-Key", "k")
	report = runOf(t, answer, text)
	require.Equal(t, "completed_with_failures", string(report.Status.Status), text)
	content, err := os.ReadFile(filepath.Join(h.Folder, "out", "lines.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "{\"id\":1}\n", string(content), "rows that are wrong are quarantined")
	answer, text = h.post(t, query, sent, "Content-Type", lines, "Idempotency-Key", "k")
	again := []any{runOf(t, answer, text).ID, answer.Header.Get("Idempotent-Replayed")}
	require.Equal(t, []any{report.ID, "true"}, again, "sent again")
	answer, text = h.post(t, query, "{\"id\":2}\n", "Content-Type", lines, "Idempotency-Key", "k")
	require.Equal(t, []any{422, "KEY_REUSED"}, []any{answer.StatusCode, code(t, []byte(text))},
		"other rows under the same key: %s", text)
	answer, text = h.post(t, "", `{"pipeline":"asked","params":{"part":"none"},"rows":{"orders":[]}}`)
	require.Equal(t, "empty", string(runOf(t, answer, text).Status.Status))
}

// TestFiftyRequestsWithRows come at once under one key: they are one run.
func TestFiftyRequestsWithRows(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	h := asks(t)
	server, err := remote.New(remote.Options{URL: h.url, Token: h.token})
	require.NoError(t, err)
	rows := map[string][]json.RawMessage{}
	rows["orders"], err = client.ParseRows([]byte("{\"id\": 1, \"note\": \"<1>\"}\n"))
	require.NoError(t, err)
	runs, again := sync.Map{}, make([]bool, 50)
	var side sync.WaitGroup
	for i := range again {
		side.Go(func() {
			request := remote.StartRequest{Pipeline: "asked", Rows: rows}
			report, replayed, err := server.Start(context.WithoutCancel(t.Context()), "fifty", request)
			if err != nil {
				t.Error(err)
				return
			}
			again[i] = replayed
			runs.Store(report.ID, true)
		})
	}
	side.Wait()
	count, first := 0, 0
	runs.Range(func(any, any) bool { count++; return true })
	for _, replayed := range again {
		if !replayed {
			first++
		}
	}
	require.Equal(t, []int{1, 1}, []int{count, first})
	run := remote.RunOf("asked", "fifty")
	require.Eventually(t, func() bool { return strings.Contains(h.Waymark(t, "runs"), "completed") }, patience, 100*time.Millisecond)
	out, err := h.Try(t.Context(), "explain", run, "--row", "1")
	require.NoError(t, err, out)
	require.Contains(t, out, `{"id": 1, "note": "<1>"}`, "the bytes of the library's caller")
}

// TestRunWithRows gives rows on the command line: to a file's run in this process, to a deployed pipeline, and to a server.
func TestRunWithRows(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.yaml"), []byte(strings.ReplaceAll(requested, "FOLDER", folder)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rows.json"), []byte(`[{"id":1},`+"\n"+`{"id":2}]`), 0o600))
	binary, err := programs.Waymark()
	require.NoError(t, err)
	type at struct {
		dir   string
		input string
	}
	waymark := func(where at, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir, cmd.Stdin = where.dir, strings.NewReader(where.input)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := waymark(at{dir: folder}, "run", "orders.yaml", "--rows", "orders=rows.json", "--run-id", "one")
	require.NoError(t, err, out)
	out, err = waymark(at{dir: folder}, "explain", "one", "--row", "2")
	require.NoError(t, err, out)
	require.Regexp(t, `read from request://one/orders, line 2, .*\n +came +\S+, with the request of \S+ \(cli\), row 2 of 2\n`, out)
	out, err = waymark(at{dir: folder}, "run", "orders.yaml", "--rows", "orders=none.json")
	require.Error(t, err)
	require.Contains(t, out, "none.json")
	out, err = waymark(at{dir: folder}, "run", "orders.yaml", "--rows", "other=rows.json")
	require.Error(t, err)
	require.Contains(t, out, `no source "other"`)
	out, err = waymark(at{dir: folder}, "run", "orders.yaml")
	require.Error(t, err)
	require.Contains(t, out, "--rows orders=FILE")

	h := asks(t)
	for run, flags := range map[string][]string{"served": nil, "away": {"--server", h.url}} {
		args := []string{"run", "--pipeline", "asked", "--param", "part=" + run, "--rows", "orders=-", "--run-id", run}
		cmd := exec.CommandContext(t.Context(), binary, append(args, flags...)...)
		cmd.Dir, cmd.Stdin, cmd.Env = h.Folder, strings.NewReader("{\"id\":1}\n{\"id\":2}\n"), append(os.Environ(), "WAYMARK_TOKEN="+h.token)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		content, err := os.ReadFile(filepath.Join(h.Folder, "out", run+".jsonl"))
		require.NoError(t, err)
		require.Equal(t, "{\"id\":1}\n{\"id\":2}\n", string(content), run)
		require.Contains(t, h.Waymark(t, "explain", run, "--row", "2"), fmt.Sprintf("(%s), row 2 of 2", map[string]string{"served": "cli", "away": "api"}[run]))
	}
}
