package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/client"
)

// cures are this program's words for what can be done with a run that has stopped; %s is its id.
var cures = map[client.Cure]string{
	client.Resume:      "go on with: waymark resume %s",
	client.Mend:        "when the cause is cured, go on with: waymark resume %s",
	client.Restore:     "when the output is as this run wrote it, go on with: waymark resume %s",
	client.Fork:        "when the cause is cured, begin anew with: waymark resume %s --fork --why TEXT",
	client.CancelFinal: "it feeds records again, and cannot begin anew: waymark cancel %s --final --why TEXT ends it for good",
	client.Resolve:     "waymark effects %s",
}

// restoreOrFork are the words for the choice between the two.
const restoreOrFork = "if the output can be put back as this run wrote it, go on with: waymark resume %s; if not, begin anew with: waymark resume %[1]s --fork"

// adviceText says what a person can do with a run that has stopped; nothing if nobody can go on with it.
func adviceText(advice client.Advice, run string) string {
	if len(advice.Cures) == 0 {
		return ""
	}
	words := cures[advice.Cures[0]]
	if slices.Contains(advice.Cures[1:], client.Fork) {
		words = restoreOrFork
	}
	if advice.Why != "" {
		return advice.Why + ": " + fmt.Sprintf(words, run)
	}
	return fmt.Sprintf(words, run)
}

// goOnWith tells how to go on with a run.
func goOnWith(run string) string { return fmt.Sprintf(cures[client.Resume], run) }

// hints are this program's words for what can be done about an error; they follow its message, and %s is the run that it is about.
var hints = map[client.Cure]string{
	client.ListRuns:    "; `waymark runs` lists them",
	client.ListEffects: "; `waymark effects %s` lists them",
	client.StartWorker: ": start one with waymark worker",
	client.FindWorkers: "; waymark doctor says whether one listens",
}

// worded is an error of the client in the words of this program.
func worded(err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	if hint := hints[refused.Cure]; hint != "" {
		err = fmt.Errorf("%w%s", err, strings.ReplaceAll(hint, "%s", refused.Run))
	}
	switch refused.Kind {
	case client.Busy, client.Unavailable:
		return err
	default:
		return wrongUse(err)
	}
}
