package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"waymark/internal/connections"
	"waymark/internal/defect"
)

// How long a client may take for its request and for the answer, and a server for its end.
const (
	headerTimeout = 5 * time.Second
	answerTimeout = 30 * time.Second
	closeTimeout  = 2 * time.Second
)

// filesPart is the part of the files that the process may have open that are connections to an endpoint at most: an
// eighth, since there are two of these beside the API.
const filesPart = 8

// endpoint is an HTTP server of this process.
type endpoint struct {
	server *http.Server
}

// listen serves the handler at the address; off serves nothing. What the server fails with later goes to failed.
func listen(ctx context.Context, flag, address string, handler http.Handler, logger *slog.Logger, failed chan<- error) (*endpoint, error) {
	if address == off {
		return nil, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another process listens on %s: give this one another address with %s, or off", address, flag)
	}
	if err != nil {
		return nil, &UsageError{fmt.Errorf("%s: %w", flag, err)}
	}
	if at, _, err := net.SplitHostPort(listener.Addr().String()); err == nil && loopback(at) {
		handler = forThisMachine(handler)
	}
	e := &endpoint{server: &http.Server{
		Handler: defect.Handler("request", handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: answerTimeout, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}}
	limited := connections.Limit(e.server, listener, filesPart)
	logger.Info("listening", "for", flag, "address", listener.Addr().String())
	go defect.Guard("listener", func() {
		if err := e.server.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("%s %s: %w", flag, address, err)
		}
	})()
	return e, nil
}

// forThisMachine refuses requests for any name that a stranger can give an address: a page of his in a browser on this
// machine could otherwise read what it asks for under that name.
func forThisMachine(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !loopback(strings.Trim(host, "[]")) {
			http.Error(w, "this address is for this machine only: ask for localhost", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// close ends the server; requests in flight may take a moment.
func (e *endpoint) close() {
	if e == nil {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), closeTimeout)
	defer done()
	if e.server.Shutdown(ctx) != nil {
		_ = e.server.Close() // what a client still wants is not worth waiting for
	}
}

// public are the pages without a password.
func public(ready, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("GET /readyz", ready)
	mux.Handle("GET /metrics", metrics)
	return mux
}
