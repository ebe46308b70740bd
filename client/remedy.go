package client

import (
	"cmp"
	"strings"
)

// CheckTexts returns checks with their cures in words; not nil. run is the id of the run that they are about, or empty.
// more has the words of cures that are no remedy of a check, with %s for that id; it may be nil.
func CheckTexts(found []Check, run string, more map[Cure]string) []CheckText {
	texts := make([]CheckText, len(found))
	for i, c := range found {
		words := cmp.Or(c.Advice, remedies[c.Cure], more[c.Cure])
		texts[i] = CheckText{c, strings.NewReplacer("%s", run, "%[1]s", run, "%t", c.About).Replace(words)}
	}
	return texts
}

// CheckText is a Check with the words for people and programs: a line of `waymark doctor --json`.
type CheckText struct {
	Check
	Cure string `json:"cure,omitempty"` // in words
}

// remedies are the words for what cures what a check found, mostly commands of waymark: %s is the id of the run that is looked at, %t what the check is about.
var remedies = map[Cure]string{
	ShowErrors:       "waymark errors %s",
	ShowStatus:       "waymark status %s",
	ListEffects:      "waymark effects %s",
	LookAtTriggers:   "see each with waymark triggers",
	ShowOutputs:      "see who wrote there: waymark outputs %t; restore it, or write it again with a new run",
	RestorePayload:   "restore payload %t from a backup of the payload store; waymark scrub reads all payloads",
	SealRun:          "waymark seal %s",
	VerifyRun:        "waymark verify %s",
	CheckLog:         "waymark log check",
	AttestRun:        "waymark attest %s",
	ExplainRow:       "waymark explain %s %t",
	ReproduceRun:     "waymark reproduce %s",
	OtherState:       "name another with --state",
	MakeWritable:     "make it writable for the user that runs waymark, or name another with --state",
	FixDisk:          "look at the disk",
	FreeSpace:        "free some, or name another folder with --state",
	Report:           "report this",
	RestoreBundle:    "put a copy with the recorded SHA-256 there; a folder that was moved can have a symbolic link at its old place",
	EndHolder:        "let it finish, or end it",
	FindLandscape:    "say where the record is with --landscape",
	NameLandscape:    "say with --landscape where the workers have it",
	FindPayloads:     "say where the payloads are with --payloads",
	CheckPayloads:    "say where the payloads are with --payloads, and check what may read them",
	CureOther:        "cure that first",
	LookAgain:        "look again when the machine has less to do; if that does not help, look at the disk",
	LetPurge:         "cure that: the next turn, within an hour, does what is left",
	ReviewOrder:      "two others look at it, and sign: waymark approve ORDER --review --key FILE --why TEXT",
	RestoreLog:       "put the record back; if it was restored from a backup, record that: waymark log restore --from ANCHOR --why TEXT",
	AdmitSealer:      "waymark log check names them; a process whose key does not count says so when it starts: waymark keys admit KEY --why TEXT",
	RestoreFile:      "keep a copy of the file, and put a backup in its place; without one, save what can be read: sqlite3 FILE .recover | sqlite3 NEW (docs/operations.md)",
	SealRuns:         "seal what can be sealed, and see why it was not: waymark seal --all",
	StartAttester:    "start waymark serve, or a worker with --keys, that sees the outputs, and look what it says",
	SignLog:          "start a process that has the key of the log, and look what it says",
	SetClock:         "set the clock: times on record would contradict their order",
	WriteTemporary:   "make the folder for temporary files writable",
	ReadLog:          "waymark doctor -v shows what it says",
	ReadServerLogs:   "look at the logs of the cluster",
	StopOther:        "wait for it or stop it before the next run",
	NameCluster:      "say where it is with --temporal HOST:PORT or TEMPORAL_ADDRESS",
	StartWorker:      "start one with waymark worker, or name another queue with --queue",
	StartWorkerThere: "for documents that read or write such files, start a worker here; if one sees the same files by another name, say --files NAME",
	OneVersion:       "if that is not a change of version under way, stop those of the wrong one",
	ApprovePeriods: "look at them, and propose them: waymark purge --periods --why TEXT --propose --key FILE; " +
		"or put the earlier ones back into the settings",
	StartRetaining: "start waymark serve, or a worker whose role may purge, with these settings, " +
		"and look what it says: docs/retention.md",
}
