package s3store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/services/buckets"
)

// roundTripper is a function between a Store and its server.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// chaos spoils a part of all requests, each kind of fault as often as the others: what is lost, and what is worse.
type chaos struct {
	mu     sync.Mutex
	random *rand.Rand
	counts map[string]int
}

var errReset = errors.New("read tcp: connection reset by peer")

// fault is what can happen to a request.
type fault struct {
	done   bool   // the server does what it was asked for
	half   bool   // the client gets the first half of the reply
	status int    // the client gets this reply instead; 0: the connection breaks
	code   string // of the reply
	method string // happens to no other one; empty: to any
}

var faults = map[string]fault{
	"lost request":          {},
	"lost reply":            {done: true},
	"500 instead":           {status: http.StatusInternalServerError, code: "InternalError"},
	"500 after it was done": {done: true, status: http.StatusInternalServerError, code: "InternalError"},
	"slow down":             {status: http.StatusServiceUnavailable, code: "SlowDown"},
	"conflict":              {status: http.StatusConflict, code: codeConflict, method: http.MethodPut},
	"half a body":           {done: true, half: true},
}

func (f fault) happen(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if f.method != "" && f.method != r.Method {
		return next.RoundTrip(r)
	}
	if f.done {
		response, err := next.RoundTrip(r)
		if err != nil || f.half {
			return halved(response), err
		}
		if err := response.Body.Close(); err != nil {
			return nil, err
		}
	}
	if f.status == 0 {
		return nil, errReset
	}
	return refusal(r, f.status, f.code, "not now"), nil
}

// halved returns response with half its body, and a broken connection after that.
func halved(response *http.Response) *http.Response {
	if response != nil {
		half := io.LimitReader(response.Body, max(0, response.ContentLength/2))
		response.Body = body{io.MultiReader(half, iotest.ErrReader(io.ErrUnexpectedEOF)), response.Body}
	}
	return response
}

// body reads from one place and closes another.
type body struct {
	io.Reader
	io.Closer
}

// refusal is what a server would send.
func refusal(r *http.Request, status int, code, message string) *http.Response {
	text := fmt.Sprintf("<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	if r.Method == http.MethodHead {
		text = ""
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(text)),
		ContentLength: int64(len(text)),
	}
}

// way spoils about one of three requests.
func (c *chaos) way(next http.RoundTripper) http.RoundTripper {
	names := make([]string, 0, len(faults))
	for name := range faults {
		names = append(names, name)
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.mu.Lock()
		spoil, name := c.random.IntN(3) == 0, names[c.random.IntN(len(names))]
		if spoil {
			c.counts[name]++
		}
		c.mu.Unlock()
		if !spoil {
			return next.RoundTrip(r)
		}
		return faults[name].happen(next, r)
	})
}

// share is how many of so many payloads are put: by day a part of them.
func share(many int) int { return many / sample.Step(3) }

// TestNothingIsLostOnABadWay puts payloads, each twice, and gets them, while one of three requests is spoiled.
func TestNothingIsLostOnABadWay(t *testing.T) {
	b := buckets.New(t)
	c := &chaos{random: rand.New(rand.NewPCG(1, 2)), counts: map[string]int{}}
	healed := payload.Options{OnHeal: func(h payload.Heal) { t.Errorf("healed what was good: %+v", h) }}
	s := payload.New(openBucket(t, b, c.way), healed)
	many := share(200)
	putAndGet(t, s, many)
	for name := range faults {
		require.Greater(t, c.counts[name], many/20, name)
	}
	requireAllGood(t, b, many)
}

// TestNothingIsLostOnABadWayInParts does so with objects that need several requests each.
func TestNothingIsLostOnABadWayInParts(t *testing.T) {
	b := buckets.New(t)
	c := &chaos{random: rand.New(rand.NewPCG(3, 4)), counts: map[string]int{}}
	s := openBucket(t, b, c.way)
	s.limits = limits{single: 0, part: 5 * mebi}
	putAndGet(t, payload.New(s, payload.Options{}), share(40))
	requireAllGood(t, b, share(40))
	_, err := openBucket(t, b, nil).Sweep(t.Context(), -time.Hour)
	require.NoError(t, err)
	requireNoUploads(t, s)
}

