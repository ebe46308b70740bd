package pages_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"waymark/tests/browser"
	"waymark/tests/sample"
	"waymark/tests/services"
)

// person goes, with nothing but the keyboard, from a row of an output to its record and to what might have become of it, and from a refused row to a
// cure that is tried.
func (s *pageServer) person(t *testing.T) {
	window := browser.Open(t, 1280, 900)
	complaints := window.Complaints(t)
	window.Do(t, chromedp.Navigate(s.URL+"/runs/"+s.ordersRun))
	window.Await(t, "Sign in")
	window.Type(t, s.Grant(t, "bob", "auditor,operator,deployer,admin")+"\r")
	window.Await(t, "all accounts balance", "bob")
	window.Tab(t, "Row of an output", false)
	window.Type(t, "1\r")
	window.Await(t, "Record", "became row 1 of", "recomputed now, and equal to the record")
	window.Tab(t, "orders", true)
	window.Await(t, "Pipeline", "Status")
	window.Do(t, chromedp.Navigate(s.URL+"/"))
	window.Tab(t, "Runs", true)
	window.Await(t, "Status")
	window.Do(t, chromedp.Navigate(s.URL+"/runs/refusing"))
	window.Await(t, "Refused")
	window.Tab(t, "1", false)
	window.Do(t, chromedp.Navigate(s.URL+"/runs/refusing/errors"))
	window.Tab(t, "version", false)
	window.Type(t, "3")
	window.Tab(t, "Try it", true)
	window.Await(t, "would go another way")
	window.Do(t, chromedp.Navigate(s.URL+"/find"))
	window.Await(t, "Who made this file")
	made := filepath.Join(s.Folder, "out/deployed/all.retry-1.csv")
	window.Do(t, chromedp.SetUploadFiles("#digest input", []string{made}))
	content, err := os.ReadFile(made)
	require.NoError(t, err)
	window.Await(t, "What it may mean", "as sink all published it")
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(content)), window.Evaluate(t, "new URLSearchParams(location.search).get('q')"))
	require.Empty(t, serious(complaints()))
}

// serious are complaints besides the browser's word for an answer that says that one must sign in, or that there is no such thing.
func serious(complaints []string) []string {
	return slices.DeleteFunc(complaints, func(said string) bool { return strings.Contains(said, "the server responded with a status of 40") })
}

// scene is a page in one state.
type scene struct{ name, path string }

// scenes are the pages as they are shown to somebody who may do all: with data, with data of strangers, empty, and about what is not there.
func (s *pageServer) scenes(t *testing.T) []scene {
	t.Helper()
	orders, nasty := "/runs/"+s.ordersRun, "/runs/"+s.nastyRun
	return []scene{
		{"home", "/"}, {"runs", "/runs"}, {"runs-empty", "/runs?status=blocked"}, {"run", orders}, {"run-hostile", nasty}, {"rows", orders + "/rows?node=all"},
		{"row", orders + "/explain?row=3"}, {"row-hostile", nasty + "/explain?row=2"}, {"payload", "/runs/" + s.nastyRun + "/payloads/" + s.query(t, "select pack from chunks where run_id = '"+s.nastyRun+"'")},
		{"payload-document", orders + "/payloads/" + s.query(t, "select document_sha256 from runs where run_id = '"+s.ordersRun+"'")}, {"why-not", nasty + "/why-not?row=2&not_in=out"}, {"row-missing", orders + "/explain?row=99"},
		{"errors", "/runs/refusing/errors?values=true"}, {"errors-hostile", nasty + "/errors?values=true"}, {"errors-tried", "/runs/refusing/errors?version=3"},
		{"timeline", orders + "/timeline"}, {"past", orders + "/past"}, {"past-begin", orders + "/past?at=0"}, {"past-hostile", nasty + "/past"}, {"past-rows", orders + "/rows?node=all&at=0"}, {"compare", "/runs/refusing/compare"}, {"compare-rows", "/runs/refusing/compare/rows"}, {"compare-rows-empty", "/runs/refusing/compare/rows?kind=changed"}, {"evidence", orders + "/evidence"}, {"effects", orders + "/effects"}, {"pipelines", "/pipelines"}, {"pipelines-empty", "/pipelines?environment=nowhere"},
		{"pipeline", "/pipelines/deployed"}, {"diff", "/pipelines/deployed/diff?from=1&to=3"}, {"schedules", "/schedules"}, {"schedule", "/schedules/default/deployed/daily"},
		{"triggers", "/triggers"}, {"triggers-empty", "/triggers?environment=nowhere"}, {"trigger-hostile", "/triggers/default/arriving/drop"}, {"trigger-empty", "/triggers/default/arriving/calls?state=gone"},
		{"pipeline-triggers", "/pipelines/arriving"}, {"run-arrived", "/runs/" + s.ArrivedRun(t)},
		{"find", "/find?q=CONVERT"}, {"starts", "/starts"}, {"starts-empty", "/starts?state=waiting"}, {"health", "/doctor"}, {"access", "/access"}, {"missing", "/runs/nothing"}, {"login", "/login"},
	}
}

