package crash

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// panicking are goroutines of a server, each with the time that it begins at which it panics, and a transaction of the
// record that does so when it is about to be committed.
var panicking = []string{
	"goroutine.log", "goroutine.seals", "goroutine.abandoned", "goroutine.outbox", "goroutine.outputs",
	"goroutine.retention",
	"goroutine.schedules", "goroutine.triggers", "goroutine.triggers@3", "goroutine.telemetry@4", "goroutine.starts",
	"goroutine.activity@3", "goroutine.activity@8", "goroutine.probe", "goroutine.request@2", "goroutine.doctor@3",
	"goroutine.stream", "goroutine.record@12", "landscape.watches.committing@3", "landscape.runs.committing@2",
}

// TestAServerOutlivesPanics: whatever goroutine of a server panics, the process goes on, its log has the cause under an
// id, which is counted, and the files that arrive are in complete runs, each in one.
func TestAServerOutlivesPanics(t *testing.T) {
	sample.Rarely(t)
	p := in(t, build(t), "plain.yaml", "orders.csv")
	p.write(t, "beats.yaml", "name: beats\nparams: {part: {type: string, default: all}}\n"+
		"sources: {in: {csv: {path: \""+p.folder+"/in/*.csv\"}, schema: {fields: {id: int}}}}\n"+
		"sinks: {out: {csv: {path: \""+p.folder+"/out/${param:part}.csv\"}}}\n"+
		"triggers: {drop: {source: in, every: 100ms, quiet: 100ms, run_id: part}}\n")
	require.NoError(t, os.Mkdir(filepath.Join(p.folder, "in"), 0o700))
	for i := range 3 {
		p.write(t, fmt.Sprintf("in/%d.csv", i), fmt.Sprintf("id\n%d\n", i))
	}
	p.deploy(t, "")
	token := strings.TrimSpace(p.run(t, 0, "access", "grant", "ann", "--role", "viewer,auditor", "--why", "a test"))
	log, err := os.Create(filepath.Join(p.folder, "log"))
	require.NoError(t, err)
	defer log.Close()
	api, pages := freeAddress(t), freeAddress(t)
	serving := exec.Command(p.binary, "serve", ".", "--port", "0", "--http", pages, "--api", api,
		"--pages", "off", "--allow-path", p.folder, "--quiet")
	serving.Dir, serving.Stderr = p.folder, log
	serving.Env = append(os.Environ(), "WAYMARK_HEARTBEAT=1s",
		"WAYMARK_FAILPOINTS="+strings.Join(panicking, "=panic;")+"=panic",
		"WAYMARK_FAILPOINT_LOG="+heldLog(p.folder))
	require.NoError(t, serving.Start())
	t.Cleanup(func() {
		_ = serving.Process.Kill()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Log(string(text))
		}
	})
	ask := func(url string) (status int, body string) {
		ctx, done := context.WithTimeout(t.Context(), 5*time.Second) // a stream ends so
		defer done()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+url, http.NoBody)
		require.NoError(t, err)
		if strings.HasPrefix(url, api) {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	require.Eventually(t, func() bool {
		status, _ := ask(api + "/v1/whoami")
		return status == 200
	}, patience, 100*time.Millisecond)
	told := regexp.MustCompile(`defect=([0-9a-f]{16})`)
	require.Eventually(t, func() bool { // the second request that comes to a route
		status, body := ask(api + "/v1/whoami")
		return status == http.StatusInternalServerError && told.MatchString(body) ||
			strings.Contains(read(t, log.Name()), "goroutine.request")
	}, patience, 10*time.Millisecond)
	for _, path := range []string{
		api + "/v1/doctor", api + "/v1/events/stream", pages + "/readyz", pages + "/metrics",
	} {
		_, _ = ask(path)
	}
	db := open(t, p.folder)
	count := func(query string) (n int) { _ = db.QueryRow(query).Scan(&n); return n }
	require.Eventually(t, func() bool {
		return count("select count(*) from arrivals where state = 'done'") == 3
	}, patience, 100*time.Millisecond)
	require.Equal(t, 3, count("select count(*) from runs where status = 'completed'"))
	require.ElementsMatch(t, []string{"0", "1", "2"}, p.written(t))
	missing := func() (missing []string) {
		text := read(t, log.Name())
		for _, point := range panicking {
			name, _, _ := strings.Cut(point, "@")
			if !strings.Contains(text, `panic="failpoint: `+name+`"`) {
				missing = append(missing, point)
			}
		}
		return missing
	}
	require.Eventually(t, func() bool {
		_, _ = ask(api + "/v1/doctor")
		return len(missing()) == 0
	}, patience, time.Second, "%v", missing())
	_, metrics := ask(pages + "/metrics")
	require.Regexp(t, `waymark_defects_total\{.*where="outbox".*\} 1\n`, metrics)
	ids := told.FindAllString(read(t, log.Name()), -1)
	require.GreaterOrEqual(t, len(slices.Compact(slices.Sorted(slices.Values(ids)))), len(panicking)-1)
	p.drain(t, serving)
	p.run(t, 0, "verify", "last")
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}
