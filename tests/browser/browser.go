// Package browser opens pages in a real Chromium, for tests of what a person sees.
package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"waymark/tests/services"
)

// Shots is the environment variable that names a folder for screenshots; without it none are kept.
const Shots = "WAYMARK_SCREENSHOTS"

// How long a test waits for what a page is to show, and how often it looks.
const (
	patience     = 3 * time.Minute
	pollInterval = 50 * time.Millisecond
)

// Browser is a window of a Chromium that ends with the test.
type Browser struct {
	ctx context.Context //nolint:containedctx // that of chromedp is the window
}

// Open opens a window of this size, which knows nothing of what other windows are signed in to. Without Chromium the
// test is skipped, or fails in CI.
func Open(t testing.TB, width, height int) *Browser {
	t.Helper()
	program := found()
	if program == "" {
		services.Missing(t, "chromium", "apt-get install chromium")
	}
	ctx, end := chromedp.NewContext(running(t, program), chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	require.NoError(t, chromedp.Do(ctx), "chromium opens no window") // it lasts as long as this context
	b := &Browser{ctx}
	b.Do(t, emulate("FocusEmulationEnabled", map[string]any{"enabled": true}),
		chromedp.EmulateViewport(int64(width), int64(height)))
	return b
}

// emulate sets what the Emulation domain of Chrome's DevTools protocol has under a name.
func emulate(what string, params map[string]any) func(context.Context, *chromedp.Target) (chromedp.Void, error) {
	return func(ctx context.Context, target *chromedp.Target) (done chromedp.Void, err error) {
		return done, target.Call(ctx, "Emulation.set"+what, params, &done)
	}
}

// first is the Chromium of this test process, and its first window, which shows nothing.
var first struct {
	sync.Mutex
	ctx context.Context //nolint:containedctx // as that of a Browser
}

// running returns the first window of the Chromium of this test process. It is started once: that takes longer than to
// look at a page.
func running(t testing.TB, program string) context.Context {
	t.Helper()
	first.Lock()
	defer first.Unlock()
	if first.ctx != nil {
		return first.ctx
	}
	folder, err := services.NewFolder("chromium")
	require.NoError(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(folder), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(ctx)
	services.OnEnd(t, func() {
		end()
		stop()
		_ = os.RemoveAll(folder)
	})
	require.NoError(t, chromedp.Do(ctx), "chromium does not start")
	first.ctx = ctx
	return ctx
}

func found() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Do does things in the window, one after the other. Each waits for what it needs.
func (b *Browser) Do(t testing.TB, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, done := context.WithTimeout(b.ctx, patience)
	defer done()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Shot(t, t.Name()+"-failed")
		require.NoError(t, err, "the page says:\n%s", b.Text(t))
	}
}

// shown is the text that the page shows, and what it has in frames.
const shown = `[document, ...[...document.querySelectorAll('iframe')].map(f => f.contentDocument)].map(d => d?.body?.innerText).join(' ')`

// Text returns the text that the page shows.
func (b *Browser) Text(t testing.TB) string {
	t.Helper()
	return evaluate[string](t, b, shown)
}

// Resize gives the window another size.
func (b *Browser) Resize(t testing.TB, width, height int64) {
	t.Helper()
	b.Do(t, chromedp.EmulateViewport(width, height))
}

// Holds reports whether a condition of JavaScript is true of the page.
func (b *Browser) Holds(t testing.TB, condition string) bool {
	t.Helper()
	return evaluate[bool](t, b, condition)
}

// Evaluate returns the text that an expression of JavaScript is in the page.
func (b *Browser) Evaluate(t testing.TB, expression string) string {
	t.Helper()
	return evaluate[string](t, b, expression)
}

func evaluate[T any](t testing.TB, b *Browser, expression string) T {
	t.Helper()
	ctx, done := context.WithTimeout(b.ctx, patience)
	defer done()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(t, err)
	return value
}

// Await waits until the page shows the words.
func (b *Browser) Await(t testing.TB, words ...string) {
	t.Helper()
	for _, word := range words {
		b.Do(t, wait(`text => (`+shown+`).includes(text)`, word))
	}
}

// Shot keeps a picture of the window, NAME.png, if there is a folder for pictures.
func (b *Browser) Shot(t testing.TB, name string) {
	t.Helper()
	folder := os.Getenv(Shots)
	if folder == "" {
		return
	}
	require.NoError(t, os.MkdirAll(folder, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(name)+".png"), b.Picture(t, false), 0o600))
}

// Picture returns a picture of the window, also of what one would have to scroll to if whole is true.
func (b *Browser) Picture(t testing.TB, whole bool) []byte {
	t.Helper()
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	picture, err := chromedp.Run(b.ctx, take)
	require.NoError(t, err)
	return picture
}

