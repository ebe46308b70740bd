package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
)

// scheduleSpec is a schedule by flags, in the words of documents: JSON is YAML.
type scheduleSpec struct {
	Every   any                 `json:"every,omitempty"` // text or everyRule
	At      string              `json:"at,omitempty"`
	Zone    string              `json:"zone,omitempty"`
	Covers  string              `json:"covers,omitempty"`
	Except  []string            `json:"except,omitempty"`
	Jitter  string              `json:"jitter,omitempty"`
	Params  map[string]string   `json:"params,omitempty"`
	ForEach map[string][]string `json:"for_each,omitempty"`
	Overlap string              `json:"overlap,omitempty"`
}

type everyRule struct {
	Cron string   `json:"cron,omitempty"`
	Days []string `json:"days,omitempty"`
}

// scheduleFlags are the flags that say what a schedule is.
type scheduleFlags struct {
	scheduleSpec
	file, every string
	rule        everyRule
	params      []string
	forEach     []string
}

func (f *scheduleFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "file", "", "YAML `file` with the keys that documents have under a schedule's name; - for standard input. It replaces the flags that describe the schedule, such as --every and --at")
	flags.StringVar(&f.every, "every", "", "minute, hour, day, week, month, quarter, year, or a `length` of time such as 15m")
	flags.StringVar(&f.rule.Cron, "cron", "", "instead of --every: a cron `expression`, such as \"0 2 * * MON-FRI\"")
	flags.StringSliceVar(&f.rule.Days, "days", nil, "instead of --every: `days` of the week, such as mon,thu")
	flags.StringVar(&f.At, "at", "", "`time` of day, such as 02:00; needs --zone")
	flags.StringVar(&f.Zone, "zone", "", "time `zone` of the schedule, such as Europe/Berlin (default UTC)")
	flags.StringVar(&f.Covers, "covers", "", "`what` a slot covers, such as \"same day\" or -2d..-1d (default the day, week and so on before it is due)")
	flags.StringSliceVar(&f.Except, "except", nil, "`days` for which no run is due, such as 2026-12-25")
	flags.StringVar(&f.Jitter, "jitter", "", "longest `delay` of a run after it is due, such as 5m; it spreads runs that are due at the same time")
	flags.StringArrayVar(&f.params, "param", nil, "value `NAME=VALUE` of a parameter in the runs of this schedule; repeat for more")
	flags.StringArrayVar(&f.forEach, "for-each", nil, "`NAME=VALUE,VALUE`: a slot of its own for each value; repeat for more names")
	flags.StringVar(&f.Overlap, "overlap", "", "what happens to a slot that is due while the run of an earlier slot continues: `rule` queue (default), skip, cancel or allow")
}

// shape are the flags for which the file stands.
var shape = []string{"every", "cron", "days", "at", "zone", "covers", "except", "jitter", "param", "for-each", "overlap"}

// spec returns the schedule in YAML, and the name of the file that it is from; empty for flags.
func (f *scheduleFlags) spec(cmd *cobra.Command) (file string, spec []byte, err error) {
	if f.file != "" {
		for _, flag := range shape {
			if cmd.Flags().Changed(flag) {
				return "", nil, wrongUsef("--file has the whole schedule: leave --%s out, and write it there", flag)
			}
		}
		return f.read()
	}
	switch ruled := f.rule.Cron != "" || len(f.rule.Days) > 0; {
	case ruled && f.every != "":
		return "", nil, wrongUsef("give one of --every, --cron and --days")
	case ruled:
		f.Every = f.rule
	case f.every != "":
		f.Every = f.every
	case f.Covers != "nothing":
		return "", nil, wrongUsef("say how often: --every day, --cron \"0 2 * * MON-FRI\", --days mon,thu, or --file FILE with more")
	}
	if f.Params, err = parsePairs("--param", "NAME=VALUE", f.params); err != nil {
		return "", nil, err
	}
	each, err := parsePairs("--for-each", "NAME=VALUE,VALUE", f.forEach)
	if err != nil {
		return "", nil, err
	}
	for name, values := range each {
		if f.ForEach == nil {
			f.ForEach = map[string][]string{}
		}
		f.ForEach[name] = strings.Split(values, ",")
	}
	spec, err = json.Marshal(f.scheduleSpec)
	return "", spec, err
}

