package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/audit/evidence"
	"waymark/audit/evidence/keys"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
)

// A deed is what a guarded change would do, for a client.
type deed interface {
	// look returns the state that the order is about. The error is an *Error with the code NothingToOrder if the order would change nothing.
	look(ctx context.Context) (map[string]string, error)

	// do does it, and says what was done.
	do(ctx context.Context, by client.By) (string, error)

	// finish does what an execution left, and says what; empty for nothing.
	finish(ctx context.Context, x *landscape.ApprovedExecution) (string, error)
}

// deed returns what an order does, when it is executed under a log. The error is an *Error of kind Invalid if the order makes no sense.
func (h *Home) deed(under *landscape.Log, verb landscape.OrderVerb, run string, args map[string]string, subject string) (deed, error) {
	c := h.clientOn(under)
	switch verb {
	case landscape.OrderPurge:
		if args[periodsArg] != "" {
			return periodsDeed{once{}, c, under.Reader, args[periodsArg]}, nil
		}
		return purgeDeed{c, args}, nil
	case landscape.OrderForget:
		field, value, ok := strings.Cut(subject, "=")
		if !ok || field != args["field"] {
			return nil, invalidOption(fmt.Errorf("whom to forget is not recorded: give it again as --subject %s=VALUE", args["field"]))
		}
		return forgetDeed{c, client.ForgetRequest{Field: field, Value: value, DeleteIn: deleteIn(args)}}, nil
	case landscape.OrderArchive:
		return archiveDeed{h, under, run, args}, nil
	case landscape.OrderWaive:
		return waiveDeed{once{}, h, c, run, args["policy"]}, nil
	case landscape.OrderDecide:
		applied, err := strconv.ParseBool(args["applied"])
		return resolveDeed{once{}, h, c, run, args["effect"], applied}, err
	case landscape.OrderCancel:
		return cancelDeed{h, c, run}, nil
	case landscape.OrderRevoke:
		return revokeDeed{once{}, h, under, args["key"]}, nil
	case landscape.OrderRule:
		persons, err := strconv.ParseInt(args["persons"], 10, 64)
		return ruleDeed{once{}, h, c, landscape.OrderVerb(args["verb"]), persons}, err
	}
	return nil, invalidOption(fmt.Errorf("%.40q is no guarded change that this program executes", verb))
}

func nothingToOrder(format string, args ...any) error {
	return &client.Error{Kind: client.Conflict, Code: client.NothingToOrder, Message: fmt.Sprintf(format, args...)}
}

// once is the finish of what is done in one transaction.
type once struct{}

func (once) finish(context.Context, *landscape.ApprovedExecution) (string, error) { return "", nil }

// periodsDeed brings retention periods into force that wait for approval.
type periodsDeed struct {
	once
	client  *client.Client
	log     *landscape.Reader
	periods string // as they are recorded
}

// periodsArg is the argument of an order about retention periods.
const periodsArg = "periods"

// PeriodsArgs are the arguments of an order to bring the retention periods into force that wait for approval.
func (h *Home) PeriodsArgs(ctx context.Context) (map[string]string, error) {
	asked, _, err := client.AskedPeriods(ctx, h.stores.Log.Reader)
	if err != nil {
		return nil, err
	}
	return map[string]string{periodsArg: asked.Text, "periods_sha256": asked.SHA256}, nil
}

func (d periodsDeed) look(ctx context.Context) (map[string]string, error) {
	asked, shorter, err := client.AskedPeriods(ctx, d.log)
	if err != nil {
		return nil, err
	}
	if asked.Text != d.periods {
		return nil, nothingToOrder("other retention periods wait for approval by now: %s", asked.Text)
	}
	return map[string]string{"shorter": strings.Join(shorter, "; ")}, nil
}

func (d periodsDeed) do(ctx context.Context, by client.By) (string, error) {
	approved, err := d.client.ApprovePeriods(ctx, by)
	if err != nil {
		return "", err
	}
	return approved.String(), nil
}

type purgeDeed struct {
	client *client.Client
	args   map[string]string // keep_source, keep_derived, as_of
}

