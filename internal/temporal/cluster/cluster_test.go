package cluster_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"waymark/internal/temporal/cluster"
)

const environment = cluster.Environment

// variables is an environment.
type variables map[string]string

func (v variables) LookupEnv(name string) (string, bool) {
	value, set := v[name]
	return value, set
}

func (v variables) Environ() []string {
	var all []string
	for name, value := range v {
		all = append(all, name+"="+value)
	}
	return all
}

// with returns the variables that a test needs so that no file of this machine is read, and these.
func with(t *testing.T, v variables) variables {
	t.Helper()
	all := variables{"TEMPORAL_CONFIG_FILE": filepath.Join(t.TempDir(), "none.toml")}
	maps.Copy(all, v)
	return all
}

func TestTheEnvironmentSaysWhatTheAddressDoesNot(t *testing.T) {
	far := variables{"TEMPORAL_ADDRESS": "far:7233", "TEMPORAL_NAMESPACE": "prod"}
	empty := variables{"TEMPORAL_ADDRESS": "", "TEMPORAL_NAMESPACE": ""}
	for name, test := range map[string]struct {
		address string
		env     variables
		place   string
	}{
		"nothing is said":   {environment, nil, "localhost:7233 (namespace default, no TLS)"},
		"the environment":   {environment, far, "far:7233 (namespace prod, no TLS)"},
		"an address":        {"near:1", variables{"TEMPORAL_ADDRESS": "far:7233", "TEMPORAL_NAMESPACE": "prod"}, "near:1 (namespace prod, no TLS)"},
		"an API key":        {"near:1", variables{"TEMPORAL_API_KEY": "canary\n"}, "near:1 (namespace default, TLS, API key)"},
		"TLS":               {"near:1", variables{"TEMPORAL_TLS": "true"}, "near:1 (namespace default, TLS)"},
		"TLS that is not":   {"near:1", variables{"TEMPORAL_TLS": "false", "TEMPORAL_API_KEY": "canary"}, "near:1 (namespace default, no TLS, API key)"},
		"an empty variable": {environment, empty, "localhost:7233 (namespace default, no TLS)"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := cluster.Options(test.address, with(t, test.env))
			require.NoError(t, err)
			require.Equal(t, test.place, cluster.Place(o))
		})
	}
}

func TestAProfileSaysItToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte("[profile.prod]\naddress = \"far:7233\"\nnamespace = \"orders\"\napi_key = \"canary\"\n"), 0o600))
	o, err := cluster.Options(environment, variables{"TEMPORAL_CONFIG_FILE": file, "TEMPORAL_PROFILE": "prod"})
	require.NoError(t, err)
	require.Equal(t, "far:7233 (namespace orders, TLS, API key)", cluster.Place(o))
}

func TestOptionsSayWhatIsWrongAndNoSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "temporal.toml")
	broken := variables{"TEMPORAL_CONFIG_FILE": file}
	require.NoError(t, os.WriteFile(file, []byte("[profile.default]\napi_key = canary-key\n"), 0o600))
	for name, test := range map[string]struct {
		address string
		env     variables
		says    string
	}{
		"no port":          {"temporal.example", nil, `temporal "temporal.example": write HOST:PORT`},
		"a URL":            {"https://temporal.example:7233", nil, "write HOST:PORT"},
		"no such profile":  {environment, variables{"TEMPORAL_PROFILE": "gone"}, "profile gone"},
		"a broken file":    {environment, broken, `TEMPORAL_CONFIG_FILE): line 2, behind "profile.default.api_key"`},
		"half a key pair":  {"near:1", variables{"TEMPORAL_TLS_CLIENT_KEY_DATA": "canary-key"}, "TEMPORAL_TLS_*"},
		"a key that isn't": {"near:1", variables{"TEMPORAL_TLS_CLIENT_KEY_DATA": "canary-key", "TEMPORAL_TLS_CLIENT_CERT_DATA": "canary-cert"}, "client cert/key data"},
		"no authority":     {"near:1", variables{"TEMPORAL_TLS_SERVER_CA_CERT_PATH": "gone.pem"}, "gone.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cluster.Options(test.address, with(t, test.env))
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "canary")
		})
	}
}

// frontend is what a cluster answers.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer
	denies error
}

func (f frontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (f frontend) DescribeNamespace(_ context.Context, in *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	switch {
	case f.denies != nil:
		return nil, serviceerror.ToStatus(f.denies).Err()
	case in.GetNamespace() != "default":
		return nil, serviceerror.ToStatus(serviceerror.NewNamespaceNotFound(in.GetNamespace())).Err()
	}
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

// certified returns a key pair for 127.0.0.1, and a file with the certificate of who signed it.
func certified(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	return server.TLS.Certificates[0], file
}

// serve serves a frontend until the test ends, and returns its address.
func serve(t *testing.T, f frontend, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(options...)
	workflowservice.RegisterWorkflowServiceServer(server, f)
	go func() { _ = server.Serve(listener) }() // until Stop
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// listening returns the address of somebody who takes connections and does this with each.
func listening(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			do(conn)
		}
	}()
	return listener.Addr().String()
}

func TestDialNeedsTheNamespace(t *testing.T) {
	o, err := cluster.Options(serve(t, frontend{}), with(t, nil))
	require.NoError(t, err)
	c, err := cluster.Dial(t.Context(), o)
	require.NoError(t, err)
	c.Close()
}

// TestAnswersSaysWhatToCheck asks a cluster that is there, and then is not.
func TestAnswersSaysWhatToCheck(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, frontend{})
	go func() { _ = server.Serve(listener) }() // until Stop
	o, err := cluster.Options(listener.Addr().String(), with(t, nil))
	require.NoError(t, err)
	c, err := cluster.Dial(t.Context(), o)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, cluster.Answers(t.Context(), c, o))
	server.Stop()
	patience, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	err = cluster.Answers(patience, c, o)
	fault, is := errors.AsType[*cluster.Fault](err)
	require.True(t, is, "%v", err)
	require.Equal(t, "nobody listens there", fault.Why)
	require.Contains(t, err.Error(), "temporal at "+o.HostPort+" (namespace default, no TLS): nobody listens there; start it, or say where it is")
}

