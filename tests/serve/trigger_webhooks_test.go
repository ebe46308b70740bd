package serve_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/manual"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/serving"
)

// hooked is a document whose runs begin as others post to it.
const hooked = `
name: NAME
params: {part: {type: string, default: all}}
sources: {orders: {webhook: {}, key: [id], schema: {fields: {id: int}}}}
sinks: {out: {jsonl: {path: "FOLDER/out/${param:part}.jsonl"}}}
triggers: {calls: {source: orders, every: 100ms, run_id: part, TRIGGER}}
`

// hookKey is the key with which tests sign.
var hookKey = bytes.Repeat([]byte("k"), 32)

// hook is a served trigger to which tests post.
type hook struct {
	*watching
	name string // of its pipeline
	url  string
}

// hookTo serves a folder with a deployed trigger to which others post. Secrets are HOOK, and OLD.
func hookTo(t *testing.T, trigger string, flags ...string) *hook {
	t.Helper()
	folder := t.TempDir()
	for name, key := range map[string][]byte{"HOOK": hookKey, "OLD": bytes.Repeat([]byte("o"), 32)} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "secrets", "orders"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "secrets", "orders", name),
			[]byte("whsec_"+base64.StdEncoding.EncodeToString(key)+"\n"), 0o600))
	}
	s := watch(t, folder, append(flags, "--api", "127.0.0.1:0", "--secrets-dir", filepath.Join(folder, "secrets"))...)
	return s.hook(t, "orders", trigger)
}

// hook deploys a pipeline of this name, with a trigger to which others post.
func (s *watching) hook(t *testing.T, name, trigger string) *hook {
	t.Helper()
	document := strings.NewReplacer("NAME", name, "FOLDER", s.Folder, "TRIGGER", trigger).Replace(hooked)
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, name+".yaml"), []byte(document), 0o600))
	s.Waymark(t, "deploy", name+".yaml", "--allow-path", s.Folder)
	return &hook{watching: s, name: name, url: s.listens(t) + "/in/default/" + name + "/calls"}
}

// listens returns where the API listens.
func (s *watching) listens(t *testing.T) string {
	t.Helper()
	listens := regexp.MustCompile(`for=--api address=(\S+)`)
	require.Eventually(t, func() bool { return listens.MatchString(s.Log.String()) }, patience, 10*time.Millisecond)
	return "http://" + listens.FindStringSubmatch(s.Log.String())[1]
}

