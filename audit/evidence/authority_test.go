package evidence_test

import (
	"context"
	"crypto"
	"crypto/tls"
	"encoding/asn1"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/tests/services"
)

// logPage is named before tests go into folders of their own.
var logPage, _ = filepath.Abs("../../docs/log.md")

// authority is a time-stamping authority: openssl behind a server.
type authority struct {
	folder string
	url    string
	asked  int
}

const opensslConfig = `
[tsa]
default_tsa = one
[one]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
ess_cert_id_alg = sha256
[ca]
basicConstraints = critical, CA:true
[stamps]
extendedKeyUsage = critical, timeStamping
[server]
extendedKeyUsage = serverAuth
[dn]
[req]
distinguished_name = dn
`

func (a *authority) openssl(t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "openssl", args...)
	command.Dir = a.folder
	out, err := command.CombinedOutput()
	require.NoError(t, err, "openssl %s: %s", strings.Join(args, " "), out)
}

// certify makes a key and a certificate that the authority at the root signs.
func (a *authority) certify(t *testing.T, name, use string) {
	t.Helper()
	a.openssl(t, "req", "-config", "cnf", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", name+".key", "-out", name+".csr", "-subj", "/CN="+name)
	a.openssl(t, "x509", "-req", "-in", name+".csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-days", "2", "-extfile", "cnf", "-extensions", use, "-out", name+".pem")
}

func newAuthority(t *testing.T) *authority {
	services.Program(t, "openssl", "openssl")
	a := &authority{folder: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(a.folder, "cnf"), []byte(opensslConfig), 0o600))
	a.openssl(t, "req", "-config", "cnf", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", "root.key", "-out", "root.pem", "-days", "2", "-subj", "/CN=root", "-extensions", "ca")
	a.certify(t, "stamper", "stamps")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/timestamp-query" {
			http.Error(w, "no question", http.StatusBadRequest)
			return
		}
		a.asked++
		reply, err := a.reply(context.WithoutCancel(r.Context()), query, "stamper")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/timestamp-reply")
		_, _ = w.Write(reply)
	}))
	t.Cleanup(server.Close)
	a.url = server.URL + "/tsr"
	return a
}

// reply answers a question as the one with this name.
func (a *authority) reply(ctx context.Context, query []byte, signer string) ([]byte, error) {
	if err := os.WriteFile(filepath.Join(a.folder, "query"), query, 0o600); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "openssl", "ts", "-reply", "-config", "cnf", "-section", "one", "-queryfile", "query", "-signer", signer+".pem", "-inkey", signer+".key")
	command.Dir = a.folder
	return command.Output()
}

// anchor is the text of the authority as an anchor.
func (a *authority) anchor(every string) string {
	return "tsa:" + a.url + "?every=" + every + "&roots=" + filepath.Join(a.folder, "root.pem")
}

// stamps are what the landscape keeps.
func stamps(t *testing.T, p *place) (kept []landscape.Anchored) {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	all, err := landscape.Select[landscape.Anchored](t.Context(), landscape.NewReader(store))
	require.NoError(t, err)
	for _, a := range all {
		if strings.HasPrefix(a.Anchor, "tsa:") {
			kept = append(kept, a)
		}
	}
	return kept
}

