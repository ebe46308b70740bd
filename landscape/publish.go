package landscape

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"waymark/pipeline/calendar"
	"waymark/plugin"
)

// PreparePublish records that the output of a sink is complete and what it holds. rows and bytes are those of its parts, without
// headers; of the rows, those that the target refused are left out. It is refused as long as a write to the sink is not finalized, and if the writes do not add up to rows.
//
// Repeating it with the same numbers changes nothing.
func (l *Log) PreparePublish(ctx context.Context, run, sink string, rows, bytes int64) error {
	err := settle("", func() error {
		old, err := l.Effect(ctx, PublishKey(run, sink))
		if err != nil {
			return err
		}
		written, refused, err := l.written(ctx, run, sink)
		switch {
		case err != nil:
			return err
		case old.State != Reserved:
			return samePublication(old, rows-refused, bytes)
		case written != rows:
			return fmt.Errorf("%d rows are to be published, %d were written", rows, written)
		}
		next := old
		next.State, next.Rows, next.Bytes, next.Changed = Prepared, rows-refused, bytes, l.now()
		return l.driver.Commit(ctx, Tx{Move: []Move{{From: old, To: next}}})
	})
	if err != nil {
		return fmt.Errorf("prepare %s: %w", PublishKey(run, sink), err)
	}
	return nil
}

// samePublication refuses numbers other than those on record.
func samePublication(e Effect, rows, bytes int64) error {
	var column string
	switch {
	case e.Rows != rows:
		column = "rows"
	case e.Bytes != bytes:
		column = "bytes"
	default:
		return nil
	}
	return &DivergedError{Table: e.Table(), Key: e.String(), Column: column}
}

// written returns how many rows were written to a sink, and how many of them its target refused. It refuses a sink that has an open
// write.
func (r *Reader) written(ctx context.Context, run, sink string) (rows, refused int64, err error) {
	effects, err := Select[Effect](ctx, r.from, run, sink)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range effects {
		if e.Kind == WriteEffect && e.State != Finalized {
			return 0, 0, fmt.Errorf("the %s is %s", e.EffectKey, e.State)
		}
		if e.Kind == WriteEffect {
			rows += e.Rows
			refused += e.Refused
		}
	}
	return rows, refused, nil
}

// FinalizePublish records that the output of a sink is visible, with what it is, in one transaction. latest is the name that leads to the latest of
// such outputs; empty if the sink has none. schema is that of the rows, as it is stored. Else it is like FinalizeEffect.
func (l *Log) FinalizePublish(ctx context.Context, by Attempt, a plugin.Artifact, latest, schema string) error {
	key := by.EffectKey
	prepared, err := l.Effect(ctx, key)
	if err == nil && prepared.State != Reserved {
		err = samePublication(prepared, a.Rows, min(a.Bytes, prepared.Bytes)) // headers may add to the bytes
	}
	if err != nil {
		return fmt.Errorf("finalize %s: %w", key, err)
	}
	receipt, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("finalize %s: %w", key, err)
	}
	artifact := ArtifactRecord{
		Run: key.Run, Sink: key.Sink, Path: a.Path, Bytes: a.Bytes, Rows: a.Rows, SHA256: a.SHA256, Published: l.now(), Latest: latest, Schema: schema,
	}
	if latest != "" {
		if artifact.StandsFor, err = l.standsFor(ctx, key.Run); err != nil {
			return fmt.Errorf("finalize %s: %w", key, err)
		}
	}
	run, err := get[RunHead](ctx, l, key.Run)
	if err != nil {
		return fmt.Errorf("finalize %s: %w", key, err)
	}
	return l.finalize(ctx, by, string(receipt), nil, artifact, outputEvent(run, artifact))
}

// standsFor returns the slot of time that the run is about, or when it was asked for: both are written so that the later one is the greater text.
func (r *Reader) standsFor(ctx context.Context, run string) (string, error) {
	start, err := r.lastStart(ctx, run)
	if err == nil && start != nil && start.Slot != calendar.PartOf(start.Slot) {
		return start.Slot, nil
	}
	record, err := r.Run(ctx, run)
	if err != nil {
		return "", err
	}
	asked := record.Started
	if start != nil {
		asked = start.Accepted
	}
	return asked.Time().UTC().Format(time.RFC3339), nil
}
