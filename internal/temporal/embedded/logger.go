package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// ErrPortTaken says that another process listens on a port, also one that was free when it was chosen.
var ErrPortTaken = errors.New("port is in use")

// portTakenMessage is what Temporal logs then. Source: go.temporal.io/server/common/rpc, createGRPCListener.
const portTakenMessage = "Failed to start gRPC listener"

// noHTTPMessage is what Temporal logs at every start without an HTTP port, which is as we want it.
const noHTTPMessage = "HTTP API port has not been set"

// logger hands what the Temporal server says at level warn and above to slog.
//
// The server ends the process when it cannot go on, by logging at level fatal. As a guest in ours it ends its goroutine
// instead, and the reason goes to the channel.
type logger struct {
	slog  *slog.Logger
	fatal chan error   // of capacity 1; only the first reason counts
	quiet *atomic.Bool // while the server starts and stops: its parts then only complain about each other
}

var _ log.WithLogger = (*logger)(nil)

// newLogger returns a logger that is quiet.
func newLogger(to *slog.Logger) *logger {
	l := &logger{slog: to, fatal: make(chan error, 1), quiet: new(atomic.Bool)}
	l.quiet.Store(true)
	return l
}

func (*logger) Debug(string, ...tag.Tag) {}

func (*logger) Info(string, ...tag.Tag) {}

func (l *logger) Warn(message string, tags ...tag.Tag) {
	if !strings.HasPrefix(message, noHTTPMessage) {
		l.log(slog.LevelWarn, message, tags)
	}
}

func (l *logger) Error(message string, tags ...tag.Tag) { l.log(slog.LevelError, message, tags) }

func (l *logger) DPanic(message string, tags ...tag.Tag) { l.log(slog.LevelError, message, tags) }

func (l *logger) Panic(message string, tags ...tag.Tag) {
	l.log(slog.LevelError, message, tags)
	panic(message)
}

func (l *logger) Fatal(message string, tags ...tag.Tag) {
	l.log(slog.LevelError, message, tags)
	select {
	case l.fatal <- fatalError(message, tags):
	default:
	}
	runtime.Goexit()
}

func (l *logger) With(tags ...tag.Tag) log.Logger {
	return &logger{slog: l.slog.With(attributes(tags)...), fatal: l.fatal, quiet: l.quiet}
}

func (l *logger) log(level slog.Level, message string, tags []tag.Tag) {
	if !l.quiet.Load() && l.slog.Enabled(context.Background(), level) {
		l.slog.Log(context.Background(), level, message, attributes(tags)...)
	}
}

// reason returns why the server could not go on, or err if it did not say.
func (l *logger) reason(err error) error {
	select {
	case fatal := <-l.fatal:
		return fatal
	default:
		return err
	}
}

func attributes(tags []tag.Tag) []any {
	attributes := make([]any, len(tags))
	for i, t := range tags {
		attributes[i] = slog.Any(t.Key(), t.Value())
	}
	return attributes
}

func fatalError(message string, tags []tag.Tag) error {
	for _, t := range tags {
		message += fmt.Sprintf(", %s: %v", t.Key(), t.Value())
	}
	if strings.HasPrefix(message, portTakenMessage) {
		return fmt.Errorf("%w: %s", ErrPortTaken, message)
	}
	return errors.New(message)
}
