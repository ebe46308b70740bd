package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// result is how a unit ended. Stored in the state.
type result string

const (
	passed  result = "passed"
	failed  result = "failed"
	skipped result = "skipped" // each of its tests: something is not installed here
	cut     result = "cut"     // the night was over first: it shows nothing
)

// outcome is what is known of a unit.
type outcome struct {
	Last    time.Time `json:"last,omitzero"`  // when it last passed or failed
	Tried   time.Time `json:"tried,omitzero"` // when it last ran to its end, if only to be skipped
	Commit  string    `json:"commit,omitempty"`
	Result  result    `json:"result"`
	Seconds float64   `json:"seconds"`         // that it took, or at least that if it was cut
	Round   uint64    `json:"round,omitempty"` // how often it passed
}

// state is what was tried so far.
type state struct {
	path string

	Units map[string]outcome `json:"units"`

	// Owed is the seconds of their shares that campaigns did not have yet, and that the next night adds. It is negative
	// if one had more.
	Owed map[string]float64 `json:"owed"`
}

// load reads the state. There need not be one.
func load(path string) (*state, error) {
	s := &state{path: path, Units: map[string]outcome{}, Owed: map[string]float64{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// save replaces the file: whatever ends this process, the file is the old or the new one.
func (s *state) save() error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(s.path+".new", s.path)
}

// note adds how a unit ended. A unit that was cut is as due as before: only what it would take is known better.
func (s *state) note(u unit, r result, took time.Duration, commit string, now time.Time) {
	o := s.Units[u.key()]
	switch r {
	case cut:
		o.Seconds = max(o.Seconds, took.Seconds())
		if o.Result == "" {
			o.Result = cut
		}
	case skipped:
		o.Tried, o.Result, o.Commit, o.Seconds = now, r, commit, took.Seconds()
	case passed, failed:
		o.Last, o.Tried, o.Result, o.Commit, o.Seconds = now, now, r, commit, took.Seconds()
	}
	if r == passed {
		o.Round++
	}
	s.Units[u.key()] = o
}

// expected is how long the unit takes: a quarter more than the last time.
func (s *state) expected(u unit) time.Duration {
	if o := s.Units[u.key()]; o.Seconds > 0 {
		return time.Duration(o.Seconds * 1.25 * float64(time.Second))
	}
	return u.guess
}

// covered reports whether the unit passed or failed since then.
func (s *state) covered(u unit, since time.Time) bool {
	last := s.Units[u.key()].Last
	return !last.IsZero() && !last.Before(since)
}
