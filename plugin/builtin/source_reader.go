package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"waymark/plugin"
)

// maxCursorContext is how long a header may be to travel in the cursor, which stays under 1 KiB as JSON: 512 bytes are
// 684 in base64, the hash state another 144.
const maxCursorContext = 512

// reader reads the files of a source one after the other.
type reader struct {
	source   *fileSource
	pin      plugin.SourceInfo
	first    int           // file that this reader began in
	at       plugin.Cursor // of the next chunk; while a file is open without digest
	text     *text         // of the file at.File; nil: not open
	splitter splitter
	array    *arrayScan // of the open file, if its records are elements of an array
	context  []byte     // header of the open file
	digests  []string   // of the files that this reader read to their end
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

// fill adds records to c up to the limits and moves the cursor behind them, but for its Row. It returns io.EOF at the end
// of the file.
func (r *reader) fill(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	r.splitter.line = 0
	defer func() {
		r.at.Line += int64(r.splitter.line)
		r.at.Offset = r.text.offset
		if r.array != nil {
			r.at.State = string(r.array.state)
		}
	}()
	if r.array != nil {
		return r.fillArray(ctx, limits, c)
	}
	for c.Len() < limits.Rows && len(c.Data) < limits.Bytes {
		window := r.text.window()
		used, long := r.splitter.split(window, r.text.ended(), limits, c)
		c.Data = append(c.Data, window[:used]...)
		r.text.drop(used)
		if long && len(c.Data) > 0 {
			return nil
		}
		if long {
			return r.longLine(ctx, c)
		}
		if used == 0 && !r.text.more(ctx) && (r.text.err != io.EOF || len(r.text.window()) == 0) {
			return r.textError()
		}
	}
	return nil
}

// textError returns why the text has ended, for people.
func (r *reader) textError() error {
	var fault *plugin.SourceError
	if err := r.text.err; err == io.EOF || errors.As(err, &fault) {
		return err
	}
	return fmt.Errorf("source %s: %s: %w", r.source.name, r.path(), r.text.err)
}

func (r *reader) path() string { return r.pin.Files[r.at.File].Path }

// longLine reads a line that is longer than a record may be, of which the record keeps the first bytes only. It is a chunk
// of its own, so that in every chunk Data is a piece of the text without gaps.
func (r *reader) longLine(ctx context.Context, c *plugin.Chunk) error {
	first := r.text.window()
	comment := r.splitter.isComment(first)
	kept := bytes.Clone(first[:min(keptBytes, r.splitter.maxRecord)])
	size, sum, err := r.text.skipLine(ctx, r.splitter.newline)
	if err != nil {
		return r.textError()
	}
	if comment {
		c.Comments++
	} else {
		r.splitter.add(c, len(c.Data), found{record: len(kept), defect: &plugin.Rejection{
			Code:    codeRowTooLarge,
			Message: fmt.Sprintf("the line has %d bytes, more than %d; its SHA-256 is %x; the first %d bytes are kept", size, r.splitter.maxRecord, sum, len(kept)),
		}})
		c.Data = append(c.Data, kept...)
	}
	r.splitter.line++
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
	r.text, r.context, r.array = nil, nil, nil
	return err
}
