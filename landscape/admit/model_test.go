package admit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// house is a model: runs come, wait, are let in, end, and are killed.
type house struct {
	State
	starts int
}

const (
	mostStarts = 40
	gates      = 5
	pools      = 3 // the other gates are targets
)

// TestModel lets runs come and go in any order, and holds what is decided against what must be true of it.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := house{State: State{Now: noon, Pools: map[string]int64{}}}
		for i := range pools {
			h.Pools[gate(i)] = rapid.Int64Range(1, 4).Draw(t, "limit")
		}
		for range 120 {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				h.come(t)
			case 2:
				h.Now = h.Now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, Patience}).Draw(t, "later"))
			case 3: // one ends, or is killed: there is no difference
				h.Going = without(h.Going, t)
			case 4: // one that waits is killed
				h.Waiting = without(h.Waiting, t)
			}
			h.admit(t)
		}
		for round := 0; len(h.Waiting) > 0; round++ {
			require.Less(t, round, mostStarts, "each leaves the queue in bounded time")
			h.Going = nil
			h.admit(t)
		}
	})
}

func gate(i int) string {
	if i < pools {
		return fmt.Sprintf("pool:%d", i)
	}
	return Target(fmt.Sprintf("out/%d.csv", i)).Gate
}

func (h *house) come(t *rapid.T) {
	if h.starts == mostStarts {
		return
	}
	c := Claim{Run: fmt.Sprintf("%02d", h.starts), Since: h.Now, Terms: Terms{Priority: rapid.Int64Range(1, 3).Draw(t, "priority")}}
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, gates-1), 1, 3, rapid.ID[int]).Draw(t, "gates") {
		c.Wants = append(c.Wants, Want{Gate: gate(i), Places: rapid.Int64Range(1, 5).Draw(t, "places")})
	}
	h.starts++
	h.Waiting = append(h.Waiting, c)
}

func without(claims []Claim, t *rapid.T) []Claim {
	if len(claims) == 0 {
		return claims
	}
	i := rapid.IntRange(0, len(claims)-1).Draw(t, "which")
	return slices.Delete(slices.Clone(claims), i, i+1)
}

// admit lets in who may begin, and checks that these are all, and that each of them would have found that out alone.
func (h *house) admit(t *rapid.T) {
	next := Next(h.State)
	for _, c := range h.Order() {
		let := slices.ContainsFunc(next, func(n Claim) bool { return n.Run == c.Run })
		require.Equal(t, let, Decide(h.State, c).Verdict == Begin, "run %s", c.Run)
	}
	h.patient(t, next)
	for _, c := range next {
		h.Going = append(h.Going, c)
		h.Waiting = slices.DeleteFunc(h.Waiting, func(w Claim) bool { return w.Run == c.Run })
	}
	h.neverOver(t)
	h.noneWaitsInVain(t)
}

func (h *house) neverOver(t *rapid.T) {
	held := map[string]int64{}
	for _, c := range h.Going {
		for _, w := range c.Wants {
			held[w.Gate] += min(w.Places, h.most(w.Gate))
		}
	}
	for gate, places := range held {
		require.LessOrEqual(t, places, h.most(gate), gate)
	}
}

// most is how many places a gate has; a target has one, whatever a run wants of it.
func (h *house) most(gate string) int64 {
	if strings.HasPrefix(gate, "target:") {
		return 1
	}
	return h.Pools[gate]
}

// noneWaitsInVain requires of each that waits that a gate of it is full, or that one that comes before wants one of its gates.
func (h *house) noneWaitsInVain(t *rapid.T) {
	for _, c := range h.Waiting {
		wanted := slices.ContainsFunc(h.before(c), func(b Claim) bool { return shares(b, c) })
		require.True(t, wanted || h.used().full(h.State, c) != nil, "run %s waits, and nobody before it wants what is free", c.Run)
	}
}

// patient requires that nobody takes what one waits for that came before, and has waited for too long.
func (h *house) patient(t *rapid.T, next []Claim) {
	for _, w := range h.Waiting {
		if h.Now.Sub(w.Since) < Patience || slices.ContainsFunc(next, func(n Claim) bool { return n.Run == w.Run }) {
			continue
		}
		for _, n := range next {
			if compare(w, n) < 0 && shares(w, n) {
				used := h.used()
				used.add(w)
				require.Nil(t, used.full(h.State, n), "run %s takes places for which run %s has waited since %s", n.Run, w.Run, w.Since)
			}
		}
	}
}

func shares(a, b Claim) bool {
	return slices.ContainsFunc(a.Wants, func(w Want) bool {
		return slices.ContainsFunc(b.Wants, func(v Want) bool { return v.Gate == w.Gate })
	})
}