// PurgeArgs are the arguments of an order to purge what is due now.
func PurgeArgs(keep map[landscape.Class]string) map[string]string {
	args := map[string]string{"as_of": time.Now().UTC().Format(time.RFC3339Nano)}
	for class, text := range keep {
		if text != "" {
			args["keep_"+string(class)] = text
		}
	}
	return args
}

func (d purgeDeed) request() (r client.PurgeRequest, err error) {
	r.Keep = map[landscape.Class]string{}
	for _, class := range landscape.Classes {
		r.Keep[class] = d.args["keep_"+string(class)]
	}
	r.AsOf, err = time.Parse(time.RFC3339Nano, d.args["as_of"])
	return r, err
}

func (d purgeDeed) look(ctx context.Context) (map[string]string, error) {
	r, err := d.request()
	if err != nil {
		return nil, err
	}
	r.DryRun = true
	due, err := d.client.Purge(ctx, r)
	if err != nil {
		return nil, err
	}
	if due.Deleted == 0 {
		return nil, nothingToOrder("no payload is due")
	}
	runs := make([]string, 0, len(due.Runs))
	for _, run := range due.Runs {
		runs = append(runs, string(run.Class)+" "+run.Run)
	}
	return map[string]string{
		"payloads": fmt.Sprint(due.Deleted), "bytes": fmt.Sprint(due.Bytes), "payloads_sha256": due.SHA256,
		"runs": fmt.Sprint(due.RunCount()), "runs_sha256": linesDigest(runs),
	}, nil
}

func (d purgeDeed) do(ctx context.Context, by client.By) (string, error) { return d.purge(ctx, by, 0) }

func (d purgeDeed) purge(ctx context.Context, by client.By, order int64) (string, error) {
	r, err := d.request()
	if err != nil {
		return "", err
	}
	r.By, r.Continue = by, order
	done, err := d.client.Purge(ctx, r)
	if err != nil || done.Deleted == 0 && done.Left == 0 {
		return "", err
	}
	told := fmt.Sprintf("deleted %s, %s (order %d)", text.Count(int64(done.Deleted), "payload"), text.Count(done.Bytes, "byte"), done.Purge)
	if done.Left > 0 {
		told += fmt.Sprintf("; another process deletes %d more: if it is dead, waymark purge --finish does it now",
			done.Left)
	}
	return told, nil
}

func (d purgeDeed) finish(ctx context.Context, x *landscape.ApprovedExecution) (string, error) {
	return d.purge(ctx, client.By{Actor: x.Actor, Why: "what was left of order " + x.Order[:12]}, *x.Purge)
}

// ForgetArgs are the arguments of an order to forget: the key's field, and the sinks or outputs in whose targets rows are deleted.
func ForgetArgs(field string, deleteIn []string) map[string]string {
	args := map[string]string{"field": field}
	if deleteIn != nil {
		args["delete_in"] = strings.Join(deleteIn, "\n")
	}
	return args
}

func deleteIn(args map[string]string) []string {
	if args["delete_in"] == "" {
		return nil
	}
	return strings.Split(args["delete_in"], "\n")
}

type forgetDeed struct {
	client  *client.Client
	request client.ForgetRequest
}

func (d forgetDeed) look(ctx context.Context) (map[string]string, error) {
	d.request.DryRun = true
	found, err := d.client.Forget(ctx, d.request)
	if err != nil {
		return nil, err
	}
	if len(found.Rows) == 0 {
		return nil, nothingToOrder("no row has this %s", d.request.Field)
	}
	rows := make([]string, 0, len(found.Rows))
	for _, row := range found.Rows {
		rows = append(rows, fmt.Sprintf("%s %s %d", row.Run, row.Source, row.Row))
	}
	state := map[string]string{
		"rows": fmt.Sprint(len(rows)), "rows_sha256": linesDigest(rows),
		"runs": fmt.Sprint(found.RunCount()), "runs_sha256": linesDigest(found.Runs),
	}
	if found.Erasures != nil {
		state["deleted"], state["deleted_sha256"] = erasuresText(found)
	}
	return state, nil
}

