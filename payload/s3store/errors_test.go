package s3store

import (
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/tests/services/buckets"
)

// TestRefusalsInWordsPeopleActOn gives what servers say, and requires what people need: where, what, why, what to check.
func TestRefusalsInWordsPeopleActOn(t *testing.T) {
	b := buckets.New(t)
	for code, test := range map[string]struct {
		status int
		words  string
	}{
		"NoSuchBucket":                 {404, "there is no such bucket"},
		"AccessDenied":                 {403, "the credentials need the rights that docs/payloads.md lists"},
		"SomethingNew":                 {403, "the credentials need the rights that docs/payloads.md lists"},
		"InvalidAccessKeyId":           {403, "check AWS_ACCESS_KEY_ID"},
		"SignatureDoesNotMatch":        {403, "check AWS_SECRET_ACCESS_KEY"},
		"ExpiredToken":                 {400, "renew the credentials"},
		"RequestTimeTooSkewed":         {403, "the clocks of this machine and of the server differ too much"},
		"PermanentRedirect":            {301, "in another region, or at another endpoint: correct region or endpoint in the URL (the server says region=eu-north-1)"},
		"AuthorizationHeaderMalformed": {400, "in another region"},
		"NotImplemented":               {501, "conditional writes"},
		"InvalidObjectState":           {403, "restore it first"},
		"UnknownError":                 {405, "does not look like an S3 server"},
		"InsufficientStorage":          {507, "make space on the server"},
		"QuotaExceeded":                {403, "raise the quota"},
	} {
		t.Run(code, func(t *testing.T) {
			refuse := false
			s := openBucket(t, b, func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if !refuse {
						return next.RoundTrip(r)
					}
					response := refusal(r, test.status, code, "as we\nsaid")
					response.Header.Set("X-Amz-Bucket-Region", "eu-north-1")
					return response, nil
				})
			})
			refuse = true
			key, data := keyOf(1), bodyOf(1)
			for method, err := range methods(t, s, key, data) {
				if code == codeNoBucket && (method == "stat" || method == "quarantine") {
					require.ErrorIs(t, err, payload.ErrNotFound, "a reply to HEAD says no more")
					continue
				}
				require.ErrorContains(t, err, test.words, method)
				require.ErrorContains(t, err, "s3://"+b.Name+"/pay/loads at "+b.Endpoint+": ", method)
				require.ErrorContains(t, err, "as we said ("+code+")", method)
				require.NotErrorIs(t, err, payload.ErrNotFound, method)
				require.NotErrorIs(t, err, payload.ErrCorrupt, method)
				require.Equal(t, strings.Contains(test.words, "space") || strings.Contains(test.words, "quota"), errors.Is(err, syscall.ENOSPC), method)
				requireNoSecret(t, b, err)
			}
		})
	}
}

func methods(t *testing.T, s *Store, key string, data []byte) map[string]error {
	t.Helper()
	_, read := s.Read(t.Context(), key, noLimit)
	_, stat := s.Stat(t.Context(), key)
	_, aside := s.Quarantine(t.Context(), key)
	return map[string]error{
		"write": s.Write(t.Context(), key, data), "read": read, "stat": stat, "quarantine": aside, "delete": s.Delete(t.Context(), key),
		"walk": s.Walk(t.Context(), func(string) error { return nil }),
	}
}

func requireNoSecret(t *testing.T, b *buckets.Bucket, err error) {
	t.Helper()
	for _, secret := range []string{b.SecretKey, b.AccessKey, "Signature=", "Credential="} {
		require.NotContains(t, err.Error(), secret)
	}
}

