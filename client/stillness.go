package client

import (
	"time"

	"waymark/landscape"
)

const (
	// stillAfter is how long nothing moves until that is said, stillAgain how long until it is said again.
	stillAfter = 15 * time.Second
	stillAgain = 30 * time.Second
)

// stillness notices that a run does not move.
type stillness struct {
	seen  landscape.Progress
	moved time.Time // the last time that something had
	told  time.Time
}

// saw takes the progress as it is now.
func (s *stillness) saw(p landscape.Progress, now time.Time) {
	if p != s.seen {
		s.seen, s.moved = p, now
	}
}

// due reports whether to say now that nothing moves. It counts as said.
func (s *stillness) due(now time.Time) bool {
	if now.Sub(s.moved) < stillAfter || now.Sub(s.told) < stillAgain {
		return false
	}
	s.told = now
	return true
}
