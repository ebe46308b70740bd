package landscape

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"waymark/pipeline"
	"waymark/plugin"
)

// EventKind says what happened. Stored, and known to receivers; never rename one.
type EventKind string

// The kinds of events. Those of a run that ended are run. and its status, those of a start start. and what became of it, those of a slot slot. and its
// event.
const (
	RunStarted      EventKind = "run.started"
	RunResumed      EventKind = "run.resumed"
	RunPaused       EventKind = "run.paused"
	RunContinued    EventKind = "run.continued" // after a pause
	OutputPublished EventKind = "output.published"
	OutputChanged   EventKind = "output.changed" // or removed, by others: an attestation says so

	PipelineDeployed   EventKind = "pipeline.deployed"
	PipelinePromoted   EventKind = "pipeline.promoted"
	PipelineRolledBack EventKind = "pipeline.rolled_back"
	PipelineRetired    EventKind = "pipeline.retired"
	PipelineRestored   EventKind = "pipeline.restored"

	SchedulePaused  EventKind = "schedule.paused"
	ScheduleResumed EventKind = "schedule.resumed"

	EndpointFailing  EventKind = "endpoint.failing"  // an event is dead
	EndpointDisabled EventKind = "endpoint.disabled" // it took nothing for days
)

func runEnded(status pipeline.RunStatus) EventKind { return EventKind("run." + string(status)) }

func startEvent(state StartState) EventKind { return EventKind("start." + string(state)) }

func slotEvent(event string) EventKind { return EventKind("slot." + event) }

// endings are how a run may end.
var endings = []pipeline.RunStatus{
	pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty, pipeline.Blocked, pipeline.Failed, pipeline.Interrupted, pipeline.Cancelled,
}

// EventKinds returns every kind of event, in the order of docs/webhooks.md.
func EventKinds() []EventKind {
	kinds := []EventKind{
		startEvent(StartRefused), startEvent(StartWaiting), startEvent(StartSkipped), startEvent(StartSuperseded), startEvent(StartCancelled),
		RunStarted, RunPaused, RunContinued, RunResumed, OutputPublished,
	}
	for _, status := range endings {
		kinds = append(kinds, runEnded(status))
	}
	return append(kinds, OutputChanged, slotEvent(SlotLate), slotEvent(SlotRecovered), slotEvent(string(SlotMissed)),
		PipelineDeployed, PipelinePromoted, PipelineRolledBack, PipelineRetired, PipelineRestored, SchedulePaused, ScheduleResumed, EndpointFailing, EndpointDisabled)
}

// Status returns how a run ended, of which an event of the kind tells; empty if it tells something else.
func (k EventKind) Status() pipeline.RunStatus {
	for _, status := range endings {
		if k == runEnded(status) {
			return status
		}
	}
	return ""
}

// CheckEventKind says what is wrong with a word for a kind of event; nil if it is one.
func CheckEventKind(word string) error {
	if slices.Contains(EventKinds(), EventKind(word)) {
		return nil
	}
	return fmt.Errorf("%.64q is no kind of event: docs/webhooks.md lists them, such as %s and %s", word, runEnded(pipeline.Completed), OutputPublished)
}

// Where the events of an epoch of a run come in it. What an epoch begins with is 0 or 1; a run may be cancelled after it stopped, and then permanently.
const (
	stepAsked = iota
	stepBegun
	stepWorking
	stepEnded
	stepCancelled
	stepFinal
	stepCount // how many there are
)

// mostEventText is how many bytes of a name an event tells: what somebody sent as one may have any length.
const mostEventText = 200

// eventText is a text that an event tells, as JSON has it: cut if it is longer than any name that is in use.
type eventText string

// MarshalText returns the text, cut.
func (t eventText) MarshalText() ([]byte, error) {
	if len(t) <= mostEventText {
		return []byte(t), nil
	}
	cut := mostEventText
	for !utf8.RuneStart(t[cut]) {
		cut--
	}
	return []byte(t[:cut] + "…"), nil
}

// eventBody is what receivers get.
type eventBody struct {
	Type      EventKind `json:"type"`
	Timestamp string    `json:"timestamp"`
	Data      eventData `json:"data"`
}

