package file

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

// Text is one file's decoded text, read through a window that moves forward.
type Text struct {
	source string // name
	path   string
	line   int64 // lines before what a Divider reads

	file   File   // nil: the file is in memory
	own    *bound // its Stream; nil: the file is in memory
	stream io.Reader
	unpack *decompressor // nil: the file is not compressed
	hash   *prefixHash   // of the file's own bytes: up to offset if seekable, else as far as they are read

	seekable bool  // the decoded text is the file's own bytes
	offset   int64 // of the window in the decoded text

	buffer     []byte
	start, end int   // of the window in buffer
	err        error // why there is no more after the window
}

// openText opens a file of the source at an offset of its decoded text. digest is the state of the hash there, or empty;
// a text that cannot be entered in the middle is read up to the offset.
func (s *Source) openText(ctx context.Context, info plugin.FileInfo, offset int64, digest []byte) (*Text, error) {
	file, err := s.store.Open(ctx, info)
	if err != nil {
		return nil, s.storeError(info.Path, err)
	}
	t := &Text{source: s.name, path: info.Path, file: file, own: &bound{}, hash: newPrefixHash(), buffer: make([]byte, s.Buffer)}
	s.connect(t, info.Path, t.own)
	if err := t.enter(ctx, info.Path, offset, digest); err != nil {
		return nil, errors.Join(s.storeError(info.Path, err), t.close())
	}
	return t, nil
}

// textOf returns the text of a file that is in memory. It is released and not closed.
func (s *Source) textOf(path string, content []byte) *Text {
	t := &Text{source: s.name, path: path, hash: newPrefixHash(), buffer: make([]byte, s.Buffer)}
	s.connect(t, path, bytes.NewReader(content))
	return t
}

// connect builds the way from the file's own bytes to UTF-8.
func (s *Source) connect(t *Text, path string, own io.Reader) {
	counted := &ownBytes{src: own, hash: t.hash}
	t.stream = counted
	if t.unpack = newDecompressor(s.compressionOf(path), path, counted); t.unpack != nil {
		t.stream = t.unpack
	}
	decode, other := decodings[s.files.Encoding]
	if other {
		t.stream = newDecoder(t.stream, decode, s.Buffer)
	}
	if t.unpack == nil && !other {
		t.seekable, counted.hash = true, nil
	}
}

// enter goes from the beginning of the text to the offset. Where it has to read what comes before, the digest says whether that
// is what was read before.
func (t *Text) enter(ctx context.Context, path string, offset int64, digest []byte) (err error) {
	start, direct := int64(0), t.seekable && len(digest) > 0 && t.file.Pinned()
	if direct {
		if err := t.hash.enter(digest); err != nil {
			return fmt.Errorf("digest of the cursor: %w", err)
		}
		start, t.offset = blockAt(offset), blockAt(offset)
	}
	if t.own.stream, err = t.file.Stream(ctx, start); err != nil {
		return err
	}
	for t.offset < offset {
		if len(t.Window()) == 0 && !t.More(ctx) {
			break
		}
		t.Drop(int(min(int64(len(t.Window())), offset-t.offset)))
	}
	if t.offset < offset && t.err != io.EOF {
		return t.err
	}
	if t.seekable && len(digest) > 0 && !direct && !bytes.Equal(t.state(), digest) {
		return Changed(path)
	}
	return nil
}

// Window returns what is read and not dropped. It is valid until the next call of More.
func (t *Text) Window() []byte { return t.buffer[t.start:t.end] }

// Offset returns where in the text the window begins.
func (t *Text) Offset() int64 { return t.offset }

// Err returns why there is no more after the window: io.EOF at the end of the file.
func (t *Text) Err() error {
	var fault *plugin.SourceError
	if t.err == io.EOF || errors.As(t.err, &fault) {
		return t.err
	}
	return fmt.Errorf("source %s: %s: %w", t.source, t.path, t.err)
}

// Fault returns what is wrong with the file, so many line ends after the place where a Divider was called.
func (t *Text) Fault(fault *plugin.SourceError, lines int) error {
	fault.File, fault.Line = t.path, t.line+int64(lines)+1
	return fault
}

// ended reports whether nothing comes after the window because the file ends there.
func (t *Text) ended() bool { return t.err == io.EOF }

// Drop moves the window's beginning forward by n bytes, which are in it.
func (t *Text) Drop(n int) {
	if t.seekable {
		t.hash.write(t.buffer[t.start : t.start+n])
	}
	t.start += n
	t.offset += int64(n)
}

// More makes the window longer and reports whether it could; if not, Err says why.
func (t *Text) More(ctx context.Context) bool {
	t.end = copy(t.buffer, t.Window())
	t.start = 0
	if t.end == len(t.buffer) {
		t.buffer = append(t.buffer, make([]byte, len(t.buffer))...)
	}
	if t.err == nil {
		t.err = ctx.Err()
	}
	if t.own != nil {
		t.own.ctx = ctx
	}
	n := 0
	for n == 0 && t.err == nil {
		n, t.err = t.stream.Read(t.buffer[t.end:])
	}
	t.end += n
	return n > 0
}

// firstLine returns the first line of the window without its line end, cut to limit bytes.
func (t *Text) firstLine(ctx context.Context, newline byte, limit int) []byte {
	for {
		window := t.Window()
		window = window[:min(len(window), limit)]
		if end := bytes.IndexByte(window, newline); end >= 0 {
			return trimCR(window[:end], newline)
		}
		if len(window) == limit || !t.More(ctx) {
			return window
		}
	}
}

// trimCR returns line without the \r of a \r\n.
func trimCR(line []byte, newline byte) []byte {
	if newline == '\n' && len(line) > 0 && line[len(line)-1] == '\r' {
		return line[:len(line)-1]
	}
	return line
}

// digest returns the hex SHA-256 of what was hashed.
func (t *Text) digest() string { return hex.EncodeToString(t.hash.sum()) }

// state returns what the next reader needs of the hash at the beginning of the window: its state, to continue there, or
// the SHA-256 itself, to compare it, of a file that can only be read from its beginning. It is nil if the next reader has
// to believe what it reads.
func (t *Text) state() []byte {
	switch {
	case !t.seekable:
		return nil
	case t.file != nil && t.file.Pinned():
		return t.hash.state()
	}
	return t.hash.sum()
}

func (t *Text) close() error {
	t.release()
	return t.file.Close()
}

// release releases everything but the file.
func (t *Text) release() {
	if t.unpack != nil {
		t.unpack.close()
	}
}

// skipLine drops the line at the beginning of the window, however long, and returns size and SHA-256 of what stands before
// its line end. The error is that of the text if there is no line, or only part of one because reading failed.
func (t *Text) skipLine(ctx context.Context, newline byte) (size int64, sum []byte, err error) {
	line := sha256.New()
	for {
		window := t.Window()
		if end := bytes.IndexByte(window, newline); end >= 0 {
			record := trimCR(window[:end], newline)
			line.Write(record)
			t.Drop(end + 1)
			return size + int64(len(record)), line.Sum(nil), nil
		}
		if pass := len(window) - 1; pass > 0 { // the last byte may be the \r of a line end
			line.Write(window[:pass])
			t.Drop(pass)
			size += int64(pass)
		}
		if t.More(ctx) {
			continue
		}
		rest := t.Window()
		if t.err != io.EOF || size == 0 && len(rest) == 0 {
			return 0, nil, t.err
		}
		line.Write(rest)
		t.Drop(len(rest))
		return size + int64(len(rest)), line.Sum(nil), nil
	}
}
