package landscape

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"waymark/plugin"
)

// Attestation is what an output of a run was found to be when its target was read again. What was found in one look at a run has one number.
type Attestation struct {
	Run        string       `db:"run_id,key"`
	Seq        int64        `db:"seq,key"` // from 0
	Sink       string       `db:"sink,key"`
	Path       string       `db:"path"`   // as in its ArtifactRecord
	Unit       string       `db:"unit"`   // what is counted: plugin.Pieces or plugin.Rows
	Sample     int64        `db:"sample"` // how many rows were wanted; 0 for all
	LookedAt   int64        `db:"looked_at"`
	Equal      int64        `db:"equal"`
	Changed    int64        `db:"changed"`
	Missing    int64        `db:"missing"`
	Replaced   int64        `db:"replaced"` // by other runs
	Unknown    int64        `db:"unknown"`
	Result     plugin.State `db:"result"`
	ReplacedBy string       `db:"replaced_by"` // run; empty if none did
	Findings   string       `db:"findings"`    // JSON array of plugin.Finding: the first ones
	Actor      string       `db:"actor"`
	At         Micros       `db:"at_us"`
}

// Table returns attestations.
func (Attestation) Table() string { return "attestations" }

// Whole reports whether everything was looked at.
func (a Attestation) Whole() bool { return a.Sample == 0 }

// Altered reports whether the output was found changed or missing, and not because of a later run.
func (a Attestation) Altered() bool { return a.Result == plugin.Changed || a.Result == plugin.Missing }

// Found returns what is not as the run wrote it; nil if nothing is.
func (a Attestation) Found() (found []plugin.Finding, err error) {
	if err := json.Unmarshal([]byte(a.Findings), &found); err != nil {
		return nil, incomplete("attestation %d of run %s: findings: %v", a.Seq, a.Run, err)
	}
	return found, nil
}

// ResultOf says in a word what was counted: the worst of it.
func ResultOf(c plugin.Condition) plugin.State {
	switch {
	case c.Changed > 0:
		return plugin.Changed
	case c.Missing > 0:
		return plugin.Missing
	case c.Unknown > 0:
		return plugin.NotKnown
	case c.Replaced > 0:
		return plugin.Replaced
	}
	return plugin.AsWritten
}

// WorstResult returns the worst result of attestations.
func WorstResult(of []Attestation) string {
	for _, state := range []plugin.State{plugin.Changed, plugin.Missing, plugin.NotKnown, plugin.Replaced} {
		if slices.ContainsFunc(of, func(a Attestation) bool { return a.Result == state }) {
			return string(state)
		}
	}
	return string(plugin.AsWritten)
}

