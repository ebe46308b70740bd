package processors

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// computing computes for so long, and counts how long it did.
func computing(t *testing.T, s *Share, total time.Duration, did *atomic.Int64) {
	turn, err := s.Begin(t.Context())
	require.NoError(t, err)
	defer turn.End()
	for range total / time.Millisecond {
		time.Sleep(time.Millisecond)
		did.Add(int64(time.Millisecond))
		require.NoError(t, turn.Breathe())
	}
}

// inTheBubble lets time pass as nothing else happens.
func inTheBubble(t *testing.T, do func(t *testing.T)) {
	t.Helper()
	before := starving.Swap(false)
	t.Cleanup(func() { starving.Store(before) })
	synctest.Test(t, do)
}

func TestAsManyComputeAtOnceAsThereArePlaces(t *testing.T) {
	inTheBubble(t, func(t *testing.T) {
		places := NewPlaces(2)
		long := places.Share()
		long.used.Store(int64(short) + 1)
		var did atomic.Int64
		for range 8 {
			go computing(t, long, 3*time.Second, &did)
		}
		time.Sleep(6 * time.Second)
		require.InDelta(t, 12, time.Duration(did.Load()).Seconds(), 0.1, "two of them computed all the time")
		synctest.Wait()
		time.Sleep(time.Minute)
		require.Equal(t, 24*time.Second, time.Duration(did.Load()), "all come to their end")
	})
}

func TestAShortRunNeverWaitsForALongOne(t *testing.T) {
	inTheBubble(t, func(t *testing.T) {
		places := NewPlaces(1)
		long := places.Share()
		var did atomic.Int64
		for range 4 { // nobody says that it is long
			go computing(t, long, 10*time.Second, &did)
		}
		time.Sleep(5 * time.Second)
		before, began := did.Load(), time.Now()
		brief := places.Share()
		end := brief.Brief()
		computing(t, brief, 100*time.Millisecond, new(atomic.Int64))
		end()
		require.Equal(t, 100*time.Millisecond, time.Since(began))
		require.LessOrEqual(t, did.Load()-before, int64(2*time.Millisecond), "the long one gave way")
		time.Sleep(100 * time.Millisecond)
		require.Greater(t, did.Load()-before, int64(90*time.Millisecond), "and went on")
		time.Sleep(time.Minute)
	})
}

func TestALongRunGoesOnBesideShortOnesWithoutEnd(t *testing.T) {
	for processors, share := range map[int]float64{1: 0.25, 2: 0.5} { // of two one does not give way
		inTheBubble(t, func(t *testing.T) {
			places := NewPlaces(processors)
			long := places.Share()
			long.used.Store(int64(short) + 1)
			var did atomic.Int64
			for range processors {
				go computing(t, long, 20*time.Second, &did)
			}
			for range 20 {
				end := places.Share().Brief()
				time.Sleep(time.Second / 2)
				end()
			}
			require.InDelta(t, share*10*float64(processors), time.Duration(did.Load()).Seconds(), 1)
			time.Sleep(time.Minute)
		})
	}
}

func TestWhatWaitsForAServiceIsNotBriefForLong(t *testing.T) {
	inTheBubble(t, func(t *testing.T) {
		places := NewPlaces(1)
		end := places.Share().Brief()
		require.EqualValues(t, 1, places.brief.Load())
		time.Sleep(time.Hour)
		require.Zero(t, places.brief.Load())
		end()
		require.Zero(t, places.brief.Load())
	})
}

