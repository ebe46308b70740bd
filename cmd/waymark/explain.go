package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/audit"
)

// descendants is how many of what came of a row is followed, unless somebody says otherwise.
const descendants = 1000

// question is what the flags of explain say.
type question struct {
	source string
	row    int64
	keys   []string
	token  string
	sink   string
	line   int64
	all    bool
	limit  int
	whyNot string
	bytes  bool
	file   string // to which the dossier goes
}

func (a *app) explainCommand() *cobra.Command {
	var q question
	cmd := &cobra.Command{
		Use:   "explain RUN (--row N | --key FIELD=VALUE… | --token ID | --sink NAME --line N)",
		Short: "Explain how one row got from its source to where it ended, and prove it",
		Long: `Shows what was read, what every step did with it, why every gate routed it as it did, and what was written. Every step is
computed again from the stored record and compared with the recorded hash. Exit code 4 if something differs, or if the
stored record is missing or corrupt.

Where a fork copies a row, or a coalesce or a barrier makes new rows, each gets an id, such as orders:17/by_cost or
by_state:3; explain it with --token. The members of a batch are read from the landscape; verify computes batches again.
A row's descendants are followed through barriers to every line of every output, up to --limit.
If another pipeline published the row, and a trigger brought it, its story there follows, back to where it was read first.
--why-not SINK shows what kept the row, and its descendants, out of a sink. --dossier FILE.html writes the row's story, its values and its proof as one
file, which others read and verify in a browser, without a network.

` + runArgument,
		Example: `  waymark explain last --row 4711
  waymark explain last --key airport="DALLAS/FORT WORTH INTL ARPT" --key flight_date=1999-10-19
  waymark explain 0198c1 --sink review --line 12
  waymark explain last --token orders:17/by_cost
  waymark explain last --row 4711 --why-not ledger
  waymark explain last --row 4711 --dossier 4711.html`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("row") && q.row == 0 || cmd.Flags().Changed("line") && q.line == 0 {
				return wrongUsef("rows and lines are counted from 1")
			}
			asked, err := q.question()
			if err != nil {
				return err
			}
			asked.Run = args[0]
			return a.ask(cmd.Context(), func(home record) error { return a.explain(cmd.Context(), home, asked, q) })
		},
	}
	flags := cmd.Flags()
	numberFlag(flags, &q.row, "row", "", 1, 0, "explain the row with this `number` in the source, from 1")
	flags.StringArrayVar(&q.keys, "key", nil, "explain the row with this business key, `FIELD=VALUE`; repeat for more fields")
	flags.StringVar(&q.token, "token", "", "explain the token with this `id`, such as orders:17/by_cost")
	flags.StringVar(&q.sink, "sink", "", "with --line: explain a row in the output of this `sink`")
	numberFlag(flags, &q.line, "line", "", 1, 0, "the `number` of the row in the sink's output, from 1, not counting the header")
	flags.StringVar(&q.source, "source", "", "the `source` of --row and --key, if the run has more than one; with --row also a barrier")
	flags.BoolVar(&q.all, "all", false, "list all tokens of a batch, not only the first")
	numberFlag(flags, &q.limit, "limit", "", 1, descendants, "follow at most this `number` of the row's descendants")
	flags.BoolVar(&q.bytes, "bytes", false, "show which bytes of the record each field is; --json always does")
	flags.StringVar(&q.whyNot, "why-not", "", "show what kept the row out of this `sink`")
	flags.StringVar(&q.file, "dossier", "", "write the row's story, values and proof to this `file`; an existing one is replaced")
	cmd.MarkFlagsMutuallyExclusive("why-not", "dossier")
	return cmd
}

// question checks that exactly one row is asked for.
func (q question) question() (audit.Question, error) {
	ways := 0
	for _, given := range []bool{q.row != 0, len(q.keys) > 0, q.token != "", q.sink != "" || q.line != 0} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return audit.Question{}, wrongUsef("--row, --key, --token and --sink with --line exclude each other: give one of them")
	case ways == 0:
		return audit.Question{}, wrongUsef("say which row: --row N, --key FIELD=VALUE, --token ID, or --sink NAME with --line N")
	case (q.sink == "") != (q.line == 0):
		return audit.Question{}, wrongUsef("--sink NAME and --line N belong together")
	}
	key, err := parsePairs("--key", "FIELD=VALUE", q.keys)
	return audit.Question{Source: q.source, Row: q.row, Key: key, Token: q.token, Sink: q.sink, Line: q.line, All: q.all, Limit: q.limit}, err
}

func (a *app) explain(ctx context.Context, home record, asked audit.Question, q question) error {
	if q.file != "" {
		var text bytes.Buffer
		if err := home.Dossier(ctx, asked, &text); err != nil {
			return err
		}
		return a.written(q.file, text.Bytes())
	}
	if q.whyNot != "" {
		denial, err := home.WhyNot(ctx, asked, q.whyNot)
		if err != nil {
			return err
		}
		return a.print(denial, denial.WriteText)
	}
	stories, err := a.stories(ctx, home, asked)
	if err != nil {
		return err
	}
	code := exitDone
	if slices.ContainsFunc(stories, func(story *audit.Explanation) bool { return !story.True() }) {
		code = exitUnverified
	}
	return endWith(code, printList(a, stories, func(w io.Writer) error {
		for i, story := range stories {
			if i > 0 {
				fmt.Fprintf(w, "\n%s\n\n", strings.Repeat("─", 40))
			}
			err := story.WriteText(w)
			if err == nil && q.bytes {
				err = story.WriteFields(w)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// mostUpstream is how many pipelines a row is followed back through.
const mostUpstream = 100

// stories tells of a row, then of the row of another pipeline's output that it is, and so on up to the record that was read first.
func (a *app) stories(ctx context.Context, home record, asked audit.Question) (stories []*audit.Explanation, err error) {
	for len(stories) < mostUpstream {
		story, err := home.Explain(ctx, asked)
		if err != nil && len(stories) == 0 {
			return nil, err
		}
		if err != nil {
			a.note("row %d of %s in run %s cannot be explained: %v", asked.Line, asked.Sink, asked.Run, err)
			return stories, nil
		}
		stories = append(stories, story)
		from := story.Upstream
		if from == nil || from.Token == "" {
			return stories, nil
		}
		asked = audit.Question{Run: from.Run, Sink: from.Sink, Line: from.Line, All: asked.All, Limit: asked.Limit}
	}
	return stories, nil
}