// AttestationDigest returns the SHA-256, in hex, of attestations of one number, in the order of their sinks: of their lines as in a seal, each with a line end.
func AttestationDigest(of []Attestation) string {
	sum := sha256.New()
	for _, a := range of {
		sum.Write(append(TableOf(a).AppendLine(nil, a), '\n'))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Attestations returns what the outputs of a run were found to be, by number and sink; nil if nobody looked.
func (r *Reader) Attestations(ctx context.Context, run string) ([]Attestation, error) {
	return Select[Attestation](ctx, r.from, run)
}

// RecordAttestations keeps what the outputs of a run were found to be, in the order of their sinks, with the next number and the entry of the log that says so. It sets
// Seq and At, and returns them so. Of each output that was changed or removed, as no attestation found it before, an event tells. Nothing is recorded of no outputs. The
// error wraps ErrKeyless if the log knows the run and would not know this.
func (l *Log) RecordAttestations(ctx context.Context, found []Attestation) ([]Attestation, error) {
	return l.recordAttestations(ctx, found, func(*Tx) error { return nil })
}

// recordAttestations records attestations, with what besides adds to the transaction.
func (l *Log) recordAttestations(ctx context.Context, found []Attestation, besides func(*Tx) error) ([]Attestation, error) {
	if len(found) == 0 {
		return found, nil
	}
	run, err := get[RunHead](ctx, l, found[0].Run)
	if err == nil {
		err = l.keylessAbout(ctx, run.ID)
	}
	if err != nil {
		return nil, err
	}
	err = settle(Attestation{}.Table(), func() error {
		last, err := lastOf[Attestation](ctx, l, found[0].Run)
		if err != nil {
			return err
		}
		at, next := l.now(), int64(0)
		if last != nil {
			next = last.Seq + 1
		}
		tx := Tx{}
		for i := range found {
			found[i].Seq, found[i].At = next, at
			tx.Insert = append(tx.Insert, found[i])
		}
		events, err := l.changeEvents(ctx, run, found)
		if err != nil {
			return err
		}
		tx.Insert = append(tx.Insert, events...)
		if err := besides(&tx); err != nil {
			return err
		}
		if l.sealer != nil {
			entry, err := l.sealer.Attested(found)
			if err != nil {
				return err
			}
			tx.Append = []LogEntry{entry}
		}
		return l.plain.Commit(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("record what was found of the outputs of run %s: %w", found[0].Run, err)
	}
	return found, nil
}

// changeEvents returns the events of outputs that were changed or removed, if the newest attestation before that could look found something else. One of all of an
// output is compared with one of all of it.
func (l *Log) changeEvents(ctx context.Context, run RunHead, found []Attestation) (events []Record, err error) {
	for _, a := range found {
		if !a.Altered() {
			continue
		}
		same := false
		err := l.from.Read(ctx, Attestation{}, Query{Prefix: []any{a.Run}, Descending: true}, func(record Record) bool {
			before := record.(Attestation)
			if before.Sink != a.Sink || before.Result == plugin.NotKnown || a.Whole() && !before.Whole() {
				return true
			}
			same = before.sameAs(a) || !a.Whole() && before.Result == a.Result
			return false
		})
		if err != nil {
			return nil, err
		}
		if !same {
			events = append(events, changeEvent(run, a))
		}
	}
	return events, nil
}

// sameAs reports whether two attestations found the same.
func (a Attestation) sameAs(b Attestation) bool {
	return a.Result == b.Result && a.Equal == b.Equal && a.LookedAt == b.LookedAt && a.Findings == b.Findings
}

// NewestAttestations returns the newest attestation of each of so many outputs of a run, of those that looked at all of it, in no order; nil if there is none.
func (r *Reader) NewestAttestations(ctx context.Context, run string, outputs int) (newest []Attestation, err error) {
	err = r.from.Read(ctx, Attestation{}, Query{Prefix: []any{run}, Descending: true}, func(record Record) bool {
		a := record.(Attestation)
		if a.Whole() && !slices.ContainsFunc(newest, func(newer Attestation) bool { return newer.Sink == a.Sink }) {
			newest = append(newest, a)
		}
		return len(newest) < outputs
	})
	return newest, err
}

// LastSeen says when an output was last found to be as it was written, before a look at it, and when it was not any more.
type LastSeen struct {
	Equal Micros // of the newest attestation before that found all of it so; 0 if none did
	Other Micros // of the oldest attestation since that found something else; 0 if none did
}

// LastSeenEqual looks in the attestations of a run for those of an output that are older than a number.
func LastSeenEqual(of []Attestation, sink string, before int64) (seen LastSeen) {
	for _, a := range of {
		switch {
		case a.Sink != sink || a.Seq >= before:
		case a.Result == plugin.AsWritten && a.Whole():
			seen = LastSeen{Equal: a.At}
		case a.Altered() && seen.Other == 0:
			seen.Other = a.At
		}
	}
	return seen
}

// FoundSo says since when an output is as an attestation of it found it: first is the moment of the oldest of the whole attestations before that found the same, with none
// between that found something else, or its own; otherwise that of the newest one before first that found something else, 0 if there is none. A sample, and
// one that could not look, say neither.
func FoundSo(of []Attestation, a Attestation) (otherwise, first Micros) {
	first = a.At
	if !a.Whole() {
		return 0, first
	}
	for _, before := range slices.Backward(of) {
		switch {
		case before.Sink != a.Sink || before.Seq >= a.Seq || !before.Whole() || before.Result == plugin.NotKnown:
		case !before.sameAs(a):
			return before.At, first
		default:
			first = before.At
		}
	}
	return 0, first
}
