package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/jackc/pgx/v5"

	"waymark/plugin"
)

// How much is asked for at once: enough that the way to the server and back does not count, and little beside a chunk.
const (
	fetchBytes = 1 << 20
	fetchRows  = 2000
	firstRows  = 16 // at first, when nobody knows how long rows are
	growth     = 8  // and by how much more at most than before
)

// reader reads the rows of one snapshot.
type reader struct {
	source   *Source
	conn     *pgx.Conn
	selected *selection

	ahead  plugin.Chunk // rows that were fetched and not yet given out
	given  int          // how many of them were
	rows   int          // to ask for
	last   [][]byte     // what the row before has in the columns of the order
	hash   hash.Hash    // over the records before at, each with a line end
	at     plugin.Cursor
	bottom bool // no rows are left to fetch
}

// seek goes to the cursor.
func (r *reader) seek(ctx context.Context, at plugin.Cursor) error {
	for r.at.Row < at.Row {
		if r.given == r.ahead.Len() && !r.bottom {
			if err := r.fetch(ctx); err != nil {
				return err
			}
		}
		if r.given == r.ahead.Len() {
			break
		}
		r.pass(r.ahead.Record(r.given))
	}
	if at.Row == 0 {
		return nil
	}
	if r.at.Row != at.Row || !bytes.Equal(r.hash.Sum(nil), at.Digest) {
		return r.source.fault(codeSourceChanged,
			"rows that were read before the run was interrupted, the first %d, are not the same any more: "+
				"start over with waymark resume --fork", at.Row)
	}
	return nil
}

// pass counts a record as read.
func (r *reader) pass(record []byte) {
	r.hash.Write(record)
	r.hash.Write([]byte{'\n'})
	if len(r.ahead.Bad) > 0 && r.ahead.Bad[0].Index == r.given {
		r.ahead.Bad = r.ahead.Bad[1:]
	}
	r.given++
	r.at.Row++
	r.at.Line++
	r.at.Offset += int64(len(record)) + 1
}

// Next puts the next rows into c, each as a record of one line.
func (r *reader) Next(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	c.Reset()
	c.File, c.FirstRow, c.FirstLine, c.FirstOffset = r.source.path, r.at.Row+1, r.at.Line+1, r.at.Offset
	c.Context = r.selected.context
	for c.Len() < limits.Rows && len(c.Data) < limits.Bytes {
		if r.given == r.ahead.Len() && !r.bottom {
			if err := r.fetch(ctx); err != nil {
				c.Reset()
				return err
			}
		}
		if r.given == r.ahead.Len() {
			break
		}
		r.give(c)
	}
	if c.Len() == 0 {
		return io.EOF
	}
	return nil
}

// give moves the next row that was fetched to c.
func (r *reader) give(c *plugin.Chunk) {
	record := r.ahead.Record(r.given)
	if len(r.ahead.Bad) > 0 && r.ahead.Bad[0].Index == r.given {
		c.Bad = append(c.Bad, plugin.BadRecord{Index: c.Len(), Rejection: r.ahead.Bad[0].Rejection})
	}
	c.Offsets, c.Lengths = append(c.Offsets, uint32(len(c.Data))), append(c.Lengths, uint32(len(record)))
	c.Data = append(append(c.Data, record...), '\n')
	r.pass(record)
}

// fetch asks for the next rows.
func (r *reader) fetch(ctx context.Context) error {
	r.ahead.Reset()
	r.given = 0
	result := r.conn.PgConn().ExecParams(ctx, fmt.Sprintf("fetch forward %d from waymark_cursor", r.rows), nil, nil, nil, nil)
	var fault error
	for fault == nil && result.NextRow() {
		fault = r.add(result.Values())
	}
	_, err := result.Close()
	if fault != nil {
		return fault
	}
	if err != nil {
		return r.source.classify(fmt.Sprintf("read after row %d", r.at.Row), err)
	}
	if r.bottom = r.ahead.Len() < r.rows; r.bottom {
		return r.Close() // the server need not keep the snapshot any longer
	}
	if n := r.ahead.Len(); n > 0 {
		r.rows = max(1, min(fetchRows, growth*n, fetchBytes*n/(len(r.ahead.Data)+1)))
	}
	return nil
}

// add puts a row behind those that were fetched. values belong to the driver.
func (r *reader) add(values [][]byte) error {
	sel, ahead := r.selected, &r.ahead
	if err := r.follows(values[len(sel.columns) : len(sel.columns)+len(sel.order)]); err != nil {
		return err
	}
	start := len(ahead.Data)
	data, bad := sel.record(ahead.Data, values)
	length, size := len(data)-start, int64(len(data)-start)
	if long := sel.bytes(values); size > maxRecordBytes || long > maxRecordBytes {
		length = min(length, keptBytes)
		bad = &plugin.Rejection{Code: codeRowTooLarge,
			Message: fmt.Sprintf("the row has about %d bytes, more than %d; the first %d are kept", max(size, long), maxRecordBytes, length)}
	}
	if bad != nil {
		ahead.Bad = append(ahead.Bad, plugin.BadRecord{Index: ahead.Len(), Rejection: *bad})
	}
	ahead.Offsets, ahead.Lengths = append(ahead.Offsets, uint32(start)), append(ahead.Lengths, uint32(length))
	ahead.Data = data[:start+length]
	return nil
}

// follows rejects a row that is like the one before it in the columns that put the rows in order: then nothing says which comes
// first, and a repeat could see them otherwise.
func (r *reader) follows(order [][]byte) error {
	same := r.last != nil
	for i := range order {
		same = same && bytes.Equal(order[i], r.last[i]) && (order[i] == nil) == (r.last[i] == nil)
	}
	if same {
		return r.source.fault(codeOrderNotUnique, "the rows %d and %d are alike in the columns that put them in order, %s: add a column to order_by in which they differ",
			r.at.Row+int64(r.ahead.Len()), r.at.Row+int64(r.ahead.Len())+1, named(r.selected.order))
	}
	if r.last == nil {
		r.last = make([][]byte, len(order))
	}
	for i := range order {
		if r.last[i] = append(r.last[i][:0], order[i]...); order[i] == nil {
			r.last[i] = nil
		} else if r.last[i] == nil {
			r.last[i] = []byte{}
		}
	}
	return nil
}

// Cursor returns where the next chunk begins: how many rows were read, and the digest of them.
func (r *reader) Cursor() plugin.Cursor {
	at := r.at
	if at.Row > 0 {
		at.Digest = r.hash.Sum(nil)
	}
	return at
}

// Digests returns the SHA-256 of all records, each with a line end.
func (r *reader) Digests(context.Context) ([]string, error) {
	if !r.bottom || r.given < r.ahead.Len() {
		return nil, errors.New("postgres: digest of rows that were not all read")
	}
	return []string{hex.EncodeToString(r.hash.Sum(nil))}, nil
}

// Close ends the snapshot. It may be repeated.
func (r *reader) Close() error { return closed(r.conn) }
