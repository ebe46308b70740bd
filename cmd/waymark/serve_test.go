package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServeCannotStart: a wrong value is wrong use, and nothing is made for it; an address in use is no fault of the command line, and the flag
// that cures it is named. Neither is said after where everything is.
func TestServeCannotStart(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	taken := listener.Addr().String()
	_, port, err := net.SplitHostPort(taken)
	require.NoError(t, err)
	for _, test := range []struct {
		name  string
		flags []string
		exit  int
		says  string
	}{
		{"no address for the pages", []string{"--pages", "bogus"}, exitUsage, "--pages says where else"},
		{"pages for everybody", []string{"--pages", "0.0.0.0:8300"}, exitUsage, "--pages says where else"},
		{"no port for the pages", []string{"--pages", "127.0.0.1:99999"}, exitUsage, "--pages says where else"},
		{"no port for health", []string{"--http", "127.0.0.1:99999"}, exitUsage, `--http "127.0.0.1:99999": write HOST:PORT`},
		{"no address for health", []string{"--http", "bogus"}, exitUsage, `--http "bogus": write HOST:PORT`},
		{"no such landscape", []string{"--landscape", "nowhere://x"}, exitUsage, "--landscape"},
		{"no key for fingerprints", []string{"--fingerprint-key-file", "nowhere"}, exitUsage, "nowhere"},
		{"no address for the API", []string{"--api", "bogus"}, exitUsage, "write HOST:PORT, or off"},
		{"the API for everybody", []string{"--api", "0.0.0.0:0"}, exitUsage, "can be reached by others: give it --api-cert and --api-key"},
		{"a certificate without its key", []string{"--api", "127.0.0.1:0", "--api-cert", "x"}, exitUsage, "belong together"},
		{"a certificate that is not there", []string{"--api", "127.0.0.1:0", "--api-cert", "x", "--api-key", "x"}, exitUsage, "--api-cert: stat x: no such file"},
		{"an issuer without an audience", []string{"--api", "127.0.0.1:0", "--oidc-issuer", "https://idp.example"}, exitUsage, "say with --oidc-audience"},
		{"an issuer without roles", []string{"--api", "127.0.0.1:0", "--oidc-issuer", "https://idp.example", "--oidc-audience", "x"}, exitUsage, "nobody would have a role"},
		{"an issuer in the open", []string{"--api", "127.0.0.1:0", "--oidc-issuer", "http://idp.example", "--oidc-audience", "x", "--oidc-role", "a=b:viewer"}, exitUsage, "write an https URL"},
		{"a role that there is not", []string{"--api", "127.0.0.1:0", "--oidc-issuer", "https://idp.example", "--oidc-audience", "x", "--oidc-role", "a=b:root"}, exitUsage, `there is no role "root"`},
		{"a scope without a client", []string{"--api", "127.0.0.1:0", "--oidc-issuer", "https://idp.example", "--oidc-audience", "x", "--oidc-scope", "groups"}, exitUsage, "belong to an --oidc-client-id"},
		{"a secret that is not there", []string{"--api", "127.0.0.1:0", "--oidc-issuer", "https://idp.example", "--oidc-client-id", "x", "--oidc-client-secret-file", "nowhere"}, exitUsage, "it has no secret: open nowhere"},
		{"people who come back elsewhere", []string{"--api", "127.0.0.1:0", "--oidc-issuer", "https://idp.example", "--oidc-client-id", "x", "--oidc-redirect", "https://x.example/", "--oidc-role", "a=b:viewer"}, exitUsage, "write https://HOST/login/oidc/callback"},
		{"roles of no issuer", []string{"--api", "127.0.0.1:0", "--oidc-role", "a=b:viewer"}, exitUsage, "belong to an --oidc-issuer"},
		{"the API is in use", []string{"--api", taken}, exitFailed, "give the API another address with --api, or off"},
		{"the port is in use", []string{"--port", port}, exitFailed, taken + "; --port says which else"},
		{"the pages are in use", []string{"--pages", taken}, exitFailed, "--pages says where else"},
		{"health is in use", []string{"--http", taken}, exitFailed, "give this one another address with --http"},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			var stdout, stderr bytes.Buffer
			args := append([]string{"serve", t.TempDir(), "--state", state, "--port", "0", "--pages", "off", "--http", "off", "--api", "off"}, test.flags...)
			require.Equal(t, test.exit, execute(args, &stdout, &stderr, os.LookupEnv), stderr.String())
			require.Contains(t, stderr.String(), test.says)
			require.Empty(t, stdout.String())
			if test.exit == exitUsage {
				require.NoDirExists(t, state)
			}
		})
	}
}
