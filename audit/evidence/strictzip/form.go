package strictzip

import (
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"regexp"
)

// A Member is what the directory says of one file.
type Member struct {
	Name   string
	Stored bool   // as it is, not deflated
	CRC    uint32 // of the content
	Size   uint64 // of the content
	Packed uint64 // bytes in the file
	Offset uint64 // of its header
}

// field is a field of a header: little-endian, of a constant size.
type field struct {
	name  string
	bytes int
	value uint64
}

var form = regexp.MustCompile(`^[a-z0-9._/-]{1,120}$`)

// CheckName returns an error unless the name is one that a member may have.
func CheckName(name string) error {
	if !form.MatchString(name) || path.Clean(name) != name || path.IsAbs(name) || name == "." || name == ".." || len(name) > 2 && name[:3] == "../" {
		return fmt.Errorf("%.130q is not a valid member name: write lower-case letters, digits, dots, dashes and slashes, at most 120, without . or .. as a folder", name)
	}
	return nil
}

const (
	localSignature      = 0x04034b50
	descriptorSignature = 0x08074b50
	directorySignature  = 0x02014b50
	end64Signature      = 0x06064b50
	locatorSignature    = 0x07064b50
	endSignature        = 0x06054b50

	described = 0x0008 // flag: the sizes follow the content
	firstDay  = 0x0021 // 1 January 1980
	deflated  = 8

	localBytes     = 30
	directoryBytes = 46
	end64Bytes     = 56
	locatorBytes   = 20
	endBytes       = 22
)

// version is that of the format which a reader has to know.
func version(large bool) uint64 {
	if large {
		return 45
	}
	return 20
}

func (m *Member) method() uint64 {
	if m.Stored {
		return 0
	}
	return deflated
}

// large reports whether a size has no room in 4 bytes.
func (m *Member) large() bool { return m.Size >= math.MaxUint32 || m.Packed >= math.MaxUint32 }

// local is the header before a member. Its sizes come after it.
func (m *Member) local() []field {
	return []field{
		{"signature", 4, localSignature},
		{"version", 2, version(false)},
		{"flags", 2, described},
		{"method", 2, m.method()},
		{"time", 2, 0},
		{"date", 2, firstDay},
		{"crc", 4, 0},
		{"packed size", 4, 0},
		{"size", 4, 0},
		{"name length", 2, uint64(len(m.Name))},
		{"extra length", 2, 0},
	}
}

// descriptor follows a member.
func (m *Member) descriptor() []field {
	size := 4
	if m.large() {
		size = 8
	}
	return []field{
		{"signature", 4, descriptorSignature},
		{"crc", 4, uint64(m.CRC)},
		{"packed size", size, m.Packed},
		{"size", size, m.Size},
	}
}

// entry is the member's header in the directory. Sizes that have no room are in extra.
func (m *Member) entry() (header, extra []field) {
	short := func(value uint64) uint64 {
		if value < math.MaxUint32 {
			return value
		}
		return math.MaxUint32
	}
	for _, f := range []field{{"size", 8, m.Size}, {"packed size", 8, m.Packed}, {"offset", 8, m.Offset}} {
		if f.value >= math.MaxUint32 {
			extra = append(extra, f)
		}
	}
	if extra != nil {
		extra = append([]field{{"extra kind", 2, 1}, {"extra size", 2, uint64(8 * len(extra))}}, extra...)
	}
	return []field{
		{"signature", 4, directorySignature},
		{"creator", 2, version(extra != nil)},
		{"version", 2, version(extra != nil)},
		{"flags", 2, described},
		{"method", 2, m.method()},
		{"time", 2, 0},
		{"date", 2, firstDay},
		{"crc", 4, uint64(m.CRC)},
		{"packed size", 4, short(m.Packed)},
		{"size", 4, short(m.Size)},
		{"name length", 2, uint64(len(m.Name))},
		{"extra length", 2, uint64(length(extra))},
		{"comment length", 2, 0},
		{"disk", 2, 0},
		{"inner attributes", 2, 0},
		{"attributes", 4, 0},
		{"offset", 4, short(m.Offset)},
	}, extra
}

// end is what follows the directory.
func end(members int, size, offset uint64) (fields []field) {
	count, short := uint64(members), uint64(members)
	large := count >= math.MaxUint16 || size >= math.MaxUint32 || offset >= math.MaxUint32
	size32, offset32 := size, offset
	if large {
		fields = []field{
			{"signature", 4, end64Signature},
			{"end size", 8, end64Bytes - 12},
			{"creator", 2, version(true)},
			{"version", 2, version(true)},
			{"disk", 4, 0},
			{"directory disk", 4, 0},
			{"members here", 8, count},
			{"members", 8, count},
			{"directory size", 8, size},
			{"directory offset", 8, offset},
			{"signature", 4, locatorSignature},
			{"end disk", 4, 0},
			{"end offset", 8, offset + size},
			{"disks", 4, 1},
		}
		short, size32, offset32 = math.MaxUint16, math.MaxUint32, math.MaxUint32
	}
	return append(fields, []field{
		{"signature", 4, endSignature},
		{"disk", 2, 0},
		{"directory disk", 2, 0},
		{"members here", 2, short},
		{"members", 2, short},
		{"directory size", 4, size32},
		{"directory offset", 4, offset32},
		{"comment length", 2, 0},
	}...)
}

func length(fields []field) (n int) {
	for _, f := range fields {
		n += f.bytes
	}
	return n
}

func appendFields(dst []byte, fields []field) []byte {
	for _, f := range fields {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], f.value)
		dst = append(dst, b[:f.bytes]...)
	}
	return dst
}

// compare returns an error that names the first field that is otherwise.
func compare(where string, got []byte, fields []field) error {
	for _, f := range fields {
		var b [8]byte
		if copy(b[:f.bytes], got) < f.bytes {
			return fmt.Errorf("%s: %s is truncated", where, f.name)
		}
		if value := binary.LittleEndian.Uint64(b[:]); value != f.value {
			return fmt.Errorf("%s: %s is %d, not %d", where, f.name, value, f.value)
		}
		got = got[f.bytes:]
	}
	return nil
}
