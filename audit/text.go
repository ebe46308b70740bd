package audit

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"waymark/internal/text"
	"waymark/pipeline"
	"waymark/plugin"
)

// WriteText writes the story for people. Control characters in data are escaped.
func (s *Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	s.writeHead(&b)
	s.writeOrigin(&b)
	s.Was.write(&b)
	s.Again.write(&b)
	s.Upstream.write(&b)
	for _, made := range s.MadeOf {
		made.write(&b)
	}
	if len(s.Tokens) == 0 {
		s.write(&b, s)
	}
	for _, token := range s.Tokens {
		mark := ""
		if token.Token == s.Token {
			mark = "  ← asked for"
		}
		fmt.Fprintf(&b, "\ntoken    %s%s\n", token.Token, mark)
		token.write(&b, s)
	}
	for _, read := range s.Downstream {
		read.write(&b)
	}
	s.Onward.write(&b)
	for i, signed := range s.SignOffs {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "signed off by %s\n", escape(signed.String()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Explanation) writeHead(b *strings.Builder) {
	what := fmt.Sprintf("row %d of %s", s.Source.Row, s.Source.Name)
	if strings.Contains(s.Token, "/") {
		what = "token " + s.Token
	}
	fmt.Fprintf(b, "%s, in run %s of %s (%s)\n\n", what, s.Run, s.Pipeline, text.Spaced(s.Status))
}

// write tells the fate of one token of the story.
func (f *Fate) write(b *strings.Builder, s *Explanation) {
	for _, visit := range f.Nodes {
		visit.head(b)
		if f.Merge != nil && visit.Node == f.Merge.Coalesce {
			f.Merge.write(b)
		}
		if f.Held != nil && f.Held.Merge != nil && visit.Node == f.Held.Merge.Coalesce && !s.tellsOf(f.Held.Merge) {
			f.Held.Merge.write(b)
		}
		visit.write(b)
	}
	if f.Merged != nil {
		fmt.Fprintf(b, "\n%s (coalesce)\n", f.Merged.Coalesce)
		f.Merged.write(b)
	}
	f.writeEnd(b)
}

// tellsOf reports whether the story tells of the decision where it tells of the forked token.
func (s *Explanation) tellsOf(d *Decision) bool {
	return slices.ContainsFunc(s.Tokens, func(t TokenExplanation) bool {
		return t.Merged != nil && t.Merged.Coalesce == d.Coalesce && t.Token == d.Of
	})
}

func (m *BarrierOrigin) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s came out of %s, batch %d of %s; it %s\n", m.Token, m.Barrier, m.Number, plural(m.Rows, "token"), m.say())
	fmt.Fprintf(b, "  opened   %s\n  fired    %s\n", m.Opened, m.Fired)
	if m.Parent != "" {
		fmt.Fprintf(b, "  from     %s\n", m.Parent)
	}
	if m.Merge != nil {
		m.Merge.write(b)
		fmt.Fprintf(b, "  of       %s\n", m.Merge.Of)
	}
	what := "made of"
	if m.Parent != "" {
		what = "batch  "
	}
	if len(m.Members) > 0 {
		fmt.Fprintf(b, "  %s  %s\n", what, listed(m.Members, m.More))
	}
	for _, term := range m.Terms {
		term.write(b)
	}
	writeLine(b, "note", m.Note)
}

func (d *Decision) write(b *strings.Builder) {
	fmt.Fprintf(b, "  %s\n", d.say())
	writeLine(b, "expected", strings.Join(d.Branches, ", "))
	writeLine(b, "merge", d.strategy())
	if d.TimeoutMS > 0 {
		writeLine(b, "timeout", span(d.TimeoutMS))
	}
	writeLine(b, "decided", d.fired())
	writeLine(b, "fields", d.origins())
	for _, collision := range d.Collisions {
		fmt.Fprintf(b, "  %s\n", collision.say())
	}
	if d.Token != "" {
		fmt.Fprintf(b, "  made     %s\n", d.Token)
	}
	if d.Cure != "" {
		fmt.Fprintf(b, "  cure     %s\n", d.Cure)
	}
	if d.Differs != "" {
		fmt.Fprintf(b, "  DIFFERS: computed again %s\n", escape(d.Differs))
	}
}

// writeLine writes a line with its label; none for an empty text.
func writeLine(b *strings.Builder, label, text string) {
	if text != "" {
		fmt.Fprintf(b, "  %-8s %s\n", label, escape(text))
	}
}

// plural returns the number with the word.
func plural(n int64, word string) string {
	switch {
	case n == 1:
		return "1 " + word
	case strings.HasSuffix(word, "h"):
		return fmt.Sprintf("%d %ses", n, word)
	default:
		return fmt.Sprintf("%d %ss", n, word)
	}
}

func (s *Explanation) writeOrigin(b *strings.Builder) {
	if len(s.MadeOf) > 0 {
		fmt.Fprintf(b, "came out of %s\n", s.Source.Name)
	} else {
		fmt.Fprintf(b, "read from %s, line %d, bytes %d to %d\n", escape(s.Source.File), s.Source.Line, s.Source.ByteOffset, s.Source.ByteOffset+s.Source.ByteLength)
	}
	if s.Source.Trigger != "" {
		fmt.Fprintf(b, "  came    %s, by trigger %s\n", s.Source.Arrived, s.Source.Trigger)
	}
	if with := s.Source.Requested; with != nil {
		fmt.Fprintf(b, "  came    %s, with the request of %s (%s), row %d of %d\n", s.Source.Arrived, escape(with.Actor), with.Trigger, s.Source.Row, with.Rows)
	}
	switch {
	case s.Source.State == Forgotten:
		fmt.Fprintf(b, "  record  %s\n", s.Source.Purged)
		return
	case s.Source.State == Purged:
		fmt.Fprintf(b, "  record  its payload %s was %s\n", s.Source.Payload, s.Source.Purged)
	case s.Source.State != Stored:
		fmt.Fprintf(b, "  record  its payload %s is %s\n", s.Source.Payload, s.Source.State)
	case s.Source.RawBase64 != nil:
		fmt.Fprintf(b, "  record  %q (not valid UTF-8)\n", s.Source.RawBase64)
	default:
		fmt.Fprintf(b, "  record  %s\n", escape(s.Source.Raw))
	}
	fmt.Fprintf(b, "  sha256  %s%s\n", s.Source.SHA256, differs(s.Source.Computed))
}

// write tells which record of an earlier run it was.
func (f *RetryOf) write(b *strings.Builder) {
	if f == nil {
		return
	}
	why := ""
	if f.Refused != nil {
		why = fmt.Sprintf(", where %s refused it with %s", f.Node, f.Refused.Code)
	}
	fmt.Fprintf(b, "  was     %s of run %s%s; retried\n", f.Token, f.Run, why)
}

// write tells by which run the record is retried, and what came of it.
func (l *RetriedBy) write(b *strings.Builder) {
	if l == nil {
		return
	}
	fmt.Fprintf(b, "  again   %s of run %s (%s)\n", l.Token, l.Run, text.Spaced(l.Status))
	for _, end := range l.Ends {
		fmt.Fprintf(b, "          %s: %s\n", route(end.Way), pipeline.Path(end.Path).Words())
	}
	if len(l.Ends) == 0 {
		b.WriteString("          in flight\n")
	}
}

func (v *Visit) head(b *strings.Builder) { fmt.Fprintf(b, "\n%s (%s)\n", v.Node, v.Operation) }

func (v *Visit) write(b *strings.Builder) {
	for _, change := range v.Changes {
		change.write(b)
	}
	if v.Expression != "" {
		fmt.Fprintf(b, "  %s\n", escape(v.Expression))
		writeValues(b, v.Values)
	}
	for _, term := range v.Terms {
		term.write(b)
	}
	if v.Label != "" {
		fmt.Fprintf(b, "  → %s%s\n", escape(v.Label), v.of())
	}
	if len(v.Branches) > 0 {
		fmt.Fprintf(b, "  → %s\n", strings.Join(v.Branches, ", "))
	}
	if v.Refused != nil {
		v.Refused.write(b)
	}
	switch {
	case v.OutputHash != "" && v.OutputHash != v.InputHash:
		fmt.Fprintf(b, "  sha256  %s%s\n", v.OutputHash, v.doubt())
	case v.Computed != "":
		fmt.Fprintf(b, "  sha256  none on record%s\n", differs(v.Computed))
	}
	if v.Differs != "" {
		fmt.Fprintf(b, "  DIFFERS: computed again %s\n", escape(v.Differs))
	}
}

// of names the token that a duplicate is one of.
func (v *Visit) of() string {
	if v.First == "" {
		return ""
	}
	return " of " + v.First
}

// doubt marks a hash that was computed again and came out otherwise, or could not be computed.
func (v *Visit) doubt() string {
	if v.Verified || v.Computed != "" {
		return differs(v.Computed)
	}
	return "  (on record; not confirmed by computing it again)"
}

// differs shows the computed hash, if it is another one than on record.
func differs(computed string) string {
	if computed == "" {
		return ""
	}
	return "  DIFFERS: computed again it is " + computed
}

func (c Change) write(b *strings.Builder) {
	switch {
	case c.From != "":
		fmt.Fprintf(b, "  %s → %s\n", c.From, c.Field)
	case c.Before == nil:
		fmt.Fprintf(b, "  + %s = %s\n", c.Field, plain(*c.After))
	case c.After == nil:
		fmt.Fprintf(b, "  - %s = %s\n", c.Field, plain(*c.Before))
	default:
		fmt.Fprintf(b, "  ~ %s = %s, was %s\n", c.Field, plain(*c.After), plain(*c.Before))
	}
}

// marked is a value in canonical form that carries the mark of its kind.
var marked = regexp.MustCompile(`^\{"\$(date|timestamp|decimal|json)":"?(.*?)"?\}$`)

// plain writes a value for people: one whose kind cannot be seen has that after it.
func plain(canonical string) string {
	if m := marked.FindStringSubmatch(canonical); m != nil {
		canonical = fmt.Sprintf("%s (%s)", m[2], m[1])
	}
	return escape(canonical)
}

func (r *Rejection) write(b *strings.Builder) {
	field := ""
	if r.Field != "" {
		field = r.Field + ": "
	}
	fmt.Fprintf(b, "  refused  %s: %s%s\n  sent to  %s\n", r.Code, field, escape(r.Message), route(r.SentTo))
}

// labels are words of documents as people read them.
var labels = map[string]string{"group_by": "group by", "by asc": "ascending by", "by desc": "descending by"}

func (t Term) write(b *strings.Builder) {
	if t.Expression == "" {
		for _, part := range t.Values {
			writeLine(b, cmp.Or(labels[t.For], t.For), part.say())
		}
		return
	}
	fmt.Fprintf(b, "  %s: %s\n", t.For, escape(t.Expression))
	writeValues(b, t.Values)
	for _, made := range t.Contributions {
		made.write(b)
	}
}

func (c Contribution) write(b *strings.Builder) {
	var parts []string
	for _, made := range c.Tokens {
		part := made.Token
		if made.Share > 0 {
			part += fmt.Sprintf(" %s (%.1f %%)", made.Value, 100*made.Share)
		}
		parts = append(parts, part)
	}
	fmt.Fprintf(b, "    %s comes from %s\n", escape(c.Call), listed(parts, c.More))
}

func writeValues(b *strings.Builder, parts []Value) {
	for _, part := range parts {
		fmt.Fprintf(b, "  %s%s\n", strings.Repeat("  ", part.Depth+1), escape(part.say()))
	}
}

func (v Value) say() string {
	if v.Error != "" {
		return v.Source + " = error: " + v.Error
	}
	return v.Source + " = " + v.Value
}

func (f *Fate) writeEnd(b *strings.Builder) {
	b.WriteByte('\n')
	if f.Way != "" {
		fmt.Fprintf(b, "way      %s\noutcome  %s\n", route(f.Way), f.outcome())
	}
	if f.Computed != "" {
		fmt.Fprintf(b, "  DIFFERS: computed again it goes %s\n", escape(f.Computed))
	}
	if f.Held != nil {
		fmt.Fprintf(b, "held     %s\n", f.Held.say())
	}
	switch {
	case f.Sink != "":
		f.writeSink(b)
	case f.RefusedBy != "":
		fmt.Fprintf(b, "sink     written to %s; %s\n", f.RefusedBy, escape(f.late()))
		f.writeBytes(b)
	}
	if f.Note != "" {
		fmt.Fprintf(b, "note     %s\n", escape(f.Note))
	}
}

// outcome says how the token ended, and the word that is recorded for it.
func (f *Fate) outcome() string {
	ended := fmt.Sprintf("%s (%s)", pipeline.Path(f.Path).Words(), f.Path)
	switch pipeline.Outcome(f.Outcome) {
	case "":
		return "open: " + ended
	case pipeline.Transient: // of what came of it others tell
		return ended
	}
	return f.Outcome + ": " + ended
}

// route is the signature of a way without how it ended.
func route(way string) string {
	if begin := strings.LastIndex(way, " ("); begin >= 0 {
		if _, rest, ended := strings.Cut(way[begin:], ")"); ended {
			way = way[:begin] + rest
		}
	}
	way = strings.ReplaceAll(way, pipeline.QuarantineSink, pipeline.Quarantine)
	return strings.ReplaceAll(way, pipeline.DiscardSink, pipeline.Discard)
}

func (f *Fate) writeSink(b *strings.Builder) {
	switch {
	case !f.Complete:
		fmt.Fprintf(b, "sink     %s has not confirmed it yet\n", f.Sink)
	case f.Output == "":
		fmt.Fprintf(b, "sink     %s, row %d of its output, not published yet\n", f.Sink, f.Line)
	default:
		fmt.Fprintf(b, "sink     %s, row %d of %s\n", f.Sink, f.Line, f.Output)
		if f.Erased != "" {
			fmt.Fprintf(b, "deleted  %s\n", f.Erased)
		}
		if f.Attested != "" {
			fmt.Fprintf(b, "attested %s\n", f.Attested)
		}
	}
	f.writeBytes(b)
}

// late says that the target of a sink rejected the row, and why.
func (f *Fate) late() string {
	reason := plugin.Rejection{Code: f.Refused.Code, Field: f.Refused.Field, Message: f.Refused.Message}
	return fmt.Sprintf("%s refused it with %s", f.RefusedBy, reason.Error())
}

func (f *Fate) writeBytes(b *strings.Builder) {
	if f.Written != "" {
		fmt.Fprintf(b, "written  %s\n", escape(f.Written))
	}
}

// Visible is a text in which everybody sees everything: what nobody would see is escaped.
func Visible(text string) string { return escape(text) }

// escape makes control characters visible, so that data cannot speak to a terminal.
func escape(text string) string {
	quoted := strconv.Quote(text)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}
