package pages_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/browser"
	"waymark/tests/sample"
	"waymark/tests/services"
)

// dossier takes rows along as files. Opened from a disk they compute everything again, and say what somebody changed; nothing of the rows is executed.
func (s *pageServer) dossier(t *testing.T) {
	p := s.looking(t)
	window := browser.Open(t, 1280, 900)
	complaints := window.Complaints(t)
	open := func(content string) {
		file := filepath.Join(t.TempDir(), "row.html")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		window.Do(t, chromedp.Navigate("file://"+file))
	}
	var hostile string
	for _, path := range sample.Of(3, []string{
		s.nastyRun + "/dossier?token=in:8/both",
		s.ordersRun + "/dossier?row=1",
		s.nastyRun + "/dossier?row=14",
		s.ordersRun + "/dossier?row=3",
		s.nastyRun + "/dossier?row=1",
	}) {
		var content string
		require.Eventually(t, func() bool { // the head of the log that covers its seal is signed soon
			answer, text := p.get(t, "/runs/"+path)
			content = text
			return answer.StatusCode == http.StatusOK && strings.HasPrefix(answer.Header.Get("Content-Disposition"), "attachment") && strings.Contains(answer.Header.Get("Content-Security-Policy"), "sandbox")
		}, patience, patience/100, path)
		open(content)
		window.Await(t, "✓ True: recorded so when the run was sealed")
		said := window.Text(t)
		require.NotContains(t, said, "✗", path)
		require.NotContains(t, said, "◌", path)
		require.Contains(t, said, "✓ The record has the SHA-256 that was sealed", path)
		require.True(t, window.Holds(t, `window.broken === undefined && document.documentElement.scrollWidth <= window.innerWidth`), path)
		if strings.Contains(path, "in:8/both") {
			hostile = content
			require.Contains(t, said, "✓ The row in:8/left at label has the SHA-256 that was sealed")
		}
	}
	require.Empty(t, complaints())
	axe, err := os.ReadFile(filepath.Join(services.NodeModules(t, "axe-core"), "axe-core", "axe.min.js"))
	require.NoError(t, err)
	require.Empty(t, window.Violations(t, string(axe)))
	window.Shot(t, "dossier")

	type change struct{ after, says string }
	for _, change := range sample.Of(3, []change{
		{`What happened</h2><pre>`, "✗ “What happened” is shown as it was written: it was changed"},
		{`"record":"OC`, "✗ The record has the SHA-256 that was sealed: it is another one"},
		{`"form":"eyI8`, "✗ The row in:8 at in has the SHA-256 that was sealed: it is another one"},
		{`\"row\":{\"index\":`, "✗ The row is in its chunk, under the seal of that: it is not"},
		{`\"records\":[{\"index\":`, "✗ The seal of the chunk and the ways of the row are under the seal of the run: one is not"},
		{`<h1>Row in:8/`, "✗ The title is shown as it was written: it was changed"},
		{`\"head\":\"`, "✗ The log has the seal of the run, and was signed by its key: "},
		{`"sections":["`, "✗ “What happened” is shown as it was written"},
		{`class Refused `, "▲ Nothing is checked."},
		{`script-src &#39;sha256-`, "▲ Nothing is checked."},
	}) {
		at := strings.Index(hostile, change.after)
		require.Positive(t, at, change.after)
		at += len(change.after)
		other := byte('7')
		if hostile[at] == other {
			other = '8'
		}
		open(hostile[:at] + string(other) + hostile[at+1:])
		if strings.HasPrefix(change.says, "✗") {
			window.Await(t, "✗ Not true: something in this file was changed")
		}
		window.Await(t, change.says)
		require.NotContains(t, window.Text(t), "✓ True", change.after)
	}

	for _, change := range sample.Of(3, [][2]string{
		{`<p id="verdict"`, `<p>This row was approved.</p><p id="verdict"`},
		{`</main>`, `</main>This row was approved.`},
		{`</html>`, `</html><p>This row was approved.</p>`},
		{`<section>`, `<section hidden>`},
		{`<section><h2>`, `<section>This row was approved.<h2>`},
		{`<ul id="checks">`, `<ul id="checks" style="display:none">`},
		{`<pre>`, `<pre style="color: white">`},
	}) {
		require.Contains(t, hostile, change[0])
		open(strings.Replace(hostile, change[0], change[1], 1))
		window.Await(t, "✗ Not true: something in this file was changed")
		window.Await(t, "✗ Nothing was added to this page, and nothing is hidden: ") // styles of its own a page of this kind may not have, so the list is seen whatever it says
		require.NotContains(t, window.Text(t), "✓ True", change[1])
	}

	answer, report := p.get(t, "/runs/"+s.ordersRun+"/report")
	require.Equal(t, http.StatusOK, answer.StatusCode, report)
	open(report)
	window.Await(t, "✓ True: recorded so when the run was sealed")
	said := window.Text(t)
	require.NotContains(t, said, "✗")
	require.Contains(t, said, "✓ Each record of the last part is under the seal of the run")
	require.True(t, window.Holds(t, `document.documentElement.scrollWidth <= window.innerWidth`))
	for _, change := range sample.Of(1, []change{
		{`Where the rows went</h2><pre>`, "✗ “Where the rows went” is shown as it was written: it was changed"},
		{`\"records\":[{\"index\":`, "✗ Each record of the last part is under the seal of the run: one is not"},
		{`\"line\":\"{\\\"actor\\\":\\\"`, "✗ Each record of the last part is under the seal of the run: one is not"},
	}) {
		before, after, found := strings.Cut(report, change.after)
		require.True(t, found, change.after)
		open(before + change.after + "7" + after)
		window.Await(t, "✗ Not true: something in this file was changed")
		window.Await(t, change.says)
	}

	require.Contains(t, s.Waymark(t, "access", "disclosures", "--limit", "0"), "dossier")
	for path, status := range map[string]int{"/dossier?row=99": http.StatusNotFound, "/dossier": http.StatusBadRequest} {
		answer, _ := p.get(t, "/runs/"+s.ordersRun+path)
		require.Equal(t, status, answer.StatusCode, path)
	}
	answer, _ = s.signIn(t, s.Tokens[landscape.Viewer]).get(t, fmt.Sprintf("/runs/%s/dossier?row=1", s.ordersRun))
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
}