// read reads the file, or standard input.
func (f *scheduleFlags) read() (file string, spec []byte, err error) {
	if f.file != "-" {
		spec, err = client.ReadDocument(f.file)
		if err != nil {
			err = wrongUsef("--file: %v", err)
		}
		return f.file, spec, err
	}
	spec, err = client.ReadText(os.Stdin)
	return "standard input", spec, err
}

func (a *app) scheduleCreateCommand() *cobra.Command {
	var r client.ScheduleRequest
	var flags scheduleFlags
	cmd := &cobra.Command{
		Use:   "create NAME --pipeline PIPELINE --every day",
		Short: "Create a schedule for a deployed pipeline whose document has none of this name",
		Long: `Creates a schedule for a deployed pipeline, as if its document declared it. --file accepts every key that a document's schedule can have. The schedule
remains when other versions become current, until waymark schedule delete; a version whose document has a schedule of this name takes it over.`,
		Example: `  waymark schedule create nightly --pipeline orders --every day --at 02:00 --zone Europe/Berlin --why "the ledger closes at one"
  waymark schedule create hourly --pipeline orders --to test --every hour --param limit=100
  waymark schedule create weekly --pipeline orders --file weekly.yaml --dry-run`,
		Args: exactlyOne("name"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if r.Pipeline == "" {
				return wrongUsef("say of which pipeline: --pipeline NAME")
			}
			if r.File, r.Spec, err = flags.spec(cmd); err != nil {
				return err
			}
			r.Name, r.By = args[0], a.by(r.Why)
			return a.existing(cmd.Context(), func(home *local.Home) error {
				s, err := home.CreateSchedule(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.print(s, func(w io.Writer) error { return writeCreated(w, &s, r.DryRun) })
			})
		},
	}
	cmd.Flags().StringVar(&r.Pipeline, "pipeline", "", "`name` of the deployed pipeline")
	cmd.Flags().StringVar(&r.Environment, "to", landscape.DefaultEnvironment, "`environment` in which the pipeline is deployed")
	flags.add(cmd)
	whyFlag(cmd, &r.Why)
	cmd.Flags().StringVar(&r.Anyway, "anyway", "", "create the schedule even if a second run of the pipeline would stop, for this `reason`, which is recorded")
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "check the schedule and say when it is due next; create nothing")
	return cmd
}

func writeCreated(w io.Writer, s *client.Schedule, dry bool) error {
	would := ""
	if dry {
		would = "would be "
	}
	next := "its slots have no time, and get their runs by waymark schedule backfill " + s.ID
	if s.NextSlot != "" {
		next = fmt.Sprintf("next: slot %s at %s", s.NextSlot, zoned(s.Next, s.Zone))
	}
	_, err := fmt.Fprintf(w, "schedule %s %smade; %s\n", s.ID, would, next)
	return err
}

func (a *app) scheduleDeleteCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "delete SCHEDULE --why TEXT",
		Short: "Delete a schedule that a command created",
		Long: `Deletes a schedule that waymark schedule create made. No further slots become due, and slots that wait get no run. Runs that have started continue,
and the results of slots remain recorded. To delete a schedule that a document declares, deploy the document without it.`,
		Example: `  waymark schedule delete nightly --why "the source is switched off"`,
		Args:    exactlyOne("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			return a.onSchedule(cmd, args[0], func(home *local.Home, id string) error {
				s, err := home.DeleteSchedule(cmd.Context(), id, a.by(why))
				if err != nil {
					return err
				}
				return a.print(s, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "schedule %s is deleted%s; what became of its slots stays: waymark schedule grid %[1]s\n", s.ID, already(s.Changed))
					return err
				})
			})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}
