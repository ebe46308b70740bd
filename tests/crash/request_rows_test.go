package crash

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// Whatever a server was about to do for a request with rows when it was killed: who repeats it until it is answered finds its rows in one complete run.
func TestServeIsKilledAtMomentsOfARequest(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []string{
		"request.stored", "request.stored@3", "payload.renamed", "landscape.starts.begin@2", "landscape.starts.inserted@2", "landscape.starts.committed@2", "run.prepared", "run.started@2",
		"activity.OpenRun.begin", "landscape.runs.committed", "activity.OpenRun.end", "activity.FinishRun.end",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			requestsCome(t, binary, moment)
		})
	}
}

// requestsCome asks for runs and brings their rows, each until the request is answered, and until all are complete; but the server is killed at the moment, if one is given, and serves
// again. It returns the log of moments.
func requestsCome(t *testing.T, binary, moment string) []byte {
	t.Helper()
	p := in(t, binary, "plain.yaml", "orders.csv")
	p.write(t, "beats.yaml", "name: beats\nparams: {part: {type: string, default: all}}\n"+
		"sources: {in: {webhook: {}, schema: {fields: {id: int}}}}\n"+
		"sinks: {out: {csv: {path: \""+p.folder+"/out/${param:part}.csv\"}}}\n")
	address := freeAddress(t)
	serve := func(plan string) *exec.Cmd {
		return p.startAt(t, plan, "serve", ".", "--port", "0", "--http", "off", "--api", address, "--pages", "off", "--allow-path", p.folder)
	}
	p.deploy(t, "")
	token := strings.TrimSpace(p.run(t, 0, "access", "grant", "shop", "--role", "service", "--why", "a test"))
	db := open(t, p.folder)

	const requests = 4
	sent := make(chan error, 1)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	go func() { sent <- askForAll(ctx, "http://"+address+"/v1/runs", token, requests) }()
	if moment != "" {
		died(t, serve(moment+"=kill"), moment)
	}
	serving := serve("")
	require.NoError(t, <-sent)
	count := func(query string) (n int) {
		require.NoError(t, db.QueryRow(query).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool {
		return count("select count(*) from runs where status = 'completed'") == requests
	}, patience, 100*time.Millisecond)
	require.Equal(t, []int{requests, requests}, []int{count("select count(*) from runs"), count("select count(*) from starts where rows <> '' and state = 'begun'")})
	for i := range requests {
		content, err := os.ReadFile(filepath.Join(p.folder, "out", fmt.Sprintf("%d.csv", i)))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("id\n%d\n%d\n", i, i+100), string(content))
	}
	moments := p.drain(t, serving)
	p.at("").run(t, 0, "verify", "last")
	p.run(t, 0, "scrub")
	return moments
}

// askForAll asks for runs, one after the other, each until it is answered with 202. Each has rows of its own.
func askForAll(ctx context.Context, url, token string, requests int) error {
	return untilAccepted(ctx, requests, func(i int) (*http.Request, error) {
		body := fmt.Sprintf(`{"pipeline":"beats","params":{"part":"%d"},"rows":{"in":[{"id":%d},{"id":%d}]}}`, i, i, i+100)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err == nil {
			request.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Idempotency-Key": {fmt.Sprint("order-", i)}}
		}
		return request, err
	})
}
