package bundle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/landscape"
)

// ErrRedactedOutputs says that a bundle cannot have outputs if rows are redacted: they have their values.
var ErrRedactedOutputs = errors.New("outputs have the values of rows that are to be redacted: leave one of the two out")

// errRedacted says why records and entries are not in a redacted bundle.
var errRedacted = errors.New("they name people, and digests of outputs: they were redacted")

// Reasons of redactions.
const (
	rowsReason    = "records, hashes, key hashes, messages and salts of these rows are left out; their ways and leaves are here"
	madeReason    = "rows made of redacted ones: " + rowsReason
	recordsReason = "who did something, why and where, and digests by which values could be guessed, are left out of these records of the run: their leaves are here, and the rest of them is " +
		"the word of the exporter"
)

// redact takes the record that the bundle shows, and lists what it does not show.
func (e *export) redact(ctx context.Context) error {
	if e.options.Redact == nil {
		return nil
	}
	if e.options.Outputs != nil {
		return ErrRedactedOutputs
	}
	fields := map[string][]string{}
	for _, scope := range e.options.Redact {
		source, field, named := strings.Cut(scope, ".")
		fields[source] = append(fields[source], field)
		if !named {
			fields[source] = fields[source][:len(fields[source])-1]
		}
	}
	shown, hidden, err := e.log.Redact(ctx, e.run.ID, slices.Sorted(maps.Keys(fields)))
	if err != nil {
		return err
	}
	rows, records, err := hidden.Rows(ctx)
	if err != nil {
		return err
	}
	e.shown, e.hidden = shown, hidden.Sources
	e.manifest.Redactions = append(e.manifest.Redactions, Redaction{Fields: []string{}, Reason: recordsReason, Rows: int64(records)})
	for i, source := range hidden.Sources {
		redaction := Redaction{Fields: []string{}, Reason: madeReason, Rows: rows[i], Source: source}
		if of, named := fields[source]; named {
			slices.Sort(of)
			redaction.Reason, redaction.Fields = rowsReason, append(redaction.Fields, slices.Compact(of)...)
		}
		e.manifest.Redactions = append(e.manifest.Redactions, redaction)
	}
	return nil
}

// hides reports whether the rows of a source or barrier are redacted.
func (e *export) hides(source string) bool { return slices.Contains(e.hidden, source) }

// redactionsAreListed compares what the records do not show with what the manifest says of that.
func (v *verification) redactionsAreListed() error {
	found, forgotten := map[string]int64{}, false
	count := func(source string, order int64) bool {
		if order == landscape.RedactionOrder {
			found[source]++
		}
		forgotten = forgotten || order != landscape.RedactionOrder
		return true
	}
	ctx := context.Background()
	err := landscape.Each(ctx, v.records, func(f landscape.Forgotten) bool { return count(f.Source, f.Order) })
	if err == nil {
		err = landscape.Each(ctx, v.records, func(l landscape.ForgottenLeaf) bool { return count("", l.Order) })
	}
	if err != nil {
		return err
	}
	if forgotten && !v.manifest.lacks(rowsGap) {
		return errors.New("rows were forgotten, and no gap says so")
	}
	for _, r := range v.manifest.Redactions {
		if found[r.Source] != r.Rows {
			return fmt.Errorf("left out: %s; the manifest says %d", r.left(found[r.Source]), r.Rows)
		}
		delete(found, r.Source)
	}
	for source, n := range found {
		return fmt.Errorf("left out: %s; the manifest does not list them as redacted", Redaction{Source: source}.left(n))
	}
	return nil
}

// left names so many of what a redaction is about.
func (r Redaction) left(n int64) string {
	if r.Source == "" {
		return "parts of " + plural(n, "record") + " of the run"
	}
	return plural(n, "row") + " of " + r.Source
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// String says it for people.
func (r Redaction) String() string {
	what := r.left(r.Rows)
	if len(r.Fields) > 0 {
		what += " for " + strings.Join(r.Fields, ", ")
	}
	return what + ": " + r.Reason
}
