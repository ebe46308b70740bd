package engine

import (
	"runtime"
	"time"

	"waymark/internal/processors"
)

// pace is how often a pass lets other goroutines have their turn: heartbeats, orders to the run, the embedded server.
// Go interrupts a loop after 10 ms. A process that gets a tenth of a core waits ten times as long for that, and an
// order passes through dozens of goroutines.
type pace struct {
	next    int       // record before which they have their turn
	records int       // between two turns
	since   time.Time // when the last turn ended
}

// Between two turns a pass computes for about this long, however long one record takes.
const (
	shortBreath = 100 * time.Microsecond
	longBreath  = 400 * time.Microsecond
	mostRecords = 256
)

// starved is longer than a pass computes between two turns. One that took as long had no processor meanwhile, or has a
// very slow record.
const starved = 100 * longBreath

// patience is how long a pass waits before it asks again whether it is to give way to an order.
const patience = 20 * time.Millisecond

// breathe lets other goroutines have their turn before the current record. The error is that of Input.Stop.
func (p *pass) breathe() error {
	for again := true; again; {
		if p.in.Stop != nil {
			if err := p.in.Stop(); err != nil {
				return err
			}
		}
		if again = processors.GiveWay(); again {
			time.Sleep(patience)
		}
	}
	i, pace := p.token.record, &p.pace
	took := time.Since(pace.since)
	if i > 0 && took > starved {
		processors.Starve()
	}
	switch {
	case i == 0 || took > longBreath:
		pace.records = max(pace.records/2, 1)
	case took < shortBreath:
		pace.records = min(2*pace.records, mostRecords)
	}
	runtime.Gosched()
	pace.next, pace.since = i+pace.records, time.Now()
	return nil
}
