package landscape

import (
	"context"
	"errors"
)

// RetentionPeriods say how long things of which class are kept, of which pipelines, from when they came into force.
// Package retain reads the text.
type RetentionPeriods struct {
	Seq     int64  `db:"seq,key"` // from 0; set by Log
	SHA256  string `db:"periods_sha256"`
	Text    string `db:"periods"`  // JSON object
	InForce bool   `db:"in_force"` // else somebody asked for them, and several persons must approve them first
	Actor   string `db:"actor"`
	Why     string `db:"why"`
	At      Micros `db:"at_us"` // set by Log
}

// RetentionTurn is what one process deleted that was due, when it had the turn to, or why it could not.
type RetentionTurn struct {
	Number   int64  `db:"turn,key"` // from 1; set by Log
	Periods  string `db:"periods_sha256"`
	Actor    string `db:"actor"`
	Why      string `db:"why"`
	Purge    *int64 `db:"purge_id,null"` // the order under which payloads were deleted; nil if none was
	Payloads int64  `db:"payloads"`      // that were deleted
	Bytes    int64  `db:"bytes"`         // of these
	Events   int64  `db:"events"`        // that were dropped
	Staged   int64  `db:"staged"`        // runs whose staged output was deleted
	Left     int64  `db:"left_due"`      // payloads that are due, and that the turn left to the next one
	Problem  string `db:"problem"`       // what failed; empty if nothing did
	At       Micros `db:"at_us"`         // set by Log
}

// Table returns retention_periods.
func (RetentionPeriods) Table() string { return "retention_periods" }

// Table returns retention_turns.
func (RetentionTurn) Table() string { return "retention_turns" }

// Did reports whether the turn deleted something.
func (t RetentionTurn) Did() bool { return t.Payloads+t.Events+t.Staged > 0 }

// ErrPeriodsChanged says that other periods are in force by now. Nothing was stored.
var ErrPeriodsChanged = errors.New("other retention periods came into force")

// Periods returns the retention periods that are in force, and those that were asked for since and wait for approval;
// each is nil if there are none.
func (r *Reader) Periods(ctx context.Context) (inForce, asked *RetentionPeriods, err error) {
	err = each(ctx, r.from, nil, func(p RetentionPeriods) bool {
		if p.InForce {
			inForce, asked = &p, nil
		} else {
			asked = &p
		}
		return true
	})
	return inForce, asked, err
}

// SetPeriods brings retention periods into force, and returns those on record: they are not InForce if they keep
// something for a shorter time than those of before, as shortens says, and purges need several persons. That is an
// order of these persons. Of periods in force and of those that wait already nothing is recorded again; if those in
// force are asked for, others that wait are withdrawn.
func (l *Log) SetPeriods(
	ctx context.Context, p RetentionPeriods, shortens func(before *RetentionPeriods) (bool, error),
) (RetentionPeriods, error) {
	err := settle(p.Table(), func() error {
		before, asked, err := l.Periods(ctx)
		if err != nil {
			return err
		}
		same := before != nil && before.Text == p.Text
		switch {
		case same && asked == nil:
			p = *before
			return nil
		case asked != nil && asked.Text == p.Text && l.under == nil:
			if err := l.MayOrder(ctx, OrderPurge); err != nil {
				p = *asked
				_, waits := errors.AsType[*NeedsOrderError](err)
				return unless(waits, err)
			}
		}
		last, err := lastOf[RetentionPeriods](ctx, l)
		if err != nil {
			return err
		}
		p.Seq, p.At, p.InForce = 0, l.now(), true
		if last != nil {
			p.Seq = last.Seq + 1
		}
		shorter := false
		if !same {
			if shorter, err = shortens(before); err != nil {
				return err
			}
		}
		if shorter {
			err = l.MayOrder(ctx, OrderPurge)
			_, waits := errors.AsType[*NeedsOrderError](err)
			if p.InForce = err == nil; !p.InForce && !waits {
				return err
			}
		}
		tx := Tx{Insert: []Record{p}}
		if err := l.executed(ctx, &tx, nil); err != nil {
			return err
		}
		return l.driver.Commit(ctx, tx)
	})
	return p, err
}

// unless returns an error, nil if that is as it should be.
func unless(expected bool, err error) error {
	if expected {
		return nil
	}
	return err
}

// RecordRetention records what a turn deleted, with the next number.
func (l *Log) RecordRetention(ctx context.Context, turn RetentionTurn) (RetentionTurn, error) {
	err := settle(turn.Table(), func() error {
		last, err := lastOf[RetentionTurn](ctx, l)
		if err != nil {
			return err
		}
		turn.Number, turn.At = 1, l.now()
		if last != nil {
			turn.Number = last.Number + 1
		}
		return l.driver.Commit(ctx, Tx{Insert: []Record{turn}})
	})
	return turn, err
}

// LastRetention returns the last turn that is recorded, and the last of those before it, or it, in which nothing
// failed; nil if there is none.
func (r *Reader) LastRetention(ctx context.Context) (last, good *RetentionTurn, err error) {
	recent, err := Page[RetentionTurn](ctx, r.from, Query{Descending: true, Limit: mostRecentTurns})
	for i := range recent {
		if last == nil {
			last = &recent[i]
		}
		if good == nil && recent[i].Problem == "" {
			good = &recent[i]
		}
	}
	return last, good, err
}

// mostRecentTurns is how many turns LastRetention looks at: a turn that does nothing new is recorded once a day.
const mostRecentTurns = 100

// Now returns the time by the clock of the Log.
func (l *Log) Now() Micros { return l.now() }
