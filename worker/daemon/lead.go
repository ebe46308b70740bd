package daemon

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"waymark/landscape"
)

const (
	// beat is how often the process that leads moves the turn on; aloneBeat is how often one that is alone does, for
	// those who ask whether somebody looks after triggers.
	beat      = 5 * time.Second
	aloneBeat = 6 * beat
	// leadLease is how long the turn stands still before another process takes it.
	leadLease = 3 * beat
)

// lead is whether this process looks after all schedules and triggers, and delivers events: of several, one at a time
// does. Nothing of that must not be done by two: what they decide is recorded only if nobody else did before. So one
// that was frozen while another one took the lead does no harm when it continues.
type lead struct {
	log   *landscape.Log
	alone bool // no other process can

	mu    sync.Mutex
	at    landscape.Watch // the turn as this process saw it last, or left it
	since time.Time       // when it saw that first, or moved it
	mine  bool            // it left it so
}

// has reports whether this process leads. One that has not moved the turn for so long that another one may have taken
// it does not.
func (l *lead) has() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alone || l.mine && time.Since(l.since) < leadLease
}

// keep takes the lead when no process has it, and keeps it, until ctx ends.
func (l *lead) keep(ctx context.Context, logger *slog.Logger) {
	for led := l.alone; ; {
		err := l.look(ctx)
		leads := l.has()
		switch {
		case err != nil:
			if ctx.Err() == nil {
				logger.Warn("cannot look who leads", "error", err)
			}
			leads = led // it is told once it is known
		case leads && !led:
			logger.Info("this process looks after schedules and triggers")
		case led && !leads:
			logger.Warn("another process looks after schedules and triggers")
		}
		led = leads
		select {
		case <-ctx.Done():
			l.leave(context.WithoutCancel(ctx))
			return
		case <-time.After(l.pause()):
		}
	}
}

// pause is how long it is until the next look.
func (l *lead) pause() time.Duration {
	switch {
	case l.alone:
		return aloneBeat
	case l.has():
		return beat
	}
	return leadLease / 2
}

// leave lets another process take the lead at once.
func (l *lead) leave(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, closeTimeout)
	defer done()
	if l.mine && !l.alone {
		next := l.at
		next.Error = left
		_, _ = l.log.ChangeArrivals(ctx, l.at, next, nil) // else the others wait
	}
}

// left is what the turn says when the process ended that led.
const left = "the process that led has ended"

// look moves the turn on if it is this process's, or nobody's.
func (l *lead) look(ctx context.Context) error {
	l.mu.Lock()
	at, mine, since := l.at, l.mine, l.since
	l.mu.Unlock()
	if !mine {
		now, err := l.log.Watch(ctx, "")
		if err != nil {
			return err
		}
		if now != at || since.IsZero() {
			at, since = now, time.Now()
		}
		if !l.alone && at.Turn > 0 && at.Error != left && time.Since(since) < leadLease {
			l.set(at, since, false)
			return nil
		}
	}
	begun := time.Now()
	next := at
	next.Error = ""
	next, err := l.log.ChangeArrivals(ctx, at, next, nil)
	if errors.Is(err, landscape.ErrTurnLost) {
		l.set(at, time.Time{}, false)
		return nil
	}
	if err == nil {
		l.set(next, begun, true)
	}
	return err
}

func (l *lead) set(at landscape.Watch, since time.Time, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.since, l.mine = at, since, mine
}
