package graphs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Text returns the result as text, one section after the other, each with its name: lines and refused rows of sinks,
// tokens, merges, batches, counts of nodes. Equal results give equal texts.
func (r *Result) Text() map[string]string {
	return map[string]string{
		"sinks": r.sinkText(), "tokens": r.tokenText(), "merges": r.mergeText(), "batches": r.batchText(), "nodes": r.nodeText(),
	}
}

func (r *Result) sinkText() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Lines)) {
		fmt.Fprintf(&text, "%s\n  %s\n", name, strings.Join(r.Lines[name], "\n  "))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Refused)) {
		fmt.Fprintln(&text, name)
		for _, refused := range r.Refused[name] {
			fmt.Fprintf(&text, "  %s:%d at %s: %s\n", refused.Source, refused.Row, refused.Node, refused.Refusal)
		}
	}
	return text.String()
}

// String returns the code, and the field if there is one.
func (r Refusal) String() string { return strings.TrimSpace(r.Code + " " + r.Field) }

func (r *Result) tokenText() string {
	var text strings.Builder
	tokens := slices.SortedFunc(maps.Values(r.Tokens), func(a, b *Token) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Lane, b.Lane))
	})
	for _, t := range tokens {
		fmt.Fprintf(&text, "%s %s at %s", t.ID, t.Path, t.Node)
		if t.Refused != nil {
			fmt.Fprintf(&text, ": %s", *t.Refused)
		}
		if len(t.Parents) > 0 {
			fmt.Fprintf(&text, " < %s", strings.Join(t.Parents, " "))
		}
		fmt.Fprintln(&text)
	}
	return text.String()
}

func (r *Result) mergeText() string {
	var text strings.Builder
	for _, m := range r.Merges {
		fmt.Fprintf(&text, "%s of %s: %s", m.Node, m.Key, m.Result)
		for _, word := range []string{m.Code, m.Merged} {
			if word != "" {
				fmt.Fprintf(&text, " %s", word)
			}
		}
		fmt.Fprintf(&text, ", by %s", m.FiredBy)
		for _, a := range m.Arrived {
			fmt.Fprintf(&text, ", %s arrived", a.Branch)
		}
		for _, lost := range m.Lost {
			fmt.Fprintf(&text, ", %s lost (%s)", lost.Branch, lost.Reason)
		}
		for _, branch := range m.NotNeeded {
			fmt.Fprintf(&text, ", %s not needed", branch)
		}
		if len(m.Collisions) > 0 {
			fmt.Fprintf(&text, ", collisions: %s", strings.Join(m.Collisions, " "))
		}
		fmt.Fprintln(&text)
	}
	return text.String()
}

func (r *Result) batchText() string {
	var text strings.Builder
	for _, b := range r.Batches {
		fmt.Fprintf(&text, "%s by %s: %s > %s\n", b.Node, b.Trigger, strings.Join(b.Members, " "), strings.Join(b.Outs, " "))
	}
	return text.String()
}

func (r *Result) nodeText() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Nodes)) {
		c := r.Nodes[name]
		text.WriteString(name)
		for _, count := range []struct {
			word string
			n    int
		}{{"in", c.In}, {"created", c.Created}, {"out", c.Out}, {"dropped", c.Dropped}, {"diverted", c.Diverted}, {"consumed", c.Consumed}} {
			if count.n > 0 {
				fmt.Fprintf(&text, " %s %d", count.word, count.n)
			}
		}
		fmt.Fprintln(&text)
	}
	return text.String()
}

// Balance says what does not add up: a node at which In + Created is not Out + Dropped + Diverted + Consumed, a token that
// has not ended, or whose parents are unknown. It returns nil if nothing is wrong.
func (r *Result) Balance() []string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(r.Nodes)) {
		if c := r.Nodes[name]; c.In+c.Created != c.Out+c.Dropped+c.Diverted+c.Consumed {
			wrong = append(wrong, fmt.Sprintf("%s: %+v", name, *c))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.Tokens)) {
		for _, parent := range r.Tokens[id].Parents {
			if r.Tokens[parent] == nil {
				wrong = append(wrong, id+": the parent "+parent+" never ended")
			}
		}
	}
	return wrong
}
