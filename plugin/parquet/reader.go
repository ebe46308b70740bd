package parquet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"

	"waymark/plugin"
	"waymark/plugin/file"
)

// reader reads the files of a source one after the other. To the outside a file is the JSON Lines text of its rows: offsets
// are bytes of that text, and line n is row n.
type reader struct {
	source *source
	pin    plugin.SourceInfo
	at     plugin.Cursor // of the next chunk

	file   *pieces   // nil: none is open
	holds  *contents // of the file
	group  int       // the row group that is read
	rows   *rowGroup // nil: it is not open
	before int64     // rows of the file in the row groups before
	large  int       // bytes of the largest chunk so far
	many   int       // rows of the largest chunk so far
	err    error     // what comes after the records that were read

	ahead *ahead       // the next chunk, which is being read; nil: none is
	spare plugin.Chunk // memory for the next one
}

// pieces reads pieces of a file until they are stopped.
type pieces struct {
	file.File
	ctx  context.Context
	stop context.CancelFunc
}

func (p *pieces) ReadAt(b []byte, offset int64) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.ReaderAt(p.ctx).ReadAt(b, offset)
}

// Next reads the next chunk. What was read before a fault comes first, and the fault with the call after it.
func (r *reader) Next(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	c.Reset()
	for r.at.File < len(r.pin.Files) {
		err := r.chunk(ctx, limits, c)
		if c.Len() > 0 && (err == nil || err == io.EOF) {
			return nil
		}
		if err != io.EOF {
			c.Reset()
			return err
		}
		if err := r.finish(); err != nil {
			return err
		}
	}
	return io.EOF
}

// chunk reads a chunk of the current file into c, which is empty. It returns io.EOF if the file has no more.
func (r *reader) chunk(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	if r.file == nil {
		if err := r.open(ctx); err != nil {
			return r.blame(ctx, err)
		}
	}
	err := r.take(ctx, limits, c)
	c.File, c.FirstRow, c.FirstLine, c.FirstOffset = r.path(), r.at.Row+1, r.at.Line+1, r.at.Offset
	if r.holds != nil {
		c.Context = r.holds.context
	}
	if changed := r.file.Unchanged(ctx); changed != nil {
		return r.source.about(r.path(), changed)
	}
	rows := int64(c.Len())
	r.large, r.many = max(r.large, len(c.Data)), max(r.many, c.Len())
	r.at.Row, r.at.Line, r.at.Offset = r.at.Row+rows, r.at.Line+rows, r.at.Offset+int64(len(c.Data))
	if err == nil {
		r.begin(limits)
	}
	return err
}

func (r *reader) path() string { return r.pin.Files[r.at.File].Path }

// blame returns SOURCE_CHANGED instead of err if the file has changed: that is why.
func (r *reader) blame(ctx context.Context, err error) error {
	if r.file != nil {
		if changed := r.file.Unchanged(ctx); changed != nil {
			err = changed
		}
	}
	return r.source.about(r.path(), err)
}

// open opens the current file at the cursor.
func (r *reader) open(ctx context.Context) error {
	pin := r.pin.Files[r.at.File]
	file, err := r.source.store.Open(ctx, pin)
	if err != nil {
		return err
	}
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.file = &pieces{file, reading, stop}
	if pin.Bytes == 0 {
		return r.checkEmpty(ctx, file)
	}
	if r.holds, err = readContents(r.file, pin.Bytes); err != nil {
		return err
	}
	if err := r.source.checkColumns(r.holds); err != nil {
		return err
	}
	r.rewind()
	return nil
}

// rewind forgets which row group is read: the next row is looked for from the beginning of the file.
func (r *reader) rewind() { r.group, r.before, r.rows = 0, 0, nil }

// checkEmpty rejects a file of no bytes, unless the document allows it, and one whose size is unknown.
func (r *reader) checkEmpty(ctx context.Context, file file.File) error {
	stream, err := file.Stream(ctx, 0)
	if err != nil {
		return err
	}
	n, err := stream.Read(ctx, make([]byte, 1))
	switch {
	case n > 0:
		return fault(codeUnsupported, "the server does not say how long the file is, and Parquet is read from its end: let it send Content-Length, or fetch the file first")
	case err != nil && err != io.EOF:
		return err
	case !r.source.spec.AllowEmpty:
		return fault(codeEmpty, "the file is empty; mend it, or set allow_empty: true")
	}
	return nil
}

