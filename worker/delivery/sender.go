package delivery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"waymark/audit/interop"
	"waymark/landscape"
	"waymark/plugin/egress"
)

// Limits of one attempt, so that no endpoint can hold or fill this process. docs/webhooks.md says so.
const (
	attemptTimeout = 10 * time.Second
	mostAnswer     = 64 << 10
	keptAnswer     = 1 << 10
	mostHeader     = 16 << 10
	mostRetryAfter = time.Hour
)

// Sender posts events to endpoints. It uses no proxy, follows no redirect, and dials only what its guards permit.
type Sender struct {
	log    *landscape.Reader
	secret Secret
	web    *http.Client  // for https
	inside *http.Client  // for http, which is readable in between: only networks that the operator allows
	most   time.Duration // that an attempt may take
}

// Secret returns the secret with a name for deliveries of an endpoint to its place, HOST:PORT. Its error names the cure
// and never holds a value.
type Secret func(endpoint, name, place string) (string, error)

// NewSender returns a Sender. allow are networks, besides the public internet, that endpoints may be in.
func NewSender(log *landscape.Reader, secret Secret, allow []netip.Prefix) *Sender {
	return &Sender{log: log, secret: secret, web: newClient(egress.Web(allow)), inside: newClient(egress.Inside(allow)), most: attemptTimeout}
}

func newClient(g egress.Guard) *http.Client {
	dialer := &net.Dialer{Timeout: attemptTimeout, ControlContext: g.Control}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: attemptTimeout, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: mostHeader,
			IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 1, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// CheckURL says what is wrong with the URL of an endpoint; nil if events can be delivered there.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%.200q is no URL of an endpoint: write https://HOST/PATH, or http://HOST/PATH in a network that --allow-network names", text)
	case u.User != nil:
		return errors.New("the URL has a user or password, and URLs are recorded: write it without, and sign deliveries with --secret")
	}
	return nil
}

// Answer is what came of an attempt.
type Answer struct {
	Status int           // of HTTP; 0 if there was no answer
	Error  string        // why the endpoint did not take the event; empty if it did
	Body   string        // the beginning of the answer of an endpoint that did not, without secrets
	Gone   bool          // it will not take the event later either
	After  time.Duration // before which it wants no other attempt; 0 if it does not say
	Took   time.Duration
}

// Post delivers an event once, at a moment. Whatever goes wrong is in the answer.
func (s *Sender) Post(ctx context.Context, e landscape.Endpoint, event landscape.Event, now time.Time) Answer {
	ctx, done := context.WithTimeout(ctx, s.most)
	defer done()
	begun := time.Now()
	answer, err := s.post(ctx, e, event, now)
	if err != nil {
		answer.Error = failure(err)
	}
	answer.Took = time.Since(begun)
	return answer
}

// failure says why there is no answer, without the URL, which is known.
func failure(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if denied, ok := errors.AsType[*egress.DeniedError](err); ok {
		return fmt.Sprintf("%s is no %s: allow it with --allow-network where waymark serve or the worker runs", denied.Address, denied.Open)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return err.Error()
}

func (s *Sender) post(ctx context.Context, e landscape.Endpoint, event landscape.Event, now time.Time) (answer Answer, err error) {
	var secrets []string
	request, err := s.request(ctx, e, event, now, &secrets)
	if err != nil {
		return answer, err
	}
	client := s.web
	if request.URL.Scheme == "http" {
		client = s.inside
	}
	response, err := client.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()                                        //nolint:errcheck // nothing is left to be done
	body, cut := io.ReadAll(io.LimitReader(response.Body, mostAnswer)) // the rest is not read: the connection is closed
	answer.Status, answer.Gone = response.StatusCode, response.StatusCode == http.StatusGone
	if response.StatusCode/100 == 2 {
		return answer, nil // also if the rest of the answer is missing: it took the event
	}
	answer.Body, answer.After = shown(body, secrets), retryAfter(response.Header.Get("Retry-After"), now)
	answer.Error = "it answered " + response.Status
	if location := response.Header.Get("Location"); location != "" {
		answer.Error += ", to another place: redirects are not followed"
	}
	return answer, cut
}

// request makes the request of an attempt, and collects the secrets that it uses.
func (s *Sender) request(ctx context.Context, e landscape.Endpoint, event landscape.Event, now time.Time, secrets *[]string) (*http.Request, error) {
	body := []byte(event.Body)
	if e.Format == landscape.OpenLineageFormat && event.Kind != Ping {
		var err error
		if body, err = interop.LineageEvent(ctx, s.log, event); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "waymark")
	request.Header.Set("webhook-id", event.ID)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	var keys [][]byte
	for _, name := range landscape.Listed(e.Secrets) {
		secret, err := s.secret(e.Name, name, placeOf(request.URL))
		if err != nil {
			return nil, err
		}
		*secrets = append(*secrets, secret, strings.TrimPrefix(secret, secretPrefix))
		if e.Format == landscape.OpenLineageFormat {
			request.Header.Set("Authorization", "Bearer "+secret)
			continue
		}
		key, err := keyOf(name, secret)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if keys != nil {
		request.Header.Set("webhook-signature", signatures(keys, event.ID, now, body))
	}
	return request, nil
}

// placeOf returns HOST:PORT of a URL.
func placeOf(at *url.URL) string {
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(at.Hostname()), port)
}

// shown returns the beginning of an answer as text, without secrets.
func shown(body []byte, secrets []string) string {
	text := strings.ToValidUTF8(string(body), "�")
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	text = strings.ReplaceAll(text, "\x00", "�")
	return strings.ToValidUTF8(text[:min(len(text), keptAnswer)], "")
}

// retryAfter returns for how long an endpoint wants no other attempt, at most mostRetryAfter.
func retryAfter(header string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), mostRetryAfter)
}
