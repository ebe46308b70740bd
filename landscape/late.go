package landscape

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/amount"
)

// A target may take a part without some of its rows: it refuses them late, after their ways were recorded. The way of such a token
// leads to the sink, an error of it stands at the sink, and the effect counts it. It ends as one that the sink's encoder refused:
// as a failure, on_error_routed, in quarantine.

// lateErrors returns the records of refusals by the target of a sink, for a write of it. It rejects refusals of tokens that were not routed
// to this sink, and duplicates.
func (l *Log) lateErrors(ctx context.Context, key EffectKey, refused []Rejection) ([]Record, error) {
	if len(refused) == 0 {
		return nil, nil
	}
	chunk, err := l.Chunk(ctx, key.Run, ChunkKey{key.Source, key.Chunk})
	if err != nil {
		return nil, err
	}
	tokens, err := l.sinkTokens(ctx, chunk, key.Sink)
	if err != nil {
		return nil, err
	}
	open := map[Token]bool{}
	for _, token := range tokens {
		open[token] = true
	}
	records, now := make([]Record, len(refused)), l.now()
	for i, r := range refused {
		token := Token{Source: key.Source, Lane: r.Lane, Row: chunk.FirstRow + int64(r.Index)}
		if !open[token] {
			return nil, fmt.Errorf("row %d, lane %d: refused by the target, but the sink was not given this row, or it is listed twice", token.Row, token.Lane)
		}
		delete(open, token)
		if r.Code == "" {
			return nil, fmt.Errorf("row %d in lane %d is refused without a code", token.Row, token.Lane)
		}
		records[i] = newRowError(chunk, key.Sink, pipeline.QuarantineSink, r, now)
	}
	return records, nil
}

// RejectedTotal is what a total comes to, of the rows of a part that the target of its sink refused.
type RejectedTotal struct {
	EffectKey
	Total      string `db:"total,key"`
	Amount     string `db:"amount"`
	Unreadable int64  `db:"unreadable"` // rows whose amount cannot be read, and is not in Amount
}

// Table returns rejected_totals.
func (RejectedTotal) Table() string { return "rejected_totals" }

// rejectedTotals returns what the totals of refused rows come to, by name. It rejects rows that have other totals than
// the first.
func rejectedTotals(key EffectKey, refused []Rejection) ([]Record, error) {
	if len(refused) == 0 {
		return nil, nil
	}
	names := refused[0].Amounts
	sums, records := make([]amount.Sum, len(names)), make([]RejectedTotal, len(names))
	for _, r := range refused {
		if !slices.EqualFunc(r.Amounts, names, func(a, b RowAmount) bool { return a.Total == b.Total }) {
			return nil, fmt.Errorf("record %d in lane %d has other totals than record %d in lane %d", r.Index, r.Lane, refused[0].Index, refused[0].Lane)
		}
		for i, of := range r.Amounts {
			added, err := amount.Parse(of.Amount)
			if err != nil {
				return nil, fmt.Errorf("total %s of record %d in lane %d: %w", of.Total, r.Index, r.Lane, err)
			}
			sums[i].Add(added)
			if of.Unreadable {
				records[i].Unreadable++
			}
		}
	}
	of := make([]Record, len(records))
	for i := range records {
		records[i].EffectKey, records[i].Total, records[i].Amount = key, names[i].Total, sums[i].String()
		of[i] = records[i]
	}
	return of, nil
}

// sameRejections refuses other refusals than those that a finalized write has on record.
func (r *Reader) sameRejections(ctx context.Context, e Effect, late []Record) error {
	if int64(len(late)) != e.Refused {
		return &DivergedError{Table: e.Table(), Key: e.String(), Column: "refused"}
	}
	for _, wanted := range late {
		wanted := wanted.(RowError)
		stored, err := get[RowError](ctx, r.from, wanted.Run, wanted.Source, wanted.Row, wanted.Lane, wanted.Node)
		if errors.Is(err, ErrNotFound) {
			return &DivergedError{Table: e.Table(), Key: e.String(), Column: "refused"}
		}
		if err != nil {
			return err
		}
		t := TableOf(wanted)
		if err := t.Diverged(t.AppendValues(nil, stored), t.AppendValues(nil, wanted)); err != nil {
			return err
		}
	}
	return nil
}

// CompareRejected holds the errors on record of rows that the target of a write refused, and what their totals come to, against those that
// FinalizeEffect would make of refused. It stores nothing. The error says that the sink did not get such a row, or that one has no code.
func (r *Reader) CompareRejected(ctx context.Context, key EffectKey, refused []Rejection) ([]Difference, error) {
	rehearsed := &rehearsal{source: r.from, beyond: func(r Record) bool { _, isError := r.(RowError); return isError }}
	return rehearsed.compare(ctx, []Record{RejectedTotal{EffectKey: key}}, func(l *Log) error {
		late, err := l.lateErrors(ctx, key, refused)
		if err != nil {
			return err
		}
		sums, err := rejectedTotals(key, refused)
		if err != nil {
			return err
		}
		return l.insert(ctx, append(late, sums...)...)
	})
}

// LateRowError returns why the target of the sink that the way leads to refused the token when its part was written; nil if it did not.
func (r *Reader) LateRowError(ctx context.Context, run string, token Token, way Way) (*RowError, error) {
	if !way.ToSink() {
		return nil, nil //nolint:nilnil // no refusal is no error
	}
	found, err := Select[RowError](ctx, r.from, run, token.Source, token.Row, token.Lane, way.Sink)
	if err != nil || found == nil {
		return nil, err
	}
	return &found[0], nil
}

// kept removes the tokens that the target refused from those of a write.
func (r *Reader) kept(ctx context.Context, part SinkPart, chunk Chunk, tokens []Token) ([]Token, error) {
	if part.Refused == 0 {
		return tokens, nil
	}
	refused := map[Token]bool{}
	err := each(ctx, r.from, []any{part.Run, part.Source}, func(e RowErrorKey) bool {
		if e.Node == part.Sink && e.Row >= chunk.FirstRow {
			refused[Token{Source: e.Source, Lane: e.Lane, Row: e.Row}] = true
		}
		return e.Row < chunk.FirstRow+chunk.Rows
	})
	if err != nil {
		return nil, err
	}
	left := make([]Token, 0, len(tokens))
	for _, token := range tokens {
		if !refused[token] {
			left = append(left, token)
		}
	}
	return left, nil
}

// forRefused returns the sinks that get tokens which a node before them refused. What their targets refuse had failed already.
func forRefused(ways map[string]WayRecord) map[string]bool {
	sinks := map[string]bool{}
	for _, w := range ways {
		if w.Outcome == string(pipeline.Failure) {
			sinks[w.Sink] = true
		}
	}
	return sinks
}
