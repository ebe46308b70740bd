package delivery

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
)

// secrets are those of the scenes; old is one that is about to go.
var secrets = map[string]string{
	"s": "whsec_" + strings.Repeat("QUJD", 10), "old": "whsec_" + strings.Repeat("REVG", 10), "bearer": "let-me-in", "plain": "no-key",
}

func secretOf(_, name, _ string) (string, error) {
	if secret, there := secrets[name]; there {
		return secret, nil
	}
	return "", errors.New("secret " + name + " is not there")
}

// receiver is an endpoint: it keeps what it takes.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc // nil: it takes everything
	got    []*http.Request
	bodies []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mu.Lock()
		answer := r.answer
		if answer == nil {
			r.got, r.bodies = append(r.got, request), append(r.bodies, string(body))
		}
		r.mu.Unlock()
		if answer != nil {
			answer(w, request)
		}
	}))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// becomes lets the receiver answer so from now on.
func (r *receiver) becomes(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// ids are those of the events that it took, in order.
func (r *receiver) ids() (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.got {
		ids = append(ids, request.Header.Get("webhook-id"))
	}
	return ids
}

func answering(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// scene is a landscape with an endpoint, and a clock that stands still.
type scene struct {
	*testing.T
	*receiver
	driver *blank.Driver
	log    *landscape.Log
	mu     sync.Mutex
	now    time.Time
}

func newScene(t *testing.T, order landscape.EndpointOrder) *scene {
	t.Helper()
	s := &scene{T: t, receiver: newReceiver(t), driver: blank.New(t), now: time.Now()}
	s.log = landscape.New(s.driver, s.clock)
	e := landscapetest.Endpoint("ledger", order)
	e.URL, e.Secrets = s.URL, `["s","old"]`
	require.NoError(t, landscapetest.SetEndpoint(t.Context(), s.log, e, -1))
	return s
}

func (s *scene) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *scene) later(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(by)
}

// process is one more process that delivers.
func (s *scene) process() *Deliverer {
	sender := NewSender(s.log.Reader, secretOf, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	sender.most = 5 * time.Second
	return New(s.log, sender, slog.New(slog.DiscardHandler), "")
}

func (s *scene) deliver(d *Deliverer) {
	s.Helper()
	_, err := s.log.Sequence(s.Context())
	require.NoError(s, err)
	e, err := s.log.Endpoint(s.Context(), "ledger")
	require.NoError(s, err)
	if !e.Disabled {
		require.NoError(s, d.Deliver(s.Context(), e))
	}
}

// deliveries returns those in a state.
func (s *scene) deliveries(state landscape.DeliveryState) []landscape.Delivery {
	s.Helper()
	found, err := s.log.Deliveries(s.Context(), "ledger", state, 0, 0)
	require.NoError(s, err)
	return found
}

// TestReceiverIsDownForAWholeRun delivers what happened in a run whose receiver was down: each event once, in order, as a stranger's library verifies.
func TestReceiverIsDownForAWholeRun(t *testing.T) {
	s := newScene(t, landscape.StrictOrder)
	d := s.process()
	s.becomes(answering(http.StatusServiceUnavailable))
	run := landscapetest.Scene{Run: "r", Chunks: 1, ChunkRows: 10}
	require.NoError(t, run.Begin(t.Context(), s.log))
	s.deliver(d)
	require.NoError(t, s.log.StopRun(t.Context(), "r", pipeline.Failed, "broken"))
	s.deliver(d)
	require.Len(t, s.deliveries(landscape.DeliveryDue), 2)
	require.EqualValues(t, 1, s.deliveries(landscape.DeliveryDue)[0].Attempts, "it is not tried again at once")
	require.Zero(t, s.deliveries(landscape.DeliveryDue)[1].Attempts, "it waits for the one before it")

	s.becomes(nil)
	s.later(10 * time.Second)
	for range 3 {
		s.deliver(d)
	}
	require.Empty(t, s.deliveries(landscape.DeliveryDue))
	events, err := s.log.Outbox(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Len(t, s.got, len(events))
	for i, event := range events {
		require.Equal(t, event.ID, s.got[i].Header.Get("webhook-id"))
		require.Equal(t, event.Body, s.bodies[i])
		require.Len(t, strings.Fields(s.got[i].Header.Get("webhook-signature")), 2)
		for _, name := range []string{"s", "old"} {
			verifier, err := webhooks.NewWebhook(secrets[name])
			require.NoError(t, err)
			require.NoError(t, verifier.Verify([]byte(s.bodies[i]), s.got[i].Header))
			require.Error(t, verifier.Verify([]byte(s.bodies[i]+" "), s.got[i].Header))
		}
	}
}

// TestHostileReceivers holds that nothing that a receiver does harms: it did not take the event, and that is recorded.
func TestHostileReceivers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		status int
		why    string
	}{
		"leads to a metadata address": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		}, 302, "redirects are not followed"},
		"never answers": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 0, "no answer in time"},
		"answers without end": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(secrets["s"], 1000)); err != nil {
					return
				}
			}
		}, 500, "it answered 500"},
		"closes in the middle": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Le")
				_ = conn.Close()
			}
		}, 0, "connection broken"},
		"is gone": {answering(http.StatusGone), 410, "it answered 410"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, landscape.StrictOrder)
			d := s.process()
			d.sender.most = 300 * time.Millisecond
			s.becomes(c.answer)
			require.NoError(t, landscapetest.Tell(t.Context(), s.log, "r", 1))
			s.deliver(d)
			attempts, err := s.log.DeliveryAttempts(t.Context(), "ledger", 1)
			require.NoError(t, err)
			require.Len(t, attempts, 1)
			require.EqualValues(t, c.status, attempts[0].Status)
			require.Contains(t, attempts[0].Error, c.why)
			require.LessOrEqual(t, len(attempts[0].Answer), keptAnswer)
			require.NotContains(t, attempts[0].Answer, "QUJD")
			require.Empty(t, s.ids())
			require.Equal(t, c.status == 410, len(s.deliveries(landscape.DeliveryDead)) == 1)
		})
	}
}

