package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/audit"
	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
)

func (a *app) subjectCommand() *cobra.Command {
	var request client.SubjectRequest
	cmd := &cobra.Command{
		Use:   "subject FIELD=VALUE [--run RUN]",
		Short: "Find a person's rows in all runs, and every row of an output that came of them",
		Long: `Finds the rows whose business key has this value in one field (key: [FIELD] of a source), in all runs or in one, and follows them through forks
and barriers to every row of every output. It compares the values of the stored records, so a row is listed only if it has the value; rows
whose records were purged, and whose hashes fit, are listed as unsure. Changes nothing.

Rows that their source refused have no key: how many there are is printed, and waymark errors shows them. Deliveries at triggers that no run has read yet are rows of no
run: how many there are is printed.`,
		Example: `  waymark subject customer_id=4711
  waymark subject customer_id=4711 --run last --json`,
		Args: exactlyOne("subject"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var ok bool
			if request.Field, request.Value, ok = strings.Cut(args[0], "="); !ok || request.Field == "" {
				return wrongUsef("%q is no subject: write FIELD=VALUE", args[0])
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				found, err := home.Subject(cmd.Context(), request)
				if err != nil {
					return err
				}
				return a.print(found, func(w io.Writer) error { return writeSubject(w, found) })
			})
		},
	}
	cmd.Flags().StringVar(&request.Run, "run", "", "search only this `run`")
	return cmd
}

func writeSubject(w io.Writer, s *client.Subject) error {
	table := [][]string{{"run", "row", "read from", "came to"}}
	rows, unsure := 0, 0
	for _, run := range s.Runs {
		rows, unsure = rows+len(run.Rows), unsure+len(run.Unsure)
		for _, row := range run.Rows {
			table = appendPlaces(table, run.Run, row, "")
		}
		for _, row := range run.Unsure {
			table = appendPlaces(table, run.Run, row, " (unsure)")
		}
	}
	if len(table) > 1 {
		if err := text.Table(w, table...); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%s in %s, of %s searched", text.Count(int64(rows), "row"), text.Count(int64(len(s.Runs)), "run"), text.Count(int64(s.Searched), "run"))
	if unsure > 0 {
		line += fmt.Sprintf("\n%s unsure: the record is not stored any more, and only hashes fit", text.Count(int64(unsure), "row"))
	}
	if s.Keyless > 0 {
		line += fmt.Sprintf("\n%s not searched: sources refused them, and a refused row has no key; waymark errors shows those of each run", text.Count(s.Keyless, "row"))
	}
	if s.Purged > 0 {
		line += fmt.Sprintf("\n%s not searched: they were read and did not go through the steps, and their records are not stored any more", text.Count(s.Purged, "row"))
	}
	if s.Unkeyed > 0 {
		line += fmt.Sprintf("\n%s not searched: no source has %s in its key", text.Count(int64(s.Unkeyed), "run"), text.Visible(s.Field))
	}
	for _, run := range s.NotSearched {
		line += fmt.Sprintf("\nrun %s not searched: %s", run.Run, text.Visible(run.Why))
	}
	for _, unread := range s.Unread {
		line += fmt.Sprintf("\nnot searched: %s; ask again when one has", unread)
	}
	for _, run := range s.Runs {
		for _, hold := range run.Holds {
			line += fmt.Sprintf("\nrun %s is protected by hold %d", run.Run, hold)
		}
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// appendPlaces adds a line for each place to which a row came.
func appendPlaces(table [][]string, run string, row audit.SubjectRow, unsure string) [][]string {
	first := []string{run, fmt.Sprintf("%s:%d%s", row.Source, row.Row, unsure), text.Cell(fmt.Sprintf("%s line %d", row.File, row.Line))}
	var places []string
	for _, line := range row.Lines {
		places = append(places, text.Cell(fmt.Sprintf("%s row %d (%s)", line.Output, line.Line, line.Sink)))
	}
	for _, derived := range row.Derived {
		places = append(places, fmt.Sprintf("%s, of %s", derived.Token, text.Count(derived.Of, "token")))
	}
	if places == nil {
		places = []string{"-"}
	}
	for _, place := range places {
		table = append(table, append(first[:3:3], place))
		first = []string{"", "", ""}
	}
	return table
}
