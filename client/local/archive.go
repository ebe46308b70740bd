package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"waymark/audit/archive"
	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
)

// ArchiveRequest says which runs to archive: those that ended longer ago than Older says and cannot be resumed, or one run.
type ArchiveRequest struct {
	client.By
	Older  string // a length of time such as 1095d, or 3y; may be empty if Run is given
	Run    string // as Find understands it; empty: all that are due
	To     string // a folder, or the URL of a bucket: see docs/retention.md
	DryRun bool   // say what would be archived, and archive nothing

	AsOf time.Time // due is what was due then; zero: now

	Progress func(run ArchivedRun) // nil: nobody asks
}

// Archived is what was archived, or would be.
type Archived struct {
	DryRun  bool           `json:"dry_run,omitempty"` // nothing was archived
	Runs    []ArchivedRun  `json:"runs"`              // the one that ended first comes first; not nil
	Records int64          `json:"records"`           // that the seals of all runs that are due bind
	Held    []archive.Held `json:"held"`              // runs that are due, and held; not nil
	Left    []string       `json:"unsealed"`          // runs that are due, and not sealed: they stay; not nil

	digest string // of the ids of all runs that are due
	due    int
}

// ArchivedRun is a run that is archived, or would be.
type ArchivedRun struct {
	Run      string      `json:"run"`
	Pipeline string      `json:"pipeline"`
	Finished client.Time `json:"finished"`
	Location string      `json:"location,omitempty"`
	Bytes    int64       `json:"bytes,omitempty"`
	SHA256   string      `json:"sha256,omitempty"` // of the bundle
}

// Archive moves what is recorded of runs into bundles elsewhere, one run after the other: it exports the bundle, reads back what was written, verifies it, and then removes the
// records. Who asks about such a run later is answered from its bundle. After an error, or a crash, runs that were archived stay so, and the next one archives the others. The
// error is an *Error: of kind Invalid if the request makes no sense or there is no key that counts, Conflict if the one run cannot be archived, Damaged if a run does not fit
// its seals.
func (h *Home) Archive(ctx context.Context, r ArchiveRequest) (*Archived, error) {
	log := h.stores.Log
	if !r.DryRun {
		sealed, err := h.sealing(ctx)
		if err != nil {
			return nil, err
		}
		log = sealed
	}
	done, err := h.archive(ctx, log, r)
	return done, client.NeedsOrder(err)
}

// archive is Archive under a log.
func (h *Home) archive(ctx context.Context, log *landscape.Log, r ArchiveRequest) (*Archived, error) {
	if !r.DryRun {
		if strings.TrimSpace(r.Why) == "" {
			return nil, invalidOption(errors.New("say why the runs are archived: the reason is recorded"))
		}
		if err := archive.CheckPlace(r.To); err != nil {
			return nil, invalidOption(fmt.Errorf("where bundles are to go: %w", err))
		}
		if err := log.MayOrder(ctx, landscape.OrderArchive); err != nil { // before anything is read
			return nil, err
		}
	}
	plan, err := h.archivePlan(ctx, log, r)
	if err != nil {
		return nil, err
	}
	done := newArchived(plan)
	if done.DryRun = r.DryRun; r.DryRun {
		for _, run := range plan.Left() {
			done.Runs = append(done.Runs, ArchivedRun{Run: run.ID, Pipeline: run.Pipeline, Finished: client.Time(run.Finished)})
		}
		return done, nil
	}
	if len(plan.Left()) == 0 {
		return done, nil
	}
	archiver, err := h.archiver(ctx, log, r.To)
	if err != nil {
		return nil, err
	}
	for _, head := range plan.Left() {
		run, err := log.Run(ctx, head.ID)
		if err != nil {
			return nil, err
		}
		is, err := archiver.Archive(ctx, run, cmp.Or(r.Actor, h.Actor), r.Why)
		if err != nil {
			meanwhile, unknown := log.ArchiveOf(ctx, run.ID)
			if unknown == nil && meanwhile != nil && r.Run == "" {
				continue // by another process: that changes nothing of the others
			}
			if unknown == nil && meanwhile != nil {
				err = &landscape.ArchivedError{Archive: *meanwhile}
			}
			return nil, unarchivable(run.ID, err)
		}
		one := ArchivedRun{run.ID, run.Pipeline, client.Time(run.Finished), is.Place(), is.Bytes, is.SHA256}
		done.Runs = append(done.Runs, one)
		if r.Progress != nil {
			r.Progress(one)
		}
	}
	return done, nil
}

