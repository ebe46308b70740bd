package file

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file/filetest"
)

// bzip2ed is what bzip2 makes of a header and 2,000 rows.
const bzip2ed = "QlpoOTFBWSZTWZuQrdMAD6FZAAAQAAQwADAAIAAwwAKVDJuBKrAlVuBKrQlVznxdyRThQkJuQrdM"

func bzipped(t testing.TB) string {
	data, err := base64.StdEncoding.DecodeString(bzip2ed)
	require.NoError(t, err)
	return string(data)
}

// zipMade is a member of an archive.
type zipMade struct {
	zip.FileHeader
	text string
}

func plain(name, text string) zipMade {
	return zipMade{zip.FileHeader{Name: name, Method: zip.Deflate}, text}
}

// zipped returns an archive. Sizes are behind the data, as where an archive is streamed.
func zipped(t testing.TB, members ...zipMade) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range members {
		m, err := w.CreateHeader(&members[i].FileHeader)
		require.NoError(t, err)
		_, err = io.WriteString(m, members[i].text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

// raw returns an archive whose one member is stored, with its sizes in front.
func raw(t testing.TB, header zip.FileHeader, text string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	header.UncompressedSize64, header.CompressedSize64 = uint64(len(text)), uint64(len(text))
	m, err := w.CreateRaw(&header)
	require.NoError(t, err)
	_, err = io.WriteString(m, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

const zipText = "a,b\n1,2\n3,4\n"

// stored is an archive of zipText that is not compressed: its checksum is that of the text.
func stored(t testing.TB) string {
	return raw(t, zip.FileHeader{Name: "in.csv", Method: zip.Store, CRC32: 0xced6e9e5}, zipText)
}

func changed(text string, at int, with ...byte) string {
	data := []byte(text)
	copy(data[at:], with)
	return string(data)
}

func TestOtherCompressions(t *testing.T) {
	bz := bzipped(t)
	good := zipped(t, plain("in.csv", zipText))
	two := zipped(t, plain("in.csv", zipText), plain("in2.csv", zipText))
	link := plain("in.csv", zipText)
	link.SetMode(fs.ModeSymlink | 0o777)
	large := strings.Repeat("1,2\n", 50_000)
	directory := strings.Index(good, "PK\x01\x02")
	end := strings.Index(good, "PK\x05\x06")
	for _, c := range []struct {
		name, file, content, compression string
		rows                             int // -1: any
		err, message                     string
	}{
		{name: "bzip2", file: "in.csv.bz2", content: bz, rows: 2000},
		{name: "bzip2 of two members", file: "in.csv.bz2", content: bz + bz, rows: 4001},
		{name: "bzip2 truncated", file: "in.csv.bz2", content: bz[:len(bz)-8], rows: -1, err: CodeTruncated},
		{name: "bzip2 damaged", file: "in.csv.bz2", content: changed(bz, len(bz)-5, 0x55), rows: -1, err: codeCorruptBzip2},
		{name: "bzip2 and junk", file: "in.csv.bz2", content: bz + "junk", rows: -1, err: codeCorruptBzip2},
		{name: "bzip2 of no bytes", file: "in.csv.bz2", err: CodeEmptySource},
		{name: "bzip2 that is none", file: "in.csv.bz2", content: zipText, err: codeCorruptBzip2},
		{name: "bzip2 undeclared", file: "in.csv", content: bz, err: codeCompressed, message: "set compression: bzip2"},
		{name: "zip", file: "in.csv.zip", content: good, rows: 2},
		{name: "zip declared", file: "in", compression: "zip", content: good, rows: 2},
		{name: "zip stored", file: "in.zip", content: stored(t), rows: 2},
		{name: "zip with folders", file: "in.zip", content: zipped(t, plain("x/", ""), plain("x/y/", ""), plain("x/y/in.csv", zipText)), rows: 2},
		{name: "zip with a comment", file: "in.zip", content: changed(good, len(good)-2, 2) + "hi", rows: 2},
		{name: "zip of many rows", file: "in.zip", content: zipped(t, plain("in.csv", "a,b\n"+large)), rows: 50_000},
		{name: "zip of no bytes", file: "in.zip", err: CodeEmptySource},
		{name: "zip of nothing", file: "in.zip", content: zipped(t), err: codeArchive, message: "holds no file"},
		{name: "zip undeclared", file: "in.csv", content: good, err: codeCompressed, message: "set compression: zip"},
		{name: "zip that is none", file: "in.zip", content: zipText, err: codeCorruptZip, message: "plain text and not compressed"},
		{name: "zip of two files", file: "in.zip", content: two, rows: -1, err: codeArchive, message: `more than one file, "in.csv" and "in2.csv"`},
		{name: "BI-130 zip bomb", file: "in.zip", content: zipped(t, plain("in.csv", "a\n"+strings.Repeat(strings.Repeat("x", 65535)+"\n", 512))), rows: -1, err: codeRatio},
		{name: "BI-131 zip slip", file: "in.zip", content: zipped(t, plain("../../x", zipText)), err: codeArchive, message: "leads out of a folder"},
		{name: "BI-131 zip slip with backslashes", file: "in.zip", content: zipped(t, plain(`..\\..\\x`, zipText)), err: codeArchive, message: "leads out of a folder"},
		{name: "BI-132 absolute", file: "in.zip", content: zipped(t, plain("/etc/passwd", zipText)), err: codeArchive, message: "leads out of a folder"},
		{name: "BI-132 drive", file: "in.zip", content: zipped(t, plain("C:x", zipText)), err: codeArchive, message: "leads out of a folder"},
		{name: "BI-133 symbolic link", file: "in.zip", content: zipped(t, link), rows: -1, err: codeArchive, message: "is a symbolic link"},
		{name: "BI-134 doubled", file: "in.zip", content: zipped(t, plain("in.csv", zipText), plain("in.csv", zipText)), rows: -1, err: codeArchive, message: `two members named "in.csv"`},
		{name: "BI-135 overlapping", file: "in.zip", content: changed(good, directory+42, 9), rows: -1, err: codeCorruptZip, message: "says something else"},
		{name: "BI-136 size lies in the directory", file: "in.zip", content: changed(good, directory+24, 200), rows: -1, err: codeCorruptZip, message: "says something else"},
		{name: "BI-136 size lies behind the data", file: "in.zip", content: changed(good, directory-4, 200), rows: -1, err: codeCorruptZip, message: "and not 200"},
		{name: "BI-136 size lies in front", file: "in.zip", content: changed(stored(t), 18, 5, 0, 0, 0, 5), rows: -1, err: codeCorruptZip},
		{name: "BI-137 members that are not there", file: "in.zip", content: changed(good, end+8, 0xe8, 3, 0xe8, 3), rows: -1, err: codeCorruptZip},
		{name: "BI-140 encrypted", file: "in.zip", content: changed(good, 6, good[6]|1), err: codeArchive, message: "is encrypted"},
		{name: "zip in parts", file: "in.zip", content: changed(good, end+4, 1), rows: -1, err: codeArchive,
			message: "one of several parts"},
		{name: "zip by another method", file: "in.zip", content: changed(good, 8, 93), err: codeArchive, message: "by method 93"},
		{name: "zip with a wrong checksum", file: "in.zip", content: changed(stored(t), 14, 1), rows: -1, err: codeCorruptZip, message: "checksum"},
		{name: "zip truncated", file: "in.zip", content: good[:len(good)-30], rows: -1, err: CodeTruncated},
		{name: "zip truncated in its data", file: "in.zip", content: good[:40], rows: -1, err: CodeTruncated},
		{name: "zip and junk", file: "in.zip", content: good + "junk", rows: -1, err: codeCorruptZip, message: "other bytes follow"},
		{name: "zip and a zip", file: "in.zip", content: good + good, rows: -1, err: codeCorruptZip},
		{name: "xz", file: "in.csv.xz", content: "\xfd7zXZ\x00\x00\x04", err: codeCompressed, message: "xz -dc FILE | waymark run"},
		{name: "7z", file: "in.csv", content: "7z\xbc\xaf\x27\x1c\x00\x04", err: codeCompressed, message: "7z archive"},
		{name: "lz4", file: "in.csv", content: "\x04\x22\x4d\x18 abc", err: codeCompressed, message: "lz4 -dc FILE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := pipeline.Files{Path: c.file, Compression: c.compression}
			got := filetest.Collect(t, sourceOfText(t, c.content, files), plugin.Limits{Rows: 1 << 20, Bytes: 1 << 20})
			require.Equal(t, c.err, got.Err, got.Message)
			require.Contains(t, got.Message, c.message)
			if c.rows >= 0 {
				require.Len(t, got.Rows, c.rows)
			}
		})
	}
}

// Whatever byte of an archive is another one, its text is the same or it is rejected, but for the time and the versions.
func TestArchivesThatAreDamaged(t *testing.T) {
	good := stored(t)
	for at := range len(good) {
		for _, flip := range []byte{1, 0x80, 0xff} {
			r, err := openZip(strings.NewReader(changed(good, at, good[at]^flip)))
			require.NoError(t, err)
			text, err := io.ReadAll(r)
			if err == nil {
				require.Equal(t, zipText, string(text), "byte %d", at)
			}
		}
	}
}

func FuzzZip(f *testing.F) {
	f.Add([]byte(zipped(f, plain("in.csv", zipText))))
	f.Add([]byte(zipped(f, plain("x/", ""), plain("x/in.csv", zipText))))
	f.Add([]byte(stored(f)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := openZip(bytes.NewReader(data))
		if err != nil {
			return
		}
		text, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if err != nil || len(text) == 1<<20 {
			return
		}
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if errors.Is(err, zip.ErrInsecurePath) {
			err = nil
		}
		require.NoError(t, err, "what is read here, the standard library reads as well")
		var files []*zip.File
		for _, file := range archive.File {
			if !strings.HasSuffix(file.Name, "/") {
				files = append(files, file)
			}
		}
		require.Len(t, files, 1)
		in, err := files[0].Open()
		require.NoError(t, err)
		want, err := io.ReadAll(in)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text))
	})
}

// Sizes of more than 32 bits are taken from where they are, though none of these archives is so long.
func TestArchivesWithWideSizes(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 1))
	text := zipText + strings.Repeat("5,6\n", chance.IntN(9))
	good := raw(t, zip.FileHeader{Name: "in.csv", Method: zip.Store}, text)
	_, err := openZip(strings.NewReader(good))
	require.NoError(t, err)
	size, packed := uint64(max32), uint64(max32)
	extra := binary.LittleEndian.AppendUint16([]byte{9, 9, 1, 0, 7, 1, 0}, 16)
	extra = binary.LittleEndian.AppendUint64(extra, 1<<33)
	extra = binary.LittleEndian.AppendUint64(extra, 1<<34)
	require.True(t, wideSizes(extra, &size, &packed))
	require.Equal(t, [2]uint64{1 << 33, 1 << 34}, [2]uint64{size, packed})
	require.False(t, wideSizes(extra[:20], &size))
}

