package main

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

// checked is a line of `waymark doctor --json`.
type checked struct {
	client.Check
	Cure string `json:"cure,omitempty"` // in words
}

func (a *app) doctorCommand() *cobra.Command {
	var fix bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check that this setup can execute runs, and say how to fix what is wrong",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			look := a.options().Doctor
			if fix {
				if a.options().Cluster == nil {
					return &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: "--fix is for a cluster: say which with --temporal"}
				}
				look = a.options().Repair
			}
			return a.printChecks(look(cmd.Context()), "")
		},
	}
	command.Flags().BoolVar(&fix, "fix", false, "register the search attributes that the cluster's namespace is missing")
	command.AddCommand(a.doctorRunCommand(), a.doctorOutputCommand(), a.doctorRowCommand())
	return command
}

func (a *app) doctorRunCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run RUN",
		Short: "Look for what is wrong with a run, and say what to do next",
		Long: `Looks at everything that can be wrong with a run, and changes nothing: how it ended and why, refused rows, each output, every payload that it needs, its
seal and its entry in the log, the schema of the landscape, and other runs that read the same. Each line says what was looked at, what was found, and the
next command. Exit code 1 if something is wrong.

It reads all records and payloads of the run, and computes no step again: waymark verify does.

` + runArgument,
		Example: `  waymark doctor run last
  waymark doctor run 0198c1 --json`,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.diagnosis(cmd.Context(), func(home *local.Home) (landscape.Run, []client.Check, error) {
				run, err := home.Find(cmd.Context(), args[0])
				return run, nil, err
			})
		},
	}
}

func (a *app) doctorOutputCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "output TARGET",
		Aliases: []string{"artifact"},
		Short:   "Look for what is wrong with an output, and with the run that published it last",
		Long: `Compares what is at a target now with what runs published there, as waymark outputs does, and looks at the run that published there last, or writes there now,
as waymark doctor run does. Exit code 1 if something is wrong.

TARGET is a path, s3://BUCKET/PREFIX, postgres://HOST/DATABASE/SCHEMA.TABLE, or the name of a table.`,
		Example: `  waymark doctor output out/review.csv`,
		Args:    exactlyOne("target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.diagnosis(cmd.Context(), func(home *local.Home) (landscape.Run, []client.Check, error) {
				outputs, err := home.Outputs(cmd.Context(), args[0], 1)
				if err != nil {
					return landscape.Run{}, nil, err
				}
				run, err := home.Find(cmd.Context(), outputs.LastRun())
				return run, []client.Check{outputs.Check()}, err
			})
		},
	}
}

// diagnosis prints what is found of the run that find returns, after what find found.
func (a *app) diagnosis(ctx context.Context, find func(*local.Home) (landscape.Run, []client.Check, error)) error {
	o := a.options()
	o.Existing, o.Unchanged = true, true // the schema is looked at as well
	return a.with(ctx, o, func(home *local.Home) error {
		run, checks, err := find(home)
		if err != nil {
			return err
		}
		found, err := home.Diagnose(ctx, run)
		if err != nil {
			return err
		}
		return a.printChecks(append(checks, found...), run.ID)
	})
}

// printChecks prints checks with their cures, and fails if one of them does. run, if not empty, is the run that they are about.
func (a *app) printChecks(found []client.Check, run string) error {
	code := exitDone
	var checks []checked
	var lines [][]string
	for _, c := range found {
		if c.State == client.Unhealthy {
			code = exitFailed
		}
		words := cmp.Or(c.Advice, runRemedies[c.Cure], cures[c.Cure], remedies[c.Cure])
		cure := strings.NewReplacer("%s", run, "%[1]s", run, "%t", c.About).Replace(words)
		checks = append(checks, checked{c, cure})
		lines = append(lines, []string{string(c.State), c.Name, c.Detail, cure})
	}
	return endWith(code, printList(a, checks, func(w io.Writer) error { return text.Table(w, lines...) }))
}

// runRemedies are this program's words for what cures what was found of a run: %s is its id, %t what the check is about.
var runRemedies = map[client.Cure]string{
	client.ShowErrors:     "waymark errors %s",
	client.ShowStatus:     "waymark status %s",
	client.ListEffects:    "waymark effects %s",
	client.LookAtTriggers: "see each with waymark triggers; waymark triggers resume lets a paused one begin runs, waymark serve looks after all",
	client.ShowOutputs:    "see who wrote there: waymark outputs %t; restore it, or write it again with a new run",
	client.RestorePayload: "restore payload %t from a backup of the payload store; waymark scrub reads all payloads",
	client.SealRun:        "waymark seal %s",
	client.VerifyRun:      "waymark verify %s",
	client.CheckLog:       "waymark log check",
	client.AttestRun:      "waymark attest %s",
	client.ExplainRow:     "waymark explain %s %t",
	client.ReproduceRun:   "waymark reproduce %s",
}

// remedies are this program's words for what cures what a check found.
var remedies = map[client.Cure]string{
	client.OtherState:       "name another with --state",
	client.MakeWritable:     "make it writable for the user that runs waymark, or name another with --state",
	client.FixDisk:          "look at the disk",
	client.FreeSpace:        "free some, or name another folder with --state",
	client.Report:           "report this",
	client.RestoreBundle:    "put a copy with the recorded SHA-256 there; a folder that was moved can have a symbolic link at its old place",
	client.EndHolder:        "let it finish, or end it",
	client.FindLandscape:    "say where the record is with --landscape",
	client.NameLandscape:    "say with --landscape where the workers have it",
	client.FindPayloads:     "say where the payloads are with --payloads",
	client.CheckPayloads:    "say where the payloads are with --payloads, and check what may read them",
	client.CureOther:        "cure that first",
	client.ReviewOrder:      "two others look at it, and sign: waymark approve ORDER --review --key FILE --why TEXT",
	client.RestoreLog:       "put the record back; if it was restored from a backup, record that: waymark log restore --from ANCHOR --why TEXT",
	client.AdmitSealer:      "waymark log check names them; a process whose key does not count says so when it starts: waymark keys admit KEY --why TEXT",
	client.RestoreFile:      "keep a copy of the file, and put a backup in its place; without one, save what can be read: sqlite3 FILE .recover | sqlite3 NEW (docs/operations.md)",
	client.SealRuns:         "seal what can be sealed, and see why it was not: waymark seal --all",
	client.StartAttester:    "start waymark serve, or a worker with --keys, that sees the outputs, and look what it says",
	client.SignLog:          "start a process that has the key of the log, and look what it says",
	client.SetClock:         "set the clock: times on record would contradict their order",
	client.WriteTemporary:   "make the folder for temporary files writable",
	client.ReadLog:          "waymark doctor -v shows what it says",
	client.ReadServerLogs:   "look at the logs of the cluster",
	client.StopOther:        "wait for it or stop it before the next run",
	client.NameCluster:      "say where it is with --temporal HOST:PORT or TEMPORAL_ADDRESS",
	client.StartWorker:      "start one with waymark worker, or name another queue with --queue",
	client.StartWorkerThere: "for documents that read or write such files, start a worker here; if one sees the same files by another name, say --files NAME",
	client.OneVersion:       "if that is not a change of version under way, stop those of the wrong one",
}