// post posts a body, with headers, which are pairs, and returns the status and the answer.
func (s *hook) post(t *testing.T, body string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// signed returns the headers of a delivery, signed by the library of Standard Webhooks.
func signed(t *testing.T, key []byte, id string, at time.Time, body string) []string {
	t.Helper()
	signer, err := standard.NewWebhookRaw(key)
	require.NoError(t, err)
	signature, err := signer.Sign(id, at, []byte(body))
	require.NoError(t, err)
	return []string{"webhook-id", id, "webhook-timestamp", strconv.FormatInt(at.Unix(), 10), "webhook-signature", signature}
}

// receipt returns the receipt in an answer.
func receipt(t *testing.T, status int, answer string) string {
	t.Helper()
	var got struct{ Receipt string }
	require.Equal(t, http.StatusAccepted, status, answer)
	require.NoError(t, json.Unmarshal([]byte(answer), &got))
	require.Regexp(t, `^rc_[a-z2-7]{26}$`, got.Receipt)
	return got.Receipt
}

// deliveries returns what is on record of what was delivered, by receipt.
func (s *hook) deliveries(t *testing.T) map[string]landscape.Arrival {
	t.Helper()
	all, err := landscape.Select[landscape.Arrival](t.Context(), s.Landscape(t), "default/"+s.name+"/calls")
	require.NoError(t, err)
	of := map[string]landscape.Arrival{}
	for _, a := range all {
		of[strings.TrimPrefix(a.Item, "webhook://")] = a
	}
	return of
}

// done waits until a delivery is in a complete run.
func (s *hook) done(t *testing.T, receipt string) landscape.Arrival {
	t.Helper()
	var last landscape.Arrival
	require.Eventually(t, func() bool {
		last = s.deliveries(t)[receipt]
		return last.State == landscape.ArrivalDone
	}, patience, 50*time.Millisecond, "%s: %+v", receipt, &last)
	return last
}

// TestEachDeliveryGetsARun: it is on record by the time of the answer, its run reads it and no other, and explain names it. What is sent again gets the same receipt, and nothing twice.
func TestEachDeliveryGetsARun(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := hookTo(t, `http: {verify: standard, secret: "${secret:HOOK}", previous: "${secret:OLD}"}`)
	headers := signed(t, hookKey, "msg_1", time.Now(), `[{"id":1},{"id":2}]`)
	status, answer := s.post(t, `[{"id":1},{"id":2}]`, headers...)
	first := receipt(t, status, answer)
	require.Contains(t, s.deliveries(t), first)
	a := s.done(t, first)
	s.holds(t, "out", a.Run, "{\"id\":1}\n{\"id\":2}\n")

	for _, again := range []string{`[{"id":1},{"id":2}]`, `{"id":3}`} { // the id is what counts
		status, answer = s.post(t, again, signed(t, hookKey, "msg_1", time.Now().Add(time.Minute), again)...)
		require.Equal(t, first, receipt(t, status, answer))
	}
	status, answer = s.post(t, "{\"id\":4}\n{\"id\":\"x\"}\n", signed(t, bytes.Repeat([]byte("o"), 32), "msg_2", time.Now(), "{\"id\":4}\n{\"id\":\"x\"}\n")...)
	second := receipt(t, status, answer)
	b := s.done(t, second)
	s.holds(t, "out", b.Run, "{\"id\":4}\n")
	require.Len(t, s.deliveries(t), 2)
	require.Len(t, serving.Listed[any](t, s.Server, "runs"), 2)

	require.Regexp(t, `read from webhook://`+second+`, line 1, .*\n +came +20\S+, by trigger default/orders/calls\n`, s.Waymark(t, "explain", b.Run, "--row", "1"))
	require.Regexp(t, `by +trigger default/orders/calls`, s.Waymark(t, "status", b.Run))
	s.Waymark(t, "verify", a.Run)
	s.Waymark(t, "verify", b.Run)
	trigger := s.trigger(t)
	require.Equal(t, []any{"default/orders/calls", "orders", int64(0), int64(0), ""}, []any{trigger.ID, trigger.Source, trigger.Waiting, trigger.Taken, trigger.Error})
}

// TestDeliveriesAreForgottenAndPurged as what else a run has read; the deliveries of others stay, and so does what waits.
func TestDeliveriesAreForgottenAndPurged(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := hookTo(t, "http: {verify: none}")
	post := func(body string) string {
		status, answer := s.post(t, body)
		return receipt(t, status, answer)
	}
	ann, eve := post(`{"id":4711}`), post(`[{"id":4711},{"id":4712}]`)
	other := post(`{"id":4713}`)
	for _, receipt := range []string{ann, eve, other} {
		s.done(t, receipt)
	}
	s.Waymark(t, "triggers", "pause", "calls", "--why", "to see")
	waits := post(`{"id":4711,"again":true}`)
	stored := func(receipt string) bool {
		digest := s.deliveries(t)[receipt].Payload
		found, err := filepath.Glob(filepath.Join(s.Folder, ".waymark", "payloads", "*", digest+"*"))
		require.NoError(t, err)
		more, err := filepath.Glob(filepath.Join(s.Folder, ".waymark", "payloads", "*", "*", digest+"*"))
		require.NoError(t, err)
		return len(found)+len(more) > 0
	}
	for _, receipt := range []string{ann, eve, other, waits} {
		require.True(t, stored(receipt))
	}
	const unread = "1 delivery at trigger default/orders/calls, which no run has read yet"
	require.Contains(t, s.Waymark(t, "subject", "id=4711"), "not searched: "+unread+"; ask again when one has")
	require.Contains(t, s.Waymark(t, "subject", "id=4711", "--json"), `"unread":[{"trigger":"default/orders/calls","deliveries":1}]`)
	require.Contains(t, s.Waymark(t, "forget", "id=1", "--why", "request 87"), "not searched: "+unread+"; ask again when one has\nnothing to forget in what runs have read: order it again")
	certificate := filepath.Join(s.Folder, "certificate")
	s.Waymark(t, "forget", "id=4711", "--why", "request 88", "-o", certificate)
	text, err := os.ReadFile(certificate)
	require.NoError(t, err)
	require.Regexp(t, `(?s)\nNot reached:\n.*\n  `+unread+`: not searched for the person\n`, string(text))
	require.Equal(t, []bool{false, false, true, true}, []bool{stored(ann), stored(eve), stored(other), stored(waits)})
	require.Contains(t, s.Waymark(t, "explain", s.deliveries(t)[eve].Run, "--row", "2"), `{"id":4712}`)
	s.Waymark(t, "verify", s.deliveries(t)[eve].Run)
	require.Eventually(t, func() bool {
		s.Waymark(t, "purge", "--keep-source", "1s", "--why", "old")
		return !stored(other)
	}, patience, 500*time.Millisecond)
	require.True(t, stored(waits))
	require.Equal(t, ann, post(`{"id":4711}`), "it is known yet")
	s.Waymark(t, "verify", s.deliveries(t)[other].Run)
	s.Waymark(t, "scrub")

	s.Waymark(t, "triggers", "resume", "calls")
	s.done(t, waits)
	require.Contains(t, s.Waymark(t, "subject", "id=4711", "--json"), `"unread":[]`)
}

// TestBatchesOfDeliveries: a run gets several, in the order in which they came.
func TestBatchesOfDeliveries(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := hookTo(t, `http: {verify: standard, secret: "${secret:HOOK}"}, batch: {files: 3, wait: 500ms}`)
	var receipts []string
	want := ""
	s.Waymark(t, "triggers", "pause", "calls", "--why", "to see")
	for i := range 5 {
		body := fmt.Sprintf(`{"id":%d}`, i)
		status, answer := s.post(t, body, signed(t, hookKey, fmt.Sprintf("msg_%d", i), time.Now(), body)...)
		receipts = append(receipts, receipt(t, status, answer))
		if i < 3 {
			want += body + "\n"
		}
	}
	require.Equal(t, int64(5), s.trigger(t).Waiting)
	s.Waymark(t, "triggers", "resume", "calls")
	run := s.done(t, receipts[0]).Run
	require.Equal(t, run, s.done(t, receipts[2]).Run)
	s.holds(t, "out", run, want)
	other := s.done(t, receipts[4]).Run
	require.NotEqual(t, run, other)
	s.holds(t, "out", other, "{\"id\":3}\n{\"id\":4}\n")
}

// signedOnly: who knows no secret gets the same answer whatever is wrong, and nothing is stored. Nor is what is too
// large.
func (s *watching) signedOnly(t *testing.T) {
	secret := "whsec_" + base64.StdEncoding.EncodeToString(hookKey) + "\n"
	require.NoError(t, os.MkdirAll(filepath.Join(s.Folder, "secrets", "signed"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "secrets", "signed", "KEY"), []byte(secret), 0o600))
	s.hook(t, "signed", `http: {verify: standard, secret: "${secret:KEY}"}`).refuses(t)
}

func (s *hook) refuses(t *testing.T) {
	const body, most = `{"id":1}`, 1 << 20
	good := func(id string, at time.Time) []string { return signed(t, hookKey, id, at, body) }
	replaced := func(of []string, header, value string) []string {
		of = append([]string(nil), of...)
		for i := 0; i < len(of); i += 2 {
			if of[i] == header {
				of[i+1] = value
			}
		}
		return of
	}
	now := time.Now()
	status, answer := s.post(t, body, good("msg_0", now)...)
	receipt(t, status, answer)
	said := map[string]bool{}
	for name, c := range map[string]struct {
		url, body string
		headers   []string
	}{
		"no signature":        {s.url, body, nil},
		"another secret":      {s.url, body, signed(t, bytes.Repeat([]byte("x"), 32), "msg_1", now, body)},
		"another body":        {s.url, `{"id":2}`, good("msg_1", now)},
		"another id":          {s.url, body, replaced(good("msg_1", now), "webhook-id", "msg_2")},
		"another time":        {s.url, body, replaced(good("msg_1", now), "webhook-timestamp", strconv.FormatInt(now.Unix()+1, 10))},
		"an id with a dot":    {s.url, body, good("msg.1", now)},
		"too old":             {s.url, body, good("msg_1", now.Add(-6*time.Minute))},
		"from the future":     {s.url, body, good("msg_1", now.Add(6*time.Minute))},
		"a replay":            {s.url, body, good("msg_0", now.Add(-time.Hour))},
		"garbage":             {s.url, body, []string{"webhook-id", "\xff", "webhook-timestamp", "1e9", "webhook-signature", "v1,"}},
		"a truncated body":    {s.url, body[:4], good("msg_1", now)},
		"of another trigger":  {strings.Replace(s.url, "calls", "other", 1), body, good("msg_1", now)},
		"of another pipeline": {strings.Replace(s.url, "/signed/", "/..%2fsigned/", 1), body, good("msg_1", now)},
	} {
		other := *s
		other.url = c.url
		status, answer := other.post(t, c.body, c.headers...)
		require.Equal(t, http.StatusUnauthorized, status, name)
		require.Contains(t, answer, "BAD_SIGNATURE", name)
		said[regexp.MustCompile(`"request":"[0-9a-f]+"`).ReplaceAllString(answer, "")] = true
	}
	require.Len(t, said, 1, "the same, whatever is wrong")
	large := `{"id":1` + strings.Repeat(" ", most) + "}"
	status, answer = s.post(t, large, signed(t, hookKey, "msg_2", now, large)...)
	require.Equal(t, http.StatusRequestEntityTooLarge, status, answer)
	require.Len(t, s.deliveries(t), 1)
	require.Contains(t, s.Log.String(), "a delivery was refused")
}

// TestSecretsThatVerifyNothing: what is signed with the current secret counts, whatever became of the one before; who posts learns nothing of them, and the log says all.
func TestSecretsThatVerifyNothing(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := hookTo(t, `http: {verify: standard, secret: "${secret:HOOK}", previous: "${secret:OLD}"}`)
	secret := func(name string) string { return filepath.Join(s.Folder, "secrets", "orders", name) }
	require.NoError(t, os.Remove(secret("OLD")))
	now := time.Now()
	status, answer := s.post(t, `{"id":1}`, signed(t, hookKey, "msg_1", now, `{"id":1}`)...)
	first := receipt(t, status, answer)
	logged := func(pattern string) {
		t.Helper()
		said := regexp.MustCompile(pattern)
		require.Eventually(t, func() bool { return said.MatchString(s.Log.String()) }, patience, 50*time.Millisecond, pattern)
	}
	logged(`level=WARN msg="the secret of before can verify nothing" trigger=default/orders/calls error=.*OLD`)
	status, answer = s.post(t, `{"id":2}`, signed(t, hookKey, "msg_1", now, `{"id":2}`)...)
	require.Equal(t, first, receipt(t, status, answer))
	logged(`level=WARN msg="a delivery came again with another body, which is not recorded" trigger=default/orders/calls receipt=` + first)
	require.NotContains(t, s.Log.String(), `"id":2`)

	require.NoError(t, os.WriteFile(secret("HOOK"), []byte("notwhsec!!"), 0o600))
	status, answer = s.post(t, `{"id":3}`, signed(t, hookKey, "msg_3", now, `{"id":3}`)...)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, answer, "SECRET_MISSING")
	require.NotContains(t, answer, "HOOK")
	logged(`level=WARN msg="deliveries cannot be verified" trigger=default/orders/calls error=.*HOOK.*24 to 64 bytes`)
	require.Eventually(t, func() bool {
		return strings.Contains(s.trigger(t).Error, "secret HOOK: a secret of Standard Webhooks is")
	}, patience, 50*time.Millisecond)
	require.Contains(t, s.trigger(t).Error, "; secret OLD: ")
	s.deployWith(t, "orders", "${secret:HOOK}", "${secret:GONE}")
	out, err := s.Try(t.Context(), "deploy", "orders.yaml", "--allow-path", s.Folder, "--dry-run")
	require.NoError(t, err)
	require.Contains(t, out, "trigger calls: deliveries cannot be verified here: secret GONE: ")
	require.NotContains(t, s.Log.String(), "notwhsec")
}

