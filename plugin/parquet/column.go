package parquet

import (
	"io"

	"waymark/plugin"
	"waymark/plugin/parquet/page"
	"waymark/row"
)

// column gives the entries of a column in a row group, one after the other: values, nulls, and lists that are empty.
type column struct {
	leaf   *node
	stream *pageStream
	page   *page.Page // the one at hand
	at     int        // of the entry at hand in page
	value  int        // of the first value in page that is not passed over
	begun  int64      // rows of which an entry was passed over
	texts  texts
}

func (c *contents) newColumn(r io.ReaderAt, group, index int, skip int64, open *int64) *column {
	return &column{leaf: c.leaves[index], stream: c.newPageStream(r, group, index, skip, open), page: new(page.Page)}
}

// ready reports whether there is an entry at hand; there is none at the end of the row group.
func (c *column) ready() (bool, error) {
	if c.at < c.page.Entries {
		return true, nil
	}
	return c.load()
}

// load goes to the next page with entries.
func (c *column) load() (bool, error) {
	for c.at == c.page.Entries {
		next, err := c.stream.next()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return false, err
		}
		c.page, c.at, c.value = next, 0, 0
	}
	return true, nil
}

// def returns the definition level of the entry at hand.
func (c *column) def() int {
	if c.page.Def == nil {
		return 0
	}
	return int(c.page.Def[c.at])
}

// rep returns the repetition level of the entry at hand.
func (c *column) rep() int {
	if c.page.Rep == nil {
		return 0
	}
	return int(c.page.Rep[c.at])
}

// advance passes over the entry at hand.
func (c *column) advance() {
	if c.rep() == 0 {
		c.begun++
	}
	if c.def() == c.leaf.def {
		c.value++
	}
	c.at++
}

// skip passes over the rows at the beginning that are not wanted and that the stream could not pass over.
func (c *column) skip() error {
	if _, err := c.ready(); err != nil {
		return err
	}
	rows := c.stream.rest
	if err := c.endRow(rows); err != nil || c.begun == rows {
		c.begun = 0
		return err
	}
	return c.stream.cut(io.EOF)
}

// endRow passes over the entries of the first rows, of which the column may have passed over some. It ends early where the
// column does.
func (c *column) endRow(rows int64) error {
	for {
		ok, err := c.ready()
		if err != nil || !ok || c.rep() == 0 && c.begun == rows {
			return err
		}
		c.advance()
	}
}

// append appends the value at hand as JSON.
func (c *column) append(dst []byte) ([]byte, flaw) {
	dst, _, why := c.appendCell(dst, plugin.CellText)
	return dst, why
}

// appendCell appends the value at hand as JSON, and returns its cell, which is of this kind if that can be. A column has one kind of
// cells.
func (c *column) appendCell(dst []byte, kind row.Kind) ([]byte, cell, flaw) {
	l := &c.leaf.leaf
	if c.page.Indices == nil {
		return l.appendCell(dst, c.page.Values.At(c.value), kind)
	}
	return c.texts.append(dst, l, c.page.Dictionary, c.page.Indices[c.value], kind)
}

// appendCell appends a value as JSON, and returns its cell.
func (l *leaf) appendCell(dst []byte, v []byte, kind row.Kind) ([]byte, cell, flaw) {
	before := len(dst)
	dst, why := l.appendValue(dst, v)
	if kind == plugin.CellText || why.code != "" {
		return dst, cell{kind: plugin.CellText}, why
	}
	return dst, l.cell(kind, v, len(dst)-before), why
}

// texts keeps what the values of a dictionary are as JSON, as most of them occur many times.
type texts struct {
	known []knownText // of each value; without an end: it is not there
	text  []byte
}

// knownText is where a text is, and its cell.
type knownText struct {
	start, end uint32
	cell       cell
}

// maxTexts is how many bytes of texts are kept for a column.
const maxTexts = 256 << 10

// append appends value number index of the dictionary.
func (t *texts) append(dst []byte, l *leaf, dictionary *page.Values, index uint32, kind row.Kind) ([]byte, cell, flaw) {
	if t.known == nil {
		t.known = make([]knownText, min(dictionary.Len(), maxTexts/8))
	}
	if int(index) >= len(t.known) {
		return l.appendCell(dst, dictionary.At(int(index)), kind)
	}
	known := &t.known[index]
	if known.end > 0 {
		return append(dst, t.text[known.start:known.end]...), known.cell, flaw{}
	}
	before := len(dst)
	dst, of, why := l.appendCell(dst, dictionary.At(int(index)), kind)
	if size := len(dst) - before; why.code == "" && len(t.text)+size <= maxTexts {
		*known = knownText{uint32(len(t.text)), uint32(len(t.text) + size), of}
		t.text = append(t.text, dst[before:]...)
	}
	return dst, of, why
}
