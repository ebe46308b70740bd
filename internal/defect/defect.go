// Package defect keeps a panic in one goroutine from ending the process, which many runs, requests and people share. A
// panic is a defect of this program, or of a library. Every goroutine of the program begins with a function of this
// package: a test of the whole requires it.
package defect

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"waymark/internal/failpoint"
)

// Error is a panic that was caught. It does not quote it: what panics may hold values of rows.
type Error struct {
	ID    string // under which the log has the panic and its stack
	Where string // it was caught
}

// Error names the log in which the cause is.
func (e *Error) Error() string {
	return fmt.Sprintf("a defect of this program in %s, not of what you asked for: its log has the cause under "+
		"defect=%s; please report it", e.Where, e.ID)
}

// Catch does something and returns its error. A panic of it is logged with its stack, counted, and returned as an
// *Error, after the deferred functions of do have run: locks that these release, and transactions that these roll back,
// are none of the caller's concern. where names the edge in logs and metrics; there are few, and each is a constant of
// one word.
func Catch(where string, do func() error) (err error) {
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case http.ErrAbortHandler: // no defect: a handler wants its connection cut
			panic(cause)
		default:
			err = caught(where, cause, debug.Stack())
		}
	}()
	failpoint.Goroutine(where)
	return do()
}

// Guard returns a function that does something and catches its panic, for goroutines whose end nobody waits for.
func Guard(where string, do func()) func() {
	return func() {
		_ = Catch(where, func() error {
			do()
			return nil
		})
	}
}

// Pauses before something that panicked begins again.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// Again returns a function that does something until that returns, or ctx ends: what panicked begins again after a
// pause. It is for what others rely on as long as the process lives.
func Again(ctx context.Context, where string, do func()) func() {
	return func() {
		for pause := firstPause; ; pause = min(2*pause, maxPause) {
			began := time.Now()
			if Catch(where, func() error { do(); return nil }) == nil {
				return
			}
			if time.Since(began) > maxPause {
				pause = firstPause
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// caughtSoFar is what the process knows of its defects.
var caughtSoFar struct {
	mu      sync.Mutex
	count   map[string]int64 // by where
	loggers []*slog.Logger   // that are told
}

// caught logs and counts a panic.
func caught(where string, cause any, stack []byte) *Error {
	if known, ok := cause.(*Error); ok { // somebody passed it on
		return known
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	e := &Error{ID: hex.EncodeToString(id), Where: where}
	for _, logger := range note(where) {
		logger.Error("a defect: a panic was caught, and the process continues",
			"defect", e.ID, "where", where, "panic", fmt.Sprint(cause), "stack", string(stack))
	}
	return e
}

// note counts a panic, and returns the loggers that are to be told.
func note(where string) []*slog.Logger {
	c := &caughtSoFar
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = map[string]int64{}
	}
	c.count[where]++
	if len(c.loggers) == 0 {
		return []*slog.Logger{slog.New(slog.NewTextHandler(os.Stderr, nil))}
	}
	return slices.Clone(c.loggers)
}

// LogTo has defects logged by a logger as well, until stop is called once. Without any they are written to standard
// error.
func LogTo(logger *slog.Logger) (stop func()) {
	c := &caughtSoFar
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loggers = append(c.loggers, logger)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if i := slices.Index(c.loggers, logger); i >= 0 {
			c.loggers = slices.Delete(c.loggers, i, i+1)
		}
	}
}

// Counts returns how many panics this process has caught, by where.
func Counts() map[string]int64 {
	caughtSoFar.mu.Lock()
	defer caughtSoFar.mu.Unlock()
	return maps.Clone(caughtSoFar.count)
}
