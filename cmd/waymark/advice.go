package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/activities"
	"waymark/client"
	"waymark/worker/storage"
)

// cures are this program's words for what can be done with a run that has stopped; %s is its id.
var cures = map[client.Cure]string{
	client.Resume:     "resume it: waymark resume %s",
	client.ServeAgain: "waymark serve continues it; without a server: waymark resume %s",
	client.Mend:       "when the cause is removed, resume it: waymark resume %s",
	client.Restore:    "when the output is as this run wrote it, resume it: waymark resume %s",
	client.Fork:       "when the cause is removed, start over: waymark resume %s --fork",
	client.SendAgain: "its rows came with its request, and no other run reads them: when the cause is removed, " +
		"send them with a new request, and cancel this run: waymark cancel %s --final --why TEXT",
	client.CancelFinal: "it retries records of another run, and cannot start over: waymark cancel %s --final --why TEXT cancels it permanently",
	client.GiveUp:      "when the cause is removed, give it up: waymark cancel %s --final --why TEXT; then another run reads what it took",
	client.Resolve:     "waymark effects %s",
	client.SignOff:     "sign it off in each of these roles, each by another person, waymark sign-off %s --as ROLE --meaning TEXT --key FILE, then waymark resume %[1]s",
	client.WaivePolicy: "waymark status %s says how to waive what did not pass",
}

// restoreOrFork are the words for the choice between the two.
const restoreOrFork = "if the output can be put back as this run wrote it, resume it: waymark resume %s; if not, start over: waymark resume %[1]s --fork"

// restoreOrGiveUp are the words for it of a run that reads what arrived at a trigger.
const restoreOrGiveUp = "if the output can be put back as this run wrote it, resume it: waymark resume %s; if not, give it up: waymark cancel %[1]s --final --why TEXT"

// restoreOrSend are the words for it of a run whose rows came with its request.
const restoreOrSend = "if the output can be put back as this run wrote it, resume it: waymark resume %s; if not, " +
	"send its rows with a new request, and cancel this run: waymark cancel %[1]s --final --why TEXT"

// adviceText says what a person can do with a run that has stopped; nothing if nobody can resume it.
func adviceText(advice client.Advice, run string) string {
	if len(advice.Cures) == 0 {
		return ""
	}
	words := cures[advice.Cures[0]]
	switch {
	case advice.Cures[0] == client.WaivePolicy:
		return waiveText(advice, run)
	case slices.Contains(advice.Cures[1:], client.Fork):
		words = restoreOrFork
	case slices.Contains(advice.Cures[1:], client.GiveUp):
		words = restoreOrGiveUp
	case slices.Contains(advice.Cures[1:], client.SendAgain):
		words = restoreOrSend
	}
	if advice.Why != "" {
		return advice.Why + ": " + fmt.Sprintf(words, run)
	}
	return fmt.Sprintf(words, run)
}

// waiveText says how a run can go on that policies keep from publishing anything.
func waiveText(advice client.Advice, run string) string {
	words := "waive what did not pass, "
	for _, policy := range advice.Policies {
		words += fmt.Sprintf("waymark waive %s %s --why TEXT, ", run, shellWord(policy))
	}
	words += "then waymark resume " + run
	switch {
	case slices.Contains(advice.Cures, client.Fork):
		words += fmt.Sprintf("; or mend the document, then waymark resume %s --fork", run)
	case slices.Contains(advice.Cures, client.SendAgain):
		words += "; or mend the document, send the rows of this run with a new request, and cancel it: " +
			fmt.Sprintf("waymark cancel %s --final --why TEXT", run)
	case slices.Contains(advice.Cures, client.GiveUp):
		words += fmt.Sprintf("; or deploy a mended document, then waymark cancel %s --final --why TEXT: another run reads what this one took", run)
	}
	return words
}

// shellWord is the text as one word of a command.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if text != "" && text[0] != '-' && strings.TrimFunc(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// resumeWith tells how to resume a run.
func resumeWith(run string) string { return fmt.Sprintf(cures[client.Resume], run) }

