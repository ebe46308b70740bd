package client

import (
	"context"
	"fmt"
	"slices"

	"waymark/audit"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// AttestRequest says which outputs of a run are looked at, and how closely.
type AttestRequest struct {
	By
	audit.AttestOptions
}

// Attestation says what became of the outputs of a run.
type Attestation struct {
	Type        string           `json:"type"` // always attestation
	Run         string           `json:"run"`
	Number      int64            `json:"attestation"` // of those of the run, from 0
	At          Time             `json:"at"`
	Actor       string           `json:"actor"`
	Entry       *int64           `json:"entry,omitempty"` // of the landscape's log; nil if that has none about it
	Outputs     []AttestedOutput `json:"outputs"`         // by sink; not nil
	Unpublished []string         `json:"unpublished"`     // sinks that published nothing, so that there is nothing to look at; not nil
}

// AttestedOutput is what an output was found to be.
type AttestedOutput struct {
	Sink       string           `json:"sink"`
	Output     string           `json:"output"`
	Result     plugin.State     `json:"result"` // the worst that was found
	Unit       string           `json:"unit"`   // what is counted
	Sample     int64            `json:"sample,omitempty"`
	LookedAt   int64            `json:"looked_at"`
	Equal      int64            `json:"equal"`
	Changed    int64            `json:"changed"`
	Missing    int64            `json:"missing"`
	Replaced   int64            `json:"replaced"`
	Unknown    int64            `json:"unknown"`
	ReplacedBy string           `json:"replaced_by,omitempty"` // run
	Published  Time             `json:"published"`
	LastEqual  Time             `json:"last_equal"`       // when an earlier attestation found all of it as it was written; null if none did
	FirstOther Time             `json:"first_other"`      // when an earlier attestation found it changed since then, if only in something else; null if none did
	Otherwise  Time             `json:"last_otherwise"`   // when an earlier attestation last found something else than this one; null if none did
	FirstSo    Time             `json:"first_so"`         // since when all attestations found what this one did: this one, or an earlier one
	Findings   []plugin.Finding `json:"findings"`         // the first ones; not nil
	At         Time             `json:"at"`               // when it was looked at
	Number     int64            `json:"attestation"`      // of those of the run
	Reason     string           `json:"reason,omitempty"` // in a sentence; empty if all is equal
}

// Attest reads the targets of a run that has ended again, compares them with what the run recorded, and records what it found, also in the landscape's log. It writes to
// no target. The error is an *Error of kind Conflict if the run has not ended, and Invalid if it has no such sink.
func (c *Client) Attest(ctx context.Context, run landscape.Run, request AttestRequest) (found *Attestation, err error) {
	defer c.edge(ctx, &err)
	if run.Status == pipeline.Running {
		return nil, &Error{Kind: Conflict, Code: NotAttestable, Message: fmt.Sprintf("run %s has not ended: its outputs are attested afterwards", run.ID), Run: run.ID}
	}
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return nil, err
	}
	outputs, err := auditor.Attest(ctx, run, request.AttestOptions)
	if err != nil {
		return nil, answered(err)
	}
	actor := request.or(c.Actor).Actor
	for i := range outputs {
		outputs[i].Actor = actor
	}
	if outputs, err = c.log.RecordAttestations(ctx, outputs); err != nil {
		return nil, err
	}
	return c.attestation(ctx, run, actor, request.Sink, outputs)
}

