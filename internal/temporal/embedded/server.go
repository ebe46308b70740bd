// Package embedded runs a Temporal server inside the process: Temporal's own code on a SQLite file, reachable on the
// loopback address only. It is linked by cmd/waymark and by nothing else, so that a worker stays lean.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/temporal"

	"waymark/internal/defect"
	"waymark/internal/temporal/beat"
)

// Namespace is the one that the server has besides Temporal's own.
const Namespace = "default"

// startAttempts bounds how often Start tries again after another process took a port between its choice and its use.
const startAttempts = 5

// How long a start waits until the server answers, and how long between two questions.
const (
	readyTimeout = time.Minute
	readyPause   = 10 * time.Millisecond
)

// Options say what to run. The zero value of every field but DatabasePath is a good choice.
type Options struct {
	// DatabasePath is the SQLite file with all of the server's state. It is made if it is missing; its folder is not.
	DatabasePath string
	// Lock is what Take returned for the database. Start releases it if it fails, and else Stop does. The default is to
	// take it, unless another process has it.
	Lock *Lock
	// Logger gets what the server says at level warn and above. The default is to drop it.
	Logger *slog.Logger
	// Port is where clients reach the server on 127.0.0.1. The default is any free one.
	Port int
	// Queue is the task queue of this process's worker, which executes the runs of other processes as well. Holder returns it.
	Queue string
	// Retention is how long closed workflows are kept, by default 30 days. It takes effect when the database is made.
	Retention time.Duration
	// Schedules also runs what schedules and batch operations need.
	Schedules bool
	// Attributes are search attributes that the namespace gets, by name, if it does not have them.
	Attributes map[string]enums.IndexedValueType
	// Asked is called before a query goes to an execution of a workflow, which is the latest if its id is empty; nil for nothing. An error is
	// the answer.
	Asked func(ctx context.Context, workflow, execution string) error
	// Settings are dynamic configuration by key. They come before the package's own.
	Settings map[string]any
}

// Server is a running Temporal server. It is safe for concurrent use.
type Server struct {
	server  temporal.Server
	opened  connections
	lock    *Lock
	logger  *logger
	path    string
	address string
}

// Start starts a server and returns when it answers. Only one server at a time can use a database: if another one does,
// and there is no Lock, the error is an *InUseError; if there is no space for the database, it is a *FullError. After an error nothing is locked.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	lock := o.Lock
	if lock == nil {
		var err error
		if lock, err = Take(ctx, o.DatabasePath, Turn{}); err != nil {
			return nil, err
		}
	}
	s, err := start(ctx, o)
	if err == nil {
		if err = lock.publish(s.address, o.Queue); err != nil {
			err = errors.Join(err, s.stop())
		}
	}
	if err != nil {
		if isFull(o.DatabasePath, err) {
			return nil, errors.Join(&FullError{filepath.Dir(o.DatabasePath)}, lock.Release())
		}
		if damaged(o.DatabasePath) {
			err = fmt.Errorf("%s is damaged; delete it while no run is active: recorded runs stay, and can be resumed: %w", o.DatabasePath, err)
		}
		return nil, fmt.Errorf("embedded temporal server: %w", errors.Join(err, lock.Release()))
	}
	s.lock = lock
	return s, nil
}

func start(ctx context.Context, o Options) (*Server, error) {
	if err := requireTraits(); err != nil {
		return nil, err
	}
	if err := prepareDatabase(ctx, o); err != nil {
		return nil, err
	}
	var taken error // in the last attempt: a port that was free when it was chosen
	for attempt := 1; ; attempt++ {
		p, err := choosePorts(o.Port)
		if err != nil {
			return nil, cmp.Or(taken, err)
		}
		s, err := startOn(ctx, p, o)
		if err == nil || attempt == startAttempts || !errors.Is(err, ErrPortTaken) {
			return s, err
		}
		taken = err
	}
}

// startOn starts a server on these ports.
func startOn(ctx context.Context, p ports, o Options) (*Server, error) {
	database, err := sqlConfig(o.DatabasePath)
	if err != nil {
		return nil, err
	}
	s := &Server{logger: newLogger(o.Logger), address: p.address(frontend), path: o.DatabasePath}
	if err := s.boot(serverOptions(o, database, p, s.logger, &s.opened)); err != nil {
		return nil, err
	}
	if err := s.waitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.logger.quiet.Store(false)
	return s, nil
}

// boot runs the server's start in a goroutine of its own, because the server ends the goroutine in which it cannot go on,
// or one that the start waits for.
func (s *Server) boot(options []temporal.ServerOption) error {
	started := make(chan error, 1)
	go func() {
		started <- defect.Catch("temporal", func() error {
			server, err := temporal.NewServer(options...)
			if err != nil {
				return innermost(err)
			}
			s.server = server
			return innermost(server.Start())
		})
	}()
	select {
	case err := <-started:
		return s.logger.reason(err)
	case err := <-s.logger.fatal:
		return err
	}
}

// waitReady waits until a client is served, which a busy machine can delay.
func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		c, err := s.Client(ctx, client.Options{})
		if err == nil {
			c.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(readyPause):
		}
	}
}

// Address is where clients reach the server, on this machine.
func (s *Server) Address() string { return s.address }

// Client returns a new client for the server's namespace, which the caller closes. HostPort and Namespace of the options
// are ignored; without a Logger, the client does not log.
func (s *Server) Client(ctx context.Context, o client.Options) (client.Client, error) {
	return Dial(ctx, s.address, o)
}

// Dial is Client for the server of another process, whose address Holder told.
func Dial(ctx context.Context, address string, o client.Options) (client.Client, error) {
	o.HostPort, o.Namespace = address, Namespace
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return client.DialContext(ctx, beat.Tolerant(o))
}

// Stop stops the server, puts all of its state into the database file and unlocks it. Close clients and workers before:
// the server waits up to a second for their calls. Call it once.
//
// Temporal keeps its idle handle on the database file open until the process ends.
func (s *Server) Stop() error {
	return errors.Join(s.stop(), checkpoint(s.path), s.lock.Release())
}

func (s *Server) stop() error {
	s.logger.quiet.Store(true)
	return errors.Join(s.server.Stop(), s.opened.close())
}
