package strictzip

import (
	"bufio"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// Digests are of one member.
type Digests struct {
	Content [sha256.Size]byte
	Packed  [sha256.Size]byte // of its bytes in the file: a deflate stream has bits that change nothing of the content
}

// Writer writes a file as a stream. After an error it is of no use.
type Writer struct {
	to      *counter
	members []Member
	names   map[string]bool
	deflate *flate.Writer
}

// NewWriter returns a writer of a file without members.
func NewWriter(to io.Writer) *Writer {
	deflate, _ := flate.NewWriter(nil, flate.DefaultCompression) // the level is one of flate's
	return &Writer{to: &counter{to: bufio.NewWriterSize(to, 1<<20)}, names: map[string]bool{}, deflate: deflate}
}

// Add writes one member, whose content is what write writes.
func (w *Writer) Add(name string, stored bool, write func(io.Writer) error) (m Member, d Digests, err error) {
	if err := CheckName(name); err != nil {
		return m, d, err
	}
	if w.names[name] {
		return m, d, fmt.Errorf("a second member %s", name)
	}
	w.names[name] = true
	m = Member{Name: name, Stored: stored, Offset: w.to.n}
	if err := w.write(m.local(), name); err != nil {
		return m, d, err
	}
	packed := &counter{to: w.to, sum: sha256.New()}
	content := &content{sum: sha256.New(), to: packed}
	if !stored {
		w.deflate.Reset(packed)
		content.to = w.deflate
	}
	err = write(content)
	if err == nil && !stored {
		err = w.deflate.Close()
	}
	if err != nil {
		return m, d, fmt.Errorf("write the member %s: %w", name, err)
	}
	m.CRC, m.Size, m.Packed = content.crc, content.n, packed.n
	content.sum.Sum(d.Content[:0])
	packed.sum.Sum(d.Packed[:0])
	w.members = append(w.members, m)
	return m, d, w.write(m.descriptor(), "")
}

// Close writes the directory.
func (w *Writer) Close() error {
	offset := w.to.n
	for i := range w.members {
		header, extra := w.members[i].entry()
		if err := errors.Join(w.write(header, w.members[i].Name), w.write(extra, "")); err != nil {
			return err
		}
	}
	if err := w.write(end(len(w.members), w.to.n-offset, offset), ""); err != nil {
		return err
	}
	return w.to.to.(*bufio.Writer).Flush()
}

func (w *Writer) write(fields []field, name string) error {
	_, err := w.to.Write(append(appendFields(nil, fields), name...))
	return err
}

// counter counts what goes through it, and hashes it if it has a sum.
type counter struct {
	to  io.Writer
	sum hash.Hash
	n   uint64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += uint64(n)
	if c.sum != nil {
		c.sum.Write(b[:n])
	}
	return n, err
}

// content is the end of a member at which its content comes in.
type content struct {
	to  io.Writer
	sum hash.Hash
	crc uint32
	n   uint64
}

func (c *content) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.crc = crc32.Update(c.crc, crc32.IEEETable, b[:n])
	c.sum.Write(b[:n])
	c.n += uint64(n)
	return n, err
}
