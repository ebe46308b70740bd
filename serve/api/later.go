package api

import (
	"context"
	"errors"
	"time"

	"waymark/client"
)

// begin starts a run, or records that it is to begin when Temporal is back.
func (c *call) begin(r client.StartRequest) error {
	later := c.server.Later
	if !later || !c.server.away.Load() {
		e, err := c.server.Home.Start(c.Context(), r)
		if err == nil {
			return e.Close()
		}
		if !later || !isAway(err) {
			return err
		}
		c.server.away.Store(true)
	}
	return c.server.Home.Accept(c.Context(), r)
}

// isAway reports whether the error says that Temporal does not answer.
func isAway(err error) bool {
	known, ok := errors.AsType[*client.Error](err)
	return ok && known.Code == client.TemporalUnavailable
}

// beginInterval is how often a process looks for runs that were asked for and have not begun.
const beginInterval = 5 * time.Second

// beginAccepted begins runs that were asked for while Temporal was away, or of a process that ended before they began, until ctx ends.
func (s *Server) beginAccepted(ctx context.Context) {
	known := map[string]bool{}
	for {
		begun, err := s.Home.BeginAccepted(ctx, known)
		if len(begun) > 0 {
			s.Logger.Info("began runs that had been asked for before", "runs", len(begun))
		}
		if err != nil && ctx.Err() == nil {
			s.Logger.Warn("runs that were asked for wait for Temporal", "error", err)
		}
		s.away.Store(isAway(err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(beginInterval):
		}
	}
}