// asThePageSays verifies the newest stamp with the commands of docs/log.md.
func (a *authority) asThePageSays(t *testing.T, p *place) string {
	t.Helper()
	page, err := os.ReadFile(logPage)
	require.NoError(t, err)
	commands := regexp.MustCompile("(?s)```sh\n(sqlite3 [^`]*openssl ts [^`]*)```").FindStringSubmatch(string(page))
	require.NotNil(t, commands)
	path, err := filepath.Abs(p.path)
	require.NoError(t, err)
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", strings.NewReplacer(".waymark/landscape.db", path, "tsa.pem", "root.pem").Replace(commands[1]))
	shell.Dir = a.folder
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// TestAuthorityStampsHeads: openssl stamps heads, and verifies the stamps as docs/log.md shows.
func TestAuthorityStampsHeads(t *testing.T) {
	a := newAuthority(t)
	p := newPlace(t)
	p.bucket = a.anchor("0s")
	require.NoError(t, evidence.CheckAnchor(p.bucket))
	p.runs("r1")
	p.runs("r2")
	kept := stamps(t, p)
	require.Len(t, kept, 2)
	report := p.check()
	require.Empty(t, report.Problems)
	require.Len(t, report.Anchors, 2)
	require.Equal(t, "tsa:"+a.url, report.Anchors[1].Anchor)
	require.Equal(t, report.Entries, report.Anchors[1].Entries)
	require.WithinDuration(t, time.Now(), report.Anchors[1].Stamped, time.Minute)

	require.Contains(t, a.asThePageSays(t, p), "Verification: OK")
	_, err := p.proven("r2", p.policy())
	require.NoError(t, err, "a stamp is no signature of the head")

	p.bucket = a.anchor("1h")
	asked := a.asked
	p.runs("r3")
	require.Equal(t, asked, a.asked, "the last stamp is young")
	report = p.check()
	require.Empty(t, report.Problems)
	require.Less(t, report.Anchors[1].Entries, report.Entries)
	store, err := sqlitestore.Open(t.Context(), p.path, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	log := landscape.NewReader(store)
	backlog, err := evidence.BacklogOf(t.Context(), log, p.anchors())
	require.NoError(t, err)
	require.Zero(t, backlog.Oldest, "nothing waits longer than it should")
	backlog, err = evidence.BacklogOf(t.Context(), log, []string{p.anchor, a.anchor("0s")})
	require.NoError(t, err)
	require.NotZero(t, backlog.Oldest)
}

// answerAs stamps with any certificate, which openssl does not.
func answerAs(t *testing.T, w http.ResponseWriter, query []byte, signer string) {
	pair, err := tls.LoadX509KeyPair(signer+".pem", signer+".key")
	require.NoError(t, err)
	asked, err := timestamp.ParseRequest(query)
	require.NoError(t, err)
	stamp := timestamp.Timestamp{
		HashAlgorithm: asked.HashAlgorithm, HashedMessage: asked.HashedMessage, Nonce: asked.Nonce, Time: time.Now(), Policy: asn1.ObjectIdentifier{1, 2},
		AddTSACertificate: true,
	}
	reply, err := stamp.CreateResponseWithOpts(pair.Leaf, pair.PrivateKey.(crypto.Signer), crypto.SHA256)
	require.NoError(t, err)
	w.Header().Set("Content-Type", "application/timestamp-reply")
	_, _ = w.Write(reply)
}

// TestStampsThatDoNotCount: other roots, other uses, other heads, other answers.
func TestStampsThatDoNotCount(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	a.certify(t, "web", "server")
	answer := func(signer string) func(http.ResponseWriter, []byte) {
		return func(w http.ResponseWriter, query []byte) {
			reply, err := a.reply(t.Context(), query, signer)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/timestamp-reply")
			_, _ = w.Write(reply)
		}
	}
	a.openssl(t, "ts", "-query", "-digest", strings.Repeat("00", 32), "-cert", "-out", "old")
	old, err := os.ReadFile(filepath.Join(a.folder, "old"))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		answer  func(http.ResponseWriter, []byte)
		roots   string
		problem string
	}{
		"another root":     {answer("stamper"), other.folder, "certificate signed by unknown authority"},
		"another use":      {func(w http.ResponseWriter, query []byte) { answerAs(t, w, query, filepath.Join(a.folder, "web")) }, a.folder, "incompatible key usage"},
		"another question": {func(w http.ResponseWriter, _ []byte) { answer("stamper")(w, old) }, a.folder, "one to another question"},
		"no stamp":         {func(w http.ResponseWriter, _ []byte) { _, _ = w.Write([]byte("hello")) }, a.folder, "it answered 200 with \"text/plain"},
		"a redirection":    {func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusFound) }, a.folder, "it answered 302"},
		"bytes of no stamp": {func(w http.ResponseWriter, q []byte) {
			w.Header().Set("Content-Type", "application/timestamp-reply")
			_, _ = w.Write(q)
		}, a.folder, "its answer: "},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				query, _ := io.ReadAll(r.Body)
				c.answer(w, query)
			}))
			defer server.Close()
			p := newPlace(t)
			p.bucket = "tsa:" + server.URL + "?every=0s&roots=" + filepath.Join(c.roots, "root.pem")
			require.NoError(t, p.open(func(e *evidence.Evidence) {
				p.begin(e, "r1")
				require.ErrorContains(t, e.Notary.Pass(t.Context()), c.problem)
				require.NoError(t, e.Notary.Pass(t.Context()), "it is not asked again soon")
				require.Len(t, e.Notary.Failed(), 1)
				require.ErrorContains(t, e.Notary.Failed()[0], c.problem)
			}))
			require.Empty(t, stamps(t, p))
		})
	}
	p := newPlace(t)
	p.bucket = a.anchor("0s")
	p.runs("r1")
	p.runs("r2")
	require.Empty(t, problems(p))
	p.attack(`update log_anchors set receipt = (select receipt from log_anchors where anchor like 'tsa:%' order by size limit 1) where anchor like 'tsa:%'`)
	require.Contains(t, problems(p), "under the head of 4 entries does not verify: it is the stamp of something else")
	p.attack(`update log_anchors set receipt = 'MAAA' where anchor like 'tsa:%'`)
	require.Contains(t, problems(p), "under the head of 3 entries does not verify")
}

func TestUnusableAuthorities(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for anchor, problem := range map[string]string{
		"tsa:":                           "write tsa:https://HOST/PATH?roots=FILE",
		"tsa:ftp://a/b?roots=x":          "write tsa:https://HOST/PATH?roots=FILE",
		"tsa:https://a/b":                "?roots=FILE says whose stamps count",
		"tsa:https://a/b?roots=none":     "no such file",
		"tsa:https://a/b?roots=" + empty: "has no certificates",
		"tsa:https://a/b?every=x":        "every=x is not a length of time",
		"tsa:https://a/b?rots=x":         `unknown parameter "rots"`,
	} {
		require.ErrorContains(t, evidence.CheckAnchor(anchor), problem, anchor)
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, "tsa:https://a/b?every=1h0m0s&roots="+strings.ReplaceAll(here, "/", "%2F")+"%2Fx.pem", evidence.Whole("tsa:https://a/b?roots=x.pem"))
}
