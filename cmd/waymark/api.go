package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"syscall"

	"github.com/spf13/pflag"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/defect"
	"waymark/serve/api"
	"waymark/serve/oidc"
	"waymark/worker/daemon"
)

// apiAddress is where the HTTP API is looked for.
const apiAddress = "127.0.0.1:8686"

// off is the address of what is not wanted.
const off = "off"

// apiServing says where and how a process serves the HTTP API.
type apiServing struct {
	address     string // HOST:PORT; off for none
	cert, key   string // files of a certificate and its private key; empty for plain HTTP
	rate        float64
	flags       issuerFlags
	issuer      *oidc.Issuer // whose tokens count as well; nil for none
	link        *api.Link    // with which one person can sign in; nil for none
	listener    net.Listener
	certificate *certificate    // nil for plain HTTP
	received    daemon.Received // what is posted to triggers
	folder      string          // whose documents start by their names; empty for none
}

// bind defines the flags.
func (s *apiServing) bind(flags *pflag.FlagSet, address string) {
	flags.StringVar(&s.address, "api", address, "`address` of the HTTP API; off for none. waymark access grant makes tokens for it")
	flags.StringVar(&s.cert, "api-cert", "", "`file` with the certificate of the API, in PEM: needed for addresses that others can reach")
	flags.StringVar(&s.key, "api-key", "", "`file` with its private key")
	flags.Float64Var(&s.rate, "api-rate", 200, "how many `requests` in a second an access token may be used for; 0 for no limit")
	s.flags.bind(flags)
}

// listen begins to listen, before anything else starts. It refuses to let others read access tokens on the way.
func (s *apiServing) listen(ctx context.Context) error {
	if s.address == off {
		return nil
	}
	host, _, err := net.SplitHostPort(s.address)
	switch {
	case err != nil:
		return wrongUsef("--api %q: write HOST:PORT, or off", s.address)
	case (s.cert == "") != (s.key == ""):
		return wrongUsef("--api-cert and --api-key belong together")
	case s.cert == "" && !s.loopback(host):
		return wrongUsef("--api %s can be reached by others: give it --api-cert and --api-key, or listen on 127.0.0.1 behind a proxy with TLS", s.address)
	case s.rate < 0:
		return wrongUsef("--api-rate %g: write a number from 0", s.rate)
	}
	if s.issuer, err = s.flags.issuer(); err != nil {
		return err
	}
	if s.cert != "" {
		s.certificate = &certificate{cert: s.cert, key: s.key}
		if _, err := s.certificate.load(); err != nil {
			return wrongUsef("--api-cert: %v", err)
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("another process listens on %s: give the API another address with --api, or off", s.address)
	case err != nil:
		return wrongUsef("--api: %v", err)
	}
	s.listener = listener
	return nil
}

// String is where it listens, or off.
func (s *apiServing) String() string {
	if s.listener == nil {
		return off
	}
	return s.listener.Addr().String()
}

// origin is the beginning of the addresses of its pages.
func (s *apiServing) origin() string {
	if s.cert != "" {
		return "https://" + s.String()
	}
	return "http://" + s.String()
}

// close ends listening, also if nothing was served.
func (s *apiServing) close() { _ = s.listener.Close() }

// loopback reports whether only this machine reaches the host.
func (s *apiServing) loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serve answers requests until ctx ends, about the runs of what the options name. later is Later of api.Options.
func (s *apiServing) serve(ctx context.Context, o local.Options, later bool, logger *slog.Logger) (err error) {
	home, err := local.Open(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	host, _, _ := net.SplitHostPort(s.address)
	var secured *tls.Config
	if s.certificate != nil {
		secured = &tls.Config{GetCertificate: s.certificate.get, MinVersion: tls.VersionTLS12}
	}
	server, err := api.New(api.Options{
		TLS:  secured,
		Home: home, Logger: logger, Code: thisBuild().Code(), Rate: s.rate, Private: s.loopback(host) && s.cert == "", Issuer: s.issuer, Link: s.link, Received: s.received.Add, Later: later, Served: s.folder,
	})
	if err != nil {
		return err
	}
	if s.certificate != nil {
		s.certificate.logs(logger)
	}
	logger.Info("listening", "for", "--api", "address", s.listener.Addr().String())
	if s.issuer != nil {
		go defect.Guard("issuer", func() { tellIssuer(ctx, s.issuer, logger) })()
	}
	return server.Serve(ctx, s.listener)
}

// apiOptions are what the API of a process with a worker has to know: it starts runs as everybody else does, in Temporal at the address.
func (a *app) apiOptions(c daemon.Config, temporal string, served bool) local.Options {
	o := a.options()
	o.Landscape, o.Payloads, o.LimitMemory = c.Landscape, c.Payloads, false
	// as the worker: what it compiles is what that compiles
	o.Networks, o.Secrets, o.Profile = networkTexts(c.AllowNetworks), c.SecretsDir, c.DocumentProfile
	o.Confine = c.Confine
	o.Retention = c.Retention
	o.KeyFile = cmp.Or(c.FingerprintKeyFile, o.KeyFile)
	o.Keys = cmp.Or(c.Keys, o.Keys) // as the worker: what it records is in the same log
	o.LogAnchors = slices.DeleteFunc(slices.Clone(c.LogAnchors), func(anchor string) bool { return anchor == o.State.Anchor() })
	keys, _ := a.env(daemon.CodecKeysVariable)
	o.Cluster = &client.Cluster{Address: temporal, Queue: c.Queue, Files: c.Files, CodecFile: c.CodecKeysFile, CodecKeys: keys, Env: a.env}
	if served {
		o.Cluster.Gone = func() bool { return false }
	}
	return o
}