// TestOnlyWhereTheOperatorAllows reaches nothing inside of a network that nobody allowed, by whatever URL.
func TestOnlyWhereTheOperatorAllows(t *testing.T) {
	s := newScene(t, landscape.StrictOrder)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	sender := NewSender(s.log.Reader, secretOf, nil)
	for _, c := range [][2]string{
		{s.URL, "allow it with --allow-network"}, {strings.Replace(s.URL, "http:", "https:", 1), "allow it with --allow-network"},
		{"http://localhost:" + port, "allow it with --allow-network"},
	} {
		e := landscapetest.Endpoint("ledger", landscape.AnyOrder)
		e.URL = c[0]
		answer := sender.Post(t.Context(), e, landscape.Event{ID: "1", Body: "{}"}, time.Now())
		require.Zero(t, answer.Status)
		require.Contains(t, answer.Error, c[1])
	}
	require.Empty(t, s.ids())
	for _, wrong := range []string{"ledger", "ftp://h/x", "https://", "https://u:p@h/x"} {
		require.Error(t, CheckURL(wrong), wrong)
	}
	require.NoError(t, CheckURL("https://h/x?y"))
}

// TestKilledBetweenAnswerAndRecord loses a process after an endpoint took an event and before that is recorded: another one delivers it once more, with the same id.
func TestKilledBetweenAnswerAndRecord(t *testing.T) {
	s := newScene(t, landscape.StrictOrder)
	killed := false
	s.driver.OnCommit = func(tx landscape.Tx) (bool, error) {
		for _, record := range tx.Insert {
			_, attempt := record.(landscape.DeliveryAttempt)
			killed = killed || attempt && len(s.ids()) == 1
		}
		if killed {
			return false, context.DeadlineExceeded
		}
		return true, nil
	}
	require.NoError(t, landscapetest.Tell(t.Context(), s.log, "r", 2))
	e, err := s.log.Endpoint(t.Context(), "ledger")
	require.NoError(t, err)
	require.ErrorIs(t, s.process().Deliver(t.Context(), e), context.DeadlineExceeded)
	require.True(t, killed)

	s.driver.OnCommit = nil
	other := s.process()
	s.deliver(other)
	require.Len(t, s.ids(), 1, "the first process may still be there")
	s.later(landscape.EndpointLease + time.Second)
	s.deliver(other)
	events, err := s.log.Outbox(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, []string{events[0].ID, events[0].ID, events[1].ID}, s.ids())
	require.Empty(t, s.deliveries(landscape.DeliveryDue))
}

