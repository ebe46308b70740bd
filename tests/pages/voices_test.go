package pages_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/tests/graphs"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

var (
	firstVoice = flag.Uint64("voice", 3, "the first seed of TestVoicesAgree")
	voices     = flag.Uint64("voices", 1, "how many seeds TestVoicesAgree tries; make nightly tries 60")
)

// TestVoicesAgree runs random documents, each twice with something changed, and asks about the runs in four ways: the pages, the API, the commands
// with --json, and SQL as docs/landscape.md gives it. All say the same: counts, edges, rows, refusals, effects, explanations and comparisons.
// `go test ./tests/pages -run TestVoicesAgree -voice N -voices 1` repeats one seed.
func TestVoicesAgree(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := &pageServer{API: serving.StartAPI(t)}
	v := &voice{pageServer: s, person: s.signIn(t, s.Grant(t, "ann", "auditor,operator"))}
	for seed := *firstVoice; seed < *firstVoice+*voices; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			v.rng = rand.New(rand.NewPCG(seed, 0x401ce))
			before, after := v.execute(t, seed)
			for _, run := range []string{before, after} {
				v.agree(t, run)
			}
			v.compared(t, before, after)
		})
	}
	require.True(t, *voices < 3 || v.flipped > 0 && v.changed > 0, "%d flipped, %d changed", v.flipped, v.changed)
}

// voice asks in four ways.
type voice struct {
	*pageServer
	person *person
	rng    *rand.Rand

	flipped, changed int64 // rows that the second run of a document treated otherwise
}

// otherwise lets a random document decide otherwise, and make other values.
var otherwise = strings.NewReplacer(
	"row.n % 2 == 0", "row.n % 3 == 0", "row.n > 5", "row.n > 3", "size(row.items) > 1", "size(row.items) > 2", `"a": continue`, `"z": continue`, "row.x < 12.5", "row.x < 8.5",
	"row.n + 1", "row.n + 2", "row.n * 2", "row.n * 3", "12 / (row.n - 3)", "12 / (row.n - 4)", "row.x + 0.25", "row.x + 0.5", "row.x * 2.0", "row.x * 3.0", "row.k + '!'", "row.k + '?'",
)

// execute runs the document of a seed, and one that decides otherwise about other records.
func (v *voice) execute(t *testing.T, seed uint64) (before, after string) {
	t.Helper()
	document, files := graphs.Random(seed)
	before, after = fmt.Sprintf("seed-%d", seed), fmt.Sprintf("seed-%d-again", seed)
	v.executeOne(t, before, document, files)
	for name, content := range files {
		if strings.HasPrefix(name, "s") { // of a source
			files[name] = elsewise(content)
		}
	}
	document = otherwise.Replace(document)
	v.executeOne(t, after, document, files)
	return before, after
}

// elsewise gives a few records an id that no other has.
func elsewise(content string) string {
	lines := strings.SplitAfter(content, "\n")
	for i := range lines {
		if i > 0 && i%7 == 0 {
			lines[i] = strings.Replace(lines[i], "r", fmt.Sprintf("q%d-", i), 1)
		}
	}
	return strings.Join(lines, "")
}

func (v *voice) executeOne(t *testing.T, run, document string, files map[string]string) {
	t.Helper()
	folder := filepath.Join(v.Folder, run)
	require.NoError(t, os.Mkdir(folder, 0o700))
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "random.yaml"), []byte(inOut(document)), 0o600))
	out, _ := v.Try(t.Context(), "run", filepath.Join(run, "random.yaml"), "--run-id", run) // with refused rows it exits with 3
	_, status := printed[serving.Run](t, v, "status", run)
	require.True(t, client.Complete(status.Status), out)
}

// agree asks in all ways about one run.
func (v *voice) agree(t *testing.T, run string) {
	t.Helper()
	r := v.record(t, run)
	page := v.page(t, "/runs/"+run)
	v.statusAgrees(t, r, page)
	v.edgesAgree(t, r, page)
	v.rowsAgree(t, r)
	v.refusalsAgree(t, r)
	v.effectsAgree(t, r)
	v.storiesAgree(t, r)
}