// A look is a size and a theme.
type look struct {
	width, height int64
	dark          bool
}

func (l look) String() string {
	if l.dark {
		return fmt.Sprintf("dark-%d", l.width)
	}
	return fmt.Sprintf("light-%d", l.width)
}

var looks = []look{{1280, 900, false}, {1280, 900, true}, {390, 800, false}, {390, 800, true}}

// opened signs somebody in, in a browser.
func (s *pageServer) opened(t *testing.T) *browser.Browser {
	t.Helper()
	window := browser.Open(t, 1280, 900)
	window.Do(t, chromedp.Navigate(s.URL+"/runs"))
	window.Await(t, "Sign in")
	window.Write(t, `input[name="token"]`, s.Grant(t, "eve", "auditor,operator,deployer,admin"))
	window.Press(t, "Sign in")
	window.Await(t, "eve")
	return window
}

// someScenes is how many scenes it is from one that is looked at by day to the next. Each takes half a second with axe.
const someScenes = 6

var everyScene = flag.Bool("every-scene", false, "look at every page, in one size: make pages does")

// looks holds that no page executes anything or is wider than the window, that axe finds nothing that keeps somebody from using it, and that the browser
// complains of nothing. It takes pictures, if there is a folder for them, and puts them on one sheet, with those of the last time beside them.
func (s *pageServer) looks(t *testing.T) {
	var axe []byte // nil without axe, which the others do not need
	t.Run("axe", func(t *testing.T) {
		var err error
		axe, err = os.ReadFile(filepath.Join(services.NodeModules(t, "axe-core"), "axe-core", "axe.min.js"))
		require.NoError(t, err)
	})
	window := s.opened(t)
	complaints := window.Complaints(t)
	folder := os.Getenv(browser.Shots)
	var found []string
	scenes := s.scenes(t)
	if !*everyScene {
		scenes = sample.Of(someScenes, scenes)
	}
	for _, l := range sample.Of(len(looks), looks) {
		window.Resize(t, l.width, l.height)
		window.Dark(t, l.dark)
		for _, at := range scenes {
			window.Do(t, chromedp.Navigate(s.URL+at.path))
			window.Await(t, "as of")
			require.True(t, window.Holds(t, `window.broken === undefined && document.documentElement.scrollWidth <= window.innerWidth`),
				"%s executes nothing, and is not wider than %s: %s", at.path, l, window.Evaluate(t, `[...document.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > window.innerWidth + 1 && !e.closest('table, .graph')).map(e => e.outerHTML.slice(0, 120)).join('\n')`))
			if folder != "" {
				keepPicture(t, folder, fmt.Sprintf("%s-%s.png", at.name, l), window.Picture(t, true))
			}
			if axe != nil && (l == looks[0] || sample.All() && l == looks[3]) { // each theme and each width once
				for _, violation := range window.Violations(t, string(axe)) {
					found = append(found, fmt.Sprintf("%s %s: %s", at.name, l, violation))
				}
			}
		}
	}
	if folder != "" {
		s.sheet(t, folder)
	}
	require.Empty(t, found)
	require.Empty(t, serious(complaints()))
}

// keepPicture writes a picture. One that was there is moved beside it.
func keepPicture(t *testing.T, folder, name string, picture []byte) {
	t.Helper()
	before := filepath.Join(folder, "before")
	require.NoError(t, os.MkdirAll(before, 0o750))
	if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
		require.NoError(t, os.Rename(filepath.Join(folder, name), filepath.Join(before, name)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), picture, 0o600))
}

// sheet writes index.html, with all pictures.
func (s *pageServer) sheet(t *testing.T, folder string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("<!doctype html><meta charset=utf-8><title>Pages</title><style>body{font:14px sans-serif} img{width:280px;border:1px solid #888;vertical-align:top} img.before{opacity:.6;width:120px}</style>\n")
	for _, at := range s.scenes(t) {
		fmt.Fprintf(&text, "<h2>%s <code>%s</code></h2>\n", at.name, html.EscapeString(at.path))
		for _, l := range looks {
			name := fmt.Sprintf("%s-%s.png", at.name, l)
			fmt.Fprintf(&text, "<a href=%[1]q><img src=%[1]q alt=%[1]q loading=lazy></a>", name)
			if _, err := os.Stat(filepath.Join(folder, "before", name)); err == nil {
				fmt.Fprintf(&text, "<a href=%[1]q><img class=before src=%[1]q alt=%[1]q loading=lazy></a>", "before/"+name)
			}
		}
		text.WriteString("\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "index.html"), []byte(text.String()), 0o600))
}
