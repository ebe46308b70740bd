package audit

import (
	"fmt"

	"waymark/pipeline"
)

// Sentence tells in one sentence where the row came from and how it ended, from the record.
func (s *Explanation) Sentence() string {
	return s.subject() + " " + s.fate() + "."
}

// subject names the row.
func (s *Explanation) subject() string {
	switch {
	case len(s.MadeOf) > 0:
		return fmt.Sprintf("%s, which %s made,", s.Token, s.MadeOf[0].Barrier)
	case s.Token != fmt.Sprintf("%s:%d", s.Source.Name, s.Source.Row):
		return fmt.Sprintf("%s, a copy of record %d (line %d of %s),", s.Token, s.Source.Row, s.Source.Line, s.Source.File)
	}
	return fmt.Sprintf("Record %d (line %d of %s)", s.Source.Row, s.Source.Line, s.Source.File)
}

// fate says how a token ended.
func (f *Fate) fate() string {
	last := ""
	if len(f.Nodes) > 0 {
		last = f.Nodes[len(f.Nodes)-1].Node
	}
	switch path := pipeline.Path(f.Path); path {
	case "":
		if f.Held != nil {
			return "is held by " + f.Held.Barrier
		}
		return "is in flight: its end is not recorded yet"
	case pipeline.Buffered:
		return "is held by " + last
	case pipeline.DefaultFlow, pipeline.GateRouted:
		return f.reached()
	case pipeline.GateDiscarded:
		return fmt.Sprintf("was discarded by the gate %s%s", last, f.cause())
	case pipeline.FilterDropped:
		return fmt.Sprintf("was dropped at %s%s", last, f.cause())
	case pipeline.OnErrorRouted, pipeline.Unrouted:
		if f.Sink != "" {
			return "was refused" + f.refusal() + ", and " + f.reached()
		}
		return "was refused" + f.refusal() + f.whither()
	case pipeline.QuarantinedAtSource:
		return "was refused when it was read" + f.refusal() + f.whither()
	case pipeline.SinkDiscarded:
		return "was refused" + f.refusal() + ", and discarded as the document says"
	case pipeline.Coalesced:
		return "became part of a merged row" + f.merged()
	case pipeline.ForkParent:
		return fmt.Sprintf("was copied at %s: its copies went on", last)
	case pipeline.ExpandParent:
		return fmt.Sprintf("was taken apart at %s: the rows of its elements went on", last)
	case pipeline.BatchConsumed:
		if f.Held != nil && f.Held.Number > 0 {
			return fmt.Sprintf("became part of batch %d of %s", f.Held.Number, f.Held.Barrier)
		}
		return "became part of a batch"
	case pipeline.BranchNotNeeded:
		return "was not needed: a coalesce had decided without it"
	default:
		return "ended as " + f.Path
	}
}

// reached names the sink and the row of its output.
func (f *Fate) reached() string {
	switch {
	case f.RefusedBy != "":
		return "came to " + f.RefusedBy + ", whose target refused it"
	case f.Line == 0:
		return "is for " + f.Sink + ", which has not confirmed it yet" + f.cause()
	case f.Output != "":
		return fmt.Sprintf("became row %d of %s%s", f.Line, f.Output, f.cause())
	}
	return fmt.Sprintf("became row %d of %s%s", f.Line, f.Sink, f.cause())
}

// cause names the last decision on the way: the expression of a gate or a filter.
func (f *Fate) cause() string {
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		if visit := &f.Nodes[i]; visit.Expression != "" && len(visit.Values) > 0 && visit.Values[0].Error == "" {
			return fmt.Sprintf(", because at %s %s was %s", visit.Node, visit.Expression, visit.Values[0].Value)
		}
	}
	return ""
}

// refusal says where and why it was refused.
func (f *Fate) refusal() string {
	if f.Refused != nil {
		return fmt.Sprintf(" by %s with %s: %s", f.RefusedBy, f.Refused.Code, f.Refused.Message)
	}
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		if visit := &f.Nodes[i]; visit.Refused != nil {
			return fmt.Sprintf(" by %s with %s: %s", visit.Node, visit.Refused.Code, visit.Refused.Message)
		}
	}
	return ""
}

// whither says where a refused row is.
func (f *Fate) whither() string { return "; it is in quarantine" }

// merged names the merged row.
func (f *Fate) merged() string {
	switch {
	case f.Merged != nil && f.Merged.Token != "":
		return ", " + f.Merged.Token
	case f.Merge != nil && f.Merge.Token != "":
		return ", " + f.Merge.Token
	}
	return ""
}
