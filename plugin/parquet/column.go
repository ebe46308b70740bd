package parquet

import (
	"io"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/parquet/page"
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
	queue  *queue // of a column that is not nested, and is read by it; else nil
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

// more reports whether there is an entry that is not passed over.
func (c *column) more() (bool, error) {
	if c.queue != nil {
		return c.queue.more()
	}
	return c.ready()
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
	if c.queue != nil {
		return c.queue.endRow(rows)
	}
	for {
		ok, err := c.ready()
		if err != nil || !ok || c.rep() == 0 && c.begun == rows {
			return err
		}
		c.advance()
	}
}

// append appends the value at hand as JSON. The column is not read by its queue.
func (c *column) append(dst []byte) ([]byte, flaw) {
	l := &c.leaf.leaf
	if c.page.Indices == nil {
		return l.appendValue(dst, c.page.Values.At(c.value))
	}
	known, why := c.texts.at(l, c.page.Dictionary, c.page.Indices[c.value], plugin.CellText)
	if why.code != "" || known == nil {
		return l.appendValue(dst, c.page.Value(c.value))
	}
	return append(dst, c.texts.text[known.start:known.end]...), flaw{}
}

// texts keeps what the values of a dictionary are as JSON, as most of them occur many times.
type texts struct {
	label []byte      // before each of them
	known []knownText // of each value; without an end: it is not there
	text  []byte
}

// knownText is where a text is, label included, and its cell.
type knownText struct {
	start, end uint32
	cell       cell
}

// maxTexts is how many bytes of texts are kept for a column.
const maxTexts = 256 << 10

// at returns the text of value number index of the dictionary; nil if there is no room for it, or if it cannot be written.
func (t *texts) at(l *leaf, dictionary *page.Values, index uint32, kind row.Kind) (*knownText, flaw) {
	if t.known == nil {
		t.known = make([]knownText, min(dictionary.Len(), maxTexts/8))
	}
	if int(index) >= len(t.known) {
		return nil, flaw{}
	}
	known := &t.known[index]
	if known.end > 0 {
		return known, flaw{}
	}
	v, start := dictionary.At(int(index)), len(t.text)
	if start+len(t.label)+len(v) > maxTexts {
		return nil, flaw{}
	}
	text, why := l.appendValue(append(t.text, t.label...), v)
	if why.code != "" || len(text) > maxTexts {
		return nil, why
	}
	t.text = text
	*known = knownText{uint32(start), uint32(len(text)), l.cell(kind, v, len(text)-start-len(t.label))}
	return known, flaw{}
}
