package pages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"waymark/client/local"
	"waymark/tests/browser"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/serving"
)

// TestKilledWhileWatched pauses a run from its page, kills the server with SIGKILL while the page is open, and starts the server again. The run is then resumed
// from its page by keyboard alone, and the page shows it complete.
func TestKilledWhileWatched(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	folder := t.TempDir()
	const rows = 4_000
	var data strings.Builder
	data.WriteString("id\n")
	for i := range rows {
		fmt.Fprintln(&data, i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(data.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "slow.yaml"), []byte(`name: slow
chunk: {rows: 10}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}
sinks: {out: {csv: {path: out/out.csv}}}
`), 0o600))
	address, err := services.FreeAddress()
	require.NoError(t, err)
	s := serving.Start(t, folder, "--api", address)
	token := strings.TrimSpace(s.Waymark(t, "access", "grant", "ann", "--why", "a test", "--role", "auditor,operator"))
	s.Waymark(t, "run", "slow.yaml", "--run-id", "watched", "--detach")

	window := browser.Open(t, 1280, 900)
	signIn := func() {
		window.Do(t, chromedp.Navigate("http://"+address+"/runs/watched"))
		window.Await(t, "Sign in")
		window.Type(t, token+"\r")
		window.Await(t, "slow", "Accounts")
	}
	order := func(name string) {
		window.Tab(t, name, true) // it opens
		window.Tab(t, "Why, for the record", false)
		window.Type(t, "a test\r")
	}
	signIn()
	window.Await(t, "● running")
	order("Pause")
	window.Await(t, "paused", "Paused by ann: a test")
	before := s.Waymark(t, "status", "watched", "--json")

	require.NoError(t, s.Command.Process.Kill())
	_ = s.Command.Wait()
	window.Await(t, "The server does not answer", "Paused by ann: a test")
	serving.Start(t, folder, "--api", address)
	window.Await(t, "your session is over") // that of a server that is gone
	window.Type(t, token+"\r")
	window.Await(t, "paused", "Paused by ann: a test")
	require.NotContains(t, before, `"status":"completed"`)
	window.Tab(t, "Resume", true)
	window.Tab(t, "Why, for the record", false)
	window.Type(t, "a ")
	window.Do(t, chromedp.Sleep(3*time.Second), chromedp.KeyEvent("test\r")) // meanwhile the page is shown again, and leaves alone what is in use
	require.Eventually(t, func() bool { return strings.Contains(window.Text(t), "✓ completed") }, 2*patience, 50*time.Millisecond)
	window.Await(t, "4,000 records read", "all accounts balance")
	require.Equal(t, 2, strings.Count(s.Waymark(t, "events", "watched", "--json"), `"a test"`), "both orders, with their reasons")
	require.Greater(t, pastHolds(t, local.Folder(filepath.Join(folder, ".waymark")), "watched", 300*time.Millisecond), 8, "it was killed, and resumed seconds later")
	content, err := os.ReadFile(filepath.Join(folder, "out", "out.csv"))
	require.NoError(t, err)
	require.Equal(t, data.String(), string(content))
}
