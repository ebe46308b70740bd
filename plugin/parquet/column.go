package parquet

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// valueBatch is how many values of a column are decoded at once.
const valueBatch = 128

// column gives the values of a column in a row group, one after the other.
type column struct {
	leaf   *node
	stream *pageStream
	pages  *parquet.FilePages
	page   parquet.Page // nil: none is open
	reader parquet.ValueReader
	rows   int64 // that began in the page

	begun int64 // rows of which a value was passed over

	values []parquet.Value
	at     int // of the next one
}

func (c *contents) newColumn(r io.ReaderAt, group, index int, skip int64, open *int64) *column {
	stream := c.newPageStream(r, group, index, skip, open)
	return &column{
		leaf: c.leaves[index], stream: stream, pages: c.pages[index].PagesFrom(stream),
		values: make([]parquet.Value, 0, valueBatch),
	}
}

// peek returns the next value, nil at the end of the row group. It is good until the next call.
func (c *column) peek() (*parquet.Value, error) {
	if c.at == len(c.values) {
		if err := c.fill(); err != nil {
			if err == io.EOF {
				err = nil
			}
			return nil, err
		}
	}
	return &c.values[c.at], nil
}

// fill reads the next values. It returns io.EOF if there are none.
func (c *column) fill() error {
	c.at, c.values = 0, c.values[:0]
	for {
		if c.page == nil {
			if err := c.open(); err != nil {
				return err
			}
		}
		n, err := c.reader.ReadValues(c.values[:valueBatch])
		c.values = c.values[:n]
		if err != nil && err != io.EOF {
			return c.stream.corrupt(err)
		}
		if n > 0 {
			return c.check()
		}
		if err := c.close(); err != nil {
			return err
		}
	}
}

// open opens the next page.
func (c *column) open() error {
	page, err := c.pages.ReadPage()
	if err != nil {
		if c.stream.fault != nil {
			return c.stream.fault
		}
		return c.stream.corrupt(err)
	}
	if page.NumValues() != values(&c.stream.page) {
		return c.stream.corrupt(errors.New("it has another number of values than its header says"))
	}
	c.page, c.reader, c.rows = page, page.Values(), 0
	return nil
}

// close ends a page of which all values were taken.
func (c *column) close() error {
	if rows, known := c.stream.rows(&c.stream.page); known && rows != c.rows {
		return c.stream.corrupt(errors.New("it has another number of rows than its header says"))
	}
	parquet.Release(c.page)
	c.page = nil
	return nil
}

// check refuses levels that the column cannot have.
func (c *column) check() error {
	for i := range c.values {
		v := &c.values[i]
		if v.DefinitionLevel() > c.leaf.def || v.RepetitionLevel() > c.leaf.rep || v.IsNull() != (v.DefinitionLevel() < c.leaf.def) ||
			!v.IsNull() && format.Type(v.Kind()) != c.leaf.leaf.physical {
			return c.stream.corrupt(errors.New("it has values that its schema does not allow"))
		}
		if v.RepetitionLevel() == 0 {
			c.rows++
		}
	}
	return nil
}

// advance passes over the value that peek returned.
func (c *column) advance() {
	if c.values[c.at].RepetitionLevel() == 0 {
		c.begun++
	}
	c.at++
}

// skip passes over the rows at the beginning that are not wanted and that the stream could not pass over.
func (c *column) skip() error {
	if _, err := c.peek(); err != nil {
		return err
	}
	rows := c.stream.rest
	if err := c.endRow(rows); err != nil || c.begun == rows {
		c.begun = 0
		return err
	}
	return c.stream.cut(io.EOF)
}

// endRow passes over the values of the first rows, of which the column may have passed over some. It ends early where the
// column does.
func (c *column) endRow(rows int64) error {
	for {
		v, err := c.peek()
		if err != nil || v == nil || v.RepetitionLevel() == 0 && c.begun == rows {
			return err
		}
		c.advance()
	}
}
