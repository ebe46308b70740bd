package client

// Code names an Error, for programs: what it means never changes, while messages get better. Each code has one Kind.
type Code string

// The codes. Programs test them; never rename. docs/codes.md lists them.
const (
	AmbiguousRow        Code = "AMBIGUOUS_ROW"         // several rows have the key
	AmbiguousRun        Code = "AMBIGUOUS_RUN"         // several runs have ids that begin like that
	AmbiguousSchedule   Code = "AMBIGUOUS_SCHEDULE"    // several pipelines have a schedule of this name
	InvalidDocument     Code = "INVALID_DOCUMENT"      // the document has problems, or cannot be read
	InvalidEffect       Code = "INVALID_EFFECT"        // no effect can have this id
	InvalidInput        Code = "INVALID_INPUT"         // workers cannot start a run with this input
	InvalidKey          Code = "INVALID_KEY"           // a key of the landscape's log cannot be used, made, admitted or revoked
	InvalidLandscape    Code = "INVALID_LANDSCAPE"     // the URL names no landscape or payload store, or the file is none
	InvalidOption       Code = "INVALID_OPTION"        // an option has a value that it does not take
	InvalidQuestion     Code = "INVALID_QUESTION"      // the question makes no sense for the run
	InvalidRequest      Code = "INVALID_REQUEST"       // the request lacks something, or contradicts itself
	InvalidRun          Code = "INVALID_RUN"           // no run can have this id
	SourceUnusable      Code = "SOURCE_UNUSABLE"       // a source cannot be read as the document declares it
	InvalidStateFolder  Code = "INVALID_STATE_FOLDER"  // the state folder cannot be made, or is too deep
	NotReady            Code = "NOT_READY"             // no run of the version could read or write what it names
	EffectNotFound      Code = "EFFECT_NOT_FOUND"      // the run has no such effect
	HoldNotFound        Code = "HOLD_NOT_FOUND"        // no hold has this number
	LandscapeNotFound   Code = "LANDSCAPE_NOT_FOUND"   // there is no landscape
	LogNotFound         Code = "LOG_NOT_FOUND"         // the landscape's log has not begun
	PayloadsNotFound    Code = "PAYLOADS_NOT_FOUND"    // there is no payload store
	OutputNotFound      Code = "OUTPUT_NOT_FOUND"      // no run wrote to the target
	RowNotFound         Code = "ROW_NOT_FOUND"         // the run has no such row
	PipelineNotFound    Code = "PIPELINE_NOT_FOUND"    // no such pipeline is deployed, or it has no such version
	PipelineRetired     Code = "PIPELINE_RETIRED"      // no run of the pipeline may start, and no version of it becomes current
	EnvironmentNotFound Code = "ENVIRONMENT_NOT_FOUND" // no such environment has values or pipelines
	ScheduleNotFound    Code = "SCHEDULE_NOT_FOUND"    // no deployed pipeline has such a schedule
	StartRefused        Code = "START_REFUSED"         // the run did not begin: its start was refused, or called off
	RunNotFound         Code = "RUN_NOT_FOUND"         // there is no such run, or none at all
	DependencyChanged   Code = "DEPENDENCY_CHANGED"    // a source, the plan, or what is stored of the run is not what it was when it began
	DocumentChanged     Code = "DOCUMENT_CHANGED"      // the document's file is not what it was when the run began
	DocumentMissing     Code = "DOCUMENT_MISSING"      // the document's file is gone
	EventChainBroken    Code = "EVENT_CHAIN_BROKEN"    // lines are not the events that were written
	SnapshotDiffers     Code = "SNAPSHOT_DIFFERS"      // events do not lead to the snapshot that they were compared with
	EffectNotBlocked    Code = "EFFECT_NOT_BLOCKED"    // the effect is not blocked, or was resolved otherwise
	NotExecuted         Code = "NOT_EXECUTED"          // nobody executes the run
	NotExportable       Code = "NOT_EXPORTABLE"        // the run has not ended
	NotForkable         Code = "NOT_FORKABLE"          // the run retries records of another one
	NotReproducible     Code = "NOT_REPRODUCIBLE"      // the run is not complete, its plan needs what is not here, or the clock ended batches of it
	NotResumable        Code = "NOT_RESUMABLE"         // the run is complete, was cancelled permanently, or a person must decide first
	NotRetryable        Code = "NOT_RETRYABLE"         // the quarantined records cannot be retried
	NotTriable          Code = "NOT_TRIABLE"           // the run is not complete, or its records are not stored any more
	ValuesMissing       Code = "VALUES_MISSING"        // the environment has no values that the version needs
	NothingBefore       Code = "NOTHING_BEFORE"        // no other version of the pipeline was current before
	RunElsewhere        Code = "RUN_ELSEWHERE"         // the run's files are not those that the worker sees
	RunEnded            Code = "RUN_ENDED"             // the run is complete: there is nothing to cancel
	RunExists           Code = "RUN_EXISTS"            // a run with this id is recorded
	RunReplaced         Code = "RUN_REPLACED"          // another run has the place of the run
	RunSkipped          Code = "RUN_SKIPPED"           // the run did not begin, because others have its place: its document says so
	QueueFull           Code = "QUEUE_FULL"            // as many runs wait for places as may
	QueueTimeout        Code = "QUEUE_TIMEOUT"         // the run has waited for places for as long as it may
	HolderGone          Code = "HOLDER_GONE"           // a run that nobody executes holds the places of the run, or comes before it
	NoSuchSlots         Code = "NO_SUCH_SLOTS"         // no slot is in a state in which it can be done
	ScheduleExists      Code = "SCHEDULE_EXISTS"       // there is a schedule of this name
	ScheduleOfDocument  Code = "SCHEDULE_OF_DOCUMENT"  // the schedule is one of the pipeline's document: no command deletes it
	ScheduleRemoved     Code = "SCHEDULE_REMOVED"      // the current version of the pipeline does not have the schedule, or somebody deleted it
	StateDiverged       Code = "STATE_DIVERGED"        // the record contradicts the run's history
	CommandRefused      Code = "COMMAND_REFUSED"       // the run refuses the command in the state that it is in
	RunBusy             Code = "RUN_BUSY"              // somebody executes the run
	RunSuperseded       Code = "RUN_SUPERSEDED"        // another process resumed the run
	StateFolderBusy     Code = "STATE_FOLDER_BUSY"     // another process executes runs in the state folder
	NoAnswer            Code = "NO_ANSWER"             // what executes the run did not obey in time; it may yet
	PagesUnavailable    Code = "PAGES_UNAVAILABLE"     // Temporal's web pages cannot be served at the address
	NoWorker            Code = "NO_WORKER"             // no worker listens on the queue
	RunWaiting          Code = "RUN_WAITING"           // the run's workflow is open, and no worker has recorded the run yet
	StagedRemains       Code = "STAGED_REMAINS"        // the run is cancelled permanently, and what it staged could not be removed
	HomeClosed          Code = "HOME_CLOSED"           // what executed the runs of this process was closed
	StateUnwritable     Code = "STATE_UNWRITABLE"      // this process may not write in the state folder
	StorageUnavailable  Code = "STORAGE_UNAVAILABLE"   // the service that has the landscape or the payloads cannot be used
	TemporalUnavailable Code = "TEMPORAL_UNAVAILABLE"  // the Temporal server does not answer
	RunFailed           Code = "RUN_FAILED"            // the run ended before it was recorded, or resumed
	OutcomeNotRecorded  Code = "OUTCOME_NOT_RECORDED"  // the run ended, and that could not be recorded
	ExecutorGone        Code = "EXECUTOR_GONE"         // the process that executed the run, or was to begin it, ended
	Stopped             Code = "STOPPED"               // the caller stopped it
	LogForked           Code = "LOG_FORKED"            // the landscape's log has other entries than a head that was signed
	LogRolledBack       Code = "LOG_ROLLED_BACK"       // the landscape's log has fewer entries than a head that was signed: an older record is in its place
	RunNotSealed        Code = "RUN_NOT_SEALED"        // the run cannot be sealed: it is running, or an earlier release began it
	SealBroken          Code = "SEAL_BROKEN"           // the records of the run are not those that its last seal binds
	RecordIncomplete    Code = "RECORD_INCOMPLETE"     // the record of the row cannot be read as rows
)
