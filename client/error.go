package client

// Error says why something was not done, and what the caller can do about it. Nothing was changed, unless a function says otherwise.
type Error struct {
	Kind    Kind
	Code    Code   // names the error, for programs
	Message string // one sentence, without the cure
	Cure    Cure   // empty if there is none to name
	Run     string // id of the run that the cure is about; empty for none
	Err     error  // what it is about; nil for nothing
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what the error is about.
func (e *Error) Unwrap() error { return e.Err }

// Kind classifies an Error by who can do something about it. In brackets: the exit code of the command line, the status of HTTP, and the
// code of gRPC, that say the same.
type Kind string

// The kinds.
const (
	Invalid     Kind = "invalid"     // the question is wrong (2, 400, INVALID_ARGUMENT)
	NotFound    Kind = "not_found"   // what it is about is not there (2, 404, NOT_FOUND)
	Conflict    Kind = "conflict"    // the run, or what else it is about, is in a state in which it is not possible (2, 409, FAILED_PRECONDITION)
	Busy        Kind = "busy"        // somebody works at the run: later it may be possible (1 or 5, 409, ABORTED)
	Interrupted Kind = "interrupted" // the caller wanted to stop, or what executed the run ended (130, 499, CANCELLED)
	Failed      Kind = "failed"      // something went wrong that the caller did not cause (1, 500, INTERNAL)
	Damaged     Kind = "damaged"     // what is recorded is not as it should be (4, 500, DATA_LOSS)
	Unavailable Kind = "unavailable" // a service that must do it does not answer: later it may (1, 503, UNAVAILABLE)
)

// Cure is what somebody can do about an Error, or for a run that has stopped. Each front end has its own words for it.
type Cure string

// The cures.
const (
	ListRuns          Cure = "list_runs"           // choose one of the recorded runs
	ListPipelines     Cure = "list_pipelines"      // choose one of the deployed pipelines, or of its versions
	DeployOrServe     Cure = "deploy_or_serve"     // deploy a document of this name, or serve the folder that has it
	RestorePipeline   Cure = "restore_pipeline"    // restore the retired pipeline
	DeployAnyway      Cure = "deploy_anyway"       // say why it is to be deployed nevertheless
	DeployUnready     Cure = "deploy_unready"      // remove the causes, or say why it is to be deployed nevertheless
	ListEnvironments  Cure = "list_environments"   // choose one of the environments
	SetValues         Cure = "set_values"          // give the environment these values
	PromoteVersion    Cure = "promote_version"     // promote the version from the environment where it is deployed
	ListTriggers      Cure = "list_triggers"       // choose one of the triggers of deployed pipelines
	ListArrivals      Cure = "list_arrivals"       // choose something that arrived at the trigger
	ListSchedules     Cure = "list_schedules"      // choose one of the schedules of deployed pipelines
	DeleteSchedule    Cure = "delete_schedule"     // delete the schedule that was made by command
	DeployWithout     Cure = "deploy_without"      // deploy a document without the schedule, or pause it
	CreateAnyway      Cure = "create_anyway"       // say why the schedule is to be made nevertheless
	DeployUnfit       Cure = "deploy_unfit"        // delete the schedules that do not fit, or say why the document is to be deployed nevertheless
	DeleteUnfit       Cure = "delete_unfit"        // delete the schedules that do not fit the version
	ListEffects       Cure = "list_effects"        // choose one of the run's effects
	ListPolicies      Cure = "list_policies"       // choose one of the run's policies
	WaivePolicy       Cure = "waive_policy"        // waive the policies that did not pass and resume the run
	SignOff           Cure = "sign_off"            // sign the run off in each role in which it must be, and resume it
	NameApprovers     Cure = "name_approvers"      // put the approvers file back, or say where it is
	ListEdges         Cure = "list_edges"          // choose one of the edges of the run's graph
	ProposeOrder      Cure = "propose_order"       // propose the order, so that others can approve it
	ListOrders        Cure = "list_orders"         // choose one of the orders that were proposed
	ProposeAgain      Cure = "propose_again"       // propose the order again, as things are now
	Watch             Cure = "watch"               // look how the run is, or follow it
	ShowStatus        Cure = "show_status"         // look how the run is
	StartWorker       Cure = "start_worker"        // start a worker
	StartWorkerThere  Cure = "start_worker_there"  // start a worker where the files are
	NameLandscape     Cure = "name_landscape"      // say where the landscape of the workers is
	SameLandscape     Cure = "same_landscape"      // use the landscape that the workers use
	SamePayloads      Cure = "same_payloads"       // use the payload store that the workers use
	DiagnoseAndResume Cure = "diagnose_and_resume" // look for the cause, then resume the run
	Join              Cure = "join"                // follow the run
	ServeAgain        Cure = "serve_again"         // serve the state folder again: that continues the run
	ServeOrCancel     Cure = "serve_or_cancel"     // serve the state folder again: that begins the run; or cancel it
	CancelAndRun      Cure = "cancel_and_run"      // cancel the run, which nobody begins any more, and start it again
	NameSlot          Cure = "name_slot"           // say which slot of time the run is about
	GiveParams        Cure = "give_params"         // wait until the slot is over, or give the parameters themselves instead of a slot
	NameSchedule      Cure = "name_schedule"       // say which schedule of the document is meant
	OtherPort         Cure = "other_port"          // serve Temporal on another port
	OtherPages        Cure = "other_pages"         // serve the web pages at another address, or not at all
	OtherID           Cure = "other_id"            // choose another id
	StartAnew         Cure = "start_anew"          // start a run of another file of the document
	ResumeOther       Cure = "resume_other"        // resume the run that the error is about
	ListAccess        Cure = "list_access"         // choose one of the access tokens
	ListHolds         Cure = "list_holds"          // choose one of the holds
	EndHold           Cure = "end_hold"            // end the hold
	FinishForgetting  Cure = "finish_forgetting"   // finish the order when the target can be reached, or give the target up
	RestoreBundle     Cure = "restore_bundle"      // put the bundle of the archived run back to where it was, or another copy of it
	EndRun            Cure = "end_run"             // let the run end, or cancel it permanently
	DeclareKey        Cure = "declare_key"         // declare a key of the source in the document
	CancelAgain       Cure = "cancel_again"        // when the cause is removed, cancel the run permanently once more
	Diagnose          Cure = "diagnose"            // look for the cause
	FindWorkers       Cure = "find_workers"        // find out whether workers listen
	Resume            Cure = "resume"              // resume the run
	Mend              Cure = "mend"                // remove the cause of the failure, and resume the run
	Restore           Cure = "restore"             // make the output again what the run wrote, and resume the run
	Fork              Cure = "fork"                // begin a new run of the present document in its place
	SendAgain         Cure = "send_again"          // cancel the run permanently, and send the rows of its request with another one
	CancelFinal       Cure = "cancel_final"        // cancel the run permanently: it cannot be resumed or forked
	GiveUp            Cure = "give_up"             // cancel the run permanently: another one of its trigger reads what it took
	NameSource        Cure = "name_source"         // name one of the run's sources
	NameRow           Cure = "name_row"            // ask for one of the rows by its number
	Resolve           Cure = "resolve"             // look at the target of each blocked effect, and say whether it was applied
)
