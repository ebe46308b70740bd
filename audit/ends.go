package audit

import (
	"cmp"
	"slices"
	"strings"

	"waymark/pipeline"
)

// Ends is how many rows ended at one place, and at another one in a second run, or by another document: one cell of a matrix, in whose diagonal are the rows
// that ended alike. What became of several tokens of a row stands together, such as good (default_flow) and large (gate_routed).
type Ends struct {
	Was  string `json:"was"`
	Is   string `json:"is"`
	Rows int64  `json:"rows"`
}

// EndName says where a token ended, at a node or a sink, and by which path; empty for a fork's parent, of which its copies tell.
func EndName(at string, path pipeline.Path) string {
	if path == pipeline.ForkParent {
		return ""
	}
	return at + " (" + string(path) + ")"
}

// endWords and storedEnds replace what stands in parentheses behind a place.
var endWords, storedEnds = func() (words, stored *strings.Replacer) {
	var there, back []string
	for _, path := range pipeline.Paths() {
		in, out := "("+string(path)+")", "("+path.Words()+")"
		there, back = append(there, in, out), append(back, out, in)
	}
	return strings.NewReplacer(there...), strings.NewReplacer(back...)
}()

// EndWords writes where rows ended for people, such as large (reached its sink).
func EndWords(ends string) string { return endWords.Replace(ends) }

// StoredEnd returns where rows ended as Ends has it, from that or from the text for people.
func StoredEnd(text string) string { return storedEnds.Replace(text) }

// Together is where the tokens of a row ended, in one text.
func Together(ends []string) string { return cmp.Or(strings.Join(ends, " and "), "nowhere") }

// Matrix is Ends as a table: lines say where rows ended, and columns where they ended in the second run or would end.
type Matrix struct {
	Ends []string  // of lines and columns
	Rows [][]int64 // by line and column
}

// NewMatrix returns the cells as a table; nil if all rows ended alike, or in more ways than most.
func NewMatrix(cells []Ends, most int) *Matrix {
	m := &Matrix{}
	for _, cell := range cells {
		m.Ends = append(m.Ends, cell.Was, cell.Is)
	}
	slices.Sort(m.Ends)
	if m.Ends = slices.Compact(m.Ends); len(m.Ends) < 2 || len(m.Ends) > most {
		return nil
	}
	m.Rows = make([][]int64, len(m.Ends))
	for i := range m.Rows {
		m.Rows[i] = make([]int64, len(m.Ends))
	}
	for _, cell := range cells {
		m.Rows[slices.Index(m.Ends, cell.Was)][slices.Index(m.Ends, cell.Is)] += cell.Rows
	}
	return m
}
