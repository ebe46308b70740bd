package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var midnight = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

// unitsOf returns units with these names, each of which is expected to take a minute.
func unitsOf(campaign string, names ...string) (units []unit) {
	for _, name := range names {
		units = append(units, unit{campaign: campaign, name: name, guess: time.Minute, flags: always()})
	}
	return units
}

func keys(units []unit) (all []string) {
	for _, u := range units {
		all = append(all, u.key())
	}
	return all
}

func TestFailuresComeFirstThenWhatNeverRan(t *testing.T) {
	s := &state{Units: map[string]outcome{
		"c/old":    {Tried: midnight.AddDate(0, 0, -9), Result: skipped},
		"c/recent": {Tried: midnight.AddDate(0, 0, -1), Result: passed},
		"c/bad":    {Tried: midnight, Result: failed},
		"c/cut":    {Result: cut, Seconds: 100},
	}}
	urgent := s.urgent(unitsOf("c", "recent", "old", "cut", "bad", "never"))
	require.Equal(t, []string{"c/bad", "c/cut", "c/never", "c/old", "c/recent"}, keys(urgent))
}

// TestANightIsShared plays a night minute by minute.
func TestANightIsShared(t *testing.T) {
	s := &state{Units: map[string]outcome{}, Owed: map[string]float64{"owed": 60}}
	campaigns := []campaign{
		{name: "many", minutes: 40, units: unitsOf("many", "1", "2", "3", "4", "5", "6", "7", "8", "9")},
		{name: "owed", minutes: 10, units: unitsOf("owed", "1", "2", "3", "4", "5")},
		{name: "long", minutes: 10, units: unitsOf("long", "1")},
	}
	campaigns[2].units[0].guess = time.Hour
	all, tonight := s.purses(campaigns, 6*time.Minute), map[string]result{}
	var order []string
	for rest := 6 * time.Minute; ; rest -= time.Minute {
		u, found := s.next(campaigns, all, tonight, rest)
		if !found {
			require.Zero(t, rest)
			break
		}
		order = append(order, u.key())
		tonight[u.key()] = passed
		all[u.campaign].left -= time.Minute
	}
	want := []string{"owed/1", "many/1", "owed/2", "many/2", "many/3", "many/4"}
	require.Equal(t, want, order, "a unit that cannot end is not begun")
	s.settle(all)
	require.Equal(t, map[string]float64{"many": 0, "owed": 0, "long": 60}, s.Owed)
}

func TestNothingIsOwedTwice(t *testing.T) {
	s := &state{Owed: map[string]float64{"c": 5000, "d": -5000}}
	all := s.purses([]campaign{{name: "c", minutes: 1}, {name: "d", minutes: 1}}, 2*time.Minute)
	require.Equal(t, 2*time.Minute, all["c"].left)
	require.Zero(t, all["d"].left)
}

func TestUndone(t *testing.T) {
	s := &state{Units: map[string]outcome{
		"c/bad":    {Commit: "now", Result: failed},
		"c/good":   {Commit: "now", Result: passed},
		"c/before": {Commit: "then", Result: passed},
	}}
	undone := s.undone(unitsOf("c", "bad", "good", "before", "never"), "now")
	require.Equal(t, []string{"c/before", "c/never", "c/bad"}, keys(undone))
}