// TestTwoProcessesSideBySide delivers with two processes at once: nothing is out of order, and nothing is there twice.
func TestTwoProcessesSideBySide(t *testing.T) {
	s := newScene(t, landscape.StrictOrder)
	require.NoError(t, landscapetest.Tell(t.Context(), s.log, "r", 60))
	e, err := s.log.Endpoint(t.Context(), "ledger")
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 2 {
		d := s.process()
		all.Go(func() {
			for len(s.ids()) < 60 {
				if err := d.Deliver(t.Context(), e); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	events, err := s.log.Outbox(t.Context(), 0, 0)
	require.NoError(t, err)
	var want []string
	for _, event := range events {
		want = append(want, event.ID)
	}
	require.Equal(t, want, s.ids())
}

// TestRetries follows a delivery that nobody takes to its end, and what a person can do then.
func TestRetries(t *testing.T) {
	s := newScene(t, landscape.StrictOrder)
	d := s.process()
	s.becomes(answering(http.StatusInternalServerError))
	require.NoError(t, landscapetest.Tell(t.Context(), s.log, "r", 2))
	for i, wait := range waits {
		s.deliver(d)
		due := s.deliveries(landscape.DeliveryDue)[0]
		require.EqualValues(t, i+1, due.Attempts)
		until := due.Next.Time().Sub(s.clock())
		require.GreaterOrEqual(t, until, wait*4/5-time.Millisecond)
		require.LessOrEqual(t, until, wait*6/5+time.Millisecond)
		s.deliver(d)
		require.EqualValues(t, i+1, s.deliveries(landscape.DeliveryDue)[0].Attempts, "not before its time")
		s.later(until)
	}
	s.deliver(d)
	require.Len(t, s.deliveries(landscape.DeliveryDead), 1)
	s.becomes(nil)
	s.deliver(d)
	require.Empty(t, s.ids(), "in strict order others wait for a person")
	e, err := s.log.Endpoint(t.Context(), "ledger")
	require.NoError(t, err)
	n, err := s.log.Replay(t.Context(), e, landscape.Replayed{Dead: true})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	s.deliver(d)
	events, err := s.log.Outbox(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, landscape.EndpointFailing, events[2].Kind)
	require.Equal(t, []string{events[0].ID, events[1].ID, events[2].ID}, s.ids())
}

// TestAnyOrder lets events pass one that is not taken, waits as long as an endpoint asks, and disables one that takes nothing for days.
func TestAnyOrder(t *testing.T) {
	s := newScene(t, landscape.AnyOrder)
	d := s.process()
	s.becomes(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "100000")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	require.NoError(t, landscapetest.Tell(t.Context(), s.log, "r", 1))
	s.deliver(d)
	require.Equal(t, landscape.MicrosOf(s.clock().Add(mostRetryAfter)), s.deliveries(landscape.DeliveryDue)[0].Next)
	s.becomes(nil)
	require.NoError(t, landscapetest.Tell(t.Context(), s.log, "other", 1))
	s.deliver(d)
	require.Len(t, s.ids(), 1)
	s.later(mostRetryAfter)
	s.deliver(d)
	require.Len(t, s.ids(), 2)

	s.becomes(answering(http.StatusGone))
	require.NoError(t, landscapetest.Tell(t.Context(), s.log, "last", 1))
	s.deliver(d)
	s.later(failingTime + time.Hour)
	s.deliver(d)
	e, err := s.log.Endpoint(t.Context(), "ledger")
	require.NoError(t, err)
	require.True(t, e.Disabled)
	require.Contains(t, e.Why, "it has taken nothing since ")
}

// TestSecrets names what is wrong with a secret, and never its value.
func TestSecrets(t *testing.T) {
	s := newScene(t, landscape.AnyOrder)
	for name, why := range map[string]string{"plain": "secret plain is not whsec_", "none": "secret none is not there"} {
		e := landscapetest.Endpoint("ledger", landscape.AnyOrder)
		e.URL, e.Secrets = s.URL, landscape.List([]string{name})
		answer := s.process().sender.Post(t.Context(), e, landscape.Event{ID: "1", Body: "{}"}, time.Now())
		require.Contains(t, answer.Error, why)
		require.NotContains(t, answer.Error, "no-key")
	}
	require.Empty(t, s.ids())
}

// TestOpenLineage posts the beginning and the end of a run as OpenLineage has them.
func TestOpenLineage(t *testing.T) {
	s := newScene(t, landscape.StrictOrder)
	e := landscapetest.Endpoint("ledger", landscape.StrictOrder)
	e.URL, e.Format, e.Secrets = s.URL, landscape.OpenLineageFormat, `["bearer"]`
	require.NoError(t, landscapetest.SetEndpoint(t.Context(), s.log, e, -1))
	run := landscapetest.Scene{Run: "r", Chunks: 1, ChunkRows: 10}
	require.NoError(t, run.Begin(t.Context(), s.log))
	require.NoError(t, s.log.StopRun(t.Context(), "r", pipeline.Interrupted, "stopped"))
	require.NoError(t, s.log.Resume(t.Context(), landscape.Resumption{Run: "r", Epoch: 1, Claim: "c"}))
	require.NoError(t, s.log.CancelRun(t.Context(), "r", false, "ann", ""))
	s.deliver(s.process())
	require.Len(t, s.bodies, 3, "a resumption is none of its events")
	for i, want := range []string{`"eventType":"START"`, `"eventType":"ABORT"`, `"eventType":"ABORT"`} {
		require.Contains(t, s.bodies[i], want)
		require.Equal(t, "Bearer let-me-in", s.got[i].Header.Get("Authorization"))
	}
	require.Contains(t, s.bodies[1], "it was resumed since")
	require.Contains(t, s.bodies[2], "cancelled by ann")
}