func TestATurnEndsWithItsContext(t *testing.T) {
	inTheBubble(t, func(t *testing.T) {
		places, cause := NewPlaces(1), errors.New("the run is cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		first, err := places.Share().Begin(ctx)
		require.NoError(t, err)
		waited := make(chan error)
		go func() {
			_, err := places.Share().Begin(ctx)
			waited <- err
		}()
		synctest.Wait()
		cancel(cause)
		require.ErrorIs(t, <-waited, cause)
		require.ErrorIs(t, first.Breathe(), cause)
		first.End()
		first.End()
		_, err = places.Share().Begin(t.Context())
		require.NoError(t, err, "the place is free")
	})
}

func TestWhatHasNoPlaceGivesWayAsWell(t *testing.T) {
	inTheBubble(t, func(t *testing.T) {
		places := NewPlaces(2)
		long := places.Share()
		long.used.Store(int64(short) + 1)
		var did atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		for range 3 {
			go func() {
				for ctx.Err() == nil {
					ctx, turn := long.Beside(ctx)
					for range 3 {
						time.Sleep(10 * time.Millisecond)
						did.Add(int64(10 * time.Millisecond))
						_ = Breathe(ctx)
					}
					turn.End()
				}
			}()
		}
		go computing(t, long, 300*time.Millisecond, &did)
		time.Sleep(100 * time.Millisecond)
		require.InDelta(t, 400, time.Duration(did.Load()).Milliseconds(), 40, "nothing else is being done")

		end := places.Share().Brief()
		time.Sleep(13 * time.Millisecond) // what was begun comes to its end
		before := did.Load()
		time.Sleep(100 * time.Millisecond)
		require.InDelta(t, 100, time.Duration(did.Load()-before).Milliseconds(), 15, "one of them goes on")
		end()
		time.Sleep(13 * time.Millisecond)
		before = did.Load()
		time.Sleep(100 * time.Millisecond)
		require.InDelta(t, 400, time.Duration(did.Load()-before).Milliseconds(), 40, "all of them do")
		stop()
		time.Sleep(time.Second)
	})
}

func TestGiveWay(t *testing.T) {
	for name, c := range map[string]struct {
		processors int
		long, own  bool // it is a long run; what is brief is done for itself
		brief      int
		waits      bool
	}{
		"nothing is brief":              {processors: 1, long: true},
		"a short run":                   {processors: 1, brief: 1},
		"one processor":                 {processors: 1, long: true, brief: 1, waits: true},
		"a second processor":            {processors: 2, long: true, brief: 1},
		"all processors":                {processors: 2, long: true, brief: 2, waits: true},
		"what is brief is its own work": {processors: 1, long: true, own: true, brief: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inTheBubble(t, func(t *testing.T) {
				places := NewPlaces(c.processors)
				share, others := places.Share(), places.Share()
				if c.own {
					others = share
				}
				for range c.brief {
					defer others.Brief()()
				}
				if c.long {
					share.used.Store(int64(short) + 1)
				}
				began := time.Now()
				share.GiveWay(t.Context())
				if c.waits {
					require.Equal(t, mostGiven, time.Since(began), "for a while")
				} else {
					require.Zero(t, time.Since(began))
				}
			})
		})
	}
}

func TestCallsOfShortRunsDoNotWaitForThoseOfLongOnes(t *testing.T) {
	inTheBubble(t, func(t *testing.T) {
		places := NewPlaces(1)
		long, brief := places.Share(), places.Share()
		long.used.Store(int64(short) + 1)
		var ended atomic.Int64
		for range 2 * mostCalls {
			go func() {
				end, err := long.Call(t.Context())
				require.NoError(t, err)
				time.Sleep(time.Minute)
				end()
				ended.Add(1)
			}()
		}
		synctest.Wait()
		began := time.Now()
		end, err := brief.Call(t.Context())
		require.NoError(t, err)
		end()
		require.Zero(t, time.Since(began))
		time.Sleep(time.Minute + time.Second)
		require.EqualValues(t, mostCalls, ended.Load(), "so many at once")
		time.Sleep(time.Minute)
		require.EqualValues(t, 2*mostCalls, ended.Load())
	})
}

func TestTheRunThatComputedLeastIsNext(t *testing.T) {
	inTheBubble(t, func(t *testing.T) {
		places := NewPlaces(1)
		var did atomic.Int64
		for range 50 { // runs that are all new
			go computing(t, places.Share(), 10*time.Second, &did)
		}
		for range 10 {
			time.Sleep(time.Second)
			began := time.Now()
			computing(t, places.Share(), 5*time.Millisecond, new(atomic.Int64))
			require.LessOrEqual(t, time.Since(began), 3*moment)
		}
		time.Sleep(time.Hour)
		require.Equal(t, 500*time.Second, time.Duration(did.Load()), "all come to their end")
	})
}
