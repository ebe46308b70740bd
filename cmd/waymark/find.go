package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
)

func (a *app) findCommand() *cobra.Command {
	request := client.LookupRequest{Guess: true}
	cmd := &cobra.Command{
		Use:   "find WORD",
		Short: "Find the run, row, output or pipeline that a word means",
		Long: `Finds what WORD may mean, and says which command tells more: the beginning of a run's id, the name of a deployed pipeline, the SHA-256 of an output,
a source file, a document or a record, the path or name of a source file, the receipt of a delivery, the id of a row such as orders:17, a row of an output as SINK:ROW, a line of a source file
as FILE:LINE, the number of a row, the code of refused rows, or a whole record as it was read. What a trigger brought is
looked for, by its path or receipt, in all runs; names of files, rows and codes in the newest 50, a number in the newest
one, and whole records in those of the 50 that have 5,000,000 rows together, the newest first. What was not searched is
listed after what was found, with --json as lines of the kind unsearched; --run searches one run whole. Exit code 1 if
nothing is found.`,
		Example: `  waymark find 0198c1
  waymark find strikes.csv
  waymark find strikes.csv:301
  waymark find "$(sha256sum out/review.csv | cut -c1-64)"
  waymark find "$(sed -n 301p data/strikes.csv)"`,
		Args: exactlyOne("word"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Word = args[0]
			return a.ask(cmd.Context(), func(home record) error {
				found, err := home.Lookup(cmd.Context(), request)
				if err != nil {
					return err
				}
				code := exitDone
				if len(found.Items) == 0 {
					code = exitFailed
				}
				return endWith(code, printList(a, foundLines(found), func(w io.Writer) error { return writeFound(w, found) }))
			})
		},
	}
	cmd.Flags().StringVar(&request.Run, "run", "", "search only this `run`")
	return cmd
}

// foundLines are the lines of a search in JSON: what was found, and then what was not searched.
func foundLines(found client.LookupResult) []any {
	lines := make([]any, 0, len(found.Items)+len(found.Unsearched))
	for _, f := range found.Items {
		lines = append(lines, f)
	}
	for _, u := range found.Unsearched {
		lines = append(lines, struct {
			Kind string `json:"kind"`
			client.Unsearched
		}{"unsearched", u})
	}
	return lines
}

func writeFound(w io.Writer, found client.LookupResult) error {
	table := [][]string{{"what", "pipeline", "ask"}}
	for _, f := range found.Items {
		table = append(table, []string{text.Cell(f.What), text.Cell(f.Pipeline), askAbout(f)})
	}
	var err error
	if len(found.Items) == 0 {
		_, err = fmt.Fprintln(w, "nothing found")
	} else {
		err = text.Table(w, table...)
	}
	for _, u := range found.Unsearched {
		if err != nil {
			return err
		}
		line := "not searched: " + text.Cell(u.What)
		if u.Run != "" {
			line += ": search it with --run " + u.Run
		}
		_, err = fmt.Fprintln(w, line)
	}
	return err
}

// askAbout is the command that tells more of what was found.
func askAbout(f client.Found) string {
	switch f.Kind {
	case client.FoundPipeline:
		return "waymark pipelines show " + f.Pipeline
	case client.FoundRow, client.FoundLine:
		return fmt.Sprintf("waymark explain %s --token %s", f.Run, f.Token)
	case client.FoundRefusals:
		return "waymark errors " + f.Run
	}
	return "waymark status " + f.Run
}