// Python's ZipFile.writestr("d/", "") deflates the nothing that a folder holds.
func TestFoldersThatAreDeflated(t *testing.T) {
	for packed, message := range map[string]string{
		"\x03\x00":                 "",
		"\x01\x00\x00\xff\xff":     "",
		"\x01\x01\x00\xfe\xffx":    errZip.Error(),
		strings.Repeat("\x00", 20): "is a folder that holds data: take it out of the archive",
	} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		m, err := w.CreateRaw(&zip.FileHeader{Name: "empty!", Method: zip.Deflate, CompressedSize64: uint64(len(packed))})
		require.NoError(t, err)
		_, err = io.WriteString(m, packed)
		require.NoError(t, err)
		file := plain("d/in.csv", zipText)
		m, err = w.CreateHeader(&file.FileHeader)
		require.NoError(t, err)
		_, err = io.WriteString(m, zipText)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		archive, err := openZip(strings.NewReader(strings.ReplaceAll(b.String(), "empty!", "empty/")))
		require.NoError(t, err)
		text, err := io.ReadAll(archive)
		if message != "" {
			require.ErrorContains(t, err, message, "%q", packed)
			continue
		}
		require.NoError(t, err, "%q", packed)
		require.Equal(t, zipText, string(text))
	}
}

func TestDevicesAreNotToBeRemoved(t *testing.T) {
	root, err := NewRoot("/dev")
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	at, err := newLocation(root, pipeline.FileTarget{Path: "full"})
	require.NoError(t, err)
	require.ErrorContains(t, at.admit(0), "is a device, which this sink does not replace; choose another path")
}
