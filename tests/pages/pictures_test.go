package pages_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"waymark/tests/browser"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// TestPictures takes the pictures of web pages that the README shows, of runs of its example. It keeps them if WAYMARK_PICTURES names a folder.
func TestPictures(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	into := cmp.Or(os.Getenv("WAYMARK_PICTURES"), t.TempDir())
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS("../../examples/bird-strikes")))
	s := serving.Start(t, folder, "--api", "127.0.0.1:0", "--login-link")
	for _, flags := range [][]string{{"--run-id", "strikes-1"}, {"--run-id", "strikes-2", "--param", "major_cost=20000"}} {
		out, _ := s.Try(t.Context(), append([]string{"run", "pipeline.yaml"}, flags...)...) // with refused rows it exits with 3
		require.Contains(t, out, "completed_with_failures")
	}
	link := regexp.MustCompile(`sign in +(http://\S+)(/login\?code=\S+)`).FindStringSubmatch(s.Log.String())
	require.NotNil(t, link, s.Log.String())
	window := browser.Open(t, 1280, 800)
	window.Resize(t, 1280, 800)
	window.Do(t, chromedp.Navigate(link[1]+link[2]))
	window.Type(t, "\r")
	window.Await(t, "Runs")
	for name, page := range map[string]struct{ path, words, from string }{
		"run":     {"/runs/strikes-1", "all accounts balance", "header"},
		"row":     {"/runs/strikes-1/explain?sink=review&line=3", "became row 3", "main section:nth-of-type(4)"},
		"compare": {"/runs/strikes-2/compare", "ended elsewhere", "header"},
	} {
		window.Do(t, chromedp.Navigate(link[1]+page.path))
		window.Await(t, page.words)
		require.True(t, window.Holds(t, `(document.querySelector('`+page.from+`').scrollIntoView(), true)`))
		require.NoError(t, os.WriteFile(filepath.Join(into, "page-"+name+".png"), window.Picture(t, false), 0o600))
	}
}
