package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
)

// atFlag adds --at, which names a moment of a run.
func atFlag(cmd *cobra.Command, at *string) {
	cmd.Flags().StringVar(at, "at", "", "as it stood at this `moment`: so long after the run began, such as 1m30s, or a time, such as 2026-10-01T06:00:00Z")
}

// momentOf returns the moment of a run that a word means; unknown for no word.
func momentOf(run landscape.Run, word string) (client.Time, error) {
	if word == "" {
		return 0, nil
	}
	at, err := time.Parse(time.RFC3339, word)
	if since, failed := time.ParseDuration(word); failed == nil {
		at, err = run.Started.Time().Add(since), nil
	}
	switch moment := landscape.MicrosOf(at); {
	case err != nil:
		return 0, wrongUsef("--at %q is no moment: write 1m30s for so long after the run began, or a time as 2026-10-01T06:00:00Z", word)
	case moment < run.Started:
		return 0, wrongUsef("--at %q is before the run began, at %s", word, run.Started.Time().Format(time.RFC3339Nano))
	default:
		return client.Time(moment), nil
	}
}

// pastStatus shows how a run stood at a moment.
func (a *app) pastStatus(ctx context.Context, r record, run landscape.Run, at client.Time) error {
	past, err := r.Past(ctx, run.ID, at)
	if err != nil {
		return err
	}
	return a.print(past, func(w io.Writer) error { return a.writePast(w, past) })
}

func (a *app) writePast(w io.Writer, p *client.Past) error {
	s := p.Status
	lines := [][]string{
		{"run", s.ID}, {"pipeline", s.Pipeline}, {"as it stood", fmt.Sprintf("%s, %s after it began", preciseMoment(p.At), p.At.Time().Sub(p.Begun.Time()))}, {"status", a.statusText(&s.Run)},
		{"reason", s.Reason}, {"started", moment(s.Started)}, {"rows", rowsLine(s)},
	}
	if p.At > p.Begun {
		lines = append(lines, []string{"before", preciseMoment(p.Before) + ": the change before"})
	}
	if p.At < p.End {
		lines = append(lines, []string{"after", preciseMoment(p.After) + ": the next change"})
	}
	if err := text.Table(w, withValue(lines)...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeTables(w, s)
}

// preciseMoment writes a moment to the microsecond: --at takes it.
func preciseMoment(at client.Time) string {
	return at.Time().Format("2006-01-02T15:04:05.000000Z07:00")
}
