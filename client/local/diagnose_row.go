package local

import (
	"context"
	"errors"
	"slices"
	"strings"

	"waymark/audit"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
)

// RowAt returns the record of a run that is on a line of a file, as a question about it. The error is an *Error of kind NotFound if there is none.
func (h *Home) RowAt(ctx context.Context, run, file string, line int64) (audit.Question, error) {
	auditor, err := h.Auditor(ctx)
	if err != nil {
		return audit.Question{}, err
	}
	at, err := auditor.RowAt(ctx, run, file, line)
	if errors.Is(err, landscape.ErrNotFound) {
		err = &client.Error{Kind: client.NotFound, Code: client.RowNotFound, Message: err.Error(), Err: err}
	}
	return audit.Question{Run: run, Source: at.Source, Row: at.Row}, err
}

// DiagnoseRow traces one row backward to what it was read from and forward to every output, and looks whether all that proves this is there: the payload with its record,
// every hash, the outputs that it is in, the seal, and the log. It changes nothing. What cannot be found out is a Check as well. The errors are those of Explain.
func (h *Home) DiagnoseRow(ctx context.Context, run landscape.Run, asked audit.Question) (checks []client.Check, err error) {
	asked.Run = run.ID
	story, err := h.Explain(ctx, asked)
	if err != nil {
		return nil, err
	}
	status, err := h.Status(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	p := rowPatient{patient{h, run, status}, story, rowFlags(story)}
	checks = []client.Check{p.backward(), p.record(), p.way()}
	checks = append(checks, p.forward()...)
	for _, look := range []struct {
		name string
		look func(context.Context) ([]client.Check, error)
	}{{"", p.reached}, {"seal", p.seal}, {"log", p.inLog}} {
		found, err := look.look(ctx)
		if err != nil {
			found = append(found, client.Warning("", "it could not be found out: %v", err))
		}
		for _, check := range found {
			if check.Name == "" {
				check.Name = look.name
			}
			checks = append(checks, check)
		}
	}
	return checks, ctx.Err()
}

// rowPatient is a row of a run that is diagnosed.
type rowPatient struct {
	patient
	story *audit.Explanation
	flags string // that name the row
}

// rowFlags are the flags with which explain is asked for the row.
func rowFlags(story *audit.Explanation) string { return "--token " + story.Token }

func (p rowPatient) named(name string, check client.Check) client.Check {
	check.Name, check.About = name, p.flags
	return check
}

// backward says from where the row came.
func (p rowPatient) backward() client.Check {
	s := p.story
	if len(s.MadeOf) == 0 {
		return p.named("backward", client.Good("%s was read from %s, line %d, bytes %d to %d", s.Token, s.Source.File, s.Source.Line, s.Source.ByteOffset, s.Source.ByteOffset+s.Source.ByteLength))
	}
	of := s.MadeOf[0]
	members := text.Count(int64(len(of.Members)+of.More), "token")
	first := ""
	if len(of.Members) > 0 {
		first = ", the first " + of.Members[0]
	}
	return p.named("backward", client.Good("%s came out of batch %d of %s, made of %s%s", s.Token, of.Number, of.Barrier, members, first))
}

// record says whether the payload with the record of the row is there.
func (p rowPatient) record() client.Check {
	s := p.story.Source
	check := client.Good("payload %.12s has the record, and its bytes are those that were read", s.Payload)
	switch {
	case s.State == audit.Purged || s.State == audit.Forgotten:
		check = client.Warning("", "payload %.12s: %s: %s", s.Payload, s.State, s.Purged)
	case s.State != audit.Stored:
		check = client.Failure(client.RestorePayload, "payload %.12s, which has the record, is %s", s.Payload, s.State)
	case s.Computed != "":
		check = client.Failure(client.VerifyRun, "the stored record hashes to %.12s, recorded is %.12s", s.Computed, s.SHA256)
	}
	check = p.named("payload", check)
	check.About = s.Payload
	return check
}

// way says how the row ended, and whether the steps make the same of it again.
func (p rowPatient) way() client.Check {
	s := p.story
	took := s.Way
	if took == "" {
		return p.named("way", client.Warning(p.next(), "%s is in flight: its chunk did not go through the steps yet", s.Token))
	}
	switch {
	case !s.True() && s.Source.State == audit.Stored:
		return p.named("way", client.Failure(client.ExplainRow, "%s: computed again, it is not what is recorded", took))
	case s.Note != "":
		return p.named("way", client.Warning("", "%s, as recorded; not computed again: %s", took, s.Note))
	case s.Source.State != audit.Stored:
		return p.named("way", client.Warning("", "%s, as recorded; not computed again: its record is %s", took, s.Source.State))
	}
	return p.named("way", client.Good("%s: every step, computed again, makes what is recorded", took))
}

// forward says where the row went: which rows of which outputs it is, and what became of it where it is on none.
func (p rowPatient) forward() (checks []client.Check) {
	for _, line := range p.lines() {
		if line.Line == 0 {
			checks = append(checks, p.named("forward", client.Warning(p.next(), "%s goes to %s, which did not confirm it yet", line.Token, line.Sink)))
			continue
		}
		checks = append(checks, p.named("forward", client.Good("%s is row %d of the output of %s", line.Token, line.Line, line.Sink)))
	}
	s := p.story
	if s.Refused != nil {
		checks = append(checks, p.named("forward", client.Warning(client.ShowErrors, "%s was refused by the target of %s: %s: %s", s.Token, s.RefusedBy, s.Refused.Code, s.Refused.Message)))
	}
	if s.Onward != nil {
		for _, end := range s.Onward.Ends {
			checks = append(checks, p.named("forward", client.Good("%s of it ended at %s: %s", text.Count(int64(end.Tokens), "token"), end.Node, end.Path)))
		}
		if left := int64(s.Onward.Left); left > 0 {
			check := client.Warning(client.ExplainRow, "%s that came of it %s not followed",
				text.Count(left, "token"), text.Agree(left, "was", "were"))
			checks = append(checks, p.named("forward", check))
		}
	}
	if checks == nil {
		check := client.Good("it is in no output: %s, %s", s.Outcome, s.Path)
		if s.Outcome == "failure" {
			check = client.Warning(client.ExplainRow, "it is in no output: %s, %s", s.Outcome, s.Path)
		}
		checks = append(checks, p.named("forward", check))
	}
	return checks
}

// lines are the rows of outputs that came of the row.
func (p rowPatient) lines() (lines []audit.Line) {
	if p.story.Onward != nil {
		return p.story.Onward.Lines
	}
	fates := []audit.TokenExplanation{{Token: p.story.Token, Fate: p.story.Fate}}
	if p.story.Tokens != nil {
		fates = p.story.Tokens
	}
	for _, f := range fates {
		if f.Sink != "" {
			lines = append(lines, audit.Line{Sink: f.Sink, Line: f.Line, Output: f.Output, Token: f.Token})
		}
	}
	return lines
}

// reached looks at every output that the row is in.
func (p rowPatient) reached(ctx context.Context) (checks []client.Check, err error) {
	all, err := p.outputs(ctx)
	for _, check := range all {
		name := strings.TrimPrefix(check.Name, "output ")
		if slices.ContainsFunc(p.lines(), func(l audit.Line) bool { return l.Sink == name }) {
			checks = append(checks, check)
		}
	}
	return checks, err
}