// eventData is what an event says: names, ids, counts and digests. A reason is not among them, since it may hold values of rows.
type eventData struct {
	Run         eventText `json:"run,omitempty"`
	Pipeline    eventText `json:"pipeline,omitempty"`
	Version     int64     `json:"version,omitempty"`     // of the deployed pipeline; left out for a file
	Environment eventText `json:"environment,omitempty"` // left out for a file
	Trigger     eventText `json:"trigger,omitempty"`
	Schedule    eventText `json:"schedule,omitempty"`
	Slot        eventText `json:"slot,omitempty"`
	Epoch       int64     `json:"epoch,omitempty"` // how often the run was resumed
	Final       bool      `json:"final,omitempty"` // nobody may resume it
	Rows        *int64    `json:"rows_read,omitempty"`
	Refused     *int64    `json:"rows_refused,omitempty"`
	Output      any       `json:"output,omitempty"`  // eventOutput or eventChange
	Refusal     eventText `json:"refusal,omitempty"` // type of the error for which a start was refused
	Before      int64     `json:"version_before,omitempty"`
	Actor       eventText `json:"actor,omitempty"`    // who deployed, or paused a schedule
	Endpoint    eventText `json:"endpoint,omitempty"` // that fails
	Position    int64     `json:"position,omitempty"` // of the first event that is dead
}

// eventOutput is what an event says of an output.
type eventOutput struct {
	Sink   eventText `json:"sink"`
	Rows   int64     `json:"rows"`
	Bytes  int64     `json:"bytes"`
	SHA256 string    `json:"sha256,omitempty"`
}

// eventChange is what an event says of an output that others changed or removed.
type eventChange struct {
	Sink        eventText    `json:"sink"`
	Result      plugin.State `json:"result"`
	Attestation int64        `json:"attestation"` // of those of the run
	Unit        string       `json:"unit"`        // what is counted
	LookedAt    int64        `json:"looked_at"`
	Changed     int64        `json:"changed"`
	Missing     int64        `json:"missing"`
}

// newEvent returns an event of something that happened to a subject at a moment. which tells it from others of its kind.
func newEvent(kind EventKind, subject, which string, seq int64, at Micros, data eventData) Event {
	at = max(at, 1)
	about := string(kind) + "/" + subject + which
	body, err := json.Marshal(eventBody{kind, at.Time().UTC().Format(time.RFC3339Nano), data})
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return Event{
		About: about, ID: eventID(about, at), Kind: kind, Subject: subject, Seq: seq, Run: string(data.Run), Pipeline: string(data.Pipeline),
		Environment: string(data.Environment), Body: string(body), At: at,
	}
}

// eventID returns the UUIDv7 of an event. It follows from what happened and when, so that it is the same if the event is recorded again.
func eventID(about string, at Micros) string {
	digest := sha256.Sum256([]byte(fmt.Sprintf("%d %s", at, about)))
	var id uuid.UUID
	copy(id[6:], digest[:])
	for i, ms := 5, int64(at)/1000; i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id.String()
}

// runEvent returns an event of a run in its epoch; which tells it from others of its kind there.
func runEvent(kind EventKind, run RunHead, step int64, which string, at Micros, more eventData) Event {
	more.Run, more.Pipeline, more.Version, more.Environment = eventText(run.ID), eventText(run.Pipeline), run.Version, eventText(run.Environment)
	more.Epoch = run.Epoch
	if which != "" {
		which = "/" + which
	}
	return newEvent(kind, run.ID, fmt.Sprintf("/%d%s", run.Epoch, which), run.Epoch*stepCount+step, at, more)
}

// endEvent returns the event of a run that ended. progress is nil if its rows were not counted.
func endEvent(run RunHead, progress *Progress, at Micros) Event {
	data, step, which := eventData{Final: run.Final}, int64(stepEnded), ""
	if progress != nil {
		data.Rows, data.Refused = &progress.Rows, &progress.Failed
	}
	switch {
	case run.Final:
		step, which = stepFinal, "final"
	case run.Status == pipeline.Cancelled:
		step = stepCancelled
	}
	return runEvent(runEnded(run.Status), run, step, which, at, data)
}

// event returns the event of a start that was decided; there is none of one that was accepted or begun.
func (s Start) event(at Micros) Event {
	return newEvent(startEvent(s.State), s.Run, fmt.Sprintf("/%d", s.Seq), stepAsked, at, eventData{
		Run: eventText(s.Run), Pipeline: eventText(s.Pipeline), Environment: eventText(s.Environment), Trigger: eventText(s.Trigger), Schedule: eventText(s.Schedule),
		Slot: eventText(s.Slot), Refusal: eventText(s.Refusal),
	})
}