// erasuresText says how many rows are deleted in which outputs, and which they are.
func erasuresText(found *client.Forget) (told, digest string) {
	in, lines := found.ErasuresIn(), make([]string, 0, len(found.Erasures))
	for _, row := range found.Erasures {
		lines = append(lines, fmt.Sprintf("%s %s %d", row.Run, row.Sink, row.Line))
	}
	for _, output := range slices.Sorted(maps.Keys(in)) {
		told += fmt.Sprintf("; %s of %s", text.Count(in[output], "row"), output)
	}
	return strings.TrimPrefix(told, "; "), linesDigest(lines)
}

func (d forgetDeed) do(ctx context.Context, by client.By) (string, error) {
	d.request.By = by
	done, err := d.client.Forget(ctx, d.request)
	if err != nil || done.Done == nil {
		return "", err
	}
	told := fmt.Sprintf("forgot %s of %s (order %d)",
		text.Count(done.Done.Rows, "row"), text.Count(done.RunCount(), "run"), done.Done.Order)
	for _, in := range done.Done.Erased {
		told += "; " + in.String()
	}
	return told, nil
}

func (d forgetDeed) finish(ctx context.Context, _ *landscape.ApprovedExecution) (string, error) {
	done, err := d.client.FinishForgetting(ctx, client.FinishForgettingRequest{})
	if err != nil || len(done.Finished) == 0 {
		return "", err
	}
	return fmt.Sprintf("finished %s to forget", text.Count(int64(len(done.Finished)), "order")), nil
}

type waiveDeed struct {
	once
	home        *Home
	client      *client.Client
	run, policy string
}

func (d waiveDeed) look(ctx context.Context) (map[string]string, error) {
	head, err := d.home.stores.Log.Run(ctx, d.run)
	if err != nil {
		return nil, err
	}
	standing, err := d.home.stores.Log.Policies(ctx, d.run)
	i := slices.IndexFunc(standing, func(s landscape.PolicyStanding) bool { return s.Policy == d.policy })
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, &client.Error{Kind: client.NotFound, Code: client.PolicyNotFound, Message: fmt.Sprintf("run %s has no policy %q", d.run, d.policy), Cure: client.ListPolicies, Run: d.run}
	case standing[i].Last == nil || !standing[i].Keeps():
		return nil, nothingToOrder("policy %s keeps run %s from nothing", d.policy, d.run)
	}
	last := standing[i].Last
	return map[string]string{
		"status": string(head.Status), "epoch": fmt.Sprint(head.Epoch), "result": string(last.Result), "attempt": fmt.Sprint(last.Attempt), "detail": last.Detail,
	}, nil
}

func (d waiveDeed) do(ctx context.Context, by client.By) (string, error) {
	run, err := d.home.Find(ctx, d.run)
	if err == nil {
		_, err = d.client.Waive(ctx, run, d.policy, by)
	}
	return fmt.Sprintf("run %s has policy %q waived; waymark resume %s publishes its outputs", d.run, d.policy, d.run), err
}

type resolveDeed struct {
	once
	home        *Home
	client      *client.Client
	run, effect string
	applied     bool
}

func (d resolveDeed) look(ctx context.Context) (map[string]string, error) {
	head, err := d.home.stores.Log.Run(ctx, d.run)
	if err != nil {
		return nil, err
	}
	effect, err := d.client.Effect(ctx, d.run, d.effect)
	switch {
	case err != nil:
		return nil, err
	case effect.State != landscape.Blocked:
		return nil, nothingToOrder("effect %s of run %s is %s, and not blocked", d.effect, d.run, effect.State)
	}
	return map[string]string{"status": string(head.Status), "epoch": fmt.Sprint(head.Epoch), "state": string(effect.State), "fence": fmt.Sprint(effect.Fence)}, nil
}

func (d resolveDeed) do(ctx context.Context, by client.By) (string, error) {
	run, err := d.home.Find(ctx, d.run)
	if err == nil {
		_, err = d.client.Resolve(ctx, run, d.effect, d.applied, by)
	}
	word := "not applied"
	if d.applied {
		word = "applied"
	}
	return fmt.Sprintf("%s of run %s is recorded as %s; waymark resume %s continues it", d.effect, d.run, word, d.run), err
}