// archivePlan says which runs a request is about.
func (h *Home) archivePlan(ctx context.Context, log *landscape.Log, r ArchiveRequest) (*archive.Plan, error) {
	older, err := ageOf(r.Older)
	switch {
	case r.Older == "" && r.Run == "":
		err = errors.New("say which runs are to be archived: those that ended longer ago than --older, or one with --run")
	case r.Older != "" && err == nil && older <= 0:
		err = fmt.Errorf("--older %s would archive runs as soon as they end: give a period above 0, such as 3y", r.Older)
	}
	if err != nil {
		return nil, invalidOption(err)
	}
	only := ""
	if r.Run != "" {
		run, err := h.Find(ctx, r.Run)
		if err == nil && r.AsOf.IsZero() { // else the plan of then says it
			err = log.MayArchive(ctx, run.RunHead)
		}
		if err != nil {
			return nil, unarchivable(run.ID, err)
		}
		only = run.ID
	}
	asked := r.AsOf
	if asked.IsZero() {
		asked = log.Now().Time()
	}
	plan, err := archive.NewPlan(ctx, log.Reader, older, asked, only)
	if err == nil && only != "" && r.AsOf.IsZero() {
		err = stays(plan)
	}
	return plan, err
}

// stays says why the one run that is asked for stays in the landscape; nil if it does not.
func stays(plan *archive.Plan) error {
	switch {
	case len(plan.Held) > 0:
		held := plan.Held[0]
		message := fmt.Sprintf("run %s is protected by hold %d (%s): it stays", held.Run, held.Hold, held.Why)
		return &client.Error{Kind: client.Conflict, Code: client.RunHeld, Message: message, Cure: client.EndHold, Run: held.Run, Err: landscape.ErrInUse}
	case len(plan.Unsealed) > 0:
		run := plan.Unsealed[0]
		return &client.Error{Kind: client.Conflict, Code: client.RunNotSealed, Message: fmt.Sprintf("run %s is not sealed since it ended: waymark seal %s seals it", run, run), Run: run}
	}
	return nil
}

// ageOf reads a length of time as pipeline.Duration is written, or a number of years of 365 days, such as 3y; 0 of nothing.
func ageOf(word string) (time.Duration, error) {
	if word == "" {
		return 0, nil
	}
	const most = 100
	if number, ok := strings.CutSuffix(word, "y"); ok {
		var years int
		if n, err := fmt.Sscanf(number, "%d", &years); n == 1 && err == nil && years > 0 && years <= most && fmt.Sprint(years) == number {
			return time.Duration(years) * 365 * 24 * time.Hour, nil
		}
		return 0, fmt.Errorf("--older %.40q: write a number of years from 1y to %dy, or a time such as 1095d", word, most)
	}
	if strings.HasSuffix(word, "m") { // beside years, who writes it means months
		return 0, fmt.Errorf("--older %.40q would be minutes, and months have no length: write days, such as 90d, years, such as 3y, or hours, such as 1h", word)
	}
	var length pipeline.Duration
	if err := length.UnmarshalText([]byte(word)); err != nil {
		return 0, fmt.Errorf("--older: %w; or a number of years, such as 3y", err)
	}
	if time.Duration(length) > most*365*24*time.Hour {
		return 0, fmt.Errorf("--older %.40q is more than %d years", word, most)
	}
	return time.Duration(length), nil
}

func newArchived(plan *archive.Plan) *Archived {
	ids := make([]string, 0, len(plan.Runs))
	for _, run := range plan.Runs {
		ids = append(ids, run.ID)
	}
	return &Archived{
		Runs: []ArchivedRun{}, Records: plan.Records, Held: append([]archive.Held{}, plan.Held...), Left: append([]string{}, plan.Unsealed...), digest: linesDigest(ids), due: len(ids),
	}
}

// archiver returns what archives runs at a place: with the key of this process, and the trust policy of the landscape's log.
func (h *Home) archiver(ctx context.Context, log *landscape.Log, place string) (*archive.Archiver, error) {
	key, err := h.bundleKey(ctx)
	if err != nil {
		return nil, err
	}
	said, err := h.TrustPolicy(ctx)
	if err != nil {
		return nil, err
	}
	policy, err := trust.Parse(said.Policy)
	return &archive.Archiver{Log: log, Key: key, Policy: policy, Place: place}, err
}

