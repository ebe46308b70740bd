package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// PurgeRequest says which payloads to purge: those of runs that ended longer ago than Keep says of their class.
type PurgeRequest struct {
	By
	Keep   map[landscape.Class]string // lengths of time such as 400d; a class that is not there, or has none, is kept for ever
	DryRun bool                       // say what would be purged, and purge nothing
	Finish bool                       // no other process purges: what an earlier one began is finished at once, however short ago that was

	AsOf     time.Time // due is what was due then; zero: now
	Continue int64     // the order that is continued: it was begun and not carried out to its end; 0: a new one

	Progress func(done, total int) // nil: nobody asks
}

// Purge is what was purged, or would be.
type Purge struct {
	retain.Result
	DryRun bool          `json:"dry_run,omitempty"` // nothing was purged: Deleted and Bytes are what would be
	Runs   []PurgedRun   `json:"runs"`              // whose payloads it is about; not nil
	Shared int           `json:"shared"`            // payloads that are due, and stay because other runs need them
	Longer int           `json:"longer,omitempty"`  // runs that would be due, but that their documents keep longer
	Held   []retain.Held `json:"held"`              // runs that are due, and held; not nil
	SHA256 string        `json:"payloads_sha256"`   // of the digests of the payloads that are due, sorted, each with a line end
	At     Time          `json:"at"`
}

// RunCount returns how many runs it is about. One with payloads of several classes counts once.
func (p *Purge) RunCount() int64 {
	return distinct(p.Runs, func(run PurgedRun) string { return run.Run })
}

// distinct returns how many names things have.
func distinct[T any](things []T, name func(T) string) int64 {
	names := map[string]bool{}
	for _, thing := range things {
		names[name(thing)] = true
	}
	return int64(len(names))
}

// PurgedRun is a run of which payloads of a class are purged.
type PurgedRun struct {
	Run   string          `json:"run"`
	Class landscape.Class `json:"class"`
	Due   Time            `json:"due"`
}

// Purge deletes payloads that are due, and records who did so, and why. Records, hashes, ways and documents stay. Runs, and everything that uses
// the record and the payloads, may go on beside it. After an error, or a crash, the next one finishes what was begun. The error is an *Error of kind
// Invalid if the request makes no sense.
func (c *Client) Purge(ctx context.Context, request PurgeRequest) (purge *Purge, err error) {
	defer c.edge(ctx, &err)
	rules, err := request.rules()
	if err == nil && !request.DryRun {
		err = request.giveWhy()
	}
	if err == nil && !request.DryRun && request.Continue == 0 && len(rules) > 0 {
		err = c.log.MayOrder(ctx, landscape.OrderPurge) // before anything is read
	}
	if err != nil {
		return nil, err
	}
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return nil, err
	}
	if request.AsOf.IsZero() {
		request.AsOf = c.log.Now().Time()
	}
	plan, err := retain.NewPlan(ctx, c.log.Reader, rules, request.AsOf)
	if err != nil {
		return nil, err
	}
	purge = newPurge(plan, c.log.Now())
	if request.DryRun {
		purge.DryRun, purge.Deleted = true, len(plan.Payloads)
		purge.Bytes, err = bytesOf(ctx, deposit.Payloads, plan.Payloads)
		return purge, err
	}
	purger := retain.Purger{Log: c.log, Payloads: deposit.Payloads, Progress: request.Progress}
	if request.Finish {
		purger.Patience = -1
	}
	order := landscape.Purge{ID: request.Continue, Actor: request.or(c.Actor).Actor, Why: request.Why, Rules: rules.String()}
	purge.Result, err = purger.Purge(ctx, plan, order)
	purge.At = Time(c.log.Now())
	return purge, err
}

func (r PurgeRequest) rules() (retain.Rules, error) {
	rules := retain.Rules{}
	for class, text := range r.Keep {
		if !slices.Contains(landscape.Classes, class) {
			return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf("%.64q is no class of payloads: write source or derived", class)}
		}
		if err := rules.Set(class, text); err != nil {
			return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf("how long payloads of the class %s are kept: %v", class, err), Err: err}
		}
	}
	return rules, nil
}

func newPurge(plan *retain.Plan, now landscape.Micros) *Purge {
	digests := sha256.Sum256([]byte(strings.Join(append(slices.Sorted(slices.Values(plan.Payloads)), ""), "\n")))
	purge := &Purge{
		SHA256: hex.EncodeToString(digests[:]),
		Runs:   []PurgedRun{},
		Shared: plan.Shared,
		Longer: plan.Longer,
		Held:   append([]retain.Held{}, plan.Held...),
		At:     Time(now),
	}
	for _, run := range plan.Runs {
		purge.Runs = append(purge.Runs, PurgedRun{run.Run, run.Class, Time(run.Due)})
	}
	return purge
}

// bytesOf returns how many bytes some payloads have. One that is not there has none.
func bytesOf(ctx context.Context, payloads *payload.Store, digests []string) (total int64, err error) {
	for _, digest := range digests {
		bytes, err := payloads.Size(ctx, payload.Digest(digest))
		if err != nil && !errors.Is(err, payload.ErrNotFound) {
			return total, err
		}
		total += bytes
	}
	return total, nil
}