// Dark says whether the person wants a dark theme.
func (b *Browser) Dark(t testing.TB, dark bool) {
	t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	feature := map[string]string{"name": "prefers-color-scheme", "value": scheme}
	b.Do(t, emulate("EmulatedMedia", map[string]any{"features": []any{feature}}))
}

// Complaints begins to note what the browser warns of, such as scripts that failed and what a policy forbids; the function returns what it noted.
func (b *Browser) Complaints(t testing.TB) func() []string {
	t.Helper()
	ctx, stop := context.WithCancel(b.ctx)
	t.Cleanup(stop)
	var mu sync.Mutex
	var noted []string
	go func() {
		for message, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if message.Type == chromedp.ConsoleWarning || message.Type == chromedp.ConsoleError || message.IsException() {
				mu.Lock()
				noted = append(noted, message.URL+": "+message.String())
				mu.Unlock()
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return noted
	}
}

// Violations returns what axe, whose program is given, finds that keeps somebody from using the page: rules of WCAG 2.2 up to AA, and best practices.
func (b *Browser) Violations(t testing.TB, axe string) []string {
	t.Helper()
	const run = `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(found => found.passes.length === 0 ? ['no rule was tried'] :
		found.violations.flatMap(v => v.nodes.map(n => v.id + ': ' + n.html.slice(0, 160) + ' — ' + (n.any.concat(n.all, n.none)[0]?.message ?? v.help))))`
	ctx, done := context.WithTimeout(b.ctx, patience)
	defer done()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](axe+";true"))
	require.NoError(t, err)
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](run, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	return found
}

// mostTabs is how often somebody presses the tab key to come to something.
const mostTabs = 300

// Tab goes with the tab key, and nothing else, to what has these words, and presses the enter key there if press is true.
func (b *Browser) Tab(t testing.TB, words string, press bool) {
	t.Helper()
	const focused = `(e => e === document.body ? '' : [e.innerText, e.labels?.[0]?.innerText, e.getAttribute('aria-label'), e.name].filter(x => x).join(' '))(document.activeElement)`
	for range mostTabs {
		b.Do(t, chromedp.KeyEvent(kb.Tab))
		if strings.Contains(b.Evaluate(t, focused), words) {
			if press {
				b.Do(t, chromedp.KeyEvent(kb.Enter))
			}
			return
		}
	}
	b.Shot(t, t.Name()+"-failed")
	require.Fail(t, "the tab key does not lead to "+words, "the page says:\n%s", b.Text(t))
}

// Press clicks the first thing that a person would click for these words.
func (b *Browser) Press(t testing.TB, words string) {
	t.Helper()
	const press = `words => {
		const named = [...document.querySelectorAll('button, a, [role="menuitem"]')].find(e => e.innerText.trim() === words && !e.disabled && e.checkVisibility());
		named?.click();
		return !!named;
	}`
	b.Do(t, wait(press, words))
}

// wait waits until a function of the page, called with an argument, returns true.
func wait(function, argument string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		held := chromedp.PollFunction[bool](function, chromedp.WithPollingArgs(argument), chromedp.WithPollingInterval(pollInterval), chromedp.WithPollingTimeout(patience))
		for {
			_, err := held(ctx, target)
			if err == nil || !leaves(err) {
				return chromedp.Void{}, err
			}
			select {
			case <-ctx.Done():
				return chromedp.Void{}, err
			case <-time.After(pollInterval):
			}
		}
	}
}

// leaves reports whether an error is that the window was about to show another page.
func leaves(err error) bool {
	text := err.Error()
	return strings.Contains(text, "Not attached to an active page") || strings.Contains(text, "context was destroyed") || strings.Contains(text, "navigated or closed") ||
		strings.Contains(text, "Cannot find context")
}

// Type presses keys once something has the focus. A page that says what has it gives it a moment after its words are there.
func (b *Browser) Type(t testing.TB, keys string) {
	t.Helper()
	b.Do(t, wait(`_ => ![null, document.body, document.documentElement].includes(document.activeElement)`, ""), chromedp.KeyEvent(keys))
}

// Write writes text into the field that the selector finds, in place of what is there, as keys would.
func (b *Browser) Write(t testing.TB, selector, text string) {
	t.Helper()
	const selected = `selector => {
		const field = document.querySelector(selector);
		field?.focus();
		document.execCommand('selectAll');
		return !!field;
	}`
	b.Do(t, wait(selected, selector), chromedp.KeyEvent(text))
}

// Click clicks the thing that the selector finds.
func (b *Browser) Click(t testing.TB, selector string) {
	t.Helper()
	b.Do(t, wait(`selector => { const found = document.querySelector(selector); found?.click(); return !!found; }`, selector))
}