// outputEvent returns the event of an output that was published.
func outputEvent(run RunHead, a ArtifactRecord) Event {
	output := eventOutput{eventText(a.Sink), a.Rows, a.Bytes, a.SHA256}
	return runEvent(OutputPublished, run, stepWorking, a.Sink, a.Published, eventData{Output: output})
}

// changeEvent returns the event of an output that an attestation found changed or removed. It comes after all that the run did.
func changeEvent(run RunHead, a Attestation) Event {
	change := eventChange{eventText(a.Sink), a.Result, a.Seq, a.Unit, a.LookedAt, a.Changed, a.Missing}
	return runEvent(OutputChanged, run, stepFinal, fmt.Sprintf("%d/%s", a.Seq, a.Sink), a.At, eventData{Output: change})
}

// orderEvents returns the event of an order that somebody gave to a run, for those that receivers are told of; nil for others.
func (l *Log) orderEvents(ctx context.Context, a Action) ([]Record, error) {
	kind := map[string]EventKind{VerbPause: RunPaused, VerbContinue: RunContinued}[a.Verb]
	if kind == "" {
		return nil, nil
	}
	run, err := get[RunHead](ctx, l, a.Run)
	if err != nil {
		return nil, err
	}
	return []Record{runEvent(kind, run, stepWorking, fmt.Sprint(a.Seq), a.At, eventData{})}, nil
}

// event returns the event of a change of a slot; false if receivers are not told of it.
func (e SlotEvent) event() (Event, bool) {
	if !slices.Contains([]string{SlotLate, SlotRecovered, string(SlotMissed)}, e.Event) {
		return Event{}, false
	}
	environment, name := pipelineOf(e.Schedule)
	return newEvent(slotEvent(e.Event), "slot/"+e.Schedule+"/"+e.Slot, fmt.Sprintf("/%d", e.Seq), e.Seq, e.At, eventData{
		Run: eventText(e.Run), Pipeline: eventText(name), Environment: eventText(environment), Schedule: eventText(e.Schedule), Slot: eventText(e.Slot),
	}), true
}

// pipelineOf returns the environment and the pipeline of a schedule with an id.
func pipelineOf(schedule string) (environment, name string) {
	environment, rest, _ := strings.Cut(schedule, "/")
	name, _, _ = strings.Cut(rest, "/")
	return environment, name
}

var deploymentEvents = map[DeploymentAction]EventKind{
	Deploy: PipelineDeployed, Promote: PipelinePromoted, Rollback: PipelineRolledBack, Retire: PipelineRetired, Restore: PipelineRestored,
}

// event returns the event of a deployment.
func (d Deployment) event() Event {
	return newEvent(deploymentEvents[d.Action], "pipeline/"+d.Environment+"/"+d.Pipeline, fmt.Sprintf("/%d", d.Seq), d.Seq, d.At, eventData{
		Pipeline: eventText(d.Pipeline), Environment: eventText(d.Environment), Version: d.Version, Before: d.Before, Actor: eventText(d.Actor),
	})
}

// event returns the event of a change of a schedule; false if receivers are not told of it.
func (s Schedule) event() (Event, bool) {
	kind, told := map[ScheduleAction]EventKind{PauseSchedule: SchedulePaused, ResumeSchedule: ScheduleResumed}[s.Action]
	if !told {
		return Event{}, false
	}
	return newEvent(kind, "schedule/"+s.ID, fmt.Sprintf("/%d", s.Seq), s.Seq, s.At, eventData{
		Pipeline: eventText(s.Pipeline), Environment: eventText(s.Environment), Schedule: eventText(s.ID), Version: s.Version, Actor: eventText(s.Actor),
	}), true
}

// event returns an event about an endpoint. number tells it from others of its kind.
func (e Endpoint) event(kind EventKind, number int64, at Micros) Event {
	data := eventData{Endpoint: eventText(e.Name)}
	if kind == EndpointFailing {
		data.Position = number
	}
	return newEvent(kind, "endpoint/"+e.Name, fmt.Sprintf("/%d/%d", number, at), int64(at), at, data)
}