// printed is what a command prints with --json.
func printed[T any](t *testing.T, v *voice, command ...string) (raw string, value T) {
	t.Helper()
	out, _ := v.Try(t.Context(), append(command, "--json")...) // its exit code says whether runs differ
	raw, _, _ = strings.Cut(out, "\n")
	require.NoError(t, json.Unmarshal([]byte(raw), &value), raw)
	return raw, value
}

// page is a page of the server.
func (v *voice) page(t *testing.T, path string) *html.Node {
	t.Helper()
	answer, body := v.person.get(t, path)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", path, body)
	return parsed(t, path, body)
}

// items returns all items of a list of the API, page by page.
func (v *voice) items(t *testing.T, path string) (all []json.RawMessage) {
	t.Helper()
	if !strings.HasSuffix(path, "/edges") && !strings.HasSuffix(path, "/errors") { // these have one page
		path += map[bool]string{true: "&limit=", false: "?limit="}[strings.Contains(path, "?")] + fmt.Sprint(30+v.rng.IntN(400))
	}
	for next := ""; ; {
		answer, body := v.Ask(t, "GET", path+next, v.Tokens[landscape.Auditor], "")
		require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", path, body)
		var list struct {
			Items []json.RawMessage
			Next  string
		}
		require.NoError(t, json.Unmarshal(body, &list))
		all = append(all, list.Items...)
		if list.Next == "" {
			return all
		}
		next = "&after=" + url.QueryEscape(list.Next)
	}
}

// requireItems requires that the API lists what a command prints.
func (v *voice) requireItems(t *testing.T, path string, command ...string) {
	t.Helper()
	lines, sent := serving.Listed[json.RawMessage](t, v.Server, command...), v.items(t, path)
	require.Len(t, sent, len(lines), path)
	for i := range lines {
		require.JSONEq(t, string(lines[i]), string(sent[i]), path)
	}
}

// table returns the cells of the table of a page whose caption begins so, without the head; nil if there is none.
func table(page *html.Node, caption string) (cells [][]string) {
	for node := range page.Descendants() {
		if node.Data != "table" || !strings.HasPrefix(strings.TrimSpace(textOf(node)), caption) {
			continue
		}
		for row := range node.Descendants() {
			if row.Data != "tr" || row.Parent.Data != "tbody" {
				continue
			}
			var line []string
			for cell := range row.ChildNodes() {
				if cell.Data == "td" || cell.Data == "th" {
					line = append(line, strings.TrimSpace(textOf(cell)))
				}
			}
			cells = append(cells, line)
		}
		return cells
	}
	return nil
}

func grouped(numbers ...int64) (words []string) {
	for _, n := range numbers {
		words = append(words, text.Grouped(n))
	}
	return words
}

// counts are those of a run, as the command status prints them.
type counts struct {
	summary
	Nodes []landscape.NodeCount
	Sinks []client.Sink
}

type summary struct {
	Read        int64 `json:"rows_read"`
	Passed      int64 `json:"rows_passed"`
	Succeeded   int64 `json:"rows_succeeded"`
	Failed      int64 `json:"rows_failed"`
	Quarantined int64 `json:"rows_quarantined"`
	Filtered    int64 `json:"rows_filtered"`
	Discarded   int64 `json:"rows_discarded"`
	Tokens      int64
}

