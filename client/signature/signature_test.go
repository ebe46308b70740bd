package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// now is the time of the vector of Standard Webhooks.
var now = time.Unix(1614265330, 0)

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// mac is computed without the code that is tested.
func mac(algorithm func() hash.Hash, secret, text string) []byte {
	m := hmac.New(algorithm, []byte(secret))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// TestVectors verifies what others published: the vector of Standard Webhooks' libraries, and the example of GitHub's documentation.
func TestVectors(t *testing.T) {
	key, err := Verify(pipeline.HTTPTrigger{Verify: "standard"}, []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Delivery{
		headers("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp", "1614265330", "webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
		[]byte(`{"test": 2432232314}`),
	}, now)
	require.NoError(t, err)
	require.Equal(t, Key{Signed: "id:msg_p5jXN8AQM9LWM0D4loKWxJek"}, key)

	key, err = Verify(pipeline.HTTPTrigger{Verify: "github"}, []string{"It's a Secret to Everybody"}, Delivery{
		headers("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "X-GitHub-Delivery", "d1"), []byte("Hello, World!"),
	}, now)
	require.NoError(t, err)
	require.Equal(t, Key{Signed: fmt.Sprintf("sha256:%x:", sha256.Sum256([]byte("Hello, World!"))), ID: "d1"}, key)
}

// ways are deliveries of all kinds that count, with the secret "old" or "new".
func ways(t *testing.T, at time.Time, secret, id, body string) map[string]struct {
	pipeline.HTTPTrigger
	Delivery
} {
	t.Helper()
	seconds := strconv.FormatInt(at.Unix(), 10)
	signer, err := standard.NewWebhookRaw([]byte(secret))
	require.NoError(t, err)
	signature, err := signer.Sign(id, at, []byte(body))
	require.NoError(t, err)
	plain, timed := pipeline.HMACRule{Header: "X-Sig"}, pipeline.HMACRule{Header: "X-Sig", Prefix: "v0=", Algorithm: "sha512", Encoding: "base64", Timestamp: "X-Time"}
	named, both := plain, timed
	named.ID, both.ID = "X-Id", "X-Id"
	type way = struct {
		pipeline.HTTPTrigger
		Delivery
	}
	timedMAC := "v0=" + base64.StdEncoding.EncodeToString(mac(sha512.New, secret, seconds+"."+body))
	return map[string]way{
		"standard": {pipeline.HTTPTrigger{Verify: "standard"}, Delivery{headers("webhook-id", id, "webhook-timestamp", seconds, "webhook-signature", signature), []byte(body)}},
		"github":   {pipeline.HTTPTrigger{Verify: "github"}, Delivery{headers("X-GitHub-Delivery", id, "X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac(sha256.New, secret, body))), []byte(body)}},
		"stripe":   {pipeline.HTTPTrigger{Verify: "stripe"}, Delivery{headers("Stripe-Signature", "t="+seconds+",v0=00,v1=00,v1="+hex.EncodeToString(mac(sha256.New, secret, seconds+"."+body))), []byte(body)}},
		"hmac":     {pipeline.HTTPTrigger{Verify: "hmac", HMAC: &plain}, Delivery{headers("X-Sig", hex.EncodeToString(mac(sha256.New, secret, body))), []byte(body)}},
		"hmac, id": {pipeline.HTTPTrigger{Verify: "hmac", Window: pipeline.Duration(time.Hour), HMAC: &named}, Delivery{
			headers("X-Id", id, "X-Sig", hex.EncodeToString(mac(sha256.New, secret, body))), []byte(body),
		}},
		"hmac, timed": {pipeline.HTTPTrigger{Verify: "hmac", HMAC: &timed}, Delivery{headers("X-Time", seconds,
			"X-Sig", timedMAC), []byte(body)}},
		"hmac, timed, id": {pipeline.HTTPTrigger{Verify: "hmac", HMAC: &both}, Delivery{headers("X-Id", id, "X-Time",
			seconds, "X-Sig", timedMAC), []byte(body)}},
	}
}

// secretsOf returns the secrets as a trigger of a kind has them.
func secretsOf(verify string, keys ...string) (secrets []string) {
	for _, key := range keys {
		if verify == "standard" {
			key = "whsec_" + base64.StdEncoding.EncodeToString([]byte(key))
		}
		secrets = append(secrets, key)
	}
	return secrets
}

const (
	oldKey = "old-old-old-old-old-old-old-old-"
	newKey = "new-new-new-new-new-new-new-new-"
	body   = `{"id":"evt_1","n":1}`
)

// TestEveryWay tries deliveries that count, with each of two secrets, and each of them with one thing changed.
func TestEveryWay(t *testing.T) {
	for name, way := range ways(t, now, oldKey, "msg_1", body) {
		t.Run(name, func(t *testing.T) {
			want, err := Verify(way.HTTPTrigger, secretsOf(way.Verify, newKey, oldKey), way.Delivery, now)
			require.NoError(t, err)
			later := ways(t, now.Add(time.Minute), newKey, "msg_1", body)[name]
			again, err := Verify(later.HTTPTrigger, secretsOf(way.Verify, newKey, oldKey), later.Delivery, now)
			require.NoError(t, err)
			require.Equal(t, name != "hmac, timed", want == again, "sent again, with another time and another secret")
			other := ways(t, now, oldKey, "msg_2", `{"id":"evt_2","n":1}`)[name]
			key, err := Verify(other.HTTPTrigger, secretsOf(way.Verify, oldKey), other.Delivery, now)
			require.NoError(t, err)
			require.NotEqual(t, want, key)

			refuse := func(what string, d Delivery, now time.Time, keys ...string) {
				t.Helper()
				_, err := Verify(way.HTTPTrigger, secretsOf(way.Verify, keys...), d, now)
				var refused *RefusedError
				require.ErrorAs(t, err, &refused, what)
			}
			refuse("no secret that counts", way.Delivery, now, newKey)
			for i := range way.Body {
				changed := bytes.Clone(way.Body)
				changed[i] ^= 1
				refuse("another body", Delivery{way.Header, changed}, now, oldKey)
			}
			refuse("a truncated body", Delivery{way.Header, way.Body[1:]}, now, oldKey)
			for header := range way.Header {
				if header == "X-Github-Delivery" || header == "X-Id" {
					continue // nothing signs it
				}
				for _, value := range []string{"", "x", way.Header.Get(header) + "0", " " + way.Header.Get(header)[1:]} {
					changed := way.Header.Clone()
					changed.Set(header, value)
					refuse(header+"="+value, Delivery{changed, way.Body}, now, oldKey)
				}
			}
			if way.HMAC == nil && way.Verify != "github" || strings.HasPrefix(name, "hmac, timed") {
				refuse("too old", way.Delivery, now.Add(5*time.Minute+time.Second), oldKey)
				refuse("too early", way.Delivery, now.Add(-5*time.Minute-time.Second), oldKey)
				way.Tolerance = pipeline.Duration(time.Hour)
				_, err = Verify(way.HTTPTrigger, secretsOf(way.Verify, oldKey), way.Delivery, now.Add(time.Hour))
				require.NoError(t, err)
			}
			if way.HMAC == nil && way.Verify != "github" {
				_, err = Verify(way.HTTPTrigger, secretsOf(way.Verify, oldKey), ways(t, time.Unix(now.UnixMilli(), 0), oldKey, "msg_1", body)[name].Delivery, now)
				require.ErrorContains(t, err, "in seconds, not in milliseconds")
			}
			_, err = Verify(way.HTTPTrigger, []string{""}, way.Delivery, now)
			require.ErrorContains(t, err, "empty")
		})
	}
	_, err := Verify(pipeline.HTTPTrigger{Verify: "standard"}, []string{"whsec_short"}, Delivery{headers("webhook-id", "a", "webhook-timestamp", strconv.FormatInt(now.Unix(), 10)), nil}, now)
	require.ErrorContains(t, err, "24 to 64 bytes")
	require.NotContains(t, err.Error(), "short")
}

// TestKeys says which deliveries are the same.
func TestKeys(t *testing.T) {
	key := func(verify string, d Delivery) string {
		t.Helper()
		k, err := Verify(pipeline.HTTPTrigger{Verify: verify}, secretsOf(verify, oldKey), d, now)
		require.NoError(t, err)
		return k.Signed + k.ID
	}
	signed := func(kind, id, body string) Delivery { return ways(t, now, oldKey, id, body)[kind].Delivery }
	require.Equal(t, key("standard", signed("standard", "a", "1")), key("standard", signed("standard", "a", "2")), "the id is signed")
	require.NotEqual(t, key("github", signed("github", "a", "1")), key("github", signed("github", "a", "2")), "an id that nobody signs does not take the place of the body")
	require.NotEqual(t, key("github", signed("github", "a", "1")), key("github", signed("github", "b", "1")),
		"the same may happen twice")
	require.NotEqual(t, key("stripe", signed("stripe", "", "{}")), key("stripe", signed("stripe", "", "[]")))
	require.Equal(t, "event:evt_1", key("stripe", signed("stripe", "", body)))
	require.Equal(t, "event:evt_1", key("stripe", signed("stripe", "", "\ufeff"+body)), "behind a byte order mark")
	number := key("stripe", signed("stripe", "", `{"id":7,"n":1}`))
	require.Equal(t, number, key("stripe", signed("stripe", "", `{"n":2, "id": 7}`)), "an id may be a number")
	require.NotEqual(t, number, key("stripe", signed("stripe", "", `{"id":8}`)))
	require.NotEqual(t, number, key("stripe", signed("stripe", "", `{"id":"7"}`)))
	require.Contains(t, key("stripe", signed("stripe", "", `{"id":null}`)), "sha256:", "without an id it is what was signed")
	none := func(id, body string) string { return key("none", Delivery{headers("webhook-id", id), []byte(body)}) }
	require.Equal(t, none("", "x"), none("", "x"))
	require.NotEqual(t, none("", "x"), none("1", "x"))
	several := signed("standard", "a", "1")
	several.Header.Set("webhook-signature", "v1a,x v1,AAAA "+several.Header.Get("webhook-signature"))
	require.Equal(t, "id:a", key("standard", several), "one of them counts, while a sender changes its secret")
	svix := signed("standard", "a", "1")
	for _, name := range []string{"id", "timestamp", "signature"} {
		svix.Header.Set("svix-"+name, svix.Header.Get("webhook-"+name))
		svix.Header.Del("webhook-" + name)
	}
	require.Equal(t, "id:a", key("standard", svix), "as Svix calls the headers")
	dotted := signed("standard", "a.1", "x")
	_, err := Verify(pipeline.HTTPTrigger{Verify: "standard"}, secretsOf("standard", oldKey), dotted, now)
	require.ErrorContains(t, err, "has a dot", "ID.TIME.BODY could be cut elsewhere")
}

// FuzzVerify never takes a signature that was not made with the secret.
func FuzzVerify(f *testing.F) {
	f.Add("msg_1", "1614265330", "v1,AAAA", "t=1614265330,v1=00", "sha256=00", []byte("{}"))
	f.Fuzz(func(t *testing.T, id, seconds, standard, stripe, github string, body []byte) {
		d := Delivery{headers("webhook-id", id, "webhook-timestamp", seconds, "webhook-signature", standard, "Stripe-Signature", stripe, "X-Hub-Signature-256", github, "X-Sig", github), body}
		for _, verify := range []string{"standard", "stripe", "github", "hmac"} {
			_, err := Verify(pipeline.HTTPTrigger{Verify: verify, HMAC: &pipeline.HMACRule{Header: "X-Sig", Prefix: "sha256="}}, secretsOf(verify, newKey), d, now)
			require.Error(t, err)
		}
	})
}

// TestExpect refuses headers with which no body counts, without the body and the secret, and no others.
func TestExpect(t *testing.T) {
	described := pipeline.HTTPTrigger{Verify: "hmac", HMAC: &pipeline.HMACRule{Header: "X-Signed", Prefix: "v="}}
	timed := pipeline.HTTPTrigger{Verify: "hmac", HMAC: &pipeline.HMACRule{Header: "X-Signed", Prefix: "v=", Timestamp: "X-Time"}}
	named := pipeline.HTTPTrigger{Verify: "hmac", HMAC: &pipeline.HMACRule{Header: "X-Signed", Prefix: "v=",
		ID: "X-Id"}}
	standard, seconds := pipeline.HTTPTrigger{Verify: "standard"}, strconv.FormatInt(now.Unix(), 10)
	for _, c := range []struct {
		pipeline.HTTPTrigger
		header http.Header
		counts bool
	}{
		{standard, headers(), false},
		{standard, headers("webhook-id", "a", "webhook-timestamp", seconds), false},
		{standard, headers("webhook-id", "a", "webhook-timestamp", "1", "webhook-signature", "v1,x"), false},
		{standard, headers("webhook-timestamp", seconds, "webhook-signature", "v1,x"), false},
		{standard, headers("webhook-id", "a", "webhook-timestamp", seconds, "webhook-signature", "v1,x"), true},
		{standard, headers("webhook-id", "a", "svix-timestamp", seconds, "svix-signature", "v1,x"), false},
		{standard, headers("svix-id", "a", "svix-timestamp", seconds, "svix-signature", "v1,x"), true},
		{pipeline.HTTPTrigger{Verify: "github"}, headers("X-Hub-Signature-256", "sha256=x"), false},
		{pipeline.HTTPTrigger{Verify: "github"}, headers("X-Hub-Signature-256", "sha256=00"), true},
		{pipeline.HTTPTrigger{Verify: "stripe"}, headers("Stripe-Signature", "t="+seconds), false},
		{pipeline.HTTPTrigger{Verify: "stripe"}, headers("Stripe-Signature", "v1=00"), false},
		{pipeline.HTTPTrigger{Verify: "stripe"}, headers("Stripe-Signature", "v1=00,t="+seconds), true},
		{described, headers("X-Signed", "00"), false},
		{described, headers("X-Signed", "v=00"), true},
		{timed, headers("X-Signed", "v=00"), false},
		{timed, headers("X-Time", seconds), false},
		{timed, headers("X-Signed", "v=00", "X-Time", seconds), true},
		{named, headers("X-Signed", "v=00"), false},
		{named, headers("X-Signed", "v=00", "X-Id", strings.Repeat("x", 257)), false},
		{named, headers("X-Signed", "v=00", "X-Id", "1"), true},
		{pipeline.HTTPTrigger{Verify: "none"}, headers(), true},
	} {
		err := Expect(c.HTTPTrigger, c.header, now)
		if c.counts {
			require.NoError(t, err, "%+v", c)
			continue
		}
		var refusal *RefusedError
		require.ErrorAs(t, err, &refusal, "%+v", c)
	}
}
