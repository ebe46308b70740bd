package values_test

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// doors is a server with a run of the values, and who looks at it.
type doors struct {
	*serving.API
	world
	run    string
	person *http.Client // signed in as an auditor
}

// TestDoors looks at each value of docs/values.md through everything that shows values: explain, the API, the page of the
// row, its dossier, and a bundle. (TestValues asks SQL.) It has them delivered as rows of a webhook as well.
func TestDoors(t *testing.T) {
	sample.Rarely(t)
	d := doors{API: serving.StartAPI(t), world: world{examples: examples(t)}}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(d.API.Folder, name), []byte(text), 0o600))
	}
	write("in.csv", d.cells())
	write("values.yaml", fmt.Sprintf("name: values\nsources: {in: {csv: {path: in.csv}, schema: %s}}\nsinks: {out: {jsonl: {path: out/values.jsonl}}}\n", schema()))
	d.run = d.completes(t, "values.yaml")
	d.person = d.signedIn(t)
	for i, e := range d.examples {
		d.api(t, d.run, e, i+1)
		d.page(t, e, i+1)
	}
	write("lines.jsonl", strings.Join(d.lines(), "\n"))
	write("rows.yaml", fmt.Sprintf("name: rows\nsources: {in: {webhook: {}, schema: %s}}\nsinks: {out: {jsonl: {path: out/rows.jsonl}}}\n", schema()))
	delivered := d.completes(t, "rows.yaml", "--rows", "in=lines.jsonl")
	for i, e := range d.examples {
		if e.json.isNull {
			e.shown = "null"
		}
		d.api(t, delivered, e, i+1)
	}
	const some = 5 // a process for each takes a fifth of a second
	for i := 0; i < len(d.examples); i += some {
		d.command(t, d.examples[i], i+1)
	}
	d.bundle(t)
	path := "/v1/runs/" + d.run + "/dossier?row=1"
	require.Eventually(t, func() bool { // a head of the log is signed within seconds
		answer, _, err := d.Send(t, "GET", path, d.Tokens[landscape.Auditor], "")
		return err == nil && answer.StatusCode == http.StatusOK
	}, serving.Patience, time.Second)
	for i, e := range d.examples {
		d.dossier(t, e, i+1)
	}
}

var runID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// completes runs a document, and returns the run.
func (d doors) completes(t *testing.T, document string, flags ...string) string {
	return runID.FindString(d.Waymark(t, append([]string{"run", document}, flags...)...))
}

func (d doors) api(t *testing.T, run string, e example, number int) {
	_, body := d.Ask(t, "GET", fmt.Sprintf("/v1/runs/%s/explain?row=%d", run, number), d.Tokens[landscape.Auditor], "")
	var story audit.Explanation
	require.NoError(t, json.Unmarshal(body, &story))
	require.Equal(t, e.fields(number), fieldsOf(&story), e.shown)
}

// change is a line of explain about a field.
func (e example) change() string {
	if e.kind == "any" {
		return "  + int = null\n"
	}
	return "  + " + e.kind + " = " + e.shown + "\n"
}

func (d doors) command(t *testing.T, e example, number int) {
	require.Contains(t, d.Waymark(t, "explain", d.run, "--row", fmt.Sprint(number)), e.change())
}

func (d doors) dossier(t *testing.T, e example, number int) {
	_, body := d.Ask(t, "GET", fmt.Sprintf("/v1/runs/%s/dossier?row=%d", d.run, number), d.Tokens[landscape.Auditor], "")
	require.Contains(t, html.UnescapeString(string(body)), e.change())
}

func (d doors) signedIn(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	person := &http.Client{Jar: jar}
	answer, err := person.PostForm(d.URL+"/login", url.Values{"token": {d.Tokens[landscape.Auditor]}, "to": {"/runs"}})
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	return person
}

// shownValue is a value as a page shows it, with the word for its kind beside where its form on record has a mark.
var shownValue = regexp.MustCompile(`<code><bdi dir="auto">([^<]*)</bdi></code>(?: <span class="note">(date|timestamp|decimal)</span>)?`)

func (d doors) page(t *testing.T, e example, number int) {
	answer, err := d.person.Get(fmt.Sprintf("%s/runs/%s/explain?row=%d", d.URL, d.run, number))
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	var shown []string
	for _, found := range shownValue.FindAllStringSubmatch(string(body), -1) {
		text := html.UnescapeString(found[1])
		if found[2] != "" {
			text = fmt.Sprintf(`{"$%s":"%s"}`, found[2], text)
		}
		shown = append(shown, text)
	}
	require.Contains(t, shown, e.shown)
}

// bundle exports the run: the hash of each row is there, and the record as it was read.
func (d doors) bundle(t *testing.T) {
	d.Waymark(t, "export", d.run, "-o", "run.zip", "--payloads", "source")
	archive, err := zip.OpenReader(filepath.Join(d.API.Folder, "run.zip"))
	require.NoError(t, err)
	defer archive.Close()
	file, err := archive.Open("record/hashes.ndjson")
	require.NoError(t, err)
	defer file.Close()
	hashes, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Contains(t, string(hashes), strings.Join(d.hashes(func(e example) form { return e.csv }), ""))
}
