package audit

import (
	"fmt"
	"strings"

	"waymark/pipeline"
)

// write tells what came of a token beyond barriers.
func (o *Onward) write(b *strings.Builder) {
	if o == nil {
		return
	}
	b.WriteString("\ncame of it\n")
	for _, line := range o.Lines {
		fmt.Fprintf(b, "  %s\n", line.say())
	}
	for _, end := range o.Ends {
		fmt.Fprintf(b, "  %s\n", end.say())
	}
	if len(o.Lines) == 0 {
		b.WriteString("  in no output\n")
	}
	if o.Left > 0 {
		fmt.Fprintf(b, "  %s looked at; %d more came of it, left out here: --limit %d follows them\n",
			plural(int64(o.Tokens), "token"), o.Left, o.Tokens+o.Left)
	}
}

func (l Line) say() string {
	where := fmt.Sprintf("row %d of %s", l.Line, l.Output)
	switch {
	case l.Line == 0:
		where = "not confirmed yet"
	case l.Output == "":
		where = fmt.Sprintf("row %d of its output, not published yet", l.Line)
	}
	by := ""
	if len(l.By) > 0 {
		by = ", by " + strings.Join(l.By, " > ")
	}
	return fmt.Sprintf("%s, %s: %s%s", l.Sink, where, l.Token, by)
}

func (c Count) say() string {
	tokens := plural(int64(c.Tokens), "token")
	switch {
	case c.Open && c.Path == "":
		return fmt.Sprintf("%s of %s on the way", tokens, c.Node)
	case c.Open:
		return fmt.Sprintf("%s held by %s, whose batch is still open", tokens, c.Node)
	default:
		return fmt.Sprintf("%s ended at %s: %s", tokens, c.Node, pipeline.Path(c.Path).Words())
	}
}
