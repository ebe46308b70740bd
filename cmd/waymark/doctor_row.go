package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waymark/audit"
	"waymark/client/local"
	"waymark/landscape"
)

func (a *app) doctorRowCommand() *cobra.Command {
	var q question
	cmd := &cobra.Command{
		Use:   "row RUN (--row N | --sink NAME --line N | --source FILE:LINE)",
		Short: "Trace one row backward and forward, and look whether everything that proves its way is there",
		Long: `Says from which bytes of which file the row was read, or of which rows it was made; whether the payload with its record is stored; which way it took, computed
again; on which lines of which outputs it, or what was made of it, is; whether these outputs are still as they were published; and whether the run's seal and its entry in
the log are there. Each line says what was looked at, what was found, and the next command. It changes nothing. Exit code 1 if something is wrong.

` + runArgument,
		Example: `  waymark doctor row last --row 300
  waymark doctor row last --sink review --line 3
  waymark doctor row last --source orders.csv:17`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rowDiagnosis(cmd.Context(), args[0], q)
		},
	}
	flags := cmd.Flags()
	numberFlag(flags, &q.row, "row", "", 1, 0, "the row with this `number` in the source, from 1")
	flags.StringVar(&q.sink, "sink", "", "with --line: a row in the output of this `sink`")
	numberFlag(flags, &q.line, "line", "", 1, 0, "the `number` of the row in the sink's output, from 1, not counting the header")
	flags.StringVar(&q.source, "source", "", "the record on a line of a file, `FILE:LINE`; with --row the name of the source, if the run has more than one")
	return cmd
}

// rowDiagnosis prints what is found of a row.
func (a *app) rowDiagnosis(ctx context.Context, word string, q question) error {
	file, line, err := q.place()
	if err != nil {
		return err
	}
	o := a.options()
	o.Existing, o.Unchanged = true, true
	return a.with(ctx, o, func(home *local.Home) error {
		run, err := home.Find(ctx, word)
		if err != nil {
			return err
		}
		asked, err := a.askedRow(ctx, home, run, q, file, line)
		if err != nil {
			return err
		}
		checks, err := home.DiagnoseRow(ctx, run, asked)
		if err != nil {
			return err
		}
		return a.printChecks(checks, run.ID)
	})
}

// askedRow is the question about the row that the flags name.
func (a *app) askedRow(ctx context.Context, home *local.Home, run landscape.Run, q question, file string, line int64) (audit.Question, error) {
	if file != "" {
		return home.RowAt(ctx, run.ID, file, line)
	}
	return q.question()
}

// place returns the file and line that --source names, if it names the row.
func (q question) place() (file string, line int64, err error) {
	if q.source == "" || q.row != 0 {
		return "", 0, nil
	}
	if q.sink != "" || q.line != 0 {
		return "", 0, wrongUsef("--source FILE:LINE and --sink with --line exclude each other: give one of them")
	}
	at := strings.LastIndexByte(q.source, ':')
	if at > 0 {
		line, err = strconv.ParseInt(q.source[at+1:], 10, 64)
	}
	if at <= 0 || err != nil || line < 1 {
		return "", 0, wrongUsef("--source %q: write FILE:LINE, or give --row as well", q.source)
	}
	return q.source[:at], line, nil
}
