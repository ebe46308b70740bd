package object

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/egress"
	"waymark/tests/services/buckets"
)

// nameServer answers with an address for every question, the second and later ones with another.
func nameServer(t *testing.T, first, then [4]byte) *net.Resolver {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer, asked := make([]byte, 512), 0
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			end := 12
			for end < n && buffer[end] != 0 {
				end += int(buffer[end]) + 1
			}
			question := buffer[12 : end+5]
			reply := append([]byte{buffer[0], buffer[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
			if binary.BigEndian.Uint16(question[len(question)-4:]) == 1 { // A
				address := first
				if asked++; asked > 1 {
					address = then
				}
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				reply = append(reply, address[:]...)
			}
			_, _ = conn.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// TestHostileAddresses shows that no spelling of an address, no name and no second answer of a name server leads to a server inside.
func TestHostileAddresses(t *testing.T) {
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		_, _ = w.Write([]byte("a\n1\n"))
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	port := at.Port()
	loopback, public := [4]byte{127, 0, 0, 1}, [4]byte{93, 184, 216, 34}
	remotes := map[string]*Remote{
		"host's names": quick(newRemote(egress.Web(nil), nil)),
		"all inside":   quick(newRemote(egress.Web(nil), nameServer(t, loopback, loopback))),
		"rebinding":    quick(newRemote(egress.Web(nil), nameServer(t, public, loopback))),
	}
	hosts := []string{
		"127.0.0.1", "localhost", "localhost.", "LOCALHOST", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "0.0.0.0", "0",
		"127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "①②⑦.⓪.⓪.①", "127。0。0。1",
		"[64:ff9b::7f00:1]", "[2002:7f00:1::1]", "169.254.169.254", "[fd00:ec2::254]", "100.64.0.1", "198.18.0.1",
		"127.0.0.1.nip.example", "inside.example", "me@127.0.0.1", "example.org%40127.0.0.1", "127.0.0.1%00.example.org",
	}
	tried := 0
	for name, remote := range remotes {
		for _, host := range hosts {
			for range 2 { // the second time a name server may say otherwise
				tried++
				path := "http://" + host + ":" + port + "/in.csv"
				store, err := remote.Store(pipeline.Files{Path: path})
				if err != nil {
					continue
				}
				ctx, cancel := context.WithCancel(t.Context())
				if strings.HasPrefix(host, "[64") || strings.HasPrefix(host, "[2002") {
					cancel() // it is rejected before it is dialled: TestGuard; nobody waits for a network that may not be there
				}
				_, err = store.List(ctx, path)
				cancel()
				require.Error(t, err, "%s with %s", path, name)
			}
		}
	}
	require.Zero(t, hits.Load())
	require.Greater(t, tried, 100)

	var fault *plugin.SourceError
	path := "http://inside.example:" + port + "/in.csv"
	_, err = must(remotes["all inside"].Store(pipeline.Files{Path: path})).List(t.Context(), path)
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "EGRESS_DENIED", fault.Code)
	require.Contains(t, fault.Message, "127.0.0.1:"+port+" is no public web address: if documents may use it, the operator allows it with --allow-network")

	allowed := quick(newRemote(local(), nameServer(t, loopback, loopback)))
	_, err = must(allowed.Store(pipeline.Files{Path: path})).List(t.Context(), path)
	require.NoError(t, err, "an operator's network")
	require.Equal(t, int64(1), hits.Load())
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestWebClientUsesNoProxy: a proxy would dial for the document, and would not be asked where to.
func TestWebClientUsesNoProxy(t *testing.T) {
	transport, ok := newClient(new(egress.Web(nil)), nil).Transport.(*http.Transport)
	require.True(t, ok)
	require.Nil(t, transport.Proxy)
}

// TestEndpointsOfDocuments shows that an endpoint in a document is dialled only if the operator allows it, and the operator's own
// without further ado.
func TestEndpointsOfDocuments(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	remote := quick(newRemote(egress.Web(nil), nil))
	path := "s3://" + b.Name + "/in.csv"
	source := sourceOf(t, remote, t.TempDir(), pipeline.Source{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: path, S3: bucketOf(b)}}})
	_, err := source.Stat(t.Context())
	var fault *plugin.SourceError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "EGRESS_DENIED", fault.Code)

	place, err := remote.Destination("all", ".csv", pipeline.FileTarget{Path: "s3://" + b.Name + "/out", S3: bucketOf(b)})
	require.NoError(t, err)
	_, err = place.Target("one").Open(t.Context(), nil)
	var refused *plugin.TargetError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "EGRESS_DENIED", refused.Code)

	t.Setenv("AWS_ENDPOINT_URL", b.Endpoint)
	operators := sourceOf(t, quick(newRemote(egress.Web(nil), nil)), t.TempDir(), pipeline.Source{CSV: &pipeline.CSVSource{
		Files: pipeline.Files{Path: path, S3: &pipeline.S3{PathStyle: true}},
	}})
	_, err = operators.Stat(t.Context())
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "NOT_FOUND", fault.Code)
	require.Contains(t, fault.Message, b.Endpoint)
}