// attestation describes what was recorded.
func (c *Client) attestation(ctx context.Context, run landscape.Run, actor, sink string, outputs []landscape.Attestation) (*Attestation, error) {
	all, err := c.log.Attestations(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	found := &Attestation{Type: "attestation", Run: run.ID, Actor: actor, Outputs: []AttestedOutput{}, Unpublished: []string{}}
	for _, output := range outputs {
		one, err := c.attested(ctx, all, output)
		if err != nil {
			return nil, err
		}
		found.Number, found.At = output.Seq, Time(output.At)
		found.Outputs = append(found.Outputs, one)
	}
	nodes, err := c.log.Nodes(ctx, run.ID)
	for _, node := range nodes {
		published := slices.ContainsFunc(outputs, func(a landscape.Attestation) bool { return a.Sink == node.Node })
		if node.Kind == landscape.SinkNode && !published && (sink == "" || sink == node.Node) {
			found.Unpublished = append(found.Unpublished, node.Node)
		}
	}
	return found, err
}

// attested describes an attestation of an output, among all of its run.
func (c *Client) attested(ctx context.Context, all []landscape.Attestation, a landscape.Attestation) (AttestedOutput, error) {
	findings, err := a.Found()
	if err != nil {
		return AttestedOutput{}, err
	}
	artifacts, err := c.log.Artifacts(ctx, a.Run)
	if err != nil {
		return AttestedOutput{}, err
	}
	seen := landscape.LastSeenEqual(all, a.Sink, a.Seq)
	otherwise, first := landscape.FoundSo(all, a)
	out := AttestedOutput{
		Sink: a.Sink, Output: a.Path, Result: a.Result, Unit: a.Unit, Sample: a.Sample, LookedAt: a.LookedAt, Equal: a.Equal, Changed: a.Changed, Missing: a.Missing,
		Replaced: a.Replaced, Unknown: a.Unknown, ReplacedBy: a.ReplacedBy, LastEqual: Time(seen.Equal), FirstOther: Time(seen.Other),
		Otherwise: Time(otherwise), FirstSo: Time(first),
		Findings: append([]plugin.Finding{}, findings...), At: Time(a.At), Number: a.Seq,
	}
	for _, artifact := range artifacts {
		if artifact.Sink == a.Sink {
			out.Published = Time(artifact.Published)
		}
	}
	out.Reason = out.reason()
	return out, nil
}

// reason says in a sentence what is not as it was written, and since when.
func (o *AttestedOutput) reason() string {
	said := o.worst()
	if since := o.Since(); since != "" {
		said += "; " + since
	}
	return said
}

// worst says what is not as it was written; empty if all is.
func (o *AttestedOutput) worst() string {
	if o.Result == plugin.AsWritten || len(o.Findings) == 0 {
		return ""
	}
	worst := o.Findings[slices.IndexFunc(o.Findings, func(f plugin.Finding) bool { return f.State == o.Result })]
	said := worst.Why
	if worst.Part != nil && o.Unit == plugin.Pieces {
		said = fmt.Sprintf("part %d: %s", *worst.Part, said)
	}
	if worst.Line > 0 {
		said += fmt.Sprintf("; the first row that differs is %d", worst.Line)
	}
	return said
}

// Since says between which two moments an output was changed or removed; empty if it was not. What was found before is dated only if it was the same.
func (o *AttestedOutput) Since() string {
	word := map[plugin.State]string{plugin.Changed: "changed", plugin.Missing: "removed"}[o.Result]
	if word == "" {
		return ""
	}
	from := "its publication at " + moment(o.Published)
	if o.LastEqual.Known() {
		from = "the attestation of " + moment(o.LastEqual)
	}
	to := "this one"
	if o.FirstSo != o.At {
		to = "that of " + moment(o.FirstSo)
	}
	if o.Otherwise.Known() && o.Otherwise != o.LastEqual {
		said := fmt.Sprintf("as it is now since a time between the attestation of %s and %s", moment(o.Otherwise), to)
		if o.FirstOther.Known() {
			said += "; not as it was written since that of " + moment(o.FirstOther)
		}
		return said
	}
	return fmt.Sprintf("%s between %s and %s", word, from, to)
}

// moment writes a point in time for people, with the day of the week.
func moment(t Time) string { return t.Time().Format("Mon 2006-01-02 15:04:05 MST") }

// addAttested adds what the newest attestation of each output found.
func (c *Client) addAttested(ctx context.Context, s *Status) error {
	all, err := c.log.Attestations(ctx, s.ID)
	if err != nil {
		return err
	}
	for i := range s.Sinks {
		for _, a := range slices.Backward(all) {
			if a.Sink != s.Sinks[i].Sink {
				continue
			}
			one, err := c.attested(ctx, all, a)
			if err != nil {
				return err
			}
			s.Sinks[i].Attested = one.inShort()
			break
		}
	}
	return nil
}

// inShort is what lists say of an attestation; nil of none.
func (o *AttestedOutput) inShort() *SinkAttested {
	if o == nil {
		return nil
	}
	return &SinkAttested{o.Result, o.Number, o.At, o.worst(), o.Since()}
}

// Attested returns the newest attestation of the output of a sink, whole or of a sample; nil if nobody looked.
func (c *Client) Attested(ctx context.Context, run, sink string) (newest *AttestedOutput, err error) {
	all, err := c.log.Attestations(ctx, run)
	for _, a := range slices.Backward(all) {
		if a.Sink == sink {
			one, err := c.attested(ctx, all, a)
			return &one, err
		}
	}
	return nil, err
}
