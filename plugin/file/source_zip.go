package file

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// zipReader reads the one file in a zip archive, from front to back. The directory at the end must say of every member what
// was found in front, so that nothing in the archive is hidden, doubled or overlaps: what is no plain archive of one file
// is rejected. Source: PKWARE, APPNOTE.TXT 6.3.10.
type zipReader struct {
	in      *zipInput
	members []zipMember
	file    int       // in members: the file that is read
	body    io.Reader // what is in it; nil before and after it
	ended   bool      // the directory was read
}

// zipMember is what one of the two headers of a member says.
type zipMember struct {
	name           string
	flags, method  uint16
	crc            uint32
	packed, size   uint64
	offset         uint64 // of the header in front
	wide           bool   // sizes behind the data have 64 bits
	made           uint16 // by which system; of the directory alone
	externalAttrib uint32
}

const (
	zipLocal     = 0x04034b50
	zipDirectory = 0x02014b50
	zipEnd       = 0x06054b50
	zipEnd64     = 0x06064b50
	zipLocator64 = 0x07064b50
	zipBehind    = 0x08074b50 // before sizes behind the data

	zipStored   = 0
	zipDeflated = 8

	flagEncrypted = 1 << 0
	flagBehind    = 1 << 3 // sizes are behind the data
	flagsRefused  = flagEncrypted | 1<<5 | 1<<6 | 1<<13

	max32 = 1<<32 - 1
)

// maxZipFolders is how many folders may be in an archive beside the file.
const maxZipFolders = 100

// archiveError says why an archive is rejected. It is not damaged.
type archiveError struct{ message string }

func (e *archiveError) Error() string { return e.message }

func newArchiveError(format string, args ...any) error {
	return &archiveError{fmt.Sprintf(format, args...)}
}

var errZip = errors.New("the archive contradicts itself")

// zipInput reads exactly what it is asked for, and counts it.
type zipInput struct {
	buffered *bufio.Reader
	n        uint64
	scratch  [8]byte
}

func (in *zipInput) ReadByte() (byte, error) {
	b, err := in.buffered.ReadByte()
	if err == nil {
		in.n++
	}
	return b, err
}

func (in *zipInput) Read(p []byte) (int, error) {
	n, err := in.buffered.Read(p)
	in.n += uint64(n)
	return n, err
}

// number reads a little-endian number of so many bytes. An end before is io.ErrUnexpectedEOF, and at once io.EOF.
func (in *zipInput) number(bytes int) (uint64, error) {
	clear(in.scratch[:])
	_, err := io.ReadFull(in, in.scratch[:bytes])
	return binary.LittleEndian.Uint64(in.scratch[:]), err
}

// numbers reads numbers of these sizes, which must all be there.
func (in *zipInput) numbers(sizes ...int) ([]uint64, error) {
	list := make([]uint64, len(sizes))
	for i, size := range sizes {
		n, err := in.number(size)
		if err != nil {
			return nil, tooEarly(err)
		}
		list[i] = n
	}
	return list, nil
}

func (in *zipInput) bytes(n uint64) ([]byte, error) {
	data := make([]byte, n)
	_, err := io.ReadFull(in, data)
	return data, tooEarly(err)
}

