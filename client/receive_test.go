package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client/signature"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/pipeline"
	"waymark/tests/blank"
	"waymark/worker"
)

// depot is a host that has the payloads and the secrets, and executes nothing.
type depot struct {
	nobody
	payloads *payload.Store
}

func (d depot) Deposit(context.Context, bool) (*Deposit, error) {
	return &Deposit{Payloads: d.payloads, Planner: worker.Planner{}}, nil
}

// hooked is a trigger to which a test posts.
type hooked struct {
	*testing.T
	client  *Client
	trigger pipeline.HTTPTrigger
	ago     time.Duration // how long before now what it posts is recorded
	log     *landscape.Log
}

const hookSecret = "hook-hook-hook-hook-hook-hook-hook"

func newHooked(t *testing.T, trigger pipeline.HTTPTrigger) *hooked {
	t.Setenv("WAYMARK_SECRET_HOOK", hookSecret)
	h := &hooked{T: t, trigger: trigger}
	h.log = landscape.New(blank.New(t), func() time.Time { return time.Now().Add(-h.ago) })
	bundle, version := landscapetest.VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err := h.log.Deploy(t.Context(), landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	h.trigger.Secret = "${secret:HOOK}"
	spec, err := json.Marshal(pipeline.ArrivalTrigger{Source: "in", HTTP: &h.trigger})
	require.NoError(t, err)
	require.NoError(t, h.log.ChangeTrigger(t.Context(), "default/orders/calls",
		func(*landscape.Trigger) (*landscape.Trigger, error) {
			return &landscape.Trigger{
				Environment: landscape.DefaultEnvironment, Pipeline: "orders", Name: "calls",
				Action: landscape.SetTrigger,
				Spec:   string(spec), Version: 1, Actor: "ann", Why: "first",
			}, nil
		}))
	h.client = New(h.log, "memory", depot{payloads: payload.New(&memstore.Store{}, payload.Options{})})
	return h
}

// post posts a body as the delivery with an id, with more headers, and returns the receipt.
func (h *hooked) post(id, body string, more ...string) (Receipt, error) {
	h.Helper()
	header, err := signature.Sign(h.trigger, hookSecret, id, []byte(body), time.Now())
	require.NoError(h, err)
	for i := 0; i < len(more); i += 2 {
		header.Set(more[i], more[i+1])
	}
	return h.client.Receive(h.Context(), Post{
		Trigger: "default/orders/calls", Header: header, Body: func() ([]byte, error) { return []byte(body), nil },
	})
}

// took posts what must be recorded, now or before, and returns the receipt.
func (h *hooked) took(isNew bool, id, body string) string {
	h.Helper()
	r, err := h.post(id, body)
	require.NoError(h, err)
	require.Equal(h, isNew, r.New)
	return r.Receipt
}

// TestTheSameBodyTwice posts events that look the same: where an id tells them apart, each is a delivery, however
// often it is sent; and nobody makes new ones of an old one after the window.
func TestTheSameBodyTwice(t *testing.T) {
	const window = pipeline.Duration(time.Hour)
	named, both := &pipeline.HMACRule{Header: "X-Sig", ID: "X-Id"}, &pipeline.HMACRule{Header: "X-Sig", ID: "X-Id",
		Timestamp: "X-Time"}
	for name, c := range map[string]struct {
		pipeline.HTTPTrigger
		bounded bool
	}{
		"hmac with an id":            {pipeline.HTTPTrigger{Verify: "hmac", Window: window, HMAC: named}, true},
		"hmac with an id and a time": {pipeline.HTTPTrigger{Verify: "hmac", HMAC: both}, false},
		"github":                     {pipeline.HTTPTrigger{Verify: "github", Window: window}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHooked(t, c.HTTPTrigger)
			h.ago = 2 * time.Hour
			old := h.took(true, "0", `{"temp":19}`)
			h.ago = 0
			first := h.took(true, "1", `{"temp":20}`)
			second := h.took(true, "2", `{"temp":20}`)
			require.NotEqual(t, first, second)
			require.Equal(t, second, h.took(false, "2", `{"temp":20}`))
			require.Equal(t, first, h.took(false, "1", `{"temp":20}`))
			require.NotEqual(t, first, h.took(true, "1", `{"temp":21}`), "the id of another body is no id of this one")
			require.Equal(t, old, h.took(false, "0", `{"temp":19}`), "whoever sent it first may send it again for ever")
			_, err := h.post("3", `{"temp":19}`)
			require.Equal(t, c.bounded, err != nil, "%v", err)
			if c.bounded {
				require.ErrorAs(t, err, new(*signature.RefusedError))
				require.ErrorContains(t, err, "the same body came first 2h0m0s ago, more than the window of 1h0m0s")
			}
		})
	}
	h := newHooked(t, pipeline.HTTPTrigger{Verify: "hmac", HMAC: &pipeline.HMACRule{Header: "X-Sig"}})
	require.Equal(t, h.took(true, "1", `{"temp":20}`), h.took(false, "2", `{"temp":20}`), "nothing tells them apart")
}

// TestWhatCannotBeRead is refused, so that the sender shows that it failed; everything else is taken.
func TestWhatCannotBeRead(t *testing.T) {
	h := newHooked(t, pipeline.HTTPTrigger{Verify: "github"})
	for i, c := range []struct {
		body, header, value, why string
	}{
		{"payload=%7B%22a%22%3A1%7D", "Content-Type", "application/x-www-form-urlencoded", "the body is a form"},
		{"--x\r\n", "Content-Type", "multipart/form-data; boundary=x", "the body is a form"},
		{"\x1f\x8b", "Content-Encoding", "gzip", `the body has the Content-Encoding "gzip"`},
		{"{\"n\":\"\xe9\"}", "Content-Type", "application/json; charset=iso-8859-1",
			`the body is in the charset "iso-8859-1"`},
		{"\x1f\x8b\x08\x00", "Content-Type", "application/json", "the body is compressed by gzip"},
		{"{\"n\":\"\xe9\"}", "Content-Type", "application/json", "the body is not in UTF-8"},
		{"\xff\xfe{\x00}\x00", "Content-Type", "application/json", "the body is not in UTF-8"},
		{"{\x00}\x00", "Content-Type", "application/json", "the body is not in UTF-8"},
		{`{"a":1}`, "Content-Type", "application/x-www-form-urlencoded", ""},
		{"\xef\xbb\xbf{\"a\":2}", "Content-Type", "application/json; charset=UTF-8", ""},
		{`{"a":3}`, "Content-Encoding", "identity", ""},
		{`no JSON`, "Content-Type", "text/plain", ""},
		{"", "Content-Type", "", ""},
	} {
		r, err := h.post(strconv.Itoa(i), c.body, c.header, c.value)
		if c.why == "" {
			require.NoError(t, err, c.body)
			require.True(t, r.New)
			continue
		}
		var refused *Error
		require.ErrorAs(t, err, &refused, c.body)
		require.Equal(t, BodyUnreadable, refused.Code)
		require.ErrorContains(t, err, c.why)
	}
	_, err := h.client.Receive(t.Context(), Post{Trigger: "default/orders/calls",
		Header: http.Header{"X-Hub-Signature-256": {"sha256=00"}, "Content-Encoding": {"gzip"}},
		Body:   func() ([]byte, error) { return []byte("x"), nil }})
	require.ErrorAs(t, err, new(*signature.RefusedError), "who does not sign learns nothing")
}