// statusAgrees compares the counts of a run.
func (v *voice) statusAgrees(t *testing.T, r *onRecord, page *html.Node) {
	t.Helper()
	raw, status := printed[counts](t, v, "status", r.run)
	_, body := v.Ask(t, "GET", "/v1/runs/"+r.run, v.Tokens[landscape.Viewer], "")
	require.JSONEq(t, withoutLog(t, raw), withoutLog(t, string(body)))

	if status.Tokens == 0 { // they are those that were read
		status.Tokens = status.Passed
	}
	require.Equal(t, r.counts.summary, status.summary, r.run)
	require.Equal(t, r.counts.Nodes, status.Nodes, r.run)
	require.ElementsMatch(t, r.counts.Sinks, status.Sinks, r.run)

	var accounts, outputs [][]string
	for _, n := range status.Nodes {
		accounts = append(accounts, append([]string{n.Node, string(n.Kind)}, grouped(n.In, n.Created, n.In+n.Created, n.Out, n.Dropped, n.Diverted, n.Consumed, n.Held)...))
	}
	for _, s := range status.Sinks {
		outputs = append(outputs, append(append([]string{s.Sink}, grouped(s.Planned, s.Finalized)...), fmt.Sprintf("%d confirmed", s.Completed), s.SHA256))
	}
	require.Equal(t, accounts, columns(table(page, "What came to each node"), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
	require.Equal(t, outputs, columns(table(page, "What each sink is to get"), 0, 1, 2, 3, 6))
	v.balanceAgrees(t, r, page)
}

// balanceAgrees looks for every part of the sentence that says where the records went.
func (v *voice) balanceAgrees(t *testing.T, r *onRecord, page *html.Node) {
	t.Helper()
	said := strings.Join(strings.Fields(textOf(elementWith(page, "class", "balance"))), " ") + " "
	require.True(t, strings.HasPrefix(said, text.Count(r.counts.Read, "record")+" read "), said)
	require.Contains(t, said, "✓ all accounts balance")
	parts := map[string]int64{"quarantined": r.counts.Quarantined, "filtered": r.counts.Filtered, "discarded": r.counts.Discarded}
	for word, n := range parts {
		require.Equal(t, n > 0, strings.Contains(said, " + "+text.Grouped(n)+" "+word+" "), "%d %s: %s", n, word, said)
	}
	for _, sink := range r.counts.Sinks {
		require.Contains(t, said, " "+text.Grouped(sink.Finalized)+" "+sink.Sink+" ")
	}
	if tokens := r.counts.Tokens; tokens != r.counts.Passed {
		require.Contains(t, said, "(of "+text.Grouped(tokens)+",")
	}
}

// withoutLog leaves out of a report how far the log is anchored, which goes on by itself.
func withoutLog(t *testing.T, report string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(report), &fields))
	delete(fields, "log")
	rest, err := json.Marshal(fields)
	require.NoError(t, err)
	return string(rest)
}

// columns are some of the columns of a table.
func columns(cells [][]string, wanted ...int) (chosen [][]string) {
	for _, line := range cells {
		var short []string
		for _, i := range wanted {
			short = append(short, line[i])
		}
		chosen = append(chosen, short)
	}
	return chosen
}

func elementWith(page *html.Node, name, value string) *html.Node {
	for node := range page.Descendants() {
		if attribute(node, name) == value {
			return node
		}
	}
	return nil
}

// edgesAgree compares how many rows took each edge.
func (v *voice) edgesAgree(t *testing.T, r *onRecord, page *html.Node) {
	t.Helper()
	v.requireItems(t, "/v1/runs/"+r.run+"/edges", "rows", r.run)
	taken, listedThere := map[string]int{}, []string{}
	for _, edge := range serving.Listed[client.Edge](t, v.Server, "rows", r.run) {
		if edge.Rows > 0 {
			taken[edge.ID] = int(edge.Rows)
		}
		if edge.Rows > 0 && edge.From != "" {
			listedThere = append(listedThere, edge.ID)
		}
	}
	onRecord := map[string]int{}
	for id, tokens := range r.edges {
		onRecord[id] = len(tokens)
	}
	require.Equal(t, onRecord, taken, r.run)

	shown := map[string]int{}
	for _, link := range counting(page) {
		to, err := url.Parse(link.to)
		require.NoError(t, err)
		id := to.Query().Get("edge")
		if id == "" || strings.HasPrefix(id, "::") {
			continue
		}
		before, twice := shown[id]
		require.True(t, !twice || before == link.number, "%s: %d and %d", id, before, link.number)
		shown[id] = link.number
	}
	for _, id := range listedThere {
		require.Equal(t, taken[id], shown[id], "%s of %s", id, r.run)
	}
	for id, rows := range shown {
		require.Equal(t, taken[id], rows, "%s of %s", id, r.run)
	}
}

// some are a few of the names, in another order with each seed.
func (v *voice) some(names []string, most int) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	v.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:min(most, len(names))]
}
