package file

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"waymark/plugin"
)

// begin opens the current file at the cursor. At the beginning of a file it counts in c what comes before the header.
func (r *reader) begin(ctx context.Context, c *plugin.Chunk) error {
	format, at := r.source.Format, r.at
	r.lines.EmptyRecords = format.EmptyRecords
	if at.Offset > 0 && (format.CheckHeader == nil || at.Context != nil) {
		return r.resume(ctx, at, at.Context)
	}
	r.at.Offset, r.at.Line = 0, 0
	if err := r.open(ctx, plugin.Cursor{}); err != nil {
		return err
	}
	var before plugin.Chunk
	if err := r.prologue(ctx, &before); err != nil {
		return err
	}
	if at.Offset > 0 {
		header := r.context
		if err := r.Close(); err != nil {
			return err
		}
		return r.resume(ctx, at, header)
	}
	c.Blank, c.Comments = before.Blank, before.Comments
	return nil
}

func (r *reader) open(ctx context.Context, at plugin.Cursor) error {
	var err error
	r.text, err = r.source.openText(ctx, r.pin.Files[r.at.File], at.Offset, at.Digest)
	return err
}

// resume opens the current file in the middle, where the header is known.
func (r *reader) resume(ctx context.Context, at plugin.Cursor, header []byte) error {
	if err := r.open(ctx, at); err != nil {
		return err
	}
	r.at = at
	if divider := r.source.Format.Divider; divider != nil {
		r.divider = divider()
		if err := r.divider.Resume(at.State); err != nil {
			return fmt.Errorf("source %s: %s: %w", r.source.name, r.path(), err)
		}
		return nil
	}
	return r.setHeader(header, at.Line)
}

// prologue reads what comes before the first record of a file: byte order mark, skipped lines, header. before counts the
// blank lines and comments in it.
func (r *reader) prologue(ctx context.Context, before *plugin.Chunk) (err error) {
	start := r.text.firstLine(ctx, '\n', longestSignature)
	if fault := r.sniff(r.text.Window()[:min(len(r.text.Window()), longestSignature)]); fault != nil {
		return fault
	}
	if bytes.HasPrefix(start, []byte(byteOrderMark)) {
		r.text.Drop(len(byteOrderMark))
	}
	newline := r.lines.Newline
	for range r.source.Format.SkipLines {
		if _, _, err := r.text.skipLine(ctx, newline); err != nil {
			break // the end of the file, or a fault that reading on reports
		}
		r.at.Line++
	}
	line := r.text.firstLine(ctx, newline, r.lines.MaxRecord)
	if fault := r.source.Format.CheckStart(string(line)); fault != nil {
		return r.locate(fault, r.at.Line+1)
	}
	nothing := true
	if divider := r.source.Format.Divider; divider != nil {
		if nothing, err = r.openDivider(ctx, divider()); err != nil {
			return err
		}
	}
	if r.source.Format.CheckHeader != nil {
		if err := r.readHeader(ctx, before); err != nil {
			return err
		}
	}
	if !nothing {
		return nil
	}
	return r.checkNotEmpty(ctx, before)
}

func (r *reader) openDivider(ctx context.Context, divider Divider) (nothing bool, err error) {
	r.text.line = r.at.Line
	lines, nothing, err := divider.Open(ctx, r.text)
	if err == nil {
		r.divider = divider
		r.at.Line += int64(lines)
	}
	return nothing, err
}

const byteOrderMark = "\ufeff"

// readHeader reads the first record as the header; a file may have none.
func (r *reader) readHeader(ctx context.Context, before *plugin.Chunk) error {
	var start int64
	for before.Len() == 0 {
		start, before.Data = r.at.Line, before.Data[:0]
		err := r.fill(ctx, plugin.Limits{Rows: 1, Bytes: r.lines.MaxRecord}, before)
		if err == io.EOF && before.Len() == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
	}
	line := start + 1 + before.Line(0)
	if len(before.Bad) > 0 {
		bad := before.Bad[0]
		return r.locate(&plugin.SourceError{Code: CodeHeaderUnreadable, Message: bad.Code + ": " + bad.Message}, line)
	}
	return r.setHeader(bytes.Clone(before.Record(0)), line)
}

