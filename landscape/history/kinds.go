package history

// kind is one kind of record that something happened with, and the event that follows from it.
type kind struct {
	table   string
	event   string   // its type
	word    string   // column whose value ends the type; empty for none
	at      string   // column with the moment; a record without one gives no event
	columns []string // that the event repeats, sorted
}

// kinds are in the order in which events of the same moment come. Stored: never rename one, never take a column away.
var kinds = []kind{
	{"starts", "start.accepted", "", "accepted_us", []string{"actor", "environment", "key", "pipeline", "schedule", "slot", "trigger", "why", "workflow"}},
	{"runs", "run.began", "", "started_us", []string{"code", "document_sha256", "environment", "link", "parent_run", "pipeline", "plan_sha256", "run_id", "version"}},
	{"resumptions", "run.resumed", "", "at_us", []string{"actor", "code", "epoch", "host", "was", "why"}},
	{"executions", "execution.began", "", "at_us", []string{"epoch", "execution", "identity", "namespace", "principal", "schedule", "workflow"}},
	{"actions", "action.", "verb", "at_us", []string{"actor", "seq", "why"}},
	{"chunks", "chunk.read", "", "read_us", []string{"chunk", "file", "first_row", "fold", "pack", "rows", "source"}},
	{"source_ends", "source.ended", "", "ended_us", []string{"chunks", "digests", "rows", "source"}},
	{"passages", "chunk.passed", "", "finished_us", []string{"chunk", "lane", "rows", "source", "worker"}},
	{refusals, "rows.refused", "", "at_us", []string{"chunk", "code", "lane", "node", "sent_to", "source"}},
	{"folds", "fold.done", "", "at_us", []string{"chunk", "fold", "held_rows", "kind", "node", "out_rows", "source"}},
	{"batches", "batch.fired", "", "fired_us", []string{"batch", "fold", "node", "path", "rows", "trigger"}},
	{effects, "effect.", "state", "changed_us", []string{"chunk", "fence", "sink", "source"}}, // of which nothing is known to have happened yet
	{effectEvents, "effect.", "event", "at_us", []string{"chunk", "fence", "sink", "source", "worker"}},
	{"policy_results", "policy.", "result", "at_us", []string{"actor", "attempt", "detail", "epoch", "figures", "policy"}},
	{"artifacts", "output.published", "", "published_us", []string{"bytes", "path", "rows", "sha256", "sink"}},
	{"run_events", "run.", "event", "at_us", []string{"detail", "seq"}},
	{"runs", "run.ended", "", "finished_us", []string{"epoch", "reason", "status"}},
	{"run_seals", "run.sealed", "", "at_us", []string{"epoch", "late", "leaves", "root", "seq"}},
	{"attestations", "attested.", "result", "at_us", []string{"actor", "changed", "equal", "looked_at", "missing", "replaced", "replaced_by", "seq", "sink", "unknown"}},
	{"sign_offs", "run.signed_off", "", "at_us", []string{"person", "role", "seal", "seq"}},
	{"approval_requests", "approval_request.proposed", "", "at_us",
		[]string{"expires_us", "person", "request_sha256", "verb"}},
	{"approvals", "approval_request.", "kind", "at_us", []string{"person", "request_sha256", "seq"}},
	{"approved_executions", "approval_request.executed", "", "at_us",
		[]string{"actor", "emergency", "persons", "request_sha256", "why"}},
}

// Tables whose records do not give one event each: refusals are counted, and the last event of an effect repeats stateColumns of its record.
const (
	refusals     = "errors"
	effects      = "effects"
	effectEvents = "effect_events"
)

var stateColumns = []string{"bytes", "kind", "ordinal", "refused", "rows", "sha256", "state"}
