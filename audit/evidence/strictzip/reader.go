package strictzip

import (
	"bufio"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Reader reads a file. It is safe for concurrent use if its file is.
type Reader struct {
	file    io.ReaderAt
	members []Member
}

// Limits of a file that is read: who made it is not known.
const (
	maxMembers   = 100_000
	maxDirectory = 32 << 20
)

// NewReader reads the directory of a file, and every header. The error names the first thing in which the file is not of the one form.
func NewReader(file io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{file: file}
	directory, offset, err := r.directory(uint64(size))
	if err != nil {
		return nil, err
	}
	if err := r.entries(directory); err != nil {
		return nil, err
	}
	return r, r.contiguous(offset)
}

// Members returns what is in the file, in order.
func (r *Reader) Members() []Member { return r.members }

// directory finds and reads the directory by what is at the end of the file.
func (r *Reader) directory(size uint64) (directory []byte, offset uint64, err error) {
	const tail = end64Bytes + locatorBytes + endBytes
	last := make([]byte, min(size, tail))
	if len(last) < endBytes {
		return nil, 0, errors.New("end: it is truncated")
	}
	if _, err := r.file.ReadAt(last, int64(size)-int64(len(last))); err != nil {
		return nil, 0, err
	}
	at := last[len(last)-endBytes:]
	count, length := uint64(binary.LittleEndian.Uint16(at[10:])), uint64(binary.LittleEndian.Uint32(at[12:]))
	offset = uint64(binary.LittleEndian.Uint32(at[16:]))
	if offset == math.MaxUint32 && len(last) == tail {
		at = last
		count, length, offset = binary.LittleEndian.Uint64(at[32:]), binary.LittleEndian.Uint64(at[40:]), binary.LittleEndian.Uint64(at[48:])
	}
	if count > maxMembers || length > maxDirectory {
		return nil, 0, fmt.Errorf("end: %d members in a directory of %d bytes are too many", count, length)
	}
	if err := compare("end", at, end(int(count), length, offset)); err != nil {
		return nil, 0, err
	}
	if offset > size || length+uint64(len(at)) != size-offset {
		return nil, 0, errors.New("end: there are extra bytes between the directory and the end, or after the end")
	}
	directory = make([]byte, length)
	if _, err := r.file.ReadAt(directory, int64(offset)); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	r.members = make([]Member, 0, count)
	return directory, offset, nil
}

// entries reads the directory.
func (r *Reader) entries(directory []byte) error {
	names := map[string]bool{}
	for range cap(r.members) {
		where := fmt.Sprintf("directory entry %d", len(r.members))
		m, n, err := entry(directory)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		header, extra := m.entry()
		if err := errors.Join(compare(where, directory, header), compare(where, directory[directoryBytes+len(m.Name):n], extra)); err != nil {
			return err
		}
		if names[m.Name] {
			return fmt.Errorf("%s: a second member %s", where, m.Name)
		}
		names[m.Name] = true
		r.members = append(r.members, m)
		directory = directory[n:]
	}
	if len(directory) > 0 {
		return errors.New("directory: extra bytes follow its last entry")
	}
	return nil
}

// entry reads what an entry of the directory says, and returns how long it is. Whether it is written as it must be is for who calls it.
func entry(directory []byte) (m Member, n int, err error) {
	if len(directory) < directoryBytes {
		return m, 0, errors.New("it is truncated")
	}
	u16, u32 := binary.LittleEndian.Uint16, binary.LittleEndian.Uint32
	method, name, extra := u16(directory[10:]), int(u16(directory[28:])), int(u16(directory[30:]))
	n = directoryBytes + name + extra
	if len(directory) < n {
		return m, 0, errors.New("it is truncated")
	}
	if method != 0 && method != deflated {
		return m, 0, fmt.Errorf("method is %d, not 0 or 8", method)
	}
	m = Member{
		Name: string(directory[directoryBytes : directoryBytes+name]), Stored: method == 0, CRC: u32(directory[16:]),
		Packed: uint64(u32(directory[20:])), Size: uint64(u32(directory[24:])), Offset: uint64(u32(directory[42:])),
	}
	more := directory[directoryBytes+name : n]
	if extra > 0 {
		more = more[min(4, extra):]
	}
	for _, value := range []*uint64{&m.Size, &m.Packed, &m.Offset} {
		if *value == math.MaxUint32 {
			if len(more) < 8 {
				return m, 0, errors.New("a size beyond 4 GiB is missing")
			}
			*value, more = binary.LittleEndian.Uint64(more), more[8:]
		}
	}
	if len(more) > 0 {
		return m, 0, errors.New("it has an extra field that nothing needs")
	}
	return m, n, CheckName(m.Name)
}

// contiguous compares the headers with the directory: each member begins where the one before it ends.
func (r *Reader) contiguous(directory uint64) error {
	at := uint64(0)
	for i := range r.members {
		m := &r.members[i]
		local, descriptor := m.local(), m.descriptor()
		if m.Offset != at {
			return fmt.Errorf("%s: offset is %d, not %d: members overlap, or there are extra bytes between them", m.Name, m.Offset, at)
		}
		begins := at + localBytes + uint64(len(m.Name))
		ends := begins + m.Packed
		if at = ends + uint64(length(descriptor)); at > directory || ends < begins || at < ends {
			return fmt.Errorf("%s: packed size is %d: it reaches beyond the members", m.Name, m.Packed)
		}
		header := make([]byte, localBytes+len(m.Name))
		behind := make([]byte, length(descriptor))
		if _, err := r.file.ReadAt(header, int64(m.Offset)); err != nil {
			return err
		}
		if _, err := r.file.ReadAt(behind, int64(ends)); err != nil {
			return err
		}
		if err := errors.Join(compare(m.Name+": header", header, local), compare(m.Name+": descriptor", behind, descriptor)); err != nil {
			return err
		}
		if string(header[localBytes:]) != m.Name {
			return fmt.Errorf("%s: header: it has another name, %.130q", m.Name, header[localBytes:])
		}
	}
	if at != directory {
		return errors.New("directory: there are extra bytes between it and the last member")
	}
	return nil
}

// Read hands a member's content to use as a stream, reads what use leaves, and returns its digests. The error says if size or CRC are not those of
// the directory.
func (r *Reader) Read(m Member, use func(io.Reader) error) (d Digests, err error) {
	begins := int64(m.Offset) + localBytes + int64(len(m.Name))
	sum := sha256.New()
	packed := bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(r.file, begins, int64(m.Packed)), sum), 1<<16)
	from := io.Reader(packed)
	if !m.Stored {
		from = flate.NewReader(packed)
	}
	content := &content{to: io.Discard, sum: sha256.New()}
	stream := io.TeeReader(io.LimitReader(from, int64(min(m.Size, math.MaxInt64-1))+1), content)
	if err := use(stream); err != nil {
		return d, err
	}
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return d, fmt.Errorf("%s: %w", m.Name, err)
	}
	switch _, err := packed.ReadByte(); {
	case content.n != m.Size:
		return d, fmt.Errorf("%s: its size is not %d", m.Name, m.Size)
	case content.crc != m.CRC:
		return d, fmt.Errorf("%s: its CRC is %08x, not %08x", m.Name, content.crc, m.CRC)
	case !errors.Is(err, io.EOF):
		return d, fmt.Errorf("%s: extra bytes follow its content", m.Name)
	}
	content.sum.Sum(d.Content[:0])
	sum.Sum(d.Packed[:0])
	return d, nil
}
