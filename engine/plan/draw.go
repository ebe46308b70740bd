package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"waymark/pipeline"
)

// WriteText writes the description for people.
func (d Description) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(out, "pipeline %s\n\nnode\tkind\toperation\tdeterminism\tguarantee\ton error\tgoes to\n", d.Pipeline)
	for _, node := range d.Nodes {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", node.Name, node.Kind, node.Operation, node.Determinism,
			orDash(string(node.Guarantee)), orDash(node.OnError), orDash(d.exits(node)))
	}
	fmt.Fprintf(out, "\nstage\tactivity\tnodes\n")
	for i, stage := range d.Stages {
		fmt.Fprintf(out, "%d\t%s\t%s\n", i+1, stage.Activity, strings.Join(stage.Nodes, ", "))
	}
	d.writeLanes(out)
	fmt.Fprintf(out, "\nchunks of at most %d rows or %d bytes\n", d.ChunkRows, d.ChunkSize)
	return out.Flush()
}

// writeLanes lists the kinds of tokens as their ids are written, if there are other than records of sources.
func (d Description) writeLanes(out io.Writer) {
	if len(d.Lanes) == 0 {
		return
	}
	fmt.Fprintf(out, "\nlane\ttokens\n")
	for i, lane := range d.Lanes {
		token := lane.Origin + ":ROW"
		if lane.Name != "" {
			token += "/" + lane.Name
		}
		fmt.Fprintf(out, "%d\t%s\n", i, token)
	}
}

func (d Description) exits(node NodeDescription) string {
	if node.Location != "" {
		return node.Location
	}
	var exits []string
	for _, edge := range d.Edges {
		switch {
		case edge.From != node.Name:
		case edge.Kind == Flow:
			exits = append(exits, edge.To)
		case edge.Kind == ByRoute:
			exits = append(exits, edge.Label+" → "+edge.To)
		}
	}
	return strings.Join(exits, ", ")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// WriteDOT writes the graph for Graphviz.
func (d Description) WriteDOT(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n  rankdir=LR;\n", d.Pipeline)
	for _, node := range d.Nodes {
		fmt.Fprintf(&b, "  %q [label=%q shape=%s];\n", node.Name, node.Name+"\n"+node.Operation, dotShape(node))
	}
	for _, edge := range d.drawn() {
		fmt.Fprintf(&b, "  %q -> %q [label=%q];\n", edge.From, edge.To, edge.Label)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// drawn returns the edges that a picture shows: every node can quarantine, and saying so at each would hide the rest.
func (d Description) drawn() []EdgeDescription {
	var drawn []EdgeDescription
	for _, edge := range d.Edges {
		if edge.Kind == OnError && edge.To == pipeline.Quarantine {
			continue
		}
		if edge.Kind == OnError {
			edge.Label = "refused"
		}
		drawn = append(drawn, edge)
	}
	return drawn
}

func dotShape(node NodeDescription) string {
	switch {
	case node.Kind == Source:
		return "invhouse"
	case node.Kind == Sink:
		return "house"
	case node.Hashes == HashesRecord:
		return "box3d" // rows wait here
	case node.Operation == Gate:
		return "diamond"
	case node.Operation == Fork:
		return "triangle"
	case node.Operation == Coalesce:
		return "invtriangle"
	}
	return "box"
}

// WriteMermaid writes the graph as a Mermaid flowchart.
func (d Description) WriteMermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for _, node := range d.Nodes {
		opening, closing := mermaidBrackets(node)
		fmt.Fprintf(&b, "  n_%s%s\"%s<br/>%s\"%s\n", mermaidID(node.Name), opening, node.Name, node.Operation, closing)
	}
	if slices.ContainsFunc(d.drawn(), func(e EdgeDescription) bool { return e.To == pipeline.Discard }) {
		fmt.Fprintf(&b, "  n_%s([%s])\n", pipeline.Discard, pipeline.Discard)
	}
	for _, edge := range d.drawn() {
		if edge.Label == "" {
			fmt.Fprintf(&b, "  n_%s --> n_%s\n", mermaidID(edge.From), mermaidID(edge.To))
			continue
		}
		fmt.Fprintf(&b, "  n_%s -->|\"%s\"| n_%s\n", mermaidID(edge.From), mermaidText(edge.Label), mermaidID(edge.To))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mermaidBrackets(node NodeDescription) (opening, closing string) {
	switch {
	case node.Kind == Source:
		return "[/", "/]"
	case node.Kind == Sink:
		return "[(", ")]"
	case node.Hashes == HashesRecord:
		return "[[", "]]" // rows wait here
	case node.Operation == Gate:
		return "{", "}"
	case node.Operation == Fork, node.Operation == Coalesce:
		return "{{", "}}"
	}
	return "[", "]"
}

// mermaidID returns an id of letters, digits and _ alone, another for every name: Mermaid reads some hyphenated words as syntax.
func mermaidID(name string) string { return strings.NewReplacer("_", "__", "-", "_h").Replace(name) }

// mermaidText writes everything but letters, digits and harmless signs by its number: labels are data.
func mermaidText(label string) string {
	var b strings.Builder
	for _, r := range label {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _-.,:/()'", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
