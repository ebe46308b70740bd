package audit

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteText writes the story for people. Control characters in data are escaped.
func (s *Story) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "row %d of %s, in run %s of %s (%s)\n\n", s.Source.Row, s.Source.Name, s.Run, s.Pipeline, s.Status)
	s.writeOrigin(&b)
	for _, visit := range s.Nodes {
		visit.write(&b)
	}
	s.writeEnd(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Story) writeOrigin(b *strings.Builder) {
	fmt.Fprintf(b, "read from %s, line %d, bytes %d to %d\n", s.Source.File, s.Source.Line, s.Source.ByteOffset, s.Source.ByteOffset+s.Source.ByteLength)
	switch {
	case s.Source.State != Stored:
		fmt.Fprintf(b, "  record  its payload %s is %s\n", s.Source.Payload, s.Source.State)
	case s.Source.RawBase64 != nil:
		fmt.Fprintf(b, "  record  %q (not valid UTF-8)\n", s.Source.RawBase64)
	default:
		fmt.Fprintf(b, "  record  %s\n", escape(s.Source.Raw))
	}
	fmt.Fprintf(b, "  sha256  %s%s\n", s.Source.SHA256, differs(s.Source.Computed))
}

func (v *Visit) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s (%s)\n", v.Node, v.Operation)
	for _, change := range v.Changes {
		change.write(b)
	}
	if v.Expression != "" {
		fmt.Fprintf(b, "  %s\n", escape(v.Expression))
		writeValues(b, v.Values)
	}
	if v.Label != "" {
		fmt.Fprintf(b, "  → %s\n", escape(v.Label))
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
		fmt.Fprintf(b, "  + %s = %s\n", c.Field, escape(*c.After))
	case c.After == nil:
		fmt.Fprintf(b, "  - %s = %s\n", c.Field, escape(*c.Before))
	default:
		fmt.Fprintf(b, "  ~ %s = %s, was %s\n", c.Field, escape(*c.After), escape(*c.Before))
	}
}

func (r *Refusal) write(b *strings.Builder) {
	field := ""
	if r.Field != "" {
		field = r.Field + ": "
	}
	fmt.Fprintf(b, "  refused  %s: %s%s\n  sent to  %s\n", r.Code, field, escape(r.Message), r.SentTo)
}

func writeValues(b *strings.Builder, parts []Value) {
	for _, part := range parts {
		value := escape(part.Value)
		if part.Error != "" {
			value = "error: " + escape(part.Error)
		}
		fmt.Fprintf(b, "  %s%s = %s\n", strings.Repeat("  ", part.Depth+1), escape(part.Source), value)
	}
}

func (s *Story) writeEnd(b *strings.Builder) {
	b.WriteByte('\n')
	if s.Way != "" {
		fmt.Fprintf(b, "way      %s\noutcome  %s, %s\n", s.Way, s.Outcome, s.Path)
	}
	if s.Computed != "" {
		fmt.Fprintf(b, "  DIFFERS: computed again it goes %s\n", escape(s.Computed))
	}
	if s.Sink != "" {
		s.writeSink(b)
	}
	if s.Note != "" {
		fmt.Fprintf(b, "note     %s\n", escape(s.Note))
	}
}

func (s *Story) writeSink(b *strings.Builder) {
	switch {
	case !s.Complete:
		fmt.Fprintf(b, "sink     %s has not confirmed it yet\n", s.Sink)
	case s.Output == "":
		fmt.Fprintf(b, "sink     %s, row %d of its output, not published yet\n", s.Sink, s.Line)
	default:
		fmt.Fprintf(b, "sink     %s, row %d of %s\n", s.Sink, s.Line, s.Output)
	}
	if s.Written != "" {
		fmt.Fprintf(b, "written  %s\n", escape(s.Written))
	}
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, problem := range r.Problems {
		fmt.Fprintf(&b, "%s  %s  %s\n", problem.Kind, escape(problem.Where), escape(problem.Detail))
	}
	fmt.Fprintf(&b, "run %s (%s): %d rows in %d chunks and %d outputs read again, %d hashes compared: ", r.Run, r.Status, r.Rows, r.Chunks, r.Artifacts, r.Hashes)
	switch {
	case len(r.Problems) == 0:
		b.WriteString("everything on record is true\n")
	case r.More:
		fmt.Fprintf(&b, "at least %d problems; the first are shown\n", len(r.Problems))
	default:
		fmt.Fprintf(&b, "%d problems\n", len(r.Problems))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", escape(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escape makes control characters visible, so that data cannot speak to a terminal.
func escape(text string) string {
	quoted := strconv.Quote(text)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}
