package file

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"waymark/internal/disk/disktest"

	"github.com/stretchr/testify/require"
)

// TestInterleaved lets two processes change something in turn, as chance has it. What is visible is whole or what was there
// before at any time; what a process was told is published is; and a run that continues ends with exactly its output.
func TestInterleaved(t *testing.T) {
	for kindName, kind := range outputKinds {
		for name, pair := range map[string][2]func(*outputLab, *disktest.Disk) error{
			"published twice":                {(*outputLab).publishOne, (*outputLab).publishOne},
			"published and written again":    {(*outputLab).publishOne, (*outputLab).writeOne},
			"published and opened again":     {(*outputLab).publishOne, (*outputLab).openOne},
			"written twice":                  {(*outputLab).writeOne, (*outputLab).writeOne},
			"published while another run is": {(*outputLab).publishOne, (*outputLab).publishTwo},
		} {
			t.Run(kindName+", "+name, func(t *testing.T) {
				fresh := newOutputLab(t, kind, new(atomic.Int64))
				for seed := range *rounds {
					l := *fresh
					l.late = name == "published and opened again"
					l.interleave(seed, pair)
				}
			})
		}
	}
}

func (l *outputLab) openOne(d *disktest.Disk) error {
	_, err := l.target(d, "one").Open(context.Background(), l.one.Header)
	return err
}

func (l *outputLab) writeOne(d *disktest.Disk) error {
	for i, part := range l.one.Parts {
		if err := l.target(d, "one").Write(context.Background(), part, l.one.Data[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *outputLab) publishOne(d *disktest.Disk) error {
	_, err := l.target(d, "one").Publish(context.Background(), l.one.Header, l.one.Parts)
	return err
}

func (l *outputLab) publishTwo(d *disktest.Disk) error {
	_, err := l.target(d, "two").Publish(context.Background(), l.two.Header, l.two.Parts)
	return err
}

func (l *outputLab) interleave(seed uint64, pair [2]func(*outputLab, *disktest.Disk) error) {
	l.t.Helper()
	l.disk = l.disk.Crash(0, 0)
	l.one.Write(l.t, l.target(l.disk, "one"))
	l.two.Write(l.t, l.target(l.disk, "two"))
	l.may = map[string]bool{l.before: true, l.whole: true, l.newer: true}
	l.mayPublish()
	errs := l.inTurns(rand.New(rand.NewPCG(seed, 0)), pair)
	l.late = false
	published := l.visible(l.disk)
	if published == l.newer {
		return
	}
	require.NoError(l.t, l.publishOne(l.disk), "seed %d: after %v", seed, errs)
	require.Equal(l.t, l.whole, l.visible(l.disk), "seed %d", seed)
	require.NoError(l.t, l.target(l.disk, "two").Discard(context.Background()))
	require.Empty(l.t, l.remains(l.disk), "seed %d", seed)
}

// inTurns gives the processes turns, by chance. In its turn a process changes, or looks at, one thing.
func (l *outputLab) inTurns(rng *rand.Rand, pair [2]func(*outputLab, *disktest.Disk) error) (errs [2]error) {
	var turn, rest [2]chan bool // rest: whether the process has ended
	for i, do := range pair {
		turn[i], rest[i] = make(chan bool), make(chan bool)
		process := l.disk.Process(nil)
		process.Looked = func() {
			rest[i] <- false
			<-turn[i]
		}
		process.After = func(string) error {
			process.Looked()
			return nil
		}
		go func() {
			<-turn[i]
			errs[i] = do(l, process)
			rest[i] <- true
		}()
	}
	for alive := []int{0, 1}; len(alive) > 0; {
		i := alive[rng.IntN(len(alive))]
		turn[i] <- true
		if ended := <-rest[i]; ended {
			alive = slices.DeleteFunc(alive, func(other int) bool { return other == i })
		}
		require.True(l.t, l.may[l.visible(l.disk)], "visible is %.200q", l.visible(l.disk))
	}
	return errs
}
