package audit

import (
	"fmt"
	"io"
	"strings"

	"waymark/internal/text"
)

// WriteText writes the answer for people. Control characters in data are escaped.
func (d *Denial) WriteText(w io.Writer) error {
	var b strings.Builder
	verb := "is not in"
	if d.Reached {
		verb = "is in"
	}
	fmt.Fprintf(&b, "%s %s %s, in run %s of %s (%s)\n", d.Token, verb, d.Sink, d.Run, d.Pipeline, text.Spaced(d.Status))
	for _, reason := range d.Reasons {
		reason.write(&b)
	}
	if d.More > 0 {
		fmt.Fprintf(&b, "\n%s came of it that were not looked at; ask about one with --token\n", plural(int64(d.More), "row"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Reason) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n  %s\n", r.Token, escape(r.Text))
	if r.Expression != "" {
		fmt.Fprintf(b, "  %s\n", escape(r.Expression))
		writeValues(b, r.Values)
	}
	if r.Merge != nil && r.Kind != KindEnded {
		fmt.Fprintf(b, "  %s %s\n", r.Merge.Coalesce, r.Merge.say())
	}
	if r.Merge != nil && r.Merge.Cure != "" {
		fmt.Fprintf(b, "  cure     %s\n", r.Merge.Cure)
	}
	if r.Refused != nil {
		fmt.Fprintf(b, "  sent to  %s\n", route(r.Refused.SentTo))
	}
}