// TestNothingIsLostBehindACut cuts real connections: the reply, or the request, of every third PUT.
func TestNothingIsLostBehindACut(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	proxy := services.Cut(t, b.Address())
	s, err := Open(t.Context(), b.URLAt("http://"+proxy.Address(), "pay/loads"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	put := func(request []byte) bool { return bytes.HasPrefix(request, []byte("PUT ")) }
	proxy.LoseReply(put)
	proxy.Every(3)
	putAndGet(t, payload.New(s, payload.Options{}), share(150))
	replies := proxy.Lost()
	require.GreaterOrEqual(t, replies, share(150)/3)
	proxy.LoseRequest(put)
	proxy.Every(3)
	for n := range 50 {
		require.NoError(t, s.Write(t.Context(), keyOf(1000+n), bodyOf(1000+n)))
	}
	require.GreaterOrEqual(t, proxy.Lost()-replies, 16)
	proxy.Heal()
	requireAllGood(t, b, share(150))
}

func bodyOf(n int) []byte { return random(1000+n, byte(n)) }

func keyOf(n int) string { return string(payload.Of(bodyOf(n))) }

// putAndGet puts many payloads, each twice, and gets them.
func putAndGet(t *testing.T, s *payload.Store, many int) {
	t.Helper()
	var workers sync.WaitGroup
	next := make(chan int)
	for range 16 {
		workers.Go(func() {
			for n := range next {
				if err := putTwiceAndGet(t, s, bodyOf(n)); err != nil {
					t.Errorf("payload %d: %v", n, err)
				}
			}
		})
	}
	for n := range many {
		next <- n
	}
	close(next)
	workers.Wait()
}

func putTwiceAndGet(t *testing.T, s *payload.Store, data []byte) error {
	for range 2 {
		if _, err := s.Put(t.Context(), data); err != nil {
			return err
		}
	}
	got, err := s.Get(t.Context(), payload.Of(data))
	if err == nil && !bytes.Equal(data, got) {
		err = errors.New("other bytes")
	}
	return err
}

// requireAllGood looks at the bucket without any fault: nothing is lost, wrong, set aside, or more than it should be.
func requireAllGood(t *testing.T, b *buckets.Bucket, many int) {
	t.Helper()
	s := openBucket(t, b, nil)
	report, err := payload.New(s, payload.Options{}).Scrub(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, report.Corrupt)
	require.Zero(t, report.Unreadable)
	for n := range many {
		_, err := s.Stat(t.Context(), keyOf(n))
		require.NoError(t, err)
	}
	require.NoError(t, s.list(t.Context(), s.place.name(quarantinePrefix), func(name string) error {
		t.Errorf("set aside: %s", name)
		return nil
	}))
}

// TestAServerThatIsKilledAndComesBack while 16 writers and readers are at work.
func TestAServerThatIsKilledAndComesBack(t *testing.T) {
	b := buckets.Private(t)
	s := payload.New(openBucket(t, b, nil), payload.Options{})
	kills, each := share(3), 100
	for round := range kills {
		var done atomic.Int64
		half := make(chan struct{})
		var workers sync.WaitGroup
		for worker := range 16 {
			workers.Go(func() {
				for n := worker; n < each; n += 16 {
					if err := putTwiceAndGet(t, s, bodyOf(round*each+n)); err != nil {
						t.Errorf("payload %d: %v", n, err)
					}
					if done.Add(1) == int64(each/2) {
						close(half)
					}
				}
			})
		}
		<-half
		b.Stop()
		b.Start(t)
		workers.Wait()
	}
	requireAllGood(t, b, kills*each)
}

// TestABodyThatIsCutIsAskedForAgain wherever it is cut.
func TestABodyThatIsCutIsAskedForAgain(t *testing.T) {
	var cutAt atomic.Int64
	cutAt.Store(-1)
	s := openBucket(t, buckets.New(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if at := cutAt.Swap(-1); err == nil && at >= 0 {
				response.Body = body{io.LimitReader(response.Body, at), response.Body}
			}
			return response, err
		})
	})
	data := random(200, 5)
	key := string(payload.Of(data))
	require.NoError(t, s.Write(t.Context(), key, data))
	for at := 0; at < len(data); at += 11 {
		cutAt.Store(int64(at))
		got, err := s.Read(t.Context(), key, 200)
		require.NoError(t, err)
		require.Equal(t, data, got)
	}
}

// TestAServerThatFallsSilentIsGivenUp: a request on which nothing moves ends, and is made again.
func TestAServerThatFallsSilentIsGivenUp(t *testing.T) {
	for name, inReply := range map[string]bool{"before the reply": false, "in the reply": true} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Bool
			s := openBucket(t, buckets.New(t), func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					silent := now.CompareAndSwap(true, false)
					if silent && !inReply {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					response, err := next.RoundTrip(r)
					if silent && err == nil {
						response.Body = body{blocked{r}, response.Body}
					}
					return response, err
				})
			})
			s.transport.silence = 250 * time.Millisecond
			require.NoError(t, s.Write(t.Context(), keyOf(1), bodyOf(1)))
			now.Store(true)
			got, err := s.Read(t.Context(), keyOf(1), noLimit)
			require.NoError(t, err)
			require.Equal(t, bodyOf(1), got)
			require.False(t, now.Load())

			now.Store(true) // and once more, without the retries
			once := func(o *s3.Options) { o.RetryMaxAttempts = 1 }
			out, err := s.client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &s.place.bucket, Key: aws.String(nameOf(got))}, once)
			if inReply {
				require.NoError(t, err)
				_, err = io.ReadAll(out.Body)
				require.NoError(t, out.Body.Close())
			}
			require.ErrorIs(t, err, errSilent)
			require.ErrorContains(t, s.failed("read", "", err), "the server does not answer")
		})
	}
}

const noLimit = 1 << 30

// blocked is a body that never moves.
type blocked struct{ request *http.Request }

func (b blocked) Read([]byte) (int, error) {
	<-b.request.Context().Done()
	return 0, b.request.Context().Err()
}
