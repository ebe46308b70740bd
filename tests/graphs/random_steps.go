package graphs

import (
	"fmt"
	"slices"
	"strings"
)

// plain adds a step that neither keeps rows back nor makes new ones.
func (b *builder) plain(l *line) {
	switch b.rng.IntN(11) {
	case 0, 1:
		b.step(l, b.next(l, "set"), b.setCore())
	case 2:
		b.extra(l)
	case 3:
		b.step(l, b.next(l, "filter"), `filter: "`+b.truth()+`"`+b.onError("on_error"))
	case 4, 5:
		b.gate(l)
	case 6:
		b.sample(l)
	case 7:
		b.step(l, b.next(l, "once"), "deduplicate: {key: "+pick(b, "[id]", "[k, n]", "[n]")+pick(b, "", ", keep: first")+"}")
	case 8:
		b.lookup(l)
	default:
		b.reshape(l)
	}
}

// truth returns an expression that is true or false. Of some rows it is neither, and they are refused.
func (b *builder) truth() string {
	return pick(b, "row.n > 5", "row.n % 2 == 0", "has(row.k)", "row.x < 12.5", "row.k == 'a' || row.n > 2", "row.id != 'r7'",
		"size(row.items) > 1", "row.n != 3")
}

// setCore returns a step that changes a core field.
func (b *builder) setCore() string {
	return `set: {` + pick(b, `n: "row.n + 1"`, `n: "row.n * 2"`, `n: "12 / (row.n - 3)"`, `x: "row.x + 0.25"`, `x: "row.x * 2.0"`,
		`k: "row.n > 5 ? 'a' : 'b'"`, `k: "row.k + '!'"`, `items: "[row.n, 7]"`, `n: "size(row.items)"`,
		`tags: "has(row.k) ? row.k + ';z' : 'z'", n: "has(row.n) ? row.n : 1"`) + `}` + b.onError("on_error")
}

// extra adds a field of the line's own, and may give it another kind.
func (b *builder) extra(l *line) {
	name := b.name("e")
	if b.chance(50) {
		b.step(l, b.next(l, "set"), fmt.Sprintf(`set: {%s: "%s"}`, name, pick(b, "row.n", "has(row.k) ? row.k : 'none'", "size(row.tags)", "row.x"))+b.onError("on_error"))
	} else {
		b.step(l, b.next(l, "set"), fmt.Sprintf(`set: {%s: "row.n"}`, name)+b.onError("on_error"))
		b.step(l, b.name("cast"), fmt.Sprintf("cast: {%s: %s}", name, pick(b, "string", "float", "json", "decimal"))+b.onError("on_error"))
	}
	l.extras = append(l.extras, name)
}

// reshape renames, drops or picks fields beyond the core.
func (b *builder) reshape(l *line) {
	if len(l.extras) == 0 {
		b.step(l, b.next(l, "pick"), "select: [x, id, k, tags, n, items]")
		return
	}
	extra := pick(b, l.extras...)
	switch b.rng.IntN(3) {
	case 0:
		name := b.name("e")
		b.step(l, b.next(l, "rename"), fmt.Sprintf("rename: {%s: %s}", extra, name)+b.onError("on_error"))
		l.extras = append(without(l.extras, extra), name)
	case 1:
		b.step(l, b.next(l, "drop"), fmt.Sprintf("drop: [%s]", extra))
		l.extras = without(l.extras, extra)
	default:
		b.step(l, b.next(l, "pick"), fmt.Sprintf("select: [id, k, n, x, %s, items, tags]", extra)+b.onError("on_error"))
		l.extras = []string{extra}
	}
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
}

