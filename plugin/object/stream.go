package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"waymark/internal/defect"
	"waymark/plugin"
)

// patience is how long a stream waits, and how often it asks again.
type patience struct {
	idle   time.Duration
	slow   time.Duration
	again  int           // times in a row with less than slowBytes in between
	before time.Duration // each time longer
}

var usual = patience{idle: idleTimeout, slow: slowTimeout, again: 4, before: 200 * time.Millisecond}

// stream is the body of an object from an offset on. When the connection breaks it continues with another one.
type stream struct {
	// open returns the body from the offset on, which lives as long as ctx. The error is a *plugin.SourceError if the object is no
	// longer the one that was opened.
	open   func(ctx context.Context, offset int64) (io.ReadCloser, error)
	size   int64 // of the whole object; -1 if that is not known
	offset int64
	wait   patience

	body   io.ReadCloser // nil: none is open
	end    func()        // ends the body's context
	failed int           // times since there was progress
	gained int           // bytes since then, or since progress was last counted
	since  time.Time     // of the present measurement of speed
	got    int           // bytes since then
}

// Read is Stream.Read of package file.
func (s *stream) Read(ctx context.Context, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := s.attempt(ctx, p)
		s.offset += int64(n)
		if s.gained += n; s.gained >= slowBytes {
			s.failed, s.gained = 0, 0
		}
		if err == io.EOF && s.size >= 0 && s.offset != s.size {
			err = fmt.Errorf("the connection ended at byte %d of %d", s.offset, s.size)
		}
		if err == nil || err == io.EOF {
			return n, err
		}
		s.close()
		if err := s.pause(ctx, err); err != nil {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

// attempt reads once from the body, and opens it if need be.
func (s *stream) attempt(ctx context.Context, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.body == nil {
		if err := s.begin(ctx); err != nil {
			return 0, err
		}
	}
	end := s.end // of this body, also when another one is open by the time that a function below runs
	var idle atomic.Bool
	watch := time.AfterFunc(s.wait.idle, defect.Guard("objects", func() { idle.Store(true); end() }))
	stop := context.AfterFunc(ctx, defect.Guard("objects", end))
	n, err := s.body.Read(p)
	watch.Stop()
	stop()
	switch {
	case err == nil:
		err = s.tooSlow(n)
	case err == io.EOF:
	case ctx.Err() != nil:
		err = ctx.Err()
	case idle.Load():
		err = fmt.Errorf("nothing came for %s", s.wait.idle)
	}
	return n, err
}

func (s *stream) begin(ctx context.Context) error {
	living, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, defect.Guard("objects", cancel))
	body, err := s.open(living, s.offset)
	stop()
	if err != nil {
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	s.body, s.end, s.since, s.got = body, cancel, time.Now(), 0
	return nil
}

// tooSlow fails if the body brings so little that nobody would see its end.
func (s *stream) tooSlow(n int) error {
	s.got += n
	took := time.Since(s.since)
	if took < s.wait.slow {
		return nil
	}
	got := s.got
	s.since, s.got = time.Now(), 0
	if got >= slowBytes {
		return nil
	}
	return fmt.Errorf("only %d bytes came in %s", got, took.Round(time.Second))
}

// pause waits before the next attempt, or returns why there is none.
func (s *stream) pause(ctx context.Context, err error) error {
	s.failed++
	if _, final := errors.AsType[*plugin.SourceError](err); final || ctx.Err() != nil || s.failed > s.wait.again {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.wait.before << (s.failed - 1)):
		return nil
	}
}

func (s *stream) close() {
	if s.body != nil {
		s.end()
		_ = s.body.Close() // it was read from only
		s.body = nil
	}
}
