package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/audit/evidence/witness"
	"waymark/client"
	"waymark/internal/connections"
	"waymark/internal/defect"
)

// Witnessing says how this process cosigns the logs of others.
type Witnessing struct {
	Listen string      // HOST:PORT
	Logs   []trust.Log // whose heads are cosigned
	Logger *slog.Logger
	Began  func(Witnessed) // called once requests are answered
}

// Witnessed is where a witness is, and by which key it cosigns.
type Witnessed struct {
	Address string   `json:"address"`
	Key     string   `json:"key"`  // the public key: name+hash+base64
	Logs    []string `json:"logs"` // names of those whose heads are cosigned
}

// How long a client of a witness may take, and its answer, and requests in flight at the end.
const (
	requestTimeout = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	finishTimeout  = 5 * time.Second
)

// filesPart is the part of the files that the process may have open that are connections to a witness at most.
const filesPart = 2

// Witness cosigns heads of other logs until ctx ends: then it answers the requests in flight. The last head of each log stands in the state folder. The
// error is an *Error of kind Invalid if there is no key, the address cannot be used, or another process uses the folder.
func (o Options) Witness(ctx context.Context, w Witnessing) error {
	o = o.filled()
	key, err := keys.Load(o.evidence().Keys, keys.Witness)
	if errors.Is(err, keys.ErrNone) {
		err = fmt.Errorf("%w: make one with waymark keys generate --witness NAME", err)
	}
	if err != nil {
		return keyError(err)
	}
	at, err := witness.Open(o.State.Witness(), key, w.Logs, w.Logger)
	if errors.Is(err, witness.ErrInUse) {
		return invalidOption(err)
	}
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", w.Listen)
	if err != nil {
		return errors.Join(invalidOption(fmt.Errorf("--listen: %w", err)), at.Close())
	}
	said := Witnessed{Address: listener.Addr().String(), Key: key.VKey}
	for _, log := range w.Logs {
		if !slices.Contains(said.Logs, log.Name()) { // it may have several keys
			said.Logs = append(said.Logs, log.Name())
		}
	}
	w.Began(said)
	return errors.Join(serveUntil(ctx, listener, at, w.Logger), at.Close())
}

func invalidOption(err error) error {
	return &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: err.Error(), Err: err}
}

// serveUntil serves a handler until ctx ends, and then what is in flight.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler, logger *slog.Logger) error {
	server := &http.Server{
		Handler:      defect.Handler("request", handler),
		ReadTimeout:  requestTimeout,
		WriteTimeout: requestTimeout,
		IdleTimeout:  idleTimeout,
		ErrorLog:     slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	listener = connections.Limit(server, listener, filesPart)
	failed := make(chan error, 1)
	go func() { failed <- defect.Catch("witness", func() error { return server.Serve(listener) }) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	last, done := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer done()
	if server.Shutdown(last) != nil {
		return server.Close() // a client that is still at its request asks again
	}
	return nil
}
