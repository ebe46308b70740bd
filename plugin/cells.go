package plugin

import "waymark/pipeline/row"

// Cells are the values of a chunk's records, which a Reader that wrote the records itself knows without parsing them. They are not
// stored: a chunk that is rebuilt from its record has none.
type Cells struct {
	Columns []string // the keys of every record, in their order. Chunks of one file share it; nil: there are no cells
	// Kinds has one kind for each column of each record, and Values what it says there of the value: of an Int the number, of a
	// Date the days, of a Timestamp the microseconds since 1970, of a Bool 0 or 1, of a Float the bits, of a String where its text is
	// in the record without the quotes, which then has no escapes. Of a CellText it says where its JSON is in the record. A
	// place in the record is made by Span. Those of a record that is in Bad mean nothing.
	Kinds  []row.Kind
	Values []uint64
}

// CellText is the kind of a cell that is as the record has it, as JSON: it has to be parsed.
const CellText row.Kind = 0xFF

// Span returns how Cells say that something is so many bytes from start on.
func Span(start, length int) uint64 { return uint64(start)<<32 | uint64(length) }

// Spanned returns the part of the record that a cell names by Span.
func Spanned(record string, span uint64) string {
	start := span >> 32
	return record[start : start+span&0xFFFF_FFFF]
}

// CellParser is what a Parser may be as well, for a Reader that gives Cells.
type CellParser interface {
	Parser
	// ParseCells returns what Parse returns for the text, which is that of record i.
	ParseCells(cells *Cells, i int, text string, values []row.Value) (row.Row, error)
}