// gate sends rows by a label. At least one label continues in the line.
func (b *builder) gate(l *line) {
	name := b.next(l, "gate")
	expression, labels := b.truth(), []string{"true", "false"}
	if b.chance(50) {
		expression = pick(b, "row.k", "has(row.k) ? row.k : 'none'")
		labels = pick(b, []string{"a", "b", "none", "default"}, []string{"a", "b", "c"}, []string{"b", "c"}, []string{"a", "default"})
	}
	onward := "continue"
	if b.chance(20) {
		onward = b.name("set")
	}
	var routes []string
	for i, label := range labels {
		to := onward
		if i > 0 {
			to = b.target(l, onward)
		}
		routes = append(routes, fmt.Sprintf("%q: %s", label, to))
	}
	b.rng.Shuffle(len(routes), func(i, k int) { routes[i], routes[k] = routes[k], routes[i] })
	b.step(l, name, fmt.Sprintf(`gate: "%s", routes: {%s}`, expression, strings.Join(routes, ", "))+b.onError("on_error"))
	if onward != "continue" {
		l.routed = true
		b.step(l, onward, b.setCore())
	}
}

// target returns where a route may lead from the line.
func (b *builder) target(l *line, onward string) string {
	const aSink, further = "a sink", "further down"
	targets := []string{onward, "discard", aSink, further}
	if l.meet != "" {
		targets = append(targets, l.meet, l.meet)
	}
	if b.maker != "" {
		targets = append(targets, b.maker)
	}
	switch to := pick(b, append(targets, b.dumps...)...); to {
	case aSink:
		return b.someSink(false, "to")
	case further:
		if len(l.later) == 0 {
			l.later = append(l.later, b.name("later"))
		}
		return l.later[0]
	default:
		return to
	}
}

func (b *builder) sample(l *line) {
	by := pick(b, "", ", by: [id]", ", by: [k, n]")
	b.step(l, b.next(l, "some"), fmt.Sprintf(`sample: {rate: "%s", seed: %d%s}`, pick(b, "0.5", "0.9", "1", "0.75"), b.rng.IntN(100), by))
}

// lookup adds a field from a small table.
func (b *builder) lookup(l *line) {
	file, name := b.name("table")+".csv", b.name("e")
	kind, on, table := "string", "k", "code,town\na,Ahlen\nb,\nz,Zeitz\n"
	if b.chance(40) {
		kind, on, table = "int", "n", "code,town\n1,Ulm\n2,Bonn\n5,\n8,Kiel\n"
	}
	b.files[file] = table
	body := fmt.Sprintf(`lookup: {csv: {path: %s}, schema: {fields: {code: %s, town: "string?"}}, on: {%s: code}, add: {%s: town}%s}`,
		file, kind, on, name, pick(b, "", `, missing: "null"`, ", missing: refuse"))
	b.step(l, b.next(l, "look"), body+b.onError("on_error"))
	l.extras = append(l.extras, name)
}

// keeper adds a step that keeps rows back and lets them go on later.
func (b *builder) keeper(l *line) {
	switch b.rng.IntN(3) {
	case 0:
		b.step(l, b.next(l, "sort"), b.sort())
	case 1:
		b.step(l, b.next(l, "last"), "deduplicate: {key: "+pick(b, "[id]", "[k]", "[n]")+", keep: last}")
	default:
		name := b.name("e")
		b.step(l, b.next(l, "sums"), b.aggregate(pick(b, "", "[k]", "[id]"), "passthrough", map[string]string{name: b.extraSum()}))
		l.extras = append(l.extras, name)
	}
}

func (b *builder) sort() string {
	body := "sort: {by: {" + pick(b, "n: asc", "n: desc", "x: desc, n: asc", "k: asc, id: desc", "k: desc, x: asc, n: desc") + "}"
	if b.chance(60) {
		body += fmt.Sprintf(", top: %d", 1+b.rng.IntN(4))
	}
	body += pick(b, "", "", ", group_by: [k]") + "}"
	if b.chance(40) {
		body += fmt.Sprintf(", trigger: {rows: %d%s}", 1+b.rng.IntN(9), pick(b, "", "", ", over: step"))
	}
	return body
}

