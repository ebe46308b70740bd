package pages_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"waymark/tests/browser"
)

// spaced is a text with one space for each run of white space.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// bytes looks at the bytes of a record: which are which field, what nobody sees, and what belongs together when somebody points at it.
func (s *pageServer) bytes(t *testing.T) {
	path := fmt.Sprintf("/runs/%s/explain?row=8", s.nastyRun)
	answer, page := s.looking(t).get(t, path)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	shown := textOf(parsed(t, path, page))
	for _, said := range []string{`<b>field</b>27"aZWSPb"U+200B ZWSP`, "000000 38 2c 22 61 e2 80 8b 62 22 2c 78"} {
		require.Contains(t, spaced(shown), said, "also without scripts")
	}

	window := browser.Open(t, 1280, 900)
	complaints := window.Complaints(t)
	window.Do(t, chromedp.Navigate(s.URL+path))
	window.Await(t, "Sign in")
	window.Type(t, s.Grant(t, "carol", "auditor")+"\r")
	window.Await(t, "Its fields, by their bytes")
	marked := `[...document.querySelectorAll('.record .marked')].map(e => e.textContent.trim().slice(0, 20)).join(' / ')`
	require.Empty(t, window.Evaluate(t, marked))
	window.Tab(t, "note", false) // the table, which can be scrolled
	window.Tab(t, "note", false)
	require.Equal(t, "x / note101x / 78 / x", spaced(window.Evaluate(t, marked)))
	window.Tab(t, "Its bytes", true)
	require.Empty(t, window.Evaluate(t, marked))
	window.Do(t, chromedp.Navigate(s.URL+path+"#field-1"))
	require.Equal(t, "8", window.Evaluate(t, `document.querySelector(':target').textContent`), "without scripts a link marks them")
	require.Empty(t, serious(complaints()))
}