// hints are this program's words for what can be done about an error; they follow its message, and %s is the run that it is about.
var hints = map[client.Cure]string{
	client.ListRuns:         "; `waymark runs` lists them",
	client.ListPipelines:    "; `waymark pipelines` lists them, `waymark pipelines history NAME` their versions",
	client.DeployOrServe:    "; `waymark deploy FILE` deploys one, `waymark serve FOLDER` runs the documents of a folder by their names, and `waymark run FILE` runs a document without either",
	client.ProposeOrder:     "; add --propose --key FILE to the command, and the others see it with `waymark orders`",
	client.ListOrders:       "; `waymark orders` lists them",
	client.ProposeAgain:     "; look at it, and propose it again",
	client.RestorePipeline:  "; `waymark restore` lets it run again",
	client.DeployAnyway:     "\nits schedules run it again and again; --anyway WHY deploys it nevertheless",
	client.DeployUnready:    "\n--anyway WHY deploys it nevertheless",
	client.ListEnvironments: "; `waymark env list` lists them",
	client.SetValues:        "; `waymark env set` gives it one",
	client.PromoteVersion:   "; `waymark promote` makes it current there",
	client.ListTriggers:     "; `waymark triggers` lists them, `waymark deploy` adds those of a document",
	client.ListArrivals:     "; `waymark triggers arrivals` lists what arrived",
	client.ListSchedules:    "; `waymark schedule list` lists them, `waymark deploy` adds those of a document, `waymark schedule create` others",
	client.DeleteSchedule:   "; `waymark schedule delete` deletes it",
	client.DeployWithout:    ": deploy a document without it, or `waymark schedule pause` it",
	client.CreateAnyway:     "\nthe schedule runs it again and again; --anyway WHY makes it nevertheless",
	client.DeleteUnfit:      "\nschedules that were made by command do not fit it: `waymark schedule delete` deletes them",
	client.DeployUnfit:      "\nschedules that were made by command do not fit it: `waymark schedule delete` deletes them; --anyway WHY deploys it nevertheless",
	client.ListEffects:      "; `waymark effects %s` lists them",
	client.SignOff:          ": waymark sign-off %s --as ROLE --meaning TEXT --key FILE",
	client.NameApprovers:    ": put it back, or name it with --approvers",
	client.ListPolicies:     "; `waymark status %s` lists them",
	client.ListEdges:        "; `waymark rows %s` lists them",
	client.ShowStatus:       ": waymark status %s",
	client.Watch:            ": waymark status %s, waymark follow %s",
	client.Join:             ": waymark follow %s shows its progress",
	client.ServeAgain:       "; waymark serve continues it, and waymark follow %s follows it then; without a server, waymark resume %s",
	client.ServeOrCancel:    "; waymark serve begins it, and waymark follow %s follows it then; waymark cancel %s --why TEXT cancels it",
	client.CancelAndRun: "; its process is gone, and nobody begins it: waymark cancel %s --why TEXT cancels it, " +
		"and waymark run begins it again, with --run-id %s",
	client.NameSlot:         ", as in --for 2026-11-21; `waymark schedule next FILE` lists the slots, `waymark schedule next NAME` those of a deployed pipeline",
	client.GiveParams:       ": start it then; or without --for and with its parameters, as in --param day=2026-11-21: such a run fills no slot",
	client.NameSchedule:     " (--schedule)",
	client.OtherPort:        "; --port says which else, 0 for any free one",
	client.OtherPages:       "; --pages says where else, or off",
	client.Resume:           "; resume it: waymark resume %s",
	client.ResumeOther:      ": waymark resume %s",
	client.ListHolds:        "; `waymark hold list` lists them",
	client.ListAccess:       "; `waymark access list` lists them",
	client.RestoreBundle:    "; put a copy with this SHA-256 there: a folder that was moved can have a symbolic link at its old place",
	client.EndHold:          "; `waymark hold end` ends it",
	client.FinishForgetting: "; when it does, `waymark forget --finish` continues; --leave-in gives the target up",
	client.EndRun:           ": resume it, if waymark status %s says that this can help, or waymark cancel %s --final --why TEXT",
	client.DeclareKey:       ": declare it in the document, `key: [FIELD]`; runs that begin after that record it",
	client.CancelAgain:      "; when the cause is cured, waymark cancel %s --final --why TEXT deletes it",
	client.OtherID:          "; choose another --run-id: waymark status %s",
	client.StartAnew:        ": name one to start over with: waymark run FILE",
	client.StartWorker:      ": start one with waymark worker",
	client.StartWorkerThere: ": start one there with waymark worker",
	client.FindWorkers:      "; waymark doctor says whether one listens",
	client.Diagnose:         ": waymark doctor looks for the cause",
	client.NameLandscape:    " Say where with --landscape",
	client.SameLandscape:    "; do the workers use the same --landscape as you do?",
	client.FreeSpace:        ": make space there, and do the same again",
	client.FindLandscape:    ": run a pipeline first, or say where it is with --state FOLDER or --landscape sqlite:PATH",
	client.FindPayloads:     ": say where they are with --payloads file:FOLDER",
	client.NameSource:       " with --source",
	client.NameRow:          "; ask for one with --row",
	client.UsePostgres:      "; --landscape postgres://USER@HOST/DATABASE names a record with roles",
	client.StopOther:        "; wait for it, stop it, or use another --state; waymark serve executes several runs at once on one state folder",
	client.OtherState:       "; use another --state",
	client.SamePayloads:     "; do the workers use the same --payloads as you do?",
}

// hintFor returns the words that follow a message about the run.
func hintFor(cure client.Cure, run string) string { return strings.ReplaceAll(hints[cure], "%s", run) }

// worded is an error of the client in the words of this program, with the exit code that says the same as its kind.
func worded(err error) error {
	if activities.Full(err) { // whatever could not be written
		err = client.UnlessAway(err)
	}
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	if exit, ok := errors.AsType[exitError](err); ok && exit.err != nil {
		return err // it has its words
	}
	if changed, ok := errors.AsType[*client.DocumentChangedError](err); ok {
		err = documentChanged(changed)
	} else if _, ok := errors.AsType[*storage.URLError](err); ok {
		err = fmt.Errorf("--%w", err)
	} else if hint := hintFor(refused.Cure, refused.Run); hint != "" {
		err = fmt.Errorf("%w%s", err, hint)
	}
	if refused.Code == client.StateFolderBusy {
		return exitError{exitBusy, err}
	}
	return exitError{exitOf(refused.Kind), err}
}

// exitOf returns the exit code that says the same as a kind of error.
func exitOf(kind client.Kind) int {
	switch kind {
	case client.Busy, client.Unavailable, client.Failed:
		return exitFailed
	case client.Interrupted:
		return exitInterrupted
	case client.Damaged:
		return exitUnverified
	default:
		return exitUsage
	}
}

// documentChanged shows what changed, and which choices there are.
func documentChanged(changed *client.DocumentChangedError) error {
	choices := "waymark resume " + changed.Run + " --recorded   resumes with the recorded document"
	if changed.MayFork {
		choices += "\nwaymark resume " + changed.Run + " --fork       begins a new run of the present document, and cancels this one permanently"
	}
	return fmt.Errorf("%s is not what it was when run %s began:\n%s\nput back what was there, or choose:\n%s",
		shown(changed.Path), changed.Run, changed.Difference, choices)
}
