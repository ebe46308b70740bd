package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

func (a *app) deployCommand() *cobra.Command {
	var r client.DeployRequest
	var params []string
	var try string
	cmd := &cobra.Command{
		Use:   "deploy FILE",
		Short: "Deploy a document as a new version of its pipeline, and make it current",
		Long: `Stores the document and every file that it is compiled with, such as lookup tables, as a version of the pipeline that it names, and
makes that version current. Equal bytes are the same version. Sources and sinks are not part of a version: a deployed document
has no folder, so their paths must be absolute or remote, such as s3://.`,
		Example: `  waymark deploy orders.yaml --message "limit to 20000"
  waymark deploy orders.yaml --to test
  waymark deploy orders.yaml --dry-run --try last:7`,
		Args: exactlyOne("document"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if r.Params, err = parsePairs("--param", "NAME=VALUE", params); err != nil {
				return err
			}
			if r.Try, err = lastRuns(try); err != nil {
				return err
			}
			r.File, r.By = args[0], a.by(r.Why)
			return a.with(cmd.Context(), a.options(), func(home *local.Home) error {
				deployed, err := home.Deploy(cmd.Context(), r)
				if err != nil {
					return err
				}
				for _, w := range deployed.Warnings {
					a.note("%s:%d:%d: %s: %s", w.File, w.Line, w.Column, w.Path, w.Message)
				}
				a.notePreflight(deployed.Preflight)
				adopted := deployed.Adopted
				if deployed.Before == 0 { // all of the first version are new
					adopted.NewTriggers = nil
				}
				a.noteAdopted(adopted, fmt.Sprintf("%s@%d", deployed.Pipeline, deployed.Version), r.DryRun)
				return a.print(deployed, func(w io.Writer) error {
					if r.Try > 0 {
						writeTrials(w, deployed.Trials)
					}
					return writeDeployed(w, deployed)
				})
			})
		},
	}
	cmd.Flags().StringArrayVar(&params, "param", nil, "value `NAME=VALUE` of a parameter that has no default, to check the document with; repeat for more")
	cmd.Flags().StringVarP(&r.Why, "message", "m", "", "`text` about the version, which is recorded")
	cmd.Flags().StringVar(&r.To, "to", landscape.DefaultEnvironment, "`environment` in which the version becomes current")
	cmd.Flags().StringVar(&try, "try", "", "`last:N` sends the records of the last N complete runs through the version and reports the differences; writes no output")
	cmd.Flags().StringVar(&r.Anyway, "anyway", "", "deploy even if a second scheduled run would stop, or if no run can currently succeed; the `reason` is recorded")
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "check the document and say what would happen; deploy nothing")
	return cmd
}

// notePreflight says what of a version is not as its runs need it, and who looked.
func (a *app) notePreflight(found client.Preflight) {
	if found.Skipped != "" {
		a.note("its sources and sinks were not looked at: %s", found.Skipped)
	}
	for _, problem := range found.Problems {
		a.note("on %s: %s", found.Host, problem)
	}
	for _, look := range found.Looks {
		if look.State != activities.LookReady {
			a.note("%s %s: %s", look.Kind, look.Node, look.Message)
		}
	}
}

// noteAdopted says what becomes of schedules and triggers as a version becomes current; dry if it would.
func (a *app) noteAdopted(adopted client.Adopted, version string, dry bool) {
	is, removed, taken := "is the document's from now on", "begins no more runs", "is new: what is there already arrives as well"
	if dry {
		is, removed, taken = "would be the document's from then on", "would begin no more runs", "would be new: what is there already would arrive as well"
	}
	for _, id := range adopted.TakenOver {
		a.note("schedule %s, which was made by command, %s", id, is)
	}
	for _, id := range adopted.Removed {
		a.note("schedule %s %s: %s does not have it; `waymark schedule create` makes one by command", id, removed, version)
	}
	for _, id := range adopted.NewTriggers {
		a.note("trigger %s %s; another trigger's arrivals are not its own", id, taken)
	}
	for _, id := range adopted.RemovedTriggers {
		a.note("trigger %s %s: %s does not have it; what waits there keeps waiting until a version has it again", id, removed, version)
	}
	for _, id := range adopted.Stranded {
		a.note("warning: no more runs begin at trigger %s", id)
	}
}

func writeDeployed(w io.Writer, d *client.Deployed) error {
	git := ""
	if d.Commit != "" {
		git = "   git " + gitText(d.Commit, d.Dirty)
	}
	name, would, again := fmt.Sprintf("%s@%d", d.Pipeline, d.Version), "", "is"
	if d.DryRun {
		would, again = "would be ", "would be"
	}
	there := inText(d.Environment)
	says := "is current" + there + already(false)
	switch {
	case d.Changed && d.New && d.Before == 0:
		says = would + "deployed" + there + ": the first version"
	case d.Changed && d.Before == 0:
		says = "has these bytes: " + would + "deployed" + there + ": the first version there"
	case d.Changed && d.New:
		says = fmt.Sprintf("%sdeployed%s in the place of %s@%d", would, there, d.Pipeline, d.Before)
	case d.Changed:
		says = fmt.Sprintf("has these bytes: it %s current again%s in the place of %s@%d", again, there, d.Pipeline, d.Before)
	}
	_, err := fmt.Fprintf(w, "%s %s   sha256 %.12s   %s%s\n", name, says, d.Bundle, text.Count(int64(len(d.Files)), "file"), git)
	return err
}

// inText says in which environment something is so: nothing for the default one.
func inText(environment string) string {
	if environment == landscape.DefaultEnvironment {
		return ""
	}
	return " in " + environment
}

// gitText shows a commit, and whether the files are as it has them.
func gitText(commit string, dirty bool) string {
	switch {
	case commit == "":
		return "-"
	case dirty:
		return fmt.Sprintf("%.7s dirty", commit)
	}
	return fmt.Sprintf("%.7s clean", commit)
}
