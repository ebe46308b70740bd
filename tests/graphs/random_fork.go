package graphs

import (
	"fmt"
	"slices"
	"strings"
)

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

// wayOut ends a branch's line in a gate that leads some rows to the coalesce, and the others away permanently.
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
	case l.kind == expected && b.chance(40):
		b.step(out, away, b.sort())
	default:
		b.step(out, away, b.setCore())
	}
	b.endInSink(out)
}
