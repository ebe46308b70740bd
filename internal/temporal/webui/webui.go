// Package webui serves Temporal's own web pages, for a Temporal server in this process.
package webui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// readyTimeout is how long Start waits until the pages answer, and readyPause how long between two questions.
const (
	readyTimeout = 10 * time.Second
	readyPause   = 10 * time.Millisecond
)

// Start serves the pages at an address, HOST:PORT, for the Temporal server at another one, and returns when they answer. They have no
// password: who reaches them may do with workflows what they like. They fetch nothing from elsewhere. The caller calls stop once.
func Start(ctx context.Context, address, temporal string) (stop func(), err error) {
	host, port, err := free(ctx, address)
	if err != nil {
		return nil, err
	}
	pages := server.NewServer(server_options.WithConfigProvider(&config.Config{
		Host: host, Port: port, TemporalGRPCAddress: temporal, EnableUI: true, HideLogs: true, DisableNewsFetch: true,
		CORS: config.CORS{CookieInsecure: true}, // or browsers keep no cookie of a page without TLS
	}))
	go func() { _ = pages.Start() }() // it returns nil after Stop, and never otherwise
	if err := answers(ctx, address); err != nil {
		pages.Stop()
		return nil, err
	}
	return pages.Stop, nil
}

// free requires that nobody listens at the address: the pages would end the process.
func free(ctx context.Context, address string) (host string, port int, err error) {
	host, name, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(name)
	}
	if err != nil {
		return "", 0, fmt.Errorf("%q is no address: write HOST:PORT", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("%s is not of this machine alone, and the pages have no password: write 127.0.0.1:PORT", address)
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
