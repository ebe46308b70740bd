package crash

import (
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
)

// A run that a service asked for begins once, and its start is what became of it, whenever the server is killed; repeating the request changes nothing.
func TestServeIsKilledAtMomentsOfAStart(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []string{
		"run.prepared", "landscape.starts.begin", "landscape.starts.committed", "run.started", "activity.OpenRun.begin", "landscape.runs.committed", "activity.FinishRun.end",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			runIsAskedFor(t, binary, moment)
		})
	}
}

func runIsAskedFor(t *testing.T, binary, moment string) {
	t.Helper()
	p := in(t, binary, "plain.yaml", "orders.csv")
	p.write(t, "beats.yaml",
		"name: beats\n"+
			"sources: {in: {csv: {path: \""+p.folder+"/orders.csv\"}, schema: {mode: flexible, fields: {id: int}}}}\n"+
			"sinks: {out: {jsonl: {path: \""+p.folder+"/out/asked.jsonl\"}}}\n")
	address := freeAddress(t)
	serve := func(plan string) *exec.Cmd {
		return p.startAt(t, plan, "serve", ".", "--port", "0", "--http", "off", "--api", address, "--pages", "off", "--allow-path", p.folder)
	}
	first := serve("")
	p.deploy(t, "")
	token := strings.TrimSpace(p.run(t, 0, "access", "grant", "service", "--role", "service", "--why", "a test"))
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()

	ask := func() (status int) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/runs", strings.NewReader(`{"pipeline":"beats"}`))
		require.NoError(t, err)
		for header, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Idempotency-Key": "once"} {
			request.Header.Set(header, value)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	killed := serve(moment + "=kill")
	require.Eventually(t, func() bool { // before it listens nothing is asked
		connection, err := net.DialTimeout("tcp", address, time.Second)
		return err == nil && connection.Close() == nil
	}, patience, 50*time.Millisecond)
	ask()
	died(t, killed, moment)

	db := open(t, p.folder)
	count := func(query string) (n int) {
		require.NoError(t, db.QueryRow(query).Scan(&n))
		return n
	}
	serving := serve("")
	if count("select count(*) from starts") == 0 { // killed before that was on record
		require.Eventually(t, func() bool { return ask() == http.StatusAccepted }, patience, 50*time.Millisecond)
	}
	require.Eventually(t, func() bool {
		return count("select count(*) from runs where status = 'completed'") == 1
	}, patience, 50*time.Millisecond)
	require.Eventually(t, func() bool { return ask() == http.StatusAccepted }, patience, 50*time.Millisecond)
	require.Equal(t, []int{1, 1, 1, 0}, []int{
		count("select count(*) from starts where state = 'begun'"), count("select count(*) from starts"), count("select count(*) from runs"),
		count("select count(*) from outbox where kind = 'start.refused'"),
	})
	p.drain(t, serving)
}