// makerStep adds a step out of which new rows come.
func (b *builder) makerStep(l *line, name string) {
	if b.chance(50) {
		b.step(l, name, b.expand(l))
		return
	}
	group := pick(b, "", "[k]", "[id]")
	compute := map[string]string{
		"n": pick(b, "count()", "sum(row.n)", "max(row.n)", "min(row.n)"), "x": pick(b, "sum(row.x)", "max(row.x)", "first(row.x)"),
		"items": pick(b, "collect(row.n)", "first(row.items)", "collect(row.k)"), "tags": pick(b, "first(row.tags)", "max(row.tags)"),
	}
	if group != "[k]" {
		compute["k"] = pick(b, "first(row.k)", "last(row.k)", "min(row.k)")
	}
	if group != "[id]" {
		compute["id"] = pick(b, "first(row.id)", "last(row.id)", "max(row.id)")
	}
	extra := b.name("e")
	compute[extra] = b.extraSum()
	b.step(l, name, b.aggregate(group, "transform", compute))
	l.extras = []string{extra}
}

// extraSum returns an expression over a batch. Some rows, or some batches, have no value of it.
func (b *builder) extraSum() string {
	return pick(b, "count()", "sum(row.n)", "mean(row.n)", "quantile(row.x, 0.5)", "quantile(row.n, 0.25)", "count_distinct(row.k)",
		"collect(row.id)", "sum(row.n * 2)", "max(10 / row.n)", "stddev_pop(row.n)", "var_samp(row.x)", "12 / (count() - 2)", "double(count()) + 0.5", "sum(row.n) / count()")
}

// sure are the expressions that a trigger can rely on.
var sure = []string{"count()", "mean(row.n)", "count_distinct(row.k)", "max(row.x)"}

func (b *builder) aggregate(group, mode string, compute map[string]string) string {
	trigger := ""
	switch b.rng.IntN(5) {
	case 0, 1:
		trigger = fmt.Sprintf(", trigger: {rows: %d%s}", 1+b.rng.IntN(9), pick(b, "", "", ", over: step"))
	case 2:
		field := b.name("e")
		for name := range compute {
			if strings.HasPrefix(name, "e") {
				compute[name] = pick(b, sure...)
			}
		}
		compute[field] = "count()"
		trigger = fmt.Sprintf(`, trigger: {when: "%s"%s}`, pick(b, "batch."+field+" > 2", "batch.rows >= 4", "batch."+field+" % 3 == 0"), pick(b, "", ", rows: 6"))
	}
	expect := ""
	if trigger != "" && b.chance(25) {
		expect = fmt.Sprintf(", expect_rows: %d", 1+b.rng.IntN(4))
	}
	if group != "" {
		group = "group_by: " + group + ", "
	}
	var entries []string
	for name, expression := range compute {
		entries = append(entries, fmt.Sprintf(`%s: "%s"`, name, expression))
	}
	slices.Sort(entries)
	return fmt.Sprintf("aggregate: {%scompute: {%s}, mode: %s%s}%s", group, strings.Join(entries, ", "), mode, expect, trigger) + b.onError("on_error")
}

func (b *builder) expand(l *line) string {
	body := "expand: {field: items"
	if b.chance(40) {
		body = `expand: {field: tags, split: ";"`
	}
	if b.chance(30) {
		l.extras = append(l.extras, b.name("e"))
		body += ", as: " + l.extras[len(l.extras)-1]
	}
	if b.chance(30) {
		l.extras = append(l.extras, b.name("e"))
		body += ", index: " + l.extras[len(l.extras)-1]
	}
	return body + "}" + b.onError("on_error")
}

// restored returns a step that puts the core fields back after a merge in which each branch's row is one field.
func restored(branch string) string {
	came := "has(row." + branch + ")"
	field := func(name, convert string) string {
		value := "row." + branch + "." + name
		return fmt.Sprintf(`%s: "%s && %s != null ? %s : null"`, name, came, value, fmt.Sprintf(convert, value))
	}
	return "set: {" + strings.Join([]string{
		fmt.Sprintf(`id: "%s ? string(row.%s.id) : 'none'"`, came, branch),
		field("k", "string(%s)"), field("n", "int(%s)"), field("x", "double(%s)"), field("items", "%s"), field("tags", "string(%s)"),
	}, ", ") + "}"
}