// TestOpenSaysWhatIsWrong asks real servers, and places where there is none.
func TestOpenSaysWhatIsWrong(t *testing.T) {
	b := buckets.New(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	nowhere := "http://" + closed.Addr().String()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // it says that we did not trust it
	tls.StartTLS()
	defer tls.Close()

	for name, test := range map[string]struct {
		url   string
		env   map[string]string
		words []string
	}{
		"no such bucket": {
			url:   strings.Replace(b.URL("p"), b.Name, "no-such-bucket", 1),
			words: []string{"s3://no-such-bucket/p at " + b.Endpoint, "there is no such bucket: create it, or correct the URL"},
		},
		"wrong secret key": {
			url: b.URL("p"), env: map[string]string{"AWS_SECRET_ACCESS_KEY": "canary-4711"}, words: []string{"check AWS_SECRET_ACCESS_KEY"},
		},
		"unknown access key": {
			url: b.URL("p"), env: map[string]string{"AWS_ACCESS_KEY_ID": "canary-4711"}, words: []string{"check AWS_ACCESS_KEY_ID"},
		},
		"no credentials": {
			url: b.URL("p"), env: map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
			words: []string{"no credentials for s3://", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		},
		"no region": {
			url: "s3://bucket/p", env: map[string]string{"AWS_REGION": ""}, words: []string{"no region: add ?region=", "AWS_REGION"},
		},
		"a secret in the endpoint of the settings": {
			url: "s3://bucket/p", env: map[string]string{"AWS_ENDPOINT_URL": "http://u:canary-4711@127.0.0.1:1"},
			words: []string{"AWS_ENDPOINT_URL", "holds a user or password"},
		},
		"nothing listens": {url: b.URLAt(nowhere, "p"), words: []string{nowhere, "nothing listens there: start the server, or correct the endpoint"}},
		"a web server":    {url: b.URLAt(web.URL, "p"), words: []string{web.URL, "does not look like an S3 server"}},
		"TLS that nobody vouches for": {
			url: b.URLAt(tls.URL, "p"), words: []string{tls.URL, "certificate is not trusted: set AWS_CA_BUNDLE"},
		},
		"TLS spoken to a server without": {
			url: b.URLAt("https://"+b.Address(), "p"), words: []string{"the server speaks no TLS: write http:// in the endpoint"},
		},
		"a name that nobody knows": {
			url: b.URLAt("http://no-such-host.invalid", "p"), words: []string{"the name no-such-host.invalid cannot be found"},
		},
		"a name with the bucket in front": {
			url:   strings.Replace(b.URLAt("http://no-such-host.invalid", "p"), "path_style=true", "path_style=false", 1),
			words: []string{b.Name + ".no-such-host.invalid cannot be found", "try path_style=true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b.Setenv(t)
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			s, err := Open(t.Context(), test.url)
			require.Nil(t, s)
			require.Error(t, err)
			for _, words := range test.words {
				require.ErrorContains(t, err, words)
			}
			require.NotContains(t, err.Error(), "canary-4711")
			requireNoSecret(t, b, err)
		})
	}
}

// TestTheEndpointOfTheSDKsSettingsIsTaken where the URL names none.
func TestTheEndpointOfTheSDKsSettingsIsTaken(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", b.Endpoint)
	s, err := Open(t.Context(), "s3://"+b.Name+"/p?path_style=true")
	require.NoError(t, err)
	require.Equal(t, "s3://"+b.Name+"/p at "+b.Endpoint, s.Location())
	require.NoError(t, s.Close())
}

// TestTLSWithAnAuthorityOfOnesOwn goes through a server that ends TLS before the S3 server.
func TestTLSWithAnAuthorityOfOnesOwn(t *testing.T) {
	b := buckets.New(t)
	target, err := url.Parse(b.Endpoint)
	require.NoError(t, err)
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // which is signed
	}})
	defer front.Close()
	authority := filepath.Join(t.TempDir(), "authority.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	require.NoError(t, os.WriteFile(authority, block, 0o600))
	b.Setenv(t)
	t.Setenv("AWS_CA_BUNDLE", authority)
	s, err := Open(t.Context(), b.URLAt(front.URL, "p"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, putTwiceAndGet(t, payload.New(s, payload.Options{}), random(3*mebi, 1)))
}

func TestARefusalIsNotRepeated(t *testing.T) {
	requests := 0
	s := openBucket(t, buckets.New(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			requests++
			if r.Method != http.MethodPut {
				return next.RoundTrip(r)
			}
			return refusal(r, http.StatusForbidden, "AccessDenied", "no"), nil
		})
	})
	requests = 0
	require.Error(t, s.Write(t.Context(), keyOf(1), bodyOf(1)))
	require.Equal(t, 1, requests)
}

func TestTextOfAServerIsCleanAndShort(t *testing.T) {
	got := clean(strings.Repeat("é\x1b[31m\n", 1000) + "\xff")
	require.LessOrEqual(t, len(got), maxBrief+len("…"))
	require.NotContains(t, got, "\x1b")
	require.NotContains(t, got, "\n")
}