// bundleKey returns the sealer's key that signs bundles. The error is an *Error of kind Invalid if there is none that counts.
func (h *Home) bundleKey(ctx context.Context) (keys.Key, error) {
	folder := h.options.evidence().Keys
	key, err := keys.Load(folder, keys.Sealer)
	if errors.Is(err, keys.ErrNone) {
		err = fmt.Errorf("a bundle is signed by a sealer, and %s has no sealer's key: name the folder that has it with --keys", folder)
	}
	if err != nil {
		return key, keyError(err)
	}
	why, err := evidence.Refuses(ctx, h.stores.Log.Reader, key.VKey)
	if err == nil && why != "" {
		err = keyError(fmt.Errorf("a bundle that it signs would not be trusted: %s", why))
	}
	return key, err
}

// unarchivable says who can do something about a run that cannot be archived.
func unarchivable(run string, err error) error {
	_, unverified := errors.AsType[*archive.UnverifiedError](err)
	_, before := errors.AsType[*landscape.ArchivedError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, landscape.ErrSealBroken):
		return sealBroken(run, err)
	case errors.Is(err, landscape.ErrInUse):
		return &client.Error{Kind: client.Conflict, Code: client.RunHeld, Message: err.Error(), Cure: client.EndHold, Run: run, Err: err}
	case before:
		return &client.Error{Kind: client.Conflict, Code: client.RunArchived, Message: err.Error(), Run: run, Err: err}
	case unverified:
		return &client.Error{Kind: client.Conflict, Code: client.NotArchivable, Message: err.Error(), Run: run, Err: err}
	case errors.Is(err, landscape.ErrNotEnded):
		return &client.Error{Kind: client.Conflict, Code: client.RunOpen, Message: err.Error(), Cure: client.EndRun, Run: run, Err: err}
	}
	return err
}

// archiveDeed is a guarded change to archive what was due.
type archiveDeed struct {
	home *Home
	log  *landscape.Log
	run  string            // empty for all that are due
	args map[string]string // older, to, as_of
}

// ArchiveArgs are the arguments of an order to archive what is due now, to the same place from whatever folder it is executed.
func ArchiveArgs(r ArchiveRequest) (map[string]string, error) {
	to, err := archive.Whole(r.To)
	return map[string]string{"older": r.Older, "to": to, "as_of": time.Now().UTC().Format(time.RFC3339Nano)}, err
}

func (d archiveDeed) request() (r ArchiveRequest, err error) {
	r.Older, r.Run, r.To = d.args["older"], d.run, d.args["to"]
	if r.AsOf, err = time.Parse(time.RFC3339Nano, d.args["as_of"]); err != nil {
		return r, err
	}
	if whole, err := archive.Whole(r.To); err != nil || whole != r.To {
		return r, invalidOption(errors.Join(fmt.Errorf("the order names no whole path, and %.100q is another folder wherever it is executed: propose it again", r.To), err))
	}
	return r, nil
}

// look says what was due when the order was proposed. What is archived meanwhile changes nothing of it.
func (d archiveDeed) look(ctx context.Context) (map[string]string, error) {
	r, err := d.request()
	if err != nil {
		return nil, err
	}
	r.DryRun = true
	due, err := d.home.archive(ctx, d.log, r)
	if err != nil {
		return nil, err
	}
	if due.due == 0 {
		return nil, nothingToOrder("no run is due")
	}
	return map[string]string{"runs": fmt.Sprint(due.due), "runs_sha256": due.digest, "records": fmt.Sprint(due.Records)}, nil
}

func (d archiveDeed) do(ctx context.Context, by client.By) (string, error) {
	r, err := d.request()
	if err != nil {
		return "", err
	}
	r.By = by
	done, err := d.home.archive(ctx, d.log, r)
	if err != nil || len(done.Runs) == 0 {
		return "", err
	}
	return fmt.Sprintf("archived %s", text.Count(int64(len(done.Runs)), "run")), nil
}

// finish archives what an execution left, as a part of it. Of the same moment there is nothing but what was approved.
func (d archiveDeed) finish(ctx context.Context, x *landscape.ApprovedExecution) (string, error) {
	d.log = d.log.Under(*x)
	return d.do(ctx, client.By{Actor: x.Actor, Why: "what was left of order " + x.Order[:12]})
}