// fromThisMachine posts without a signature, as a process on this machine and as a proxy would.
func (w *watching) fromThisMachine(t *testing.T) {
	s := w.hook(t, "open", "http: {verify: none}")
	status, answer := s.post(t, `{"id":1}`)
	first := receipt(t, status, answer)
	status, answer = s.post(t, `{"id":1}`)
	require.Equal(t, first, receipt(t, status, answer), "sent again")
	status, answer = s.post(t, `{"id":1}`, "webhook-id", "2")
	require.NotEqual(t, first, receipt(t, status, answer), "the sender says that it is another one")
	for _, headers := range [][]string{{"X-Forwarded-For", "192.0.2.1"}, {"Forwarded", "for=192.0.2.1"}, {"Host", "hooks.example.org"}} {
		status, _ := s.post(t, `{"id":2}`, headers...)
		require.Equal(t, http.StatusUnauthorized, status, headers)
	}
	s.holds(t, "out", s.done(t, first).Run, "{\"id\":1}\n")
}

// webhooksPage types what docs/webhooks-in.md shows, but for the command that serves.
func (s *watching) webhooksPage(t *testing.T) {
	services.Program(t, "curl", "curl")
	services.Program(t, "openssl", "openssl")
	text := manual.Page(t, "webhooks-in.md")
	scripts := manual.Blocks(text, "sh")
	require.Len(t, scripts, 4)
	binary, err := programs.Waymark()
	require.NoError(t, err)
	tools := t.TempDir()
	require.NoError(t, os.Symlink(binary, filepath.Join(tools, "waymark")))
	url := s.listens(t)
	typed := func(script string) string {
		script = strings.NewReplacer("/data", s.Folder, "http://127.0.0.1:8686", url).Replace(script)
		cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
		cmd.Dir, cmd.Env = s.Folder, append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	secret, _, is := strings.Cut(scripts[0], "waymark serve ")
	require.True(t, is)
	typed(secret)
	document := strings.ReplaceAll(manual.Blocks(text, "yaml")[0], "/data", s.Folder)
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "orders.yaml"), []byte(document), 0o600))
	typed(scripts[1])
	calls := &hook{watching: s, name: "orders"}
	tried := regexp.MustCompile(`^202 Accepted: {"receipt":"(rc_[a-z2-7]{26})"}\n$`).FindStringSubmatch(typed(scripts[2]))
	require.NotNil(t, tried)
	s.holds(t, "out", calls.done(t, tried[1]).Run, "{\"id\":1,\"total\":2.50}\n")
	answer := typed(scripts[3] + "echo\n" + scripts[3][strings.Index(scripts[3], "curl"):])
	receipts := regexp.MustCompile(`{"receipt":"(rc_[a-z2-7]{26})"}`).FindAllStringSubmatch(answer, -1)
	require.Len(t, receipts, 2, answer)
	require.Equal(t, receipts[0], receipts[1], "sent again")
	second := calls.done(t, receipts[0][1]).Run
	s.holds(t, "out", second, "{\"id\":1,\"total\":2.50}\n{\"id\":2,\"total\":9.99}\n")
	require.Len(t, calls.deliveries(t), 2)
	story := s.Waymark(t, "explain", second, "--row", "1")
	origin := `read from webhook://` + receipts[0][1] + `, line 1, .*\n +came +20\S+, by trigger default/orders/calls\n`
	require.Regexp(t, origin, story)
}

