package graphs

import (
	"fmt"
	"strings"
)

// core is the schema of every source.
const core = `{id: string, k: "string?", n: "int?", x: "float?", items: "json?", tags: "string?"}`

// sources writes one to three sources and their files, and returns their names.
func (b *builder) sources() []string {
	var names []string
	for range pick(b, 1, 1, 2, 3) {
		name := b.name("s")
		names = append(names, name)
		format, extension := "jsonl", ".jsonl"
		if b.chance(40) {
			format, extension = "csv", ".csv"
		}
		b.source = append(b.source, fmt.Sprintf("  %s: {%s: {path: %s, allow_empty: true}, schema: {fields: %s}%s}", name, format, name+extension, core, b.onError("on_invalid")))
		b.files[name+extension] = b.rows(format)
	}
	return names
}

// maxTurns bounds the chunks of a source: the time that a document takes for real is about that of its turns.
const maxTurns = 8

func (b *builder) rows(format string) string {
	count := b.rng.IntN(min(pick(b, 4, 40, 121), maxTurns*b.chunk+1))
	var text strings.Builder
	if format == "csv" {
		text.WriteString("id,k,n,x,items,tags\n")
	}
	for range count {
		cells := b.cells()
		if format == "csv" {
			text.WriteString(b.csvLine(cells))
		} else {
			text.WriteString(b.jsonLine(cells))
		}
	}
	return text.String()
}

// cells are the values of a record as JSON, "" for null. The floats and the numbers made of them are exact in binary, so
// that sums do not depend on the order of adding.
func (b *builder) cells() [6]string {
	cells := [6]string{
		fmt.Sprintf(`"r%d"`, b.rng.IntN(60)), pick(b, `"a"`, `"b"`, `"c"`, ""), fmt.Sprint(b.rng.IntN(14) - 2), fmt.Sprintf("%.2f", float64(b.rng.IntN(100))/4),
		pick(b, "[1,2,3]", `["u"]`, "[]", `[{"p":1},[4]]`, "[5,null]"), pick(b, `"p;q"`, `"p"`, `"r;s;t"`, `""`),
	}
	for i := 2; i < len(cells); i++ {
		if b.chance(8) {
			cells[i] = ""
		}
	}
	if b.chance(3) {
		cells[4] = `{"no":"list"}`
	}
	return cells
}

var columns = [...]string{"id", "k", "n", "x", "items", "tags"}

// jsonLine writes a record, and sometimes one that the source refuses.
func (b *builder) jsonLine(cells [6]string) string {
	switch b.rng.IntN(30) {
	case 0:
		cells[2] = `"many"`
	case 1:
		cells[0] = ""
	case 2:
		return "{\"id\":\n"
	}
	var members []string
	for i, cell := range cells {
		switch {
		case cell != "":
			members = append(members, fmt.Sprintf("%q:%s", columns[i], cell))
		case b.chance(50):
			members = append(members, fmt.Sprintf("%q:null", columns[i]))
		}
	}
	return "{" + strings.Join(members, ",") + "}\n"
}

func (b *builder) csvLine(cells [6]string) string {
	switch b.rng.IntN(30) {
	case 0:
		cells[2] = "many"
	case 1:
		return "r0,a,1\n"
	}
	for i, cell := range cells {
		switch {
		case i == 4 && cell != "":
			cells[i] = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		default:
			cells[i] = strings.Trim(cell, `"`)
		}
	}
	return strings.Join(cells[:], ",") + "\n"
}
