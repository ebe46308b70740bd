// Package webui serves Temporal's own web pages, for a Temporal server in this process.
package webui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"

	"waymark/internal/defect"
)

// readyTimeout is how long Start waits until the pages answer, and readyPause how long between two questions.
const (
	readyTimeout = time.Minute
	readyPause   = 10 * time.Millisecond
)

// Check says why no machine can serve the pages at the address; nil if one can.
func Check(address string) error {
	_, _, err := split(address)
	return err
}

// Start serves the pages at an address, HOST:PORT, for the Temporal server at another one, and returns when they answer. They have no
// password: who reaches them may do with workflows what they like. They fetch nothing from elsewhere, and what they ask Temporal, they ask only
// for a browser that knows this machine by an address or as localhost. The caller calls stop once.
func Start(ctx context.Context, address, temporal string) (stop func(), err error) {
	host, port, err := free(ctx, address)
	if err != nil {
		return nil, err
	}
	var middleware api.Middleware = guarded
	pages := server.NewServer(
		server_options.WithConfigProvider(&config.Config{
			Host: host, Port: port, TemporalGRPCAddress: temporal, EnableUI: true, HideLogs: true, DisableNewsFetch: true,
			CORS: config.CORS{CookieInsecure: true}, // or browsers keep no cookie of a page without TLS
		}),
		server_options.WithAPIMiddleware([]api.Middleware{middleware}),
	)
	go defect.Guard("webui", func() { _ = pages.Start() })() // it returns nil after Stop, and never otherwise
	if err := answers(ctx, address); err != nil {
		pages.Stop()
		return nil, err
	}
	return pages.Stop, nil
}

// guarded makes the API answer what ours lets through alone. It needs nothing of the request, whose type is that of the
// framework that the pages use.
func guarded[Request any](Request) runtime.ServeMuxOption { return runtime.WithMiddlewares(ours) }

// ours refuses requests for another name than this machine's. A page of a stranger gets at this server if its own name leads here for a moment, and
// the browser takes the answers for its own: it still sends that name.
func ours(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		name := r.Host
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			name = host
		}
		if name != "localhost" && net.ParseIP(strings.Trim(name, "[]")) == nil {
			http.Error(w, "these pages are served as localhost, and not by the name of the request", http.StatusMisdirectedRequest)
			return
		}
		next(w, r, params)
	}
}

// split returns the parts of an address of this machine alone.
func split(address string) (host string, port int, err error) {
	host, name, err := net.SplitHostPort(address)
	if err == nil {
		var number uint64
		number, err = strconv.ParseUint(name, 10, 16)
		port = int(number)
	}
	if err != nil {
		return "", 0, fmt.Errorf("%q is no address: write HOST:PORT", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("%s is not of this machine alone, and the pages have no password: write 127.0.0.1:PORT", address)
	}
	return host, port, nil
}

// free requires that nobody listens at the address: the pages would end the process.
func free(ctx context.Context, address string) (host string, port int, err error) {
	if host, port, err = split(address); err != nil {
		return "", 0, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", 0, err
	}
	return host, port, listener.Close()
}

// answers waits until the pages answer.
func answers(ctx context.Context, address string) error {
	ctx, done := context.WithTimeout(ctx, readyTimeout)
	defer done()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	for {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(readyPause):
		}
	}
}