// setHeader takes the header record of the current file; nil if it has none. line is for faults.
func (r *reader) setHeader(header []byte, line int64) error {
	if header == nil {
		return nil
	}
	columns, fault := r.source.Format.CheckHeader(string(header))
	if fault != nil {
		return r.locate(fault, line)
	}
	r.context = header
	if len(header) <= maxCursorContext {
		r.at.Context = header
	}
	r.lines.EmptyRecords = columns == 1
	return nil
}

// checkNotEmpty fails if the file holds nothing at all.
func (r *reader) checkNotEmpty(ctx context.Context, before *plugin.Chunk) error {
	if len(r.text.Window()) > 0 || r.text.More(ctx) || r.text.err != io.EOF || r.source.files.AllowEmpty {
		return nil
	}
	if r.context == nil && isEmpty(before) {
		return r.locate(&plugin.SourceError{Code: CodeEmptySource, Message: "the file is empty; set allow_empty: true if it may be"}, 0)
	}
	return nil
}

// locate says where the fault is.
func (r *reader) locate(fault *plugin.SourceError, line int64) error {
	fault.File, fault.Line = r.path(), line
	return fault
}

// signatures are the first bytes of files that are not in the encoding or compression that was declared.
var signatures = []struct {
	bytes, code, message string
	decoded              bool // the bytes are those after decoding
}{
	{"\xff\xfe", CodeEncoding, "the file begins with a UTF-16LE byte order mark; set encoding: utf-16le", false},
	{"\xfe\xff", CodeEncoding, "the file begins with a UTF-16BE byte order mark; set encoding: utf-16be", false},
	{"\x1f\x8b", codeCompressed, "the file is compressed; set compression: gzip", false},
	{"\x28\xb5\x2f\xfd", codeCompressed, "the file is compressed; set compression: zstd", false},
	{"PK\x03\x04", codeCompressed, "the file is a zip archive; set compression: zip", false},
	{"\xfd7zXZ\x00", codeCompressed, "the file is compressed by xz, which is not read; decompress it first: xz -dc FILE | waymark run … with path: \"-\"", false},
	{"7z\xbc\xaf\x27\x1c", codeCompressed, "the file is a 7z archive, which is not read; unpack it first", false},
	{"Rar!\x1a\x07", codeCompressed, "the file is a RAR archive, which is not read; unpack it first", false},
	{"\x04\x22\x4d\x18", codeCompressed, "the file is compressed by lz4, which is not read; decompress it first: lz4 -dc FILE | waymark run … with path: \"-\"", false},
	{"\ufffe", CodeEncoding, "the byte order mark is that of the other UTF-16; exchange utf-16le and utf-16be", true},
}

// NotUTF32 is the fault of a file in UTF-32. Of one without a byte order mark three NUL bytes in a row tell, which no text in UTF-16 has
// beside ASCII characters.
func NotUTF32() *plugin.SourceError {
	return &plugin.SourceError{Code: CodeEncoding, Message: "the file is UTF-32, which is not read; convert it: iconv -f UTF-32 -t UTF-8 (UTF-32LE or UTF-32BE if it has no byte order mark)"}
}

const (
	utf32LE = "\xff\xfe\x00\x00"
	utf32BE = "\x00\x00\xfe\xff"
	// ThreeNULs tells UTF-32 from UTF-16: see NotUTF32.
	ThreeNULs = "\x00\x00\x00"
)

// longestSignature is how many bytes of a file tell what it is.
const longestSignature = 10

// isBzip2 reports whether a file begins as bzip2 does: BZh, a digit, and the number pi.
func isBzip2(start []byte) bool {
	return len(start) == longestSignature && bytes.HasPrefix(start, []byte("BZh")) && bytes.HasSuffix(start, []byte("1AY&SY"))
}

// sniff fails if the beginning of the text shows that encoding or compression are declared wrong.
func (r *reader) sniff(start []byte) error {
	_, other := decodings[r.source.files.Encoding]
	if !other && isBzip2(start) {
		return r.locate(&plugin.SourceError{Code: codeCompressed, Message: "the file is compressed; set compression: bzip2"}, 0)
	}
	if !other && (bytes.HasPrefix(start, []byte(utf32LE)) || bytes.HasPrefix(start, []byte(utf32BE))) {
		return r.locate(NotUTF32(), 0)
	}
	for _, s := range signatures {
		if s.decoded == other && bytes.HasPrefix(start, []byte(s.bytes)) {
			return r.locate(&plugin.SourceError{Code: s.code, Message: s.message}, 0)
		}
	}
	return nil
}
