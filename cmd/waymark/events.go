package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/landscape/history"
)

func (a *app) eventsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "events RUN",
		Short: "Show what happened in a run, from its start to its end",
		Long: `Shows every event of a run, oldest first: its start, each chunk that was read and processed, the rows that were refused, each write and
publication, each order that somebody gave, and the end. Events follow from the record alone, so the same run always shows the same ones.

With --json each line holds the SHA-256 of the line before. waymark replay reads these lines, checks them and adds them up.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askRun(cmd.Context(), args[0], func(home record, run landscape.Run) error {
				events, err := home.Events(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				return printList(a, events, func(w io.Writer) error { return writeEvents(w, events) })
			})
		},
	}
}

func writeEvents(w io.Writer, events []history.Event) error {
	lines := [][]string{{"time", "event", "details"}}
	for _, e := range events {
		lines = append(lines, []string{e.At, e.Type, details(e.Data)})
	}
	return text.Table(w, lines...)
}

// digest is a SHA-256 in hex, and its beginning, by which people tell it from others.
var digest = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// details says the data of an event for people, without what is empty.
func details(data json.RawMessage) string {
	var columns map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&columns); err != nil {
		return string(data)
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if value := fmt.Sprint(columns[name]); columns[name] != nil && value != "" {
			said = append(said, name+"="+digest.ReplaceAllString(value, "$1…"))
		}
	}
	return strings.Join(said, " ")
}

func (a *app) replayCommand() *cobra.Command {
	var against string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Add up the events of a run to the state that they lead to",
		Long: `Reads the events of a run, as waymark events RUN --json prints them and a bundle contains them (events.ndjson), checks that each line follows the one
before it, and prints what they add up to: the state of the run, its sources, refusals, sinks and outputs. It needs nothing but the file. FILE - reads the standard input.

A last line that was cut off is left out, with a warning. Any other damage ends with exit code 4 and the number of the line. The last line has no successor that would
notice a change: --against compares with a snapshot that you trust.`,
		Args: exactlyOne("file with events"),
		RunE: func(_ *cobra.Command, args []string) error {
			snapshot, err := a.replay(args[0])
			if err != nil {
				return err
			}
			if against != "" {
				if err := compareSnapshot(snapshot, against); err != nil {
					return err
				}
			}
			return a.print(snapshot, func(w io.Writer) error { return writeSnapshot(w, snapshot) })
		},
	}
	cmd.Flags().StringVar(&against, "against", "", "`file` with a snapshot that the events must lead to, such as the snapshot.json of a bundle")
	return cmd
}

// replay reads the events in a file, - for the standard input, and adds them up.
func (a *app) replay(name string) (*history.Snapshot, error) {
	from := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, wrongUse(err)
		}
		defer file.Close()
		from = file
	}
	events, torn, err := history.Read(from)
	if err == nil && torn {
		a.note("%s: line %d has no end and is left out", name, len(events)+1)
	}
	var snapshot *history.Snapshot
	if err == nil {
		snapshot, err = history.Fold(events)
	}
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("it has no event: %w", history.ErrBroken)
	}
	if errors.Is(err, history.ErrBroken) {
		err = exitError{exitUnverified, &client.Error{Kind: client.Conflict, Code: client.EventChainBroken, Message: fmt.Sprintf("%s: %v", name, err), Err: err}}
	}
	return snapshot, err
}

// compareSnapshot holds what events add up to against a snapshot that somebody kept.
func compareSnapshot(found *history.Snapshot, file string) error {
	want, err := os.ReadFile(file)
	if err != nil {
		return wrongUse(err)
	}
	text, err := found.Encode()
	if err == nil && !bytes.Equal(text, want) {
		err = exitError{exitUnverified, &client.Error{Kind: client.Conflict, Code: client.SnapshotDiffers, Message: "the events do not lead to the snapshot in " + file}}
	}
	return err
}

func writeSnapshot(w io.Writer, s *history.Snapshot) error {
	fmt.Fprintf(w, "run %s of %s: %s, began %s", s.Run.ID, s.Run.Pipeline, s.Run.Status, s.Run.Began)
	if s.Run.Ended != "" {
		fmt.Fprintf(w, ", ended %s", s.Run.Ended)
	}
	fmt.Fprintf(w, "\n%s, the last with SHA-256 %s\n", text.Count(s.Events, "event"), s.Head)
	lines := [][]string{{"", "", "rows", ""}}
	for _, source := range s.Sources {
		lines = append(lines, []string{"source", source.Source, text.Grouped(source.Rows), "chunks: " + text.Grouped(source.Chunks)})
	}
	for _, r := range s.Refused {
		lines = append(lines, []string{"refused", r.Node, text.Grouped(r.Rows), r.Code})
	}
	for _, b := range s.Barriers {
		lines = append(lines, []string{"barrier", b.Node, text.Grouped(b.Rows), "batches: " + text.Grouped(b.Batches)})
	}
	for _, sink := range s.Sinks {
		lines = append(lines, []string{"sink", sink.Sink, text.Grouped(sink.Rows), "not confirmed: " + text.Grouped(sink.Open)})
	}
	for _, o := range s.Outputs {
		lines = append(lines, []string{"output", o.Sink, text.Grouped(o.Rows), o.Path})
	}
	return text.Table(w, lines...)
}