// HoldRequest says what is held: one run, or the runs of a pipeline that began in a time.
type HoldRequest struct {
	By
	Run         string // as Find understands it; or empty
	Pipeline    string // or empty
	From, Until time.Time
}

// Hold is a hold on record.
type Hold struct {
	ID       int64  `json:"hold"`
	Run      string `json:"run,omitempty"`
	Pipeline string `json:"pipeline,omitempty"`
	From     Time   `json:"from,omitzero"`
	Until    Time   `json:"until,omitzero"`
	Runs     int64  `json:"runs"` // that are recorded, and that it is about
	Actor    string `json:"actor"`
	Why      string `json:"why"`
	At       Time   `json:"at"`
	Ended    Time   `json:"ended,omitzero"`
	EndedBy  string `json:"ended_by,omitempty"`
	EndedWhy string `json:"ended_why,omitempty"`
}

// AddHold records a hold: from then on no payload that one of its runs needs is purged, whatever the rules say. The error is an *Error of kind Invalid
// if the request makes no sense.
func (c *Client) AddHold(ctx context.Context, request HoldRequest) (hold *Hold, err error) {
	defer c.edge(ctx, &err)
	if err := request.giveWhy(); err != nil {
		return nil, err
	}
	record := landscape.Hold{Pipeline: request.Pipeline, Actor: request.or(c.Actor).Actor, Why: request.Why}
	switch ranged := !request.From.IsZero() || !request.Until.IsZero(); {
	case (request.Run == "") == (request.Pipeline == ""):
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: "a hold is about one run, or about the runs of a pipeline: name one of the two"}
	case request.Run != "" && ranged:
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: "a hold of one run has no beginning and no end: name a pipeline"}
	case !request.Until.IsZero() && !request.From.Before(request.Until):
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: "a hold ends after its beginning"}
	case request.Pipeline != "" && pipeline.CheckName(request.Pipeline) != nil:
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: fmt.Sprintf("%.64q cannot be a pipeline: %v", request.Pipeline, pipeline.CheckName(request.Pipeline))}
	}
	if request.Run != "" {
		run, err := c.Find(ctx, request.Run)
		if err != nil {
			return nil, err
		}
		record.Run = run.ID
	}
	if !request.From.IsZero() {
		record.From = landscape.MicrosOf(request.From)
	}
	if !request.Until.IsZero() {
		record.Until = landscape.MicrosOf(request.Until)
	}
	if record, err = c.log.AddHold(ctx, record); err != nil {
		return nil, err
	}
	hold = holdOf(record, landscape.HoldEnd{})
	return hold, c.countHeld(ctx, []landscape.Hold{record}, func(int) { hold.Runs++ })
}

// EndHold records that a hold has ended; changed is false of one that had ended before, and stays as it is. The error is an *Error of
// kind NotFound if there is none with this number.
func (c *Client) EndHold(ctx context.Context, id int64, by By) (changed bool, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return false, err
	}
	holds, ended, err := c.log.Holds(ctx)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(holds, func(h landscape.Hold) bool { return h.ID == id }) {
		return false, &Error{Kind: NotFound, Code: HoldNotFound, Message: fmt.Sprintf("there is no hold %d", id), Cure: ListHolds}
	}
	if _, ok := ended[id]; ok {
		return false, nil
	}
	return true, c.log.EndHold(ctx, id, by.or(c.Actor).Actor, by.Why)
}

// Holds returns all holds, by number; not nil.
func (c *Client) Holds(ctx context.Context) (holds []Hold, err error) {
	defer c.edge(ctx, &err)
	records, ended, err := c.log.Holds(ctx)
	holds = make([]Hold, len(records))
	for i, record := range records {
		holds[i] = *holdOf(record, ended[record.ID])
	}
	if err != nil || len(holds) == 0 {
		return holds, err
	}
	return holds, c.countHeld(ctx, records, func(i int) { holds[i].Runs++ })
}

// countHeld calls count with the index of each hold, once for each recorded run that it is about.
func (c *Client) countHeld(ctx context.Context, holds []landscape.Hold, count func(i int)) error {
	return c.log.RunHeads(ctx, func(run landscape.RunHead) bool {
		for i, hold := range holds {
			if hold.Holds(run) {
				count(i)
			}
		}
		return true
	})
}

func holdOf(h landscape.Hold, end landscape.HoldEnd) *Hold {
	return &Hold{
		ID: h.ID, Run: h.Run, Pipeline: h.Pipeline, From: Time(h.From), Until: Time(h.Until), Actor: h.Actor, Why: h.Why, At: Time(h.At),
		Ended: Time(end.At), EndedBy: end.Actor, EndedWhy: end.Why,
	}
}

// Purged says that payloads of a run were purged, by whom and why; nothing if all are stored.
func (c *Client) Purged(ctx context.Context, run string) (told string, err error) {
	defer c.edge(ctx, &err)
	purged, err := c.log.FirstPurged(ctx, run)
	if err != nil || purged == nil {
		return "", err
	}
	return "its records were " + purged.String(), nil
}