// TestABucketWithoutSpace: whatever a server calls it, it is a full disk, for which a run waits, and nothing that it refuses.
func TestABucketWithoutSpace(t *testing.T) {
	for _, says := range []struct {
		status int
		code   string
		full   bool
	}{
		{http.StatusInsufficientStorage, "XMinioStorageFull", true}, {http.StatusInsufficientStorage, "Other", true},
		{http.StatusForbidden, "QuotaExceeded", true}, {http.StatusForbidden, "AccessDenied", false},
	} {
		t.Run(says.code, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(says.status)
				fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", says.code)
			}))
			t.Cleanup(server.Close)
			for name, value := range map[string]string{
				"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1",
			} {
				t.Setenv(name, value)
			}
			remote := quick(newRemote(egress.Web(nil), nil))
			place, err := remote.Destination("all", ".csv", pipeline.FileTarget{Path: "s3://bucket/out", S3: &pipeline.S3{PathStyle: true}})
			require.NoError(t, err)
			_, err = place.Target("one").Open(t.Context(), nil)
			var refused *plugin.TargetError
			require.Equal(t, says.full, errors.Is(err, syscall.ENOSPC), err)
			require.Equal(t, !says.full, errors.As(err, &refused), err)
		})
	}
}

// TestSecretsInHeadersStayWhereTheyWereSent lets a server send elsewhere what came with a secret, and others be named
// that could be overheard.
func TestSecretsInHeadersStayWhereTheyWereSent(t *testing.T) {
	var heard []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		heard = append(heard, r.Header.Get("X-Token"))
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	remote := quick(newRemote(egress.Web([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), nil))
	look := func(address string, cargo egress.Cargo) error {
		headers := pipeline.Map[string]{{Name: "X-Token", Value: "s3cret"}}
		files := pipeline.Files{Path: address, HTTP: &pipeline.HTTP{Headers: headers}}
		store, err := remote.Carrying(cargo).Store(files)
		require.NoError(t, err)
		_, err = store.List(t.Context(), address)
		return err
	}
	crm := egress.Cargo{Secrets: []string{"CRM"}}
	require.ErrorContains(t, look(server.URL+"/x", crm), "REDIRECTED")
	require.ErrorContains(t, look("http://93.184.216.34/x", crm),
		"http://93.184.216.34/x: EGRESS_DENIED: 93.184.216.34:80: "+
			"secret CRM would go in clear text to a public address: write https://")
	crm.Held = errors.New("not yet")
	require.ErrorContains(t, look(other.URL+"/x", crm), "SECRET_HELD")
	require.Empty(t, heard)
	for endpoint, why := range map[string]string{
		"http://93.184.216.34": "secret of the bucket would go in clear text", other.URL: "",
	} {
		store, err := remote.Store(pipeline.Files{
			Path: "s3://bucket/key", S3: &pipeline.S3{Endpoint: endpoint, PathStyle: true},
		})
		require.NoError(t, err)
		t.Setenv("AWS_ACCESS_KEY_ID", "id")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "key")
		_, err = store.List(t.Context(), "s3://bucket/key")
		require.Equal(t, why == "", err == nil || !strings.Contains(err.Error(), "EGRESS_DENIED"), "%v", err)
		require.True(t, why == "" || strings.Contains(err.Error(), why), "%v", err)
	}
}