type cancelDeed struct {
	home   *Home
	client *client.Client
	run    string
}

func (d cancelDeed) look(ctx context.Context) (map[string]string, error) {
	head, err := d.home.stores.Log.Run(ctx, d.run)
	if err != nil {
		return nil, err
	}
	switch {
	case head.Status == pipeline.Running:
		return nil, nothingToOrder("run %s is running: stop it first, so that it can be resumed: waymark cancel %s --why TEXT", d.run, d.run)
	case head.Final, client.Complete(head.Status):
		return nil, nothingToOrder("run %s is %s, and cannot be resumed", d.run, head.Status)
	}
	effects, err := d.home.stores.Log.Effects(ctx, d.run)
	var open []string
	for _, e := range effects {
		if e.State != landscape.Finalized {
			open = append(open, fmt.Sprintf("%s %s %d", e.EffectKey, e.State, e.Fence))
		}
	}
	return map[string]string{"status": string(head.Status), "epoch": fmt.Sprint(head.Epoch), "open_effects": fmt.Sprint(len(open)), "open_effects_sha256": linesDigest(open)}, err
}

func (d cancelDeed) do(ctx context.Context, by client.By) (string, error) {
	run, err := d.home.Find(ctx, d.run)
	if err == nil {
		_, err = d.client.Cancel(ctx, run, by, true)
	}
	return fmt.Sprintf("run %s is cancelled permanently, and what it staged is removed", d.run), err
}

// finish removes what is still staged.
func (d cancelDeed) finish(ctx context.Context, x *landscape.ApprovedExecution) (string, error) {
	return d.do(ctx, client.By{Actor: x.Actor, Why: "what was left of order " + x.Order[:12]})
}

type revokeDeed struct {
	once
	home *Home
	log  *landscape.Log
	key  string
}

func (d revokeDeed) look(ctx context.Context) (map[string]string, error) {
	known, err := evidence.Keys(ctx, d.log.Reader)
	i := slices.IndexFunc(known, func(k evidence.KnownKey) bool { return k.Key == d.key && k.Kind == string(keys.Sealer) })
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, keyError(fmt.Errorf("the log admitted no sealer's key %.100q", d.key))
	case known[i].Revoked > 0:
		return nil, nothingToOrder("the key was revoked in entry %d", known[i].Revoked)
	}
	return map[string]string{"since": fmt.Sprintf("entry %d", known[i].Since)}, nil
}

func (d revokeDeed) do(ctx context.Context, by client.By) (string, error) {
	_, err := d.home.withNotary(ctx, d.log, func(n *evidence.Notary) (bool, error) { return n.Revoke(ctx, d.key, by.Why) })
	if err != nil {
		return "", err
	}
	next, err := d.home.Refused(ctx)
	return strings.TrimSuffix("the key is revoked; "+next, "; "), err
}

type ruleDeed struct {
	once
	home    *Home
	client  *client.Client
	verb    landscape.OrderVerb
	persons int64
}

func (d ruleDeed) look(ctx context.Context) (map[string]string, error) {
	now, err := d.home.stores.Log.NeededPersons(ctx, d.verb)
	if err == nil && now == d.persons {
		err = nothingToOrder("%s needs %d already", d.verb, now)
	}
	return map[string]string{"persons": fmt.Sprint(now)}, err
}

func (d ruleDeed) do(ctx context.Context, by client.By) (string, error) {
	_, err := d.client.RuleOrders(ctx, landscape.ApprovalRule{Verb: d.verb, Persons: d.persons, Actor: by.Actor,
		Why: by.Why})
	return fmt.Sprintf("%s needs %d from now on", d.verb, d.persons), err
}

// linesDigest is the SHA-256, in hex, of lines, sorted, each with a line end.
func linesDigest(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(append(slices.Sorted(slices.Values(lines)), ""), "\n")))
	return hex.EncodeToString(sum[:])
}