// tooEarly turns an end into one that comes too early.
func tooEarly(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// openZip returns io.EOF for a file of no bytes.
func openZip(src io.Reader) (io.ReadCloser, error) {
	z := &zipReader{in: &zipInput{buffered: bufio.NewReaderSize(src, bufferBytes)}, file: -1}
	if _, err := z.in.buffered.Peek(1); err != nil {
		return nil, err
	}
	return io.NopCloser(z), nil
}

func (z *zipReader) Read(p []byte) (int, error) {
	for !z.ended {
		if z.body == nil {
			if err := z.next(); err != nil {
				return 0, err
			}
			continue
		}
		n, err := z.body.Read(p)
		if err == io.EOF {
			z.body = nil
			err = nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.EOF
}

// next reads the header of the next member, or the directory.
func (z *zipReader) next() error {
	offset := z.in.n
	signature, err := z.in.number(4)
	switch {
	case err != nil:
		return tooEarly(err)
	case signature == zipLocal:
		return z.member(offset)
	case signature == zipDirectory || signature == zipEnd:
		z.ended = true
		return z.directory(offset, signature)
	case offset == 0:
		return errors.New("not a zip archive")
	}
	return errZip
}

func (z *zipReader) member(offset uint64) error {
	n, err := z.in.numbers(2, 2, 2, 4, 4, 4, 4, 2, 2)
	if err != nil {
		return err
	}
	m := zipMember{flags: uint16(n[1]), method: uint16(n[2]), crc: uint32(n[4]), packed: n[5], size: n[6], offset: offset}
	name, err := z.in.bytes(n[7])
	if err != nil {
		return err
	}
	extra, err := z.in.bytes(n[8])
	if err != nil {
		return err
	}
	m.name = string(name)
	m.wide = wideSizes(extra, &m.size, &m.packed)
	if err := z.check(m); err != nil {
		return err
	}
	z.members = append(z.members, m)
	if strings.HasSuffix(m.name, "/") {
		return z.folder(m)
	}
	z.file = len(z.members) - 1
	z.open(&z.members[z.file])
	return nil
}

// wideSizes takes the numbers that do not fit into 32 bits out of the extra field, and reports whether it has some.
func wideSizes(extra []byte, numbers ...*uint64) bool {
	for len(extra) >= 4 {
		id, size := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if size > len(extra)-4 {
			return false
		}
		body := extra[4 : 4+size]
		extra = extra[4+size:]
		if id != 1 {
			continue
		}
		for _, number := range numbers {
			if *number == max32 && len(body) >= 8 {
				*number, body = binary.LittleEndian.Uint64(body), body[8:]
			}
		}
		return true
	}
	return false
}

// maxEmpty is more bytes than packers make of nothing when they deflate it, which is 2 to 5.
const maxEmpty = 16

// folder reads what a packer made of a folder that holds nothing.
func (z *zipReader) folder(m zipMember) error {
	packed, err := z.in.bytes(m.packed)
	if err != nil || len(packed) == 0 {
		return err
	}
	if n, err := flate.NewReader(bytes.NewReader(packed)).Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return errZip
	}
	return nil
}

// check rejects members that a plain archive of one file does not have.
func (z *zipReader) check(m zipMember) error {
	folder := strings.HasSuffix(m.name, "/")
	switch {
	case unsafeMember(m.name):
		return newArchiveError("the archive has a member named %s, which leads out of a folder or is no name", Excerpt(m.name))
	case slices.ContainsFunc(z.members, func(other zipMember) bool { return other.name == m.name }):
		return newArchiveError("the archive has two members named %s", Excerpt(m.name))
	case m.flags&flagsRefused != 0:
		return newArchiveError("%s in the archive is encrypted or patched; decrypt it first", Excerpt(m.name))
	case folder && (m.size != 0 || m.crc != 0 || m.packed > maxEmpty || m.packed != 0 && m.method != zipDeflated || m.flags&flagBehind != 0):
		return newArchiveError("%s in the archive is a folder that holds data: take it out of the archive", Excerpt(m.name))
	case folder && len(z.members) >= maxZipFolders:
		return newArchiveError("the archive has more than %d folders", maxZipFolders)
	case folder:
		return nil
	case z.file >= 0:
		return newArchiveError("the archive holds more than one file, %s and %s: take out the one that is meant, or make files of them, which a pattern matches",
			Excerpt(z.members[z.file].name), Excerpt(m.name))
	case m.method != zipStored && m.method != zipDeflated:
		return newArchiveError("%s in the archive is compressed by method %d: pack it again with the usual one, deflate", Excerpt(m.name), m.method)
	case m.method == zipStored && m.flags&flagBehind != 0:
		return newArchiveError("%s in the archive is stored, and does not say in front how long it is: pack it again", Excerpt(m.name))
	case m.method == zipStored && m.size != m.packed:
		return errZip
	}
	return nil
}

// unsafeMember reports whether a name is none that a file below a folder can have.
func unsafeMember(name string) bool {
	plain := strings.TrimSuffix(name, "/")
	return !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\\") || !fs.ValidPath(plain) || plain == "." || path.Clean(plain) != plain ||
		len(name) > 1 && name[1] == ':'
}

// zipBody reads the data of a member, and compares them with what the archive says of them.
type zipBody struct {
	zip    *zipReader
	member *zipMember
	data   io.Reader
	begin  uint64
	crc    uint32
	n      uint64
}

func (z *zipReader) open(m *zipMember) {
	b := &zipBody{zip: z, member: m, begin: z.in.n, data: io.LimitReader(z.in, int64(min(m.packed, 1<<62)))}
	if m.method == zipDeflated {
		b.data = flate.NewReader(z.in)
	}
	z.body = b
}

func (b *zipBody) Read(p []byte) (int, error) {
	n, err := b.data.Read(p)
	b.crc = crc32.Update(b.crc, crc32.IEEETable, p[:n])
	b.n += uint64(n)
	if err == io.EOF {
		err = b.finish()
		if err == nil {
			err = io.EOF
		}
	}
	return n, err
}

// finish reads the sizes behind the data, and compares.
func (b *zipBody) finish() error {
	m, packed := b.member, b.zip.in.n-b.begin
	if m.flags&flagBehind != 0 {
		if err := b.behind(packed); err != nil {
			return err
		}
	}
	switch {
	case m.method == zipStored && b.n < m.size:
		return io.ErrUnexpectedEOF
	case m.packed != packed || m.size != b.n:
		return fmt.Errorf("%s has %d bytes and not %d: %w", Excerpt(m.name), b.n, m.size, errZip)
	case m.crc != b.crc:
		return fmt.Errorf("the checksum of %s is wrong", Excerpt(m.name))
	}
	return nil
}

// behind takes checksum and sizes that stand behind the data, with a signature or without.
func (b *zipBody) behind(packed uint64) error {
	crc, err := b.zip.in.numbers(4)
	if err == nil && crc[0] == zipBehind {
		crc, err = b.zip.in.numbers(4)
	}
	if err != nil {
		return err
	}
	width := 4
	if b.member.wide || packed > max32 || b.n > max32 {
		width = 8
	}
	sizes, err := b.zip.in.numbers(width, width)
	if err != nil {
		return err
	}
	b.member.crc, b.member.packed, b.member.size = uint32(crc[0]), sizes[0], sizes[1]
	return nil
}

// directory compares the directory, whose first signature was read, with the members, and reads the archive to its end.
func (z *zipReader) directory(offset, signature uint64) error {
	for i := range z.members {
		if signature != zipDirectory {
			return errZip
		}
		if err := z.entry(&z.members[i]); err != nil {
			return err
		}
		next, err := z.in.numbers(4)
		if err != nil {
			return err
		}
		signature = next[0]
	}
	if signature == zipDirectory {
		return newArchiveError("the directory of the archive names members that are not there")
	}
	size := z.in.n - 4 - offset
	if signature == zipEnd64 {
		if err := z.end64(offset, size); err != nil {
			return err
		}
		signature = zipEnd
	}
	if signature != zipEnd {
		return errZip
	}
	if err := z.end(offset, size); err != nil {
		return err
	}
	if z.file < 0 {
		return newArchiveError("the archive holds no file")
	}
	return nil
}

// entry reads one entry of the directory, which is that of the member.
func (z *zipReader) entry(m *zipMember) error {
	n, err := z.in.numbers(2, 2, 2, 2, 4, 4, 4, 4, 2, 2, 2, 2, 2, 4, 4)
	if err != nil {
		return err
	}
	d := zipMember{made: uint16(n[0]), flags: uint16(n[2]), method: uint16(n[3]), crc: uint32(n[5]), packed: n[6], size: n[7], externalAttrib: uint32(n[13]), offset: n[14]}
	name, err := z.in.bytes(n[8])
	if err != nil {
		return err
	}
	extra, err := z.in.bytes(n[9])
	if err != nil {
		return err
	}
	if _, err := z.in.bytes(n[10]); err != nil { // comment
		return err
	}
	wideSizes(extra, &d.size, &d.packed, &d.offset)
	same := string(name) == m.name && d.method == m.method && d.crc == m.crc && d.packed == m.packed && d.size == m.size && d.offset == m.offset
	switch {
	case !same:
		return fmt.Errorf("the directory says something else of %s than stands before it: %w", Excerpt(m.name), errZip)
	case d.flags&flagsRefused != 0:
		return newArchiveError("%s in the archive is encrypted or patched; decrypt it first", Excerpt(m.name))
	case d.made>>8 == 3 && fs.FileMode(d.externalAttrib>>16)&0o170000 == 0o120000:
		return newArchiveError("%s in the archive is a symbolic link", Excerpt(m.name))
	}
	return nil
}

// end64 reads the end of a long archive, and where it is.
func (z *zipReader) end64(offset, size uint64) error {
	at := z.in.n - 4
	n, err := z.in.numbers(8, 2, 2, 4, 4, 8, 8, 8, 8)
	if err != nil {
		return err
	}
	members := uint64(len(z.members))
	if n[0] != 44 || n[5] != members || n[6] != members || n[7] != size || n[8] != offset {
		return errZip
	}
	n, err = z.in.numbers(4, 4, 8, 4, 4)
	if err != nil {
		return err
	}
	if n[0] != zipLocator64 || n[2] != at || n[4] != zipEnd {
		return errZip
	}
	return nil
}

// end reads the end of the archive, behind which nothing may stand.
func (z *zipReader) end(offset, size uint64) error {
	n, err := z.in.numbers(2, 2, 2, 2, 4, 4, 2)
	if err != nil {
		return err
	}
	said := func(number, most, want uint64) bool { return number == want || number == most }
	members := uint64(len(z.members))
	if !said(n[0], 1<<16-1, 0) || !said(n[1], 1<<16-1, 0) {
		return newArchiveError("the archive is one of several parts: join them first, for example with zip -s 0")
	}
	if !said(n[2], 1<<16-1, members) || !said(n[3], 1<<16-1, members) || !said(n[4], max32, size) || !said(n[5], max32,
		offset) {
		return errZip
	}
	if _, err := z.in.bytes(n[6]); err != nil { // comment
		return err
	}
	if _, err := z.in.ReadByte(); err != io.EOF {
		return errors.Join(err, errors.New("other bytes follow the archive"))
	}
	return nil
}
