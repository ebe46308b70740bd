package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"waymark/activities"
	"waymark/audit/evidence"
	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/pipeline"
)

// SignOffRequest says who signs off which run, as what, and what that means.
type SignOffRequest struct {
	Run     string // as Find understands it
	Role    string
	Meaning string
	Key     string // file with the person's SSH key: a private one, or the public one of a key that the ssh-agent has

	Ask func(what string) ([]byte, error) // for the passphrase of the key
}

// SignedOff is a run that was signed off now.
type SignedOff struct {
	Run   string `json:"run"`
	Entry int64  `json:"entry"` // of the landscape's log
	persons.SignOff

	Doubts  []string `json:"doubts,omitempty"` // about the run, that were shown before the person signed; nil if there are none
	Awaited []string `json:"awaits,omitempty"` // roles in which the run must still be signed off before it publishes its outputs
	Ready   bool     `json:"ready,omitempty"`  // it waited for signatures, and has them all: resume it

	number int // of the sign-off
}

// SignOff lets a person sign the root of a run's seal and the digests of its outputs, after the record of the run was compared with its seals, and records that with
// an entry of the log. The error is an *Error: of kind Invalid if the key is none of an approver's, or the role or meaning cannot be; of kind Conflict if
// the run is running or not sealed, or the person has signed it in this role; of kind Damaged if the record does not fit its seals.
func (h *Home) SignOff(ctx context.Context, r SignOffRequest) (*SignedOff, error) {
	run, err := h.Find(ctx, r.Run)
	if err != nil {
		return nil, err
	}
	log, err := h.witnessing(ctx)
	if err != nil {
		return nil, err
	}
	sealed, err := h.signable(ctx, run)
	if err != nil {
		return nil, err
	}
	key, by, approvers, err := h.signer(r, h.stores.Log.Now().Time())
	if err != nil {
		return nil, err
	}
	outputs, err := landscape.Select[landscape.ArtifactRecord](ctx, log, run.ID)
	if err != nil {
		return nil, err
	}
	statement, err := persons.NewStatement(run, sealed, outputs, r.Role, r.Meaning, by, approvers.SHA256, h.stores.Log.Now().Time())
	if err != nil {
		return nil, notSignable(err)
	}
	doubts, err := h.doubts(ctx, run, statement)
	if err != nil {
		return nil, err
	}
	uncompared, err := h.compareStages(ctx, run)
	if err != nil {
		return nil, err
	}
	doubts = append(doubts, uncompared...)
	for _, doubt := range doubts {
		h.options.Warn(doubt)
	}
	void, err := h.void(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	record, err := h.sign(ctx, statement, by, key, void)
	if err == nil {
		record, err = log.RecordSignOff(ctx, record, void...)
	}
	if err != nil {
		return nil, signedBefore(run.ID, err)
	}
	signed, err := h.signedOff(ctx, record)
	if err != nil {
		return nil, err
	}
	signed.Doubts = doubts
	return signed, h.addRelease(ctx, run, signed)
}

// void returns the numbers of a run's sign-offs that do not count, and so are in nobody's way; nil if all do.
func (h *Home) void(ctx context.Context, run string) (numbers []int64, err error) {
	all, err := h.SignOffs(ctx, run)
	for i, s := range all {
		if s.Problem != "" {
			numbers = append(numbers, int64(i))
		}
	}
	return numbers, err
}

// addRelease says what a sign-off does for a run that waits for some.
func (h *Home) addRelease(ctx context.Context, run landscape.Run, signed *SignedOff) error {
	release, err := h.Release(ctx, run)
	if err != nil || client.Complete(run.Status) {
		return err
	}
	signed.Awaited = release.Awaited()
	signed.Ready = signed.Awaited == nil && activities.AwaitsSignOff(run.Reason)
	if signed.number < len(release.SignOffs) {
		signed.NoRelease = release.SignOffs[signed.number].NoRelease
	}
	return nil
}

// doubts returns what a person should know of a run before signing that it is fit for something; nil if there is nothing. It forbids nothing: a person may sign
// that a run was rejected.
func (h *Home) doubts(ctx context.Context, run landscape.Run, about persons.Statement) (told []string, err error) {
	if !client.Complete(run.Status) && !activities.AwaitsSignOff(run.Reason) {
		told = append(told, fmt.Sprintf("run %s is not complete: it is %s", run.ID, run.Status))
	}
	policies, err := h.stores.Log.Policies(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	for _, p := range policies {
		_, isRole := strings.CutPrefix(p.Policy, pipeline.SignOffPolicy)
		switch {
		case p.Last == nil || p.Last.Result == landscape.PolicyPassed:
		case isRole && p.Last.Result == landscape.PolicyFailed:
		default:
			told = append(told, fmt.Sprintf("the policy %s of run %s: %s", p.Policy, run.ID, p.Last.Result))
		}
	}
	effect, err := h.effect(ctx, run, about)
	if err != nil {
		return nil, err
	}
	told = append(told, effect...)
	attestations, err := h.stores.Log.Attestations(ctx, run.ID)
	if looks := evidence.ByNumber(attestations); looks != nil {
		last := looks[len(looks)-1]
		if worst := landscape.WorstResult(last); worst != landscape.WorstResult(nil) {
			told = append(told, fmt.Sprintf("the newest attestation of run %s, of %s, found its outputs %s: waymark attest %s looks again", run.ID, last[0].At.Time().UTC().Format("2006-01-02 15:04:05 MST"), worst, run.ID))
		}
	}
	return told, err
}

// effect tells what a signature does for a run that publishes nothing until it is signed off; nil if it does nothing that the person would not expect.
func (h *Home) effect(ctx context.Context, run landscape.Run, about persons.Statement) (told []string, err error) {
	release, err := h.Release(ctx, run)
	if err != nil || release.Roles == nil && !release.Early || client.Complete(run.Status) {
		return nil, err
	}
	of := slices.IndexFunc(release.Roles, func(r client.Role) bool { return r.Role == about.Role })
	as := slices.IndexFunc(release.Roles, func(r client.Role) bool { return r.Person == about.Person && r.Role != about.Role })
	switch {
	case release.Early:
		told = append(told, fmt.Sprintf("your signature does not count for the release: the rows of run %s are not accounted for yet", run.ID))
	case of < 0:
		told = append(told, fmt.Sprintf("your signature does not count for the release: run %s requires no sign-off as %s", run.ID, about.Role))
	case release.Roles[of].Person != "" || release.Roles[of].Waived != "":
	case as >= 0:
		told = append(told, fmt.Sprintf("your signature does not count for the release unless somebody else signs as %s: you count in that role, and each needs another person", release.Roles[as].Role))
	default:
		told = append(told, fmt.Sprintf("your signature lets run %s publish its outputs: if you reject it, do not sign as %s; cancel it", run.ID, about.Role))
	}
	return told, nil
}

// witnessing returns the landscape with a key that makes entries: a sign-off without one would be worth nothing.
func (h *Home) witnessing(ctx context.Context) (*landscape.Log, error) {
	log, err := h.sealing(ctx)
	if err != nil {
		return nil, err
	}
	if why := h.unsealed(); why != "" {
		return nil, noEntry(why)
	}
	return log, nil
}

// signable returns the last seal of a run whose records fit it.
func (h *Home) signable(ctx context.Context, run landscape.Run) (sealed landscape.RunSeal, err error) {
	if run.Status == pipeline.Running {
		return sealed, &client.Error{Kind: client.Conflict, Code: client.RunNotSealed, Message: fmt.Sprintf("run %s has not ended: nobody can sign what may still change", run.ID), Cure: client.Watch, Run: run.ID}
	}
	sealed, entry, err := evidence.CheckedRecord(ctx, h.stores.Log.Reader, run.ID)
	switch {
	case errors.Is(err, landscape.ErrUnsealed):
		return sealed, &client.Error{Kind: client.Conflict, Code: client.RunNotSealed, Message: err.Error() + ": waymark seal " + run.ID + " seals it now", Run: run.ID, Err: err}
	case errors.Is(err, landscape.ErrSealBroken), errors.Is(err, landscape.ErrIncomplete):
		return sealed, sealBroken(run.ID, err)
	case err == nil && entry == nil:
		return sealed, &client.Error{Kind: client.Conflict, Code: client.RunNotSealed, Message: fmt.Sprintf("the log has no entry about the seal of run %s: waymark log check says more", run.ID), Run: run.ID}
	}
	return sealed, client.UnlessStopped(ctx, err)
}

// signer returns the key of a person, and the line of the approvers file that lets it sign now.
func (h *Home) signer(r SignOffRequest, now time.Time) (key ssh.Signer, by persons.Approver, approvers *persons.Approvers, err error) {
	if approvers, err = h.someApprovers(); err != nil {
		return nil, by, nil, err
	}
	key, by, err = h.keyOf(r.Key, r.Ask, approvers, persons.SignOffs, now)
	return key, by, approvers, err
}

// keyOf returns the key of a person in a file, and the line that lets it sign in a namespace then.
func (h *Home) keyOf(file string, ask func(string) ([]byte, error), approvers *persons.Approvers, namespace string, now time.Time) (key ssh.Signer, by persons.Approver, err error) {
	if key, err = persons.OpenKey(file, ask); err == nil {
		by, err = approvers.Of(key.PublicKey(), namespace, now)
	}
	if errors.Is(err, persons.ErrNotAllowed) {
		err = fmt.Errorf("%w; the file is %s", err, h.options.approversFile())
	}
	if err != nil {
		err = notSignable(err)
	}
	return key, by, err
}

// sign lets the person sign, unless that makes no sense any more.
func (h *Home) sign(ctx context.Context, s persons.Statement, by persons.Approver, key ssh.Signer, void []int64) (landscape.SignOff, error) {
	record, err := s.Record("", by)
	if err == nil {
		err = h.stores.Log.MaySignOff(ctx, record, void...) // before anybody touches a key
	}
	if err == nil {
		record.Signature, err = s.Sign(key)
	}
	return record, err
}

// signedBefore says what can be done about a run that a person cannot sign off.
func signedBefore(run string, err error) error {
	switch {
	case errors.Is(err, landscape.ErrSignedOff):
		return &client.Error{Kind: client.Conflict, Code: client.SignedOffBefore, Message: err.Error() + ": waymark status " + run + " shows it; another role needs --as", Run: run, Err: err}
	case errors.Is(err, landscape.ErrResealed), errors.Is(err, landscape.ErrUnsealed):
		return &client.Error{Kind: client.Conflict, Code: client.RunNotSealed, Message: err.Error() + ": look at it, and sign again", Run: run, Err: err}
	}
	return err
}

func (h *Home) signedOff(ctx context.Context, record landscape.SignOff) (*SignedOff, error) {
	all, err := h.SignOffs(ctx, record.Run)
	if err != nil {
		return nil, err
	}
	entry, err := evidence.EntryOfSignOff(ctx, h.stores.Log.Reader, record)
	if err != nil || entry == nil || record.Seq >= int64(len(all)) {
		return nil, cmp.Or(err, fmt.Errorf("sign-off %d of run %s was recorded, and is not there", record.Seq, record.Run))
	}
	return &SignedOff{Run: record.Run, Entry: *entry, SignOff: all[record.Seq], number: int(record.Seq)}, nil
}

func notSignable(err error) error {
	return &client.Error{Kind: client.Invalid, Code: client.NotSignable, Message: err.Error(), Err: err}
}

// approversFile returns the path of the file that says whose keys may sign.
func (o *Options) approversFile() string { return cmp.Or(o.Approvers, o.State.Approvers()) }

// approvers reads who may sign; nil if no file is named and there is none in the state folder.
func (o *Options) approvers() (*persons.Approvers, error) {
	file := o.approversFile()
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && o.Approvers == "" {
		return nil, nil //nolint:nilnil // nobody says
	}
	approvers, err := persons.ReadApprovers(file)
	if err != nil {
		return nil, invalidOption(err)
	}
	return approvers, nil
}
