package oidc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Limits of what the issuer is asked.
const (
	fetchTime  = 5 * time.Second
	mostAnswer = 1 << 20          // bytes
	keepAnswer = 30 * time.Second // an answer counts so long: no stranger makes a server ask the issuer oftener
	keepFault  = 5 * time.Second  // and so long one that did not come
)

// Away says that the issuer could not be asked, or that it answered with what no issuer does.
type Away struct {
	Issuer string
	Err    error
}

func (a *Away) Error() string { return fmt.Sprintf("%s cannot be asked: %v", a.Issuer, a.Err) }

func (a *Away) Unwrap() error { return a.Err }

// fetches are requests to the issuer. The answer of an address that is read is kept for a moment, also one that did not come.
type fetches struct {
	issuer string
	now    func() time.Time
	mu     sync.Mutex
	kept   map[string]fetched
}

type fetched struct {
	status int
	header http.Header
	body   []byte
	err    error
	until  time.Time
}

// client returns an HTTP client that sends secrets and takes keys over TLS, or on this machine, and is led nowhere else.
func (f *fetches) client() *http.Client {
	return &http.Client{Transport: f, Timeout: fetchTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// RoundTrip implements http.RoundTripper. Its error is an *Away.
func (f *fetches) RoundTrip(r *http.Request) (*http.Response, error) {
	if !confidential(r.URL) {
		return nil, &Away{f.issuer, fmt.Errorf("it names %s, which is not https", r.URL.Redacted())}
	}
	got := f.get(r)
	if got.err != nil {
		return nil, &Away{f.issuer, got.err}
	}
	return &http.Response{
		Status: http.StatusText(got.status), StatusCode: got.status, Header: got.header, Body: io.NopCloser(bytes.NewReader(got.body)), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// get returns what an address answers. What is read again within a moment is not asked for again.
func (f *fetches) get(r *http.Request) fetched {
	if r.Method != http.MethodGet {
		return fetch(r)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, found := f.kept[r.URL.String()]; found && f.now().Before(known.until) {
		return known
	}
	got := fetch(r)
	switch {
	case got.err != nil:
	case got.status != http.StatusOK:
		got.err = fmt.Errorf("%s answers with status %d", r.URL.Redacted(), got.status)
	case !json.Valid(got.body):
		got.err = fmt.Errorf("%s answers with what is no JSON", r.URL.Redacted())
	}
	keep := keepAnswer
	if got.err != nil {
		keep = keepFault
	}
	got.until = f.now().Add(keep)
	if f.kept == nil {
		f.kept = map[string]fetched{}
	}
	f.kept[r.URL.String()] = got
	return got
}

// fetch sends a request, and reads the whole answer.
func fetch(r *http.Request) (got fetched) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return fetched{err: err}
	}
	defer func() { got.err = errors.Join(got.err, answer.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	if err == nil && len(body) > mostAnswer {
		err = fmt.Errorf("%s answers with more than %d bytes", r.URL.Redacted(), mostAnswer)
	}
	return fetched{status: answer.StatusCode, header: answer.Header, body: body, err: err}
}

// confidential reports whether nobody on the way to an address can read or change what is sent.
func confidential(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