// fill adds records to c up to the limits. It returns io.EOF at the end of the file. A fault behind records waits for the
// next call, which finds it again if another reader makes it.
func (r *reader) fill(limits plugin.Limits, c *plugin.Chunk) (err error) {
	defer confine(&err)
	c.Reset()
	const slack = 64 << 10 // a chunk is as large as the limit, and the rest of a record
	c.Data, c.Offsets, c.Lengths = slices.Grow(c.Data, r.large+slack), slices.Grow(c.Offsets, r.many), slices.Grow(c.Lengths, r.many)
	if r.holds != nil && r.holds.kinds != nil {
		c.Cells.Columns = r.holds.names
		c.Cells.Kinds = slices.Grow(c.Cells.Kinds, (r.many+1)*len(r.holds.names))
		c.Cells.Values = slices.Grow(c.Cells.Values, (r.many+1)*len(r.holds.names))
	}
	err = r.err
	for err == nil && c.Len() < limits.Rows && len(c.Data) < limits.Bytes {
		err = r.add(c)
	}
	if err != nil && err != io.EOF {
		err = r.source.about(r.path(), err)
		if c.Len() > 0 {
			r.err, err = err, nil
		}
	}
	return err
}

// add adds the next row of the file to c.
func (r *reader) add(c *plugin.Chunk) error {
	if r.rows == nil {
		if err := r.openGroup(r.at.Line + int64(c.Len())); err != nil {
			return err
		}
	}
	start := len(c.Data)
	r.rows.cells = nil
	if c.Cells.Columns != nil {
		r.rows.cells = &c.Cells
	}
	data, flaw, err := r.rows.next(c.Data)
	if err == io.EOF {
		r.before += r.holds.meta.RowGroups[r.group].NumRows
		r.rows, r.group = nil, r.group+1
		return nil
	}
	if err != nil {
		return err
	}
	if flaw != nil {
		r.rows.fillCells(c.Len() + 1)
		c.Bad = append(c.Bad, plugin.BadRecord{Index: c.Len(), Rejection: *flaw})
	}
	c.Offsets, c.Lengths = append(c.Offsets, uint32(start)), append(c.Lengths, uint32(len(data)-start))
	c.Data = append(data, '\n')
	return nil
}

// openGroup opens the row group that holds the row with this number in the file, from 0. It returns io.EOF if there is none.
func (r *reader) openGroup(row int64) error {
	if r.holds == nil {
		return io.EOF
	}
	for ; r.group < len(r.holds.meta.RowGroups); r.group++ {
		rows := r.holds.meta.RowGroups[r.group].NumRows
		if row < r.before+rows {
			var err error
			r.rows, err = r.holds.openGroup(r.file, r.group, row-r.before)
			return err
		}
		r.before += rows
	}
	return io.EOF
}

// finish closes the current file, which is read to its end, and goes to the beginning of the next one.
func (r *reader) finish() error {
	r.at = plugin.Cursor{File: r.at.File + 1, Row: r.at.Row}
	return r.Close()
}

// Cursor returns where the next chunk begins.
func (r *reader) Cursor() plugin.Cursor { return r.at }

// Digests reads every file before the cursor from its beginning to its end: a file is read column by column, so that its bytes
// do not come by in order before.
func (r *reader) Digests(ctx context.Context) ([]string, error) {
	var digests []string
	for _, pin := range r.pin.Files[:r.at.File] {
		digest, err := r.digest(ctx, pin)
		if err != nil {
			return nil, r.source.about(pin.Path, err)
		}
		digests = append(digests, digest)
	}
	return digests, nil
}

func (r *reader) digest(ctx context.Context, pin plugin.FileInfo) (digest string, err error) {
	file, err := r.source.store.Open(ctx, pin)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	stream, err := file.Stream(ctx, 0)
	if err != nil {
		return "", err
	}
	hash, buffer := sha256.New(), make([]byte, 256<<10)
	for err == nil {
		var n int
		n, err = stream.Read(ctx, buffer)
		hash.Write(buffer[:n])
	}
	if err != io.EOF {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), file.Unchanged(ctx)
}

// Close releases the open file. It may be repeated.
func (r *reader) Close() error {
	if r.file == nil {
		return nil
	}
	r.file.stop()
	r.drop()
	err := r.file.Close()
	r.file, r.holds, r.rows, r.err = nil, nil, nil, nil
	return err
}
