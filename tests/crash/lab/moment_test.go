package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMoment(t *testing.T) {
	for text, want := range map[string]Moment{"payload.renamed@3": {"payload.renamed", 3}, "payload.renamed": {"payload.renamed", 1}} {
		m, err := ParseMoment(text)
		require.NoError(t, err)
		require.Equal(t, want, m)
	}
	require.Equal(t, "payload.renamed@3", Moment{"payload.renamed", 3}.String())
	for _, text := range []string{"", "@3", "a@", "a@0", "a@-1", "a@x"} {
		_, err := ParseMoment(text)
		require.ErrorContains(t, err, "write NAME@N", text)
	}
}

func TestMomentsAreReadFromALog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	moments, err := readMoments(log)
	require.NoError(t, err)
	require.Empty(t, moments, "a process that came to no moment has no log")
	require.NoError(t, os.WriteFile(log, []byte("a.b 1\nc 1\na.b 2\n"), 0o600))
	moments, err = readMoments(log)
	require.NoError(t, err)
	require.Equal(t, []Moment{{"a.b", 1}, {"c", 1}, {"a.b", 2}}, moments)
	require.NoError(t, os.WriteFile(log, []byte("a.b 1\nc\n"), 0o600))
	_, err = readMoments(log)
	require.ErrorContains(t, err, log)
}

func TestASampleHasEveryNameBeforeItHasOneTwice(t *testing.T) {
	var moments []Moment
	for n := range 100 {
		moments = append(moments, Moment{"often", n + 1})
	}
	moments = append(moments, Moment{"rare", 1}, Moment{"seldom", 1}, Moment{"seldom", 2})
	for seed := range uint64(20) {
		chosen := sample(moments, 6, seed)
		require.Equal(t, chosen, sample(moments, 6, seed), "the same seed makes the same choice")
		count := map[string]int{}
		for _, m := range chosen {
			count[m.Name]++
		}
		require.Equal(t, map[string]int{"often": 3, "seldom": 2, "rare": 1}, count)
		require.Len(t, unique(chosen), 6)
	}
	require.NotEqual(t, sample(moments, 6, 1), sample(moments, 6, 2))
	require.Equal(t, moments, sample(moments, All, 1))
	require.Len(t, unique(sample(moments, 1000, 1)), len(moments))
	require.Empty(t, sample(moments, 0, 1))
}

func TestEachMomentIsInOnePart(t *testing.T) {
	counts := map[int]int{}
	for n := range 100 {
		found := 0
		for nr := 1; nr <= 7; nr++ {
			part, err := ParsePart(fmt.Sprintf("%d/7", nr))
			require.NoError(t, err)
			if part.has(Moment{"a", n + 1}) {
				counts[nr]++
				found++
			}
		}
		require.Equal(t, 1, found)
		require.True(t, Part{}.has(Moment{"a", n + 1}))
	}
	require.Len(t, counts, 7)
	for _, text := range []string{"", "0/3", "4/3", "2", "-1/2", "x/y"} {
		_, err := ParsePart(text)
		require.ErrorContains(t, err, "such as 3/20", text)
	}
}

func unique(moments []Moment) map[Moment]bool {
	set := map[Moment]bool{}
	for _, m := range moments {
		set[m] = true
	}
	return set
}

func TestPairsAreSharedOutToTheLast(t *testing.T) {
	var seconds []Moment
	for n := range 10 {
		seconds = append(seconds, Moment{"again", n + 1})
	}
	l := &laboratory{Options: Options{Pairs: 25}, budget: 25, firsts: 4}
	died := Trial{Died: true}
	var shares []int
	for first := range 4 {
		available := seconds
		if first == 1 {
			available = seconds[:2] // what this one cannot take is left for the others
		}
		shares = append(shares, len(l.share(Moment{"first", first + 1}, available, died)))
	}
	require.Equal(t, []int{7, 2, 8, 8}, shares)
	require.Zero(t, l.budget)

	l = &laboratory{Options: Options{Pairs: All}, budget: All, firsts: 1}
	require.Equal(t, seconds, l.share(Moment{"first", 1}, seconds, died))
	require.Empty(t, l.share(Moment{"first", 1}, seconds, Trial{}), "a run that was not killed has no recovery")
}
