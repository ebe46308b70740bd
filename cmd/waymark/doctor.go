package main

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/internal/text"
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
			code, look := exitDone, a.options().Doctor
			if fix {
				if a.options().Cluster == nil {
					return &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: "--fix is for a cluster: say which with --temporal"}
				}
				look = a.options().Repair
			}
			var checks []checked
			var lines [][]string
			for _, c := range look(cmd.Context()) {
				if c.State == client.Unhealthy {
					code = exitFailed
				}
				cure := cmp.Or(c.Advice, remedies[c.Cure])
				checks = append(checks, checked{c, cure})
				lines = append(lines, []string{string(c.State), c.Name, c.Detail, cure})
			}
			return endWith(code, printList(a, checks, func(w io.Writer) error { return text.Table(w, lines...) }))
		},
	}
	command.Flags().BoolVar(&fix, "fix", false, "register the search attributes that the cluster's namespace is missing")
	return command
}

// remedies are this program's words for what cures what a check found.
var remedies = map[client.Cure]string{
	client.OtherState:       "name another with --state",
	client.MakeWritable:     "make it writable for the user that runs waymark, or name another with --state",
	client.FixDisk:          "look at the disk",
	client.FreeSpace:        "free some, or name another folder with --state",
	client.Report:           "report this",
	client.EndHolder:        "let it finish, or end it",
	client.FindLandscape:    "say where the record is with --landscape",
	client.NameLandscape:    "say with --landscape where the workers have it",
	client.FindPayloads:     "say where the payloads are with --payloads",
	client.CheckPayloads:    "say where the payloads are with --payloads, and check what may read them",
	client.CureOther:        "cure that first",
	client.RestoreLog:       "put the record back; if it was restored from a backup, record that: waymark log restore --from ANCHOR --why TEXT",
	client.AdmitSealer:      "waymark log check names them; a process whose key does not count says so when it starts: waymark keys admit KEY --why TEXT",
	client.RestoreFile:      "keep a copy of the file, and put a backup in its place; without one, save what can be read: sqlite3 FILE .recover | sqlite3 NEW (docs/operations.md)",
	client.SealRuns:         "seal what can be sealed, and see why it was not: waymark seal --all",
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
