package graphs

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// block is a fork and, mostly, the coalesce of its branches.
func (b *builder) block(l *line) {
	b.forks++
	branches := []string{}
	for range 1 + b.rng.IntN(3) {
		branches = append(branches, b.name("b"))
	}
	b.step(l, b.next(l, "fork"), "fork: ["+strings.Join(branches, ", ")+"]")
	if l.kind == top && b.chance(15) {
		b.copies(l, branches)
		return
	}
	outermost := l.kind == top && b.maker == "" && b.chance(60)
	if outermost {
		b.maker = b.name("all")
	}
	b.joined(l, branches)
	if outermost {
		name := b.maker
		b.maker = ""
		b.makerStep(l, name)
	}
}

// copies lets the branches of a fork go their ways, and some of them go on together.
func (b *builder) copies(l *line, branches []string) {
	var ends, extras []string
	for i, branch := range branches {
		sub := &line{kind: side, ends: []string{branch}, extras: slices.Clone(l.extras), depth: l.depth + 1}
		b.steps(sub, b.rng.IntN(3))
		if i == 0 || b.chance(60) {
			ends, extras = append(ends, sub.ends...), append(extras, sub.extras...)
		} else {
			b.endInSink(sub)
		}
	}
	slices.Sort(extras)
	l.ends, l.extras = ends, slices.Compact(extras)
}

// joined writes the branches of a fork and the coalesce over all or some of them.
func (b *builder) joined(l *line, branches []string) {
	meet := b.name("meet")
	var waited, sides []string
	for i, branch := range branches {
		if i == 0 || b.chance(80) {
			waited = append(waited, branch)
		} else {
			sides = append(sides, branch)
		}
	}
	dump := ""
	if len(sides) > 0 && b.chance(60) {
		dump = b.name("dump")
		b.dumps = append(b.dumps, dump)
	}
	entries, extras := b.waited(l, meet, waited)
	b.sides(l, sides, dump)
	b.coalesce(l, meet, entries, waited, extras)
}

// waited writes the branches that a coalesce waits for, and returns its entries and the extra fields that rows of each
// branch may have.
func (b *builder) waited(l *line, meet string, branches []string) (entries []string, extras map[string][]string) {
	extras = map[string][]string{}
	for i := 0; i < len(branches); i++ {
		sub := &line{kind: expected, ends: branches[i : i+1], extras: slices.Clone(l.extras), meet: meet, depth: l.depth + 1}
		together := branches[i : i+1]
		if i+1 < len(branches) && b.chance(15) {
			sub.kind, sub.ends, together = mixed, branches[i:i+2], branches[i:i+2]
			b.step(sub, b.name("both"), b.setCore())
			i++
		}
		b.steps(sub, b.rng.IntN(4))
		if b.chance(25) {
			b.wayOut(sub)
		}
		for _, branch := range together {
			entries = append(entries, branch+": "+sub.ends[0])
			extras[branch] = sub.extras
		}
	}
	return entries, extras
}

// sides writes the branches that no coalesce waits for. Rows of other branches may be led to the first step of the first.
func (b *builder) sides(l *line, branches []string, dump string) {
	for i, branch := range branches {
		sub := &line{kind: side, ends: []string{branch}, extras: slices.Clone(l.extras), depth: l.depth + 1}
		if i == 0 && dump != "" {
			b.dumps = slices.DeleteFunc(b.dumps, func(name string) bool { return name == dump })
			sub.kind = mixed
			b.step(sub, dump, b.setCore())
		}
		b.steps(sub, b.rng.IntN(3))
		b.endInSink(sub)
	}
}

// coalesce writes the coalesce of branches.
func (b *builder) coalesce(l *line, meet string, entries, branches []string, extras map[string][]string) {
	policy := pick(b, "require_all", "require_all", "best_effort", "first", fmt.Sprintf("{quorum: %d}", 1+b.rng.IntN(len(branches))))
	wanted := pick(b, branches...)
	merge := pick(b, "union", "union, collision: first", "union, collision: fail", "union", "nested", "{select: "+wanted+"}")
	l.ends, l.routed = nil, true
	b.step(l, meet, "coalesce: {"+strings.Join(entries, ", ")+"}, policy: "+policy+", merge: "+merge+b.onError("on_error"))
	l.extras = nil
	switch merge {
	case "nested":
		b.step(l, b.name("set"), restored(wanted))
	case "{select: " + wanted + "}":
		l.extras = extras[wanted]
	default:
		for _, branch := range branches {
			l.extras = append(l.extras, extras[branch]...)
		}
		slices.Sort(l.extras)
		l.extras = slices.Compact(l.extras)
	}
}

// wayOut ends a branch's line in a gate that leads some rows to the coalesce, and the others away for good.
func (b *builder) wayOut(l *line) {
	gate, away := b.name("gate"), b.name("away")
	b.step(l, gate, `gate: "`+b.truth()+`", routes: {"true": `+l.meet+`, "false": `+away+`}`+b.onError("on_error"))
	out := &line{kind: mixed, routed: true, depth: l.depth}
	switch {
	case b.chance(40) && b.forks < 5:
		b.forks++
		branches := []string{b.name("b"), b.name("b")}
		b.step(out, away, "fork: ["+strings.Join(branches, ", ")+"]")
		out.ends = branches
	case b.chance(40):
		b.makerStep(out, away)
	default:
		b.step(out, away, b.setCore())
	}
	b.endInSink(out)
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
	return text.String()
}
