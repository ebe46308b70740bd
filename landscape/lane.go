package landscape

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// NoToken stands where a row of a chunk has no token in a lane.
const NoToken = 0xFFFF

// IsRoot reports whether the lane's tokens are the records themselves.
func (l Lane) IsRoot() bool { return l.Parent == nil }

// IsMerged reports whether a coalesce makes the lane's tokens.
func (l Lane) IsMerged() bool { return l.Parent != nil && l.Branch == "" }

// lanes are the lanes of one run, by number.
type lanes []Lane

// of returns the lanes of an origin, the root lane first, then in order.
func (ls lanes) of(source string) lanes {
	var found lanes
	for _, l := range ls {
		if l.Source == source {
			found = append(found, l)
		}
	}
	return found
}

// at returns one lane of an origin.
func (ls lanes) at(source string, lane int64) (Lane, error) {
	if lane < 0 || lane >= int64(len(ls)) || ls[lane].Source != source {
		return Lane{}, fmt.Errorf("lane %d of source %s: %w", lane, source, ErrNotFound)
	}
	return ls[lane], nil
}

// root returns the number of an origin's root lane; -1 if there is no such origin.
func (ls lanes) root(source string) int64 {
	for _, l := range ls {
		if l.Source == source && l.IsRoot() {
			return l.Lane
		}
	}
	return -1
}

// check refuses lanes that are not numbered from 0, or whose parents are not lanes before them of the same origin.
func (ls lanes) check(sources []Source) error {
	for i, l := range ls {
		switch {
		case l.Lane != int64(i):
			return fmt.Errorf("lane %d stands at place %d", l.Lane, i)
		case l.IsRoot() && l.Name+l.Node+l.Branch+l.Fork != "":
			return fmt.Errorf("lane %d is a root lane, and has a name or a node", i)
		case !l.IsRoot() && (l.Name == "" || l.Node == "" || l.Fork == ""):
			return fmt.Errorf("lane %d has no name, node or fork", i)
		case !l.IsRoot() && (*l.Parent < 0 || *l.Parent >= l.Lane || ls[*l.Parent].Source != l.Source):
			return fmt.Errorf("lane %d does not come from an earlier lane of %s", i, l.Source)
		}
	}
	for _, s := range sources {
		if ls.root(s.Source) < 0 {
			return fmt.Errorf("source %s has no root lane", s.Source)
		}
	}
	return nil
}

// Lanes returns the lanes of a run by number. The error wraps ErrNotFound if the run is not there.
func (r *Reader) Lanes(ctx context.Context, run string) ([]Lane, error) { return r.lanesOf(ctx, run) }

// lanesOf returns the lanes of a run, which never change: they are read once.
func (r *Reader) lanesOf(ctx context.Context, run string) (lanes, error) {
	if known, ok := r.lanes.Get(run); ok {
		return known, nil
	}
	found, err := Select[Lane](ctx, r.from, run)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("lanes of run %s: %w", run, ErrNotFound)
	}
	r.lanes.Add(run, found)
	return found, nil
}

// RootToken returns the token of a row of an origin before any fork: the record itself. The error wraps ErrNotFound if
// there is no such origin; whether the row is there is not looked at.
func (r *Reader) RootToken(ctx context.Context, run, source string, row int64) (Token, error) {
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return Token{}, err
	}
	lane := all.root(source)
	if lane < 0 {
		return Token{}, fmt.Errorf("source %s in run %s: %w", source, run, ErrNotFound)
	}
	return Token{Source: source, Lane: lane, Row: row}, nil
}

// TokenID returns the id of a token as people read it, such as orders:17 or orders:17/by_cost. The error wraps
// ErrNotFound if the run has no such lane.
func (r *Reader) TokenID(ctx context.Context, run string, token Token) (string, error) {
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return "", err
	}
	return all.id(token)
}

func (ls lanes) id(token Token) (string, error) {
	lane, err := ls.at(token.Source, token.Lane)
	if err != nil {
		return "", err
	}
	id := fmt.Sprintf("%s:%d", token.Source, token.Row)
	if lane.Name != "" {
		id += "/" + lane.Name
	}
	return id, nil
}

// ParseToken returns the token with this id. The error wraps ErrNotFound if the run has no such origin or lane; whether
// the row is there is not looked at.
func (r *Reader) ParseToken(ctx context.Context, run, id string) (Token, error) {
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return Token{}, err
	}
	return all.parse(id)
}

func (ls lanes) parse(id string) (Token, error) {
	record, name, _ := strings.Cut(id, "/")
	source, number, _ := strings.Cut(record, ":")
	row, err := strconv.ParseInt(number, 10, 64)
	if err != nil || row < 1 {
		return Token{}, fmt.Errorf("token %q is not of the form source:row or source:row/lane", id)
	}
	for _, lane := range ls {
		if lane.Source == source && lane.Name == name {
			return Token{Source: source, Lane: lane.Lane, Row: row}, nil
		}
	}
	return Token{}, fmt.Errorf("token %q: %w", id, ErrNotFound)
}
