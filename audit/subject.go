package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
)

// Subject is what a run holds of a person, or of whatever else one field of a business key names: rows of sources, and what came of them.
type Subject struct {
	Rows    []SubjectRow `json:"rows"`              // by source and row; not nil
	Unsure  []SubjectRow `json:"unsure,omitempty"`  // their hashes fit, and their records are not stored, so nothing can compare the value
	Keyless int64        `json:"keyless,omitempty"` // rows that these sources refused: a refused row has no key, so nothing finds it by one
	Purged  int64        `json:"purged,omitempty"`  // rows that did not go through the steps, and whose records are not stored: nothing is left that could be compared
}

// SubjectRow is a row of a source, and what came of it.
type SubjectRow struct {
	Source  string    `json:"source"`
	Row     int64     `json:"row"`
	File    string    `json:"file,omitempty"`
	Line    int64     `json:"line"`
	Payload string    `json:"payload"` // the pack with its record
	Lines   []Line    `json:"lines"`   // of outputs; not nil
	Derived []Derived `json:"derived,omitempty"`
}

// Derived is a row that a barrier made.
type Derived struct {
	Token string `json:"token"`
	Of    int64  `json:"of"` // tokens that it was made of
}

// Subject finds the rows of a run in which the business key's field has a value, by the hashes of keys, and follows what came of them. sources is how
// many sources have the field in their key. The error is a *QuestionError if the value does not fit the field's type, or the run's plan cannot be
// made here.
func (a *Auditor) Subject(ctx context.Context, id, field, value string) (found *Subject, sources int, err error) {
	defer sense(id, &err)
	run, err := a.log.Run(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	compiled, problem, err := a.plan(ctx, run)
	if err == nil && problem != "" {
		err = &QuestionError{Message: "a key can only be looked up with the run's plan: " + problem}
	}
	if err != nil {
		return nil, 0, err
	}
	s := &subject{explaining: explaining{Auditor: a, run: run, compiled: compiled}, found: &Subject{Rows: []SubjectRow{}}}
	for i := range compiled.Nodes {
		if node := &compiled.Nodes[i]; slices.Contains(node.Key, field) {
			sources++
			if err := s.search(ctx, node, field, value); err != nil {
				return nil, sources, err
			}
		}
	}
	return s.found, sources, nil
}

// subject is what Subject does.
type subject struct {
	explaining
	found *Subject
}

// search looks for the rows of one source.
func (s *subject) search(ctx context.Context, node *plan.Node, field, value string) error {
	wanted, err := typedKey(node, map[string]string{field: value})
	if err != nil {
		return err
	}
	candidates, unkeyed, err := s.candidates(ctx, s.run.ID, node.Name, wanted)
	if err != nil {
		return err
	}
	read, err := s.searchUnkeyed(ctx, node, unkeyed, wanted)
	if err != nil {
		return err
	}
	s.found.Keyless += int64(len(read.refused))
	s.found.Purged += read.purged
	for _, number := range slices.Concat(candidates, read.rows) {
		if err := s.add(ctx, node, number, wanted); err != nil {
			return fmt.Errorf("row %d of source %s: %w", number, node.Name, err)
		}
	}
	refused, err := s.log.RowErrorKeys(ctx, s.run.ID, node.Name)
	for _, e := range refused {
		if e.Node == node.Name {
			s.found.Keyless++
		}
	}
	return err
}

// add adds a row whose hashes fit, if its values do.
func (s *subject) add(ctx context.Context, node *plan.Node, number int64, wanted wantedKey) error {
	fits, err := s.fits(ctx, s.run.ID, node, number, wanted)
	lost := errors.Is(err, payload.ErrPurged) || errors.Is(err, payload.ErrNotFound)
	if err != nil && !lost || err == nil && !fits {
		return err
	}
	found, err := s.follow(ctx, node.Name, number)
	if err != nil {
		return err
	}
	if lost {
		s.found.Unsure = append(s.found.Unsure, found)
		return nil
	}
	s.found.Rows = append(s.found.Rows, found)
	return nil
}

// follow says where a row is, and what came of it.
func (s *subject) follow(ctx context.Context, source string, number int64) (found SubjectRow, err error) {
	if s.asked, err = s.log.RootToken(ctx, s.run.ID, source, number); err != nil {
		return found, err
	}
	if err := s.begin(ctx); err != nil {
		return found, err
	}
	rows, err := s.log.Records(ctx, s.run.ID, s.chunk.Key())
	if err != nil {
		return found, err
	}
	f, _, err := s.followed(ctx, following{limit: math.MaxInt}, []landscape.Token{s.asked})
	if err != nil {
		return found, err
	}
	found = SubjectRow{
		Source: source, Row: number, File: s.chunk.File, Line: s.chunk.FirstLine + int64(s.index), Payload: s.chunk.Pack, Lines: f.found.Lines, Derived: f.derived,
	}
	if rows.Lines != nil {
		found.Line = s.chunk.FirstLine + int64(rows.Lines[s.index])
	}
	return found, nil
}
