package client

import "fmt"

// Check is one thing that a doctor looked at. Nothing is changed by it.
type Check struct {
	Name   string `json:"check"` // such as "disk space"
	State  Health `json:"status"`
	Detail string `json:"detail"`          // what was found, in one sentence
	About  string `json:"about,omitempty"` // the output or payload that the cure names
	Cure   Cure   `json:"cure,omitempty"`  // empty if there is nothing to cure, or the Detail or Advice says how
	Advice string `json:"-"`               // what the service that was asked advises, in the place of a Cure
}

// Health is how a Check came out.
type Health string

// The outcomes of a Check. They are in the output of programs; never rename.
const (
	Healthy   Health = "ok"
	Doubtful  Health = "warn" // runs work, and something deserves a look
	Unhealthy Health = "fail" // runs will not work
)

// Good is a Check that found nothing wrong.
func Good(format string, args ...any) Check {
	return Check{State: Healthy, Detail: fmt.Sprintf(format, args...)}
}

// Warning is a Check that found what deserves a look.
func Warning(cure Cure, format string, args ...any) Check {
	return Check{State: Doubtful, Cure: cure, Detail: fmt.Sprintf(format, args...)}
}

// Failure is a Check that found why runs will not work.
func Failure(cure Cure, format string, args ...any) Check {
	return Check{State: Unhealthy, Cure: cure, Detail: fmt.Sprintf(format, args...)}
}

// The cures of checks, and of what opens stores.
const (
	OtherState     Cure = "other_state"      // use another state folder
	MakeWritable   Cure = "make_writable"    // make the state folder writable for this process, or use another
	FixDisk        Cure = "fix_disk"         // look at the disk
	FreeSpace      Cure = "free_space"       // free some space, or use another state folder
	Report         Cure = "report"           // report a defect of the program
	EndHolder      Cure = "end_holder"       // let the process that keeps the lock finish, or end it
	FindLandscape  Cure = "find_landscape"   // say where the landscape is
	FindPayloads   Cure = "find_payloads"    // say where the payload store is
	CheckPayloads  Cure = "check_payloads"   // say where the payload store is, and check what may read it
	ReviewOrder    Cure = "review_order"     // two other persons look at what one executed, and sign a review
	ApprovePeriods Cure = "approve_periods"  // propose the order about the periods that wait, and let others approve it
	StartRetaining Cure = "start_retaining"  // start a process that may purge, and has the periods in its settings
	LetPurge       Cure = "let_purge"        // cure what keeps what is due from being deleted
	CureOther      Cure = "cure_other"       // cure what another check found first
	LookAgain      Cure = "look_again"       // look again when the machine has less to do
	SetClock       Cure = "set_clock"        // set the clock
	WriteTemporary Cure = "write_temporary"  // make the folder for temporary files writable
	ReadLog        Cure = "read_log"         // read what the Temporal server in the program logs
	ReadServerLogs Cure = "read_server_logs" // read the logs of the cluster
	StopOther      Cure = "stop_other"       // wait for the process that uses the state folder, or stop it
	NameCluster    Cure = "name_cluster"     // say where the cluster is
	OneVersion     Cure = "one_version"      // stop the workers of the wrong version
	UsePostgres    Cure = "use_postgres"     // name a landscape in Postgres
	NameRole       Cure = "name_role"        // name a role
	RestoreLog     Cure = "restore_log"      // put the record back, or record that it was restored from a backup
	AdmitSealer    Cure = "admit_sealer"     // admit the keys of the processes that record runs
	RestoreFile    Cure = "restore_file"     // put a backup in the place of a damaged file, or save what can be read of it
	SealRuns       Cure = "seal_runs"        // seal what was not sealed when it ended
	StartAttester  Cure = "start_attester"   // start a process that attests on schedule, and look what keeps it from that
	SignLog        Cure = "sign_log"         // start a process that has the key of the log, and look what keeps it from signing
	ShowErrors     Cure = "show_errors"      // look at the rows that the run refused
	LookAtTriggers Cure = "look_at_triggers" // look at the triggers, and cure what keeps each from beginning runs
	ShowOutputs    Cure = "show_outputs"     // look who wrote to the target, and make the output again
	RestorePayload Cure = "restore_payload"  // put the payload back from a backup of the payload store
	SealRun        Cure = "seal_run"         // seal the run
	VerifyRun      Cure = "verify_run"       // verify the run: that names all that differs
	CheckLog       Cure = "check_log"        // check the landscape's log
	AttestRun      Cure = "attest_run"       // read the outputs again: that names what differs, and since when
	ExplainRow     Cure = "explain_row"      // look at what happened to the row
	ReproduceRun   Cure = "reproduce_run"    // execute the run a second time, and compare
)
