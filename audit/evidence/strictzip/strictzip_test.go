package strictzip_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/strictzip"
)

// content of a file with these members, every second one stored.
func write(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := strictzip.NewWriter(&b)
	for i, name := range members {
		_, d, err := w.Add(name, i%2 == 1, func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat(name+"\n", 50*i))
			return err
		})
		require.NoError(t, err)
		require.Equal(t, sha256.Sum256([]byte(strings.Repeat(name+"\n", 50*i))), d.Content)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// readAll reads every member.
func readAll(file []byte) error {
	r, err := strictzip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	for _, m := range r.Members() {
		if _, err := r.Read(m, func(io.Reader) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

func TestOthersReadWhatIsWritten(t *testing.T) {
	for n := range 5 {
		names := []string{"mimetype", "a/b.txt", "c", "d-e_f.9"}[:n]
		file := write(t, names...)
		require.Equal(t, file, write(t, names...))
		require.NoError(t, readAll(file))
		other, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
		require.NoError(t, err)
		require.Len(t, other.File, n)
		for i, f := range other.File {
			require.Equal(t, names[i], f.Name)
			r, err := f.Open()
			require.NoError(t, err)
			content, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Equal(t, strings.Repeat(names[i]+"\n", 50*i), string(content))
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{
		"", ".", "..", "../a", "a/../b", "/a", "a//b", "a/", "./a", "A", "a\\b", "a\x00", "é", "a b", "c:d", strings.Repeat("a", 121), "a/./b", "a/..",
	} {
		require.Error(t, strictzip.CheckName(name), "%q", name)
		w := strictzip.NewWriter(io.Discard)
		_, _, err := w.Add(name, true, func(io.Writer) error { return nil })
		require.ErrorContains(t, err, "not a valid member name")
	}
	for _, name := range []string{"a", "a.b", "..a", "a/b/c", "-", "0", strings.Repeat("a", 120)} {
		require.NoError(t, strictzip.CheckName(name), name)
	}
	w := strictzip.NewWriter(io.Discard)
	nothing := func(io.Writer) error { return nil }
	_, _, err := w.Add("a", true, nothing)
	require.NoError(t, err)
	_, _, err = w.Add("a", true, nothing)
	require.ErrorContains(t, err, "a second member a")
}

// TestEveryBit changes each bit of a file: none is without meaning, but for some of a deflate stream, which the digest of its bytes sees.
func TestEveryBit(t *testing.T) {
	file := write(t, "one", "two", "three")
	digests := func(file []byte) (all []strictzip.Digests, err error) {
		r, err := strictzip.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return nil, err
		}
		for _, m := range r.Members() {
			d, err := r.Read(m, func(io.Reader) error { return nil })
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
		return all, nil
	}
	want, err := digests(file)
	require.NoError(t, err)
	for at := range file {
		for bit := range 8 {
			file[at] ^= 1 << bit
			got, err := digests(file)
			require.False(t, err == nil && fmt.Sprint(got) == fmt.Sprint(want), "byte %d, bit %d", at, bit)
			file[at] ^= 1 << bit
		}
	}
}

// TestHostileFiles refuses by name what other readers forgive.
func TestHostileFiles(t *testing.T) {
	u16, u32 := binary.LittleEndian.PutUint16, binary.LittleEndian.PutUint32
	good := write(t, "one", "two", "six")
	directory := bytes.LastIndex(good, []byte("PK\x01\x02"))
	first := bytes.Index(good, []byte("PK\x01\x02"))
	second := bytes.Index(good[first+1:], []byte("PK\x01\x02")) + first + 1
	header2 := int(binary.LittleEndian.Uint32(good[second+42:]))
	end := len(good) - 22
	both := func(b []byte, name string) {
		copy(b[second+46:], name)
		copy(b[header2+30:], name)
	}
	edit := func(do func(b []byte)) []byte {
		b := bytes.Clone(good)
		do(b)
		return b
	}
	var other bytes.Buffer
	w := zip.NewWriter(&other)
	_, err := w.Create("one")
	require.NoError(t, err)
	require.NoError(t, w.SetComment("hidden"))
	require.NoError(t, w.Close())
	for name, hostile := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":                 {nil, "end: it is truncated"},
		"cut off":                 {good[:len(good)-1], "end: "},
		"data before":             {append([]byte("x"), good...), "end: there are extra bytes between"},
		"data behind":             {append(bytes.Clone(good), 0), "end: "},
		"two ends":                {append(bytes.Clone(good), good[end:]...), "end: there are extra bytes between"},
		"a comment":               {other.Bytes(), "end: "},
		"comment length":          {edit(func(b []byte) { u16(b[end+20:], 1) }), "end: comment length is 1, not 0"},
		"another disk":            {edit(func(b []byte) { u16(b[end+4:], 1) }), "end: disk is 1, not 0"},
		"members more":            {edit(func(b []byte) { u16(b[end+8:], 4); u16(b[end+10:], 4) }), "truncated"},
		"members less":            {edit(func(b []byte) { u16(b[end+8:], 2); u16(b[end+10:], 2) }), "extra bytes follow its last entry"},
		"counts differ":           {edit(func(b []byte) { u16(b[end+8:], 2) }), "end: members here is 2, not 3"},
		"many members":            {edit(func(b []byte) { u32(b[end+12:], 1<<31) }), "too many"},
		"duplicate names":         {edit(func(b []byte) { both(b, "one") }), "a second member one"},
		"parent folder":           {edit(func(b []byte) { both(b, "../") }), "not a valid member name"},
		"absolute":                {edit(func(b []byte) { both(b, "/ab") }), "not a valid member name"},
		"backslash":               {edit(func(b []byte) { both(b, `a\b`) }), "not a valid member name"},
		"NUL":                     {edit(func(b []byte) { both(b, "a\x00b") }), "not a valid member name"},
		"case twin":               {edit(func(b []byte) { both(b, "ONE") }), "not a valid member name"},
		"names differ":            {edit(func(b []byte) { copy(b[second+46:], "ten") }), "ten: header: it has another name"},
		"symlink":                 {edit(func(b []byte) { u32(b[second+38:], 0o120777<<16) }), "attributes is"},
		"encrypted":               {edit(func(b []byte) { u16(b[second+8:], 9) }), "flags is 9, not 8"},
		"encrypted, in header":    {edit(func(b []byte) { u16(b[header2+6:], 9) }), "two: header: flags is 9, not 8"},
		"method":                  {edit(func(b []byte) { u16(b[second+10:], 12) }), "method is 12, not 0 or 8"},
		"method differs":          {edit(func(b []byte) { u16(b[header2+8:], 8) }), "two: header: method is 8, not 0"},
		"time":                    {edit(func(b []byte) { u16(b[second+12:], 1) }), "time is 1, not 0"},
		"overlap":                 {edit(func(b []byte) { u32(b[second+42:], 0) }), "two: offset is 0"},
		"packed size":             {edit(func(b []byte) { u32(b[second+20:], 1<<30) }), "it reaches beyond the members"},
		"4 GiB claimed":           {edit(func(b []byte) { u32(b[second+24:], 0xffffffff) }), "a size beyond 4 GiB is missing"},
		"size":                    {edit(func(b []byte) { u32(b[second+24:], 1) }), "two: descriptor: size is"},
		"CRC":                     {edit(func(b []byte) { u32(b[second+16:], 1) }), "two: descriptor: crc is"},
		"CRC, consistently":       {edit(func(b []byte) { u32(b[second+16:], 1); u32(b[header2+30+3+200+4:], 1) }), "two: its CRC is"},
		"content":                 {edit(func(b []byte) { b[header2+33] = 'T' }), "two: its CRC is"},
		"entry cut off":           {edit(func(b []byte) { u16(b[directory+28:], 100) }), "it is truncated"},
		"extra":                   {edit(func(b []byte) { u16(b[second+28:], 2); u16(b[second+30:], 1) }), "extra length is 1, not 0"},
		"directory moved":         {edit(func(b []byte) { u32(b[end+16:], uint32(first)-1) }), "end: there are extra bytes between"},
		"another signature":       {edit(func(b []byte) { b[first] = 'Q' }), "signature is"},
		"member behind directory": {edit(func(b []byte) { u32(b[second+42:], uint32(first)) }), "offset is"},
	} {
		require.ErrorContains(t, readAll(hostile.file), hostile.want, name)
	}
}

func FuzzRead(f *testing.F) {
	for n := range 4 {
		f.Add(write(f, []string{"one", "two", "three"}[:n]...))
	}
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := strictzip.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		// What is read can be written again: there is one form, so headers of the same members are the same bytes.
		total := int64(22)
		for _, m := range r.Members() {
			require.NoError(t, strictzip.CheckName(m.Name))
			total += 30 + 16 + 46 + 2*int64(len(m.Name)) + int64(m.Packed)
			_, _ = r.Read(m, func(io.Reader) error { return nil })
		}
		require.EqualValues(t, len(file), total, "a byte of the file is of no member and no header")
	})
}
