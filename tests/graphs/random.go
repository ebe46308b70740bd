package graphs

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Random returns a random document and the files it reads, by name. Equal seeds give equal documents.
//
// Every document is valid by construction:
//
//   - Rows have the core fields id, k, n, x, items and tags at every node, always of the same kinds, and expressions, keys
//     and orders name these alone. Steps that would lose them put them back (restored). Every other field is made once,
//     with one kind, under a name that nothing else makes, and only its own line of steps renames or drops it.
//   - Steps come in lines: each takes the rows of the one before, and the last one's go to a sink, to the line around it, or
//     to a coalesce. A route leads to a sink, to a step further down in its own line, to the coalesce of its own branch,
//     or to a place where all are welcome: an aggregate or expansion behind the block of forks, or a side branch that does
//     nothing but plain steps.
//   - What starts new rows is in no line of a branch that must reach its coalesce, and what keeps rows back is only in lines
//     whose rows are all of the same branches.
func Random(seed uint64) (document string, files map[string]string) {
	b := &builder{rng: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), files: map[string]string{}}
	b.chunk = 1 + b.rng.IntN(50)
	l := &line{kind: top, ends: b.sources()}
	b.steps(l, 2+b.rng.IntN(5))
	b.endInSink(l)
	return b.document(), b.files
}

// builder collects a document.
type builder struct {
	rng     *rand.Rand
	chunk   int // rows of a chunk
	names   int
	forks   int
	written []string // steps
	sink    []sink
	source  []string // entries of the document
	files   map[string]string

	maker string // an aggregate or expansion that comes behind the outermost block; "" if there is none ahead
	dumps []string
}

type sink struct {
	name    string
	from    []string
	refused bool // gets refused rows, and no others
}

// line is a sequence of steps in the making.
type line struct {
	kind   kind
	ends   []string // whose rows the next step takes
	extras []string // fields beyond the core that its rows may have
	later  []string // steps to come, to which gates have sent rows
	meet   string   // the coalesce of the branch
	depth  int      // forks around it
	routed bool     // the next step gets its rows by a route alone
}

// kind says what may be in a line.
type kind int

const (
	top      kind = iota // rows of no branch: everything
	expected             // a branch that a coalesce waits for: nothing that starts new rows
	side                 // a branch that none waits for: no forks
	mixed                // rows of several branches: plain steps
)

func (b *builder) name(prefix string) string {
	b.names++
	return fmt.Sprintf("%s%d", prefix, b.names)
}

func (b *builder) chance(percent int) bool { return b.rng.IntN(100) < percent }

func pick[T any](b *builder, list ...T) T { return list[b.rng.IntN(len(list))] }

// step writes a step that takes the line's rows.
func (b *builder) step(l *line, name, body string) {
	from := ""
	if !l.routed {
		from = ", from: " + list(l.ends)
	}
	b.written = append(b.written, fmt.Sprintf("  - {name: %s%s, %s}", name, from, body))
	l.ends, l.routed = []string{name}, false
}

func list(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// next names the next step of a line: gates before it may have sent rows to it.
func (b *builder) next(l *line, prefix string) string {
	if len(l.later) > 0 && b.chance(50) {
		name := l.later[0]
		l.later = l.later[1:]
		return name
	}
	return b.name(prefix)
}

// steps adds some steps to a line, and those that gates have promised.
func (b *builder) steps(l *line, count int) {
	for range count {
		b.anyStep(l)
	}
	for len(l.later) > 0 {
		name := l.later[0]
		l.later = l.later[1:]
		b.step(l, name, b.setCore())
	}
}

func (b *builder) anyStep(l *line) {
	roll := b.rng.IntN(100)
	switch {
	case l.kind <= expected && roll < 35 && b.forks < 5 && l.depth < 3:
		b.block(l)
	case l.kind <= side && roll < 55 && roll >= 35:
		b.keeper(l)
	case (l.kind == top || l.kind == side) && roll >= 85:
		b.makerStep(l, b.next(l, "make"))
	default:
		b.plain(l)
	}
}

// endInSink lets a sink take the line's rows.
func (b *builder) endInSink(l *line) {
	for i := range b.sink {
		if !b.sink[i].refused && b.chance(40) {
			b.sink[i].from = append(b.sink[i].from, l.ends...)
			return
		}
	}
	b.sink = append(b.sink, sink{name: b.name("out"), from: l.ends})
}

// someSink returns a sink to which a gate or a policy may send rows.
func (b *builder) someSink(refused bool, prefix string) string {
	for _, s := range b.sink {
		if s.refused == refused && b.chance(50) {
			return s.name
		}
	}
	s := sink{name: b.name(prefix), refused: refused}
	b.sink = append(b.sink, s)
	return s.name
}

// onError returns a policy for refused rows, or nothing.
func (b *builder) onError(key string) string {
	switch roll := b.rng.IntN(10); {
	case roll < 6:
		return ""
	case roll < 8:
		return ", " + key + ": discard"
	}
	return ", " + key + ": " + b.someSink(true, "bad")
}

// document writes everything down.
func (b *builder) document() string {
	var text strings.Builder
	fmt.Fprintf(&text, "name: random\nchunk: {rows: %d}\nsources:\n%s\nsteps:\n%s\nsinks:\n", b.chunk,
		strings.Join(b.source, "\n"), strings.Join(b.written, "\n"))
	for _, s := range b.sink {
		from := ""
		if len(s.from) > 0 {
			from = ", from: " + list(s.from)
		}
		fmt.Fprintf(&text, "  %s: {jsonl: {path: %s.jsonl}%s}\n", s.name, s.name, from)
	}
	text.WriteString("totals: {ones: \"1\", n: row.n}\n")
	return text.String()
}