func TestDialUsesTLS(t *testing.T) {
	pair, authority := certified(t)
	address := serve(t, frontend{}, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	encrypted := variables{"TEMPORAL_TLS_SERVER_CA_CERT_PATH": authority, "TEMPORAL_API_KEY": "key"}
	o, err := cluster.Options(address, with(t, encrypted))
	require.NoError(t, err)
	c, err := cluster.Dial(t.Context(), o)
	require.NoError(t, err)
	c.Close()
}

func TestDialShowsItsCertificate(t *testing.T) {
	pair, authority := certified(t)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	keyFile := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	mutual := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert})
	o, err := cluster.Options(serve(t, frontend{}, grpc.Creds(mutual)), with(t, variables{
		"TEMPORAL_TLS_SERVER_CA_CERT_PATH": authority, "TEMPORAL_TLS_CLIENT_CERT_PATH": authority, "TEMPORAL_TLS_CLIENT_KEY_PATH": keyFile,
	}))
	require.NoError(t, err)
	require.Contains(t, cluster.Place(o), "TLS with a client certificate")
	c, err := cluster.Dial(t.Context(), o)
	require.NoError(t, err)
	c.Close()
}

func TestDialSaysWhatToCheck(t *testing.T) {
	pair, authority := certified(t)
	secure := serve(t, frontend{}, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	mutual := serve(t, frontend{}, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert})))
	web := httptest.NewServer(nil)
	t.Cleanup(web.Close)
	secureWeb := httptest.NewUnstartedServer(nil)
	secureWeb.Config.ErrorLog = log.New(io.Discard, "", 0)
	secureWeb.StartTLS()
	t.Cleanup(secureWeb.Close)
	for name, test := range map[string]struct {
		address string
		env     variables
		says    []string
		lasting bool
	}{
		"nobody listens":         {closed(t), nil, []string{"nobody listens there", "--temporal HOST:PORT", "TEMPORAL_ADDRESS"}, false},
		"no such host":           {"nowhere.invalid:7233", nil, []string{"no host is called nowhere.invalid"}, false},
		"no address":             {environment, variables{"TEMPORAL_ADDRESS": "nowhere"}, []string{"HOST:PORT"}, true},
		"it closes":              {listening(t, func(c net.Conn) { _ = c.Close() }), nil, []string{"closes connections that do not use TLS", "TEMPORAL_TLS=true"}, false},
		"TLS is not used":        {secure, nil, []string{"closes connections that do not use TLS", "TEMPORAL_TLS=true"}, false},
		"TLS is not spoken":      {serve(t, frontend{}), variables{"TEMPORAL_TLS": "true"}, []string{"does not speak TLS", "TEMPORAL_TLS=false"}, true},
		"an unknown authority":   {secure, variables{"TEMPORAL_TLS": "true"}, []string{"not signed by an authority", "TEMPORAL_TLS_SERVER_CA_CERT_PATH"}, true},
		"another name":           {secure, variables{"TEMPORAL_TLS_SERVER_CA_CERT_PATH": authority, "TEMPORAL_TLS_SERVER_NAME": "other.example"}, []string{"not one for other.example", "TEMPORAL_TLS_SERVER_NAME"}, true},
		"a certificate is asked": {mutual, variables{"TEMPORAL_TLS_SERVER_CA_CERT_PATH": authority}, []string{"certificate required", "TEMPORAL_TLS_CLIENT_CERT_PATH"}, true},
		"a web server":           {web.Listener.Addr().String(), nil, []string{"not a Temporal server"}, true},
		"a secure web server":    {secureWeb.Listener.Addr().String(), variables{"TEMPORAL_TLS_DISABLE_HOST_VERIFICATION": "true"}, []string{"not a Temporal server"}, true},
		"no namespace":           {serve(t, frontend{}), variables{"TEMPORAL_NAMESPACE": "orders"}, []string{"there is no namespace orders", "temporal operator namespace create --namespace orders --address 127.0.0.1:"}, false},
		"no right":               {serve(t, frontend{denies: serviceerror.NewPermissionDenied("Request unauthorized.", "")}), variables{"TEMPORAL_TLS": "false", "TEMPORAL_API_KEY": "canary"}, []string{"Request unauthorized.", "TEMPORAL_API_KEY"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := cluster.Options(test.address, with(t, test.env))
			require.NoError(t, err)
			_, err = cluster.Dial(t.Context(), o)
			fault, is := errors.AsType[*cluster.Fault](err)
			require.True(t, is, "%v", err)
			require.Equal(t, test.lasting, fault.Lasting, "%v", err)
			require.Contains(t, err.Error(), "temporal at "+o.HostPort+" (namespace "+o.Namespace)
			for _, words := range test.says {
				require.Contains(t, err.Error(), words)
			}
			require.NotContains(t, err.Error(), "canary")
		})
	}
}

func TestACancelledDialSaysNoMore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := listening(t, func(net.Conn) { cancel() })
	o, err := cluster.Options(address, with(t, nil))
	require.NoError(t, err)
	_, err = cluster.Dial(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, err.Error(), "temporal at", "nothing is wrong there")
}

// closed returns an address at which nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}
