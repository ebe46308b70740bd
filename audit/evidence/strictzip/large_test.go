package strictzip

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// sparse is a file of zeros but for some parts.
type sparse struct {
	parts map[int64][]byte
	size  int64
}

func (s *sparse) ReadAt(b []byte, at int64) (n int, err error) {
	clear(b)
	if n = len(b); at+int64(n) > s.size {
		n, err = int(max(s.size-at, 0)), io.EOF
	}
	for offset, part := range s.parts {
		if from := max(offset, at); from < min(offset+int64(len(part)), at+int64(n)) {
			copy(b[from-at:n], part[from-offset:])
		}
	}
	return n, err
}

// TestBeyond4GiB reads a file with a member of 5 GiB, and one behind it.
func TestBeyond4GiB(t *testing.T) {
	const size = 5 << 30
	file := &sparse{parts: map[int64][]byte{}}
	add := func(part []byte) {
		file.parts[file.size] = part
		file.size += int64(len(part))
	}
	members := []Member{{Name: "large", Stored: true, Size: size, Packed: size}, {Name: "small", Stored: true, Size: 2, Packed: 2, CRC: 0x8bb4f8c3}}
	for i := range members {
		m := &members[i]
		m.Offset = uint64(file.size)
		add(append(appendFields(nil, m.local()), m.Name...))
		if file.size += int64(m.Packed); m.Name == "small" {
			file.parts[file.size-2] = []byte("ok")
		}
		add(appendFields(nil, m.descriptor()))
	}
	offset := file.size
	for i := range members {
		header, extra := members[i].entry()
		add(appendFields(append(appendFields(nil, header), members[i].Name...), extra))
	}
	add(appendFields(nil, end(len(members), uint64(file.size-offset), uint64(offset))))

	other, err := zip.NewReader(file, file.size)
	require.NoError(t, err)
	require.EqualValues(t, size, other.File[0].UncompressedSize64)
	r, err := NewReader(file, file.size)
	require.NoError(t, err)
	require.Equal(t, members, r.Members())
	var content bytes.Buffer
	_, err = r.Read(members[1], func(r io.Reader) error {
		_, err := io.Copy(&content, r)
		return err
	})
	require.Equal(t, "ok", content.String())
	require.ErrorContains(t, err, "its CRC is", "the CRC here is not computed")

	// Sizes that have room in 4 bytes must be there.
	lie := members[1]
	lie.Size = 1 << 32
	header, extra := lie.entry()
	b := appendFields(append(appendFields(nil, header), lie.Name...), extra)
	_, _, err = entry(b)
	require.NoError(t, err)
	b[24], b[25], b[26], b[27] = 2, 0, 0, 0
	_, _, err = entry(b)
	require.ErrorContains(t, err, "an extra field that nothing needs")
}