// TestDeliveriesHaveLimits: a body that is too large, too slow or cut off is refused, and nothing of it is stored. An address with too many refusals has to wait, but valid deliveries
// still get through.
func TestDeliveriesHaveLimits(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := hookTo(t, `http: {verify: standard, secret: "${secret:HOOK}"}`, "--http", "127.0.0.1:0")
	const most = 1 << 20
	large := `{"id":1` + strings.Repeat(" ", most-len(`{"id":1}`)) + "}"
	status, answer := s.post(t, large, signed(t, hookKey, "msg_1", time.Now(), large)...)
	first := receipt(t, status, answer)
	status, answer = s.post(t, large+" ", signed(t, hookKey, "msg_2", time.Now(), large+" ")...)
	require.Equal(t, http.StatusRequestEntityTooLarge, status, answer)

	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.Split(s.url, "/")[2])
	require.NoError(t, err)
	defer connection.Close()
	fmt.Fprintf(connection, "POST /in/default/orders/calls HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"+
		"webhook-id: slow\r\nwebhook-timestamp: %d\r\nwebhook-signature: v1,x\r\n\r\n{", time.Now().Unix())
	reply := make([]byte, 64)
	n, err := io.ReadAtLeast(connection, reply, 12)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 408", string(reply[:n])[:12])

	require.Eventually(t, func() bool {
		status, _ := s.post(t, `{"id":3}`)
		return status == http.StatusTooManyRequests
	}, patience, 10*time.Millisecond)
	status, answer = s.post(t, `{"id":4}`, signed(t, hookKey, "msg_4", time.Now(), `{"id":4}`)...)
	second := receipt(t, status, answer)
	s.holds(t, "out", s.done(t, first).Run, "{\"id\":1}\n")
	s.done(t, second)
	require.Len(t, s.deliveries(t), 2)
	metrics := regexp.MustCompile(`for=--http address=(\S+)`).FindStringSubmatch(s.Log.String())
	require.NotNil(t, metrics)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+metrics[1]+"/metrics", nil)
	require.NoError(t, err)
	scraped, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(scraped.Body)
	require.NoError(t, errors.Join(err, scraped.Body.Close()))
	require.Regexp(t, `waymark_deliveries_received_total{outcome="new",trigger="default/orders/calls"} 2\n`, string(text))
	require.Regexp(t, `waymark_deliveries_received_total{outcome="refused",trigger=""} 1\d\n`, string(text))
}
