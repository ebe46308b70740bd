package crash

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/sample"
	"waymark/tests/services"
)

// Whatever a server was about to do for what was posted to it when it was killed: who repeats until it is answered finds each delivery in one complete run.
func TestServeIsKilledAtMomentsOfADelivery(t *testing.T) {
	sample.Rarely(t)
	binary := build(t)
	for _, moment := range []string{
		"webhook.stored", "webhook.recorded", "webhook.stored@2", "webhook.recorded@3", "landscape.arrivals.begin", "landscape.arrivals.inserted", "landscape.arrivals.committing", "landscape.arrivals.committed", "landscape.arrivals.committed@2",
		"arrival.taken", "arrival.started", "activity.OpenRun.begin", "landscape.runs.committed", "activity.FinishRun.end",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			deliveriesCome(t, binary, moment)
		})
	}
}

// deliveriesCome posts deliveries to a trigger, each until it is answered, and until all are done; but the server is killed at the moment, if one is given, and serves again. It returns the
// log of moments.
func deliveriesCome(t *testing.T, binary, moment string) []byte {
	t.Helper()
	p := in(t, binary, "plain.yaml", "orders.csv")
	p.write(t, "beats.yaml", "name: beats\nparams: {part: {type: string, default: all}}\n"+
		"sources: {in: {webhook: {}, schema: {fields: {id: int}}}}\n"+
		"sinks: {out: {csv: {path: \""+p.folder+"/out/${param:part}.csv\"}}}\n"+
		"triggers: {calls: {source: in, every: 100ms, http: {verify: none}, run_id: part}}\n")
	address := freeAddress(t)
	serve := func(plan string) *exec.Cmd {
		return p.startAt(t, plan, "serve", ".", "--port", "0", "--http", "off", "--api", address, "--pages", "off")
	}
	first := serve("")
	p.deploy(t, "")
	db := open(t, p.folder)
	count := func(query string) (n int) {
		require.NoError(t, db.QueryRow(query).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool {
		return count("select count(*) from triggers") == 1
	}, patience, 50*time.Millisecond)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()

	const deliveries = 4
	sent := make(chan error, 1)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	go func() { sent <- sendAll(ctx, "http://"+address+"/in/default/beats/calls", deliveries) }()
	if moment != "" {
		died(t, serve(moment+"=kill"), moment)
	}
	serving := serve("")
	require.NoError(t, <-sent)
	require.Eventually(t, func() bool {
		return count("select count(*) from arrivals where state = 'done'") == deliveries
	}, patience, 100*time.Millisecond)
	require.Equal(t, []int{deliveries, deliveries, 0, deliveries}, []int{
		count("select count(*) from arrivals"), count("select count(*) from runs where status = 'completed'"), count("select count(*) from runs where status <> 'completed'"), count("select count(*) from arrival_runs"),
	})
	require.ElementsMatch(t, []string{"0", "1", "2", "3"}, p.written(t))
	return p.drain(t, serving)
}

// sendAll posts deliveries, one after the other, each until it is answered with 202.
func sendAll(ctx context.Context, url string, deliveries int) error {
	return untilAccepted(ctx, deliveries, func(i int) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"id":%d}`, i)))
	})
}

// untilAccepted sends requests, one after the other, each until it is answered with 202.
func untilAccepted(ctx context.Context, requests int, next func(i int) (*http.Request, error)) error {
	for i := 0; i < requests; {
		request, err := next(i)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			if err := answer.Body.Close(); err != nil {
				return err
			}
			if answer.StatusCode == http.StatusAccepted {
				i++
				continue
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// freeAddress is an address of this machine at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := services.FreeAddress()
	require.NoError(t, err)
	return address
}
