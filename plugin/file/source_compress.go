package file

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"waymark/plugin"
)

const (
	maxRatio     = 200       // decompressed bytes for each byte of the file
	ratioFrom    = 16 << 20  // decompressed bytes from which maxRatio holds: less harms nobody
	maxZstdBytes = 128 << 20 // window of a zstd stream: what zstd itself accepts without being asked
	headBytes    = 64        // by which text is told from data
)

// ownBytes reads the file's own bytes, counts them and hashes them.
type ownBytes struct {
	src  io.Reader
	hash *prefixHash // nil: the bytes are hashed elsewhere
	head []byte      // the first bytes, at most headBytes
	n    int64
	err  error // what src failed with, other than io.EOF
}

func (b *ownBytes) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	b.n += int64(n)
	if more := headBytes - len(b.head); more > 0 {
		b.head = append(b.head, p[:min(n, more)]...)
	}
	if b.hash != nil {
		b.hash.write(p[:n])
	}
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// decompressor reads what the file holds and bounds how much that may be.
type decompressor struct {
	as     string // the compression
	own    *ownBytes
	open   func(io.Reader) (io.ReadCloser, error)
	code   string // of the SourceError for corrupt data
	file   string
	stream io.ReadCloser // nil before the first Read
	n      int64
}

// newDecompressor returns nil for the compression none.
func newDecompressor(compression, file string, own *ownBytes) *decompressor {
	switch compression {
	case "gzip":
		return &decompressor{as: "gzip", own: own, open: openGzip, code: codeCorruptGzip, file: file}
	case "zstd":
		return &decompressor{as: "zstd", own: own, open: openZstd, code: codeCorruptZstd, file: file}
	case "bzip2":
		return &decompressor{as: "bzip2", own: own, open: openBzip2, code: codeCorruptBzip2, file: file}
	case "zip":
		return &decompressor{as: "zip", own: own, open: openZip, code: codeCorruptZip, file: file}
	}
	return nil
}

func openGzip(src io.Reader) (io.ReadCloser, error) { return gzip.NewReader(src) }

// openBzip2 returns io.EOF for a file of no bytes.
func openBzip2(src io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(src, bufferBytes)
	if _, err := buffered.Peek(1); err != nil {
		return nil, err
	}
	return io.NopCloser(bzip2.NewReader(buffered)), nil
}

func openZstd(src io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdBytes))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// Read fails with a *SourceError if the data are truncated, corrupt or a bomb, and with the file's own error if that is
// why. A file of no bytes holds nothing.
func (d *decompressor) Read(p []byte) (int, error) {
	if d.stream == nil {
		stream, err := d.open(d.own)
		if err != nil {
			return 0, d.fault(err)
		}
		d.stream = stream
	}
	n, err := d.stream.Read(p)
	d.n += int64(n)
	if d.n > ratioFrom && d.n/maxRatio > d.own.n {
		return 0, &plugin.SourceError{
			Code: codeRatio, File: d.file,
			Message: fmt.Sprintf("%d bytes expand to more than %d times as many; decompress the file yourself if you trust it", d.own.n, maxRatio),
		}
	}
	if err != nil {
		err = d.fault(err)
	}
	return n, err
}

func (d *decompressor) fault(err error) error {
	var refused *archiveError
	switch {
	case d.own.err != nil:
		return d.own.err
	case err == io.EOF:
		return io.EOF
	case errors.As(err, &refused):
		return &plugin.SourceError{Code: codeArchive, File: d.file, Message: refused.message}
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return &plugin.SourceError{Code: codeZstdRefused, File: d.file, Message: d.window()}
	case errors.Is(err, zstd.ErrUnknownDictionary):
		return &plugin.SourceError{Code: codeZstdRefused, File: d.file,
			Message: "it was compressed with a dictionary, which is not at hand: compress it again without one"}
	case d.n == 0 && d.other() != "":
		return &plugin.SourceError{Code: codeCompressed, File: d.file, Message: d.other()}
	case errors.Is(err, io.ErrUnexpectedEOF):
		if d.isText() {
			return d.plain()
		}
		return &plugin.SourceError{Code: CodeTruncated, File: d.file,
			Message: "the compressed data end too early: the file was cut off, or is still being written; fetch it " +
				"again"}
	case d.isText():
		return d.plain()
	}
	return &plugin.SourceError{Code: d.code, File: d.file, Message: err.Error() + "; fetch the file again"}
}

// other says how the file is compressed if its first bytes are those of another compression.
func (d *decompressor) other() string {
	start := d.own.head[:min(len(d.own.head), longestSignature)]
	if isBzip2(start) && d.as != "bzip2" {
		return "the file is compressed otherwise than its name says; set compression: bzip2"
	}
	for _, s := range signatures {
		if s.code == codeCompressed && bytes.HasPrefix(start, []byte(s.bytes)) && !strings.HasSuffix(s.message,
			"compression: "+d.as) {
			return s.message
		}
	}
	return ""
}

// window says that a frame wants more memory than is given. Of the first frame it is known how much.
func (d *decompressor) window() string {
	said := "it"
	var frame zstd.Header
	if frame.Decode(d.own.head) == nil && frame.WindowSize > maxZstdBytes {
		said = fmt.Sprintf("it has a window of %d MiB, and", frame.WindowSize>>20)
	}
	return fmt.Sprintf("%s needs more memory than %d MiB to be decompressed: compress it again with zstd --long=27 "+
		"or without --long", said, maxZstdBytes>>20)
}

// plain is the fault of a file that was never compressed, which fetching it again does not cure.
func (d *decompressor) plain() error {
	return &plugin.SourceError{Code: d.code, File: d.file, Message: "the file is plain text and not compressed, whatever its name says; set compression: none"}
}

// isText reports whether the file begins as text does. What is compressed has bytes near its beginning that no text has.
func (d *decompressor) isText() bool {
	head := d.own.head
	for len(head) > 0 {
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size == 1 && len(head) >= utf8.UTFMax || r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return false
		}
		head = head[size:]
	}
	return d.n == 0 && len(d.own.head) > 0
}

// close releases the stream, not the file. What went wrong with the stream Read has said.
func (d *decompressor) close() {
	if d.stream != nil {
		_ = d.stream.Close()
	}
}
