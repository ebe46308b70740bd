package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"waymark/plugin"
)

// maxCursorContext is how long a header may be to travel in the cursor, which stays under 1 KiB as JSON: 512 bytes are
// 684 in base64, the state of the hash another 144.
const maxCursorContext = 512

// reader reads the files of a source one after the other.
type reader struct {
	source  *Source
	pin     plugin.SourceInfo
	first   int           // file that this reader began in
	at      plugin.Cursor // of the next chunk; while a file is open without digest
	text    *Text         // of the file at.File; nil: not open
	lines   Lines
	divider Divider  // of the open file; nil: its records are lines
	context []byte   // header of the open file
	digests []string // of the files that this reader read to their end
}

// Next reads the next chunk. What was read before a fault comes first, and the fault with the call after it.
func (r *reader) Next(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	c.Reset()
	for r.at.File < len(r.pin.Files) {
		err := r.chunk(ctx, limits, c)
		if !isEmpty(c) && (err == nil || err == io.EOF) {
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

func isEmpty(c *plugin.Chunk) bool { return c.Len() == 0 && c.Blank == 0 && c.Comments == 0 }

// chunk reads a chunk of the current file into c, which is empty. It returns io.EOF if the file has no more.
func (r *reader) chunk(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	if r.text == nil {
		if err := r.begin(ctx, c); err != nil {
			return r.blame(ctx, err)
		}
	}
	c.File, c.FirstRow, c.FirstLine = r.path(), r.at.Row+1, r.at.Line+1
	c.FirstOffset, c.Context = r.text.offset, r.context
	err := r.fill(ctx, limits, c)
	if changed := r.unchanged(ctx); changed != nil {
		c.Reset()
		return changed
	}
	r.at.Row += int64(c.Len())
	if err == io.EOF || isEmpty(c) {
		return err
	}
	return nil
}

// blame returns SOURCE_CHANGED instead of err if the file has changed: that is why.
func (r *reader) blame(ctx context.Context, err error) error {
	if r.text != nil {
		if changed := r.unchanged(ctx); changed != nil {
			return changed
		}
	}
	return err
}

// fill adds records to c up to the limits and moves the cursor after them, but for its Row. It returns io.EOF at the end
// of the file.
func (r *reader) fill(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) (err error) {
	var lines int
	if r.divider != nil {
		r.text.line = r.at.Line
		lines, err = r.divider.Fill(ctx, r.text, limits, c)
		r.at.State = r.divider.State()
	} else {
		r.lines.Begin()
		err = r.fillLines(ctx, limits, c)
		lines = r.lines.line
	}
	r.at.Line += int64(lines)
	r.at.Offset = r.text.offset
	return err
}

func (r *reader) fillLines(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	for c.Len() < limits.Rows && len(c.Data) < limits.Bytes {
		window := r.text.Window()
		used, long := r.lines.Split(window, r.text.ended(), limits, c)
		c.Data = append(c.Data, window[:used]...)
		r.text.Drop(used)
		if long && len(c.Data) > 0 {
			return nil
		}
		if long {
			return r.longLine(ctx, c)
		}
		if used == 0 && !r.text.More(ctx) && (r.text.err != io.EOF || len(r.text.Window()) == 0) {
			return r.text.Err()
		}
	}
	return nil
}

func (r *reader) path() string { return r.pin.Files[r.at.File].Path }

// longLine reads a line that is longer than a record may be, of which the record keeps the first bytes only. It is a chunk
// of its own, so that in every chunk Data is a piece of the text without gaps.
func (r *reader) longLine(ctx context.Context, c *plugin.Chunk) error {
	first := r.text.Window()
	comment := r.lines.isComment(first)
	kept := bytes.Clone(first[:min(KeptBytes, r.lines.MaxRecord)])
	size, sum, err := r.text.skipLine(ctx, r.lines.Newline)
	if err != nil {
		return r.text.Err()
	}
	if comment {
		c.Comments++
	} else {
		AddRecord(c, len(c.Data), r.lines.line, Found{Record: len(kept), Defect: TooLarge("line", size, r.lines.MaxRecord, sum, len(kept))})
		c.Data = append(c.Data, kept...)
	}
	r.lines.line++
	return nil
}

// unchanged fails if the open file is no longer as the run found it.
func (r *reader) unchanged(ctx context.Context) error {
	if err := r.text.file.Unchanged(ctx); err != nil {
		return r.source.storeError(r.path(), err)
	}
	return nil
}

// finish closes the current file, which is read to its end, and goes to the beginning of the next one.
func (r *reader) finish() error {
	r.digests = append(r.digests, r.text.digest())
	r.at = plugin.Cursor{File: r.at.File + 1, Row: r.at.Row}
	return r.Close()
}

// Cursor returns where the next chunk begins.
func (r *reader) Cursor() plugin.Cursor {
	at := r.at
	if r.text != nil {
		at.Digest = r.text.state()
	}
	return at
}

// Seeks reports whether the open file's own bytes are its text, and can be no others the next time.
func (r *reader) Seeks() bool {
	return r.text != nil && r.text.seekable && r.text.file != nil && r.text.file.Pinned()
}

// Digests returns the SHA-256 of every file before the cursor. Files that an earlier reader read are read again.
func (r *reader) Digests(ctx context.Context) ([]string, error) {
	var digests []string
	for _, pin := range r.pin.Files[:r.first] {
		digest, err := r.digestAgain(ctx, pin)
		if err != nil {
			return nil, err
		}
		digests = append(digests, digest)
	}
	return append(digests, r.digests...), nil
}

func (r *reader) digestAgain(ctx context.Context, pin plugin.FileInfo) (digest string, err error) {
	file, err := r.source.store.Open(ctx, pin)
	if err != nil {
		return "", r.source.storeError(pin.Path, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	stream, err := file.Stream(ctx, 0)
	if err == nil {
		_, err = io.Copy(hash, &bound{ctx, stream})
	}
	if err != nil {
		return "", r.source.storeError(pin.Path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Close releases the open file. It may be repeated.
func (r *reader) Close() error {
	if r.text == nil {
		return nil
	}
	err := r.text.close()
	r.text, r.context, r.divider = nil, nil, nil
	return err
}

// CheckHead reads a file up to its first record, as a Reader does.
func (s *Source) CheckHead(ctx context.Context, file plugin.FileInfo) (err error) {
	r := &reader{source: s, pin: plugin.SourceInfo{Files: []plugin.FileInfo{file}}, lines: s.Format.Lines}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.begin(ctx, &plugin.Chunk{}); err != nil {
		return r.blame(ctx, err)
	}
	return nil
}

// Chunks reads content, what the one file of the source holds, and calls each with its chunks, one after the other. behind is where in the
// decoded text the chunk ends. each must not keep the chunk. It is called at least once, with an empty chunk if there are no records.
func (s *Source) Chunks(content []byte, limits plugin.Limits, each func(c *plugin.Chunk, behind int64) error) error {
	ctx := context.Background() // what is in memory is read at once
	path := s.files.Path
	r := &reader{source: s, pin: plugin.SourceInfo{Files: []plugin.FileInfo{{Path: path}}}, text: s.textOf(path, content), lines: s.Format.Lines}
	defer r.text.release()
	if err := r.prologue(ctx, &plugin.Chunk{}); err != nil {
		return err
	}
	var chunk plugin.Chunk
	for {
		chunk.Reset()
		chunk.FirstLine, chunk.Context = r.at.Line+1, r.context
		err := r.fill(ctx, limits, &chunk)
		if err != nil && err != io.EOF {
			return err
		}
		if refused := each(&chunk, r.at.Offset); refused != nil {
			return refused
		}
		if err == io.EOF {
			return nil
		}
	}
}
