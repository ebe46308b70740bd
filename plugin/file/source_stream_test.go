package file

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file/filetest"
)

func zstded(t testing.TB, text string) string {
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return string(w.EncodeAll([]byte(text), nil))
}

// windowed is a frame with a window of so many bits, and one block, which is not compressed.
func windowed(bits byte) string {
	const text = "a\n1\n"
	return string([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, (bits - 10) << 3, byte(len(text)<<3 | 1), 0, 0}) + text
}

// TestCompressedInputs shows the filetest.Outcome of each compressed file, sound or not.
func TestCompressedInputs(t *testing.T) {
	text := "a,b\n" + strings.Repeat("1,2\n", 50_000)
	gz, zst := filetest.Gzipped(t, text), zstded(t, text)
	badSum := []byte(gz)
	badSum[len(badSum)-6] ^= 1
	badZstd := []byte(zst)
	badZstd[len(badZstd)-1] ^= 1
	bomb := filetest.Gzipped(t, "a\n"+strings.Repeat(strings.Repeat("x", 65535)+"\n", 512))
	cases := []struct {
		name, file, content, compression string
		rows                             int // -1: some, but not all
		err, message                     string
	}{
		{name: "gzip by name", file: "in.csv.gz", content: gz, rows: 50_000},
		{name: "zstd by name", file: "in.csv.zst", content: zst, rows: 50_000},
		{name: "gzip declared", file: "in.csv", content: gz, compression: "gzip", rows: 50_000},
		{name: "not compressed in spite of the name", file: "in.gz", content: text, compression: "none", rows: 50_000},
		{name: "not gzip", file: "in.csv.gz", content: text, err: "CORRUPT_GZIP", message: "plain text and not compressed, whatever its name says; set compression: none"},
		{name: "not gzip and not text", file: "in.csv.gz", content: "\x00\x01" + text, err: "CORRUPT_GZIP", message: "fetch the file again"},
		{name: "less text than gzip has at least", file: "in.csv.gz", content: "é\n", err: "CORRUPT_GZIP", message: "set compression: none"},
		{name: "not zstd", file: "in.csv.zst", content: text, err: "CORRUPT_ZSTD", message: "set compression: none"},
		{name: "zstd by the name of gzip", file: "in.csv.gz", content: zst, err: "COMPRESSED",
			message: "set compression: zstd"},
		{name: "gzip by the name of zip", file: "in.zip", content: gz, err: "COMPRESSED",
			message: "set compression: gzip"},
		{name: "lz4 by the name of bzip2", file: "in.csv.bz2", content: "\x04\x22\x4d\x18rest", err: "COMPRESSED",
			message: "compressed by lz4, which is not read"},
		{name: "gzip whose header is damaged", file: "in.csv.gz", content: "\x1f\x8b\x09" + gz[3:],
			err: "CORRUPT_GZIP", message: "fetch the file again"},
		{name: "empty", file: "in.csv.gz", err: "EMPTY_SOURCE"},
		{name: "gzip of nothing", file: "in.csv.gz", content: filetest.Gzipped(t, ""), err: "EMPTY_SOURCE"},
		{name: "BI-126 gzip truncated", file: "in.csv.gz", content: gz[:len(gz)-40], rows: -1, err: "TRUNCATED"},
		{name: "BI-126 gzip without trailer", file: "in.csv.gz", content: gz[:len(gz)-8], rows: 50_000, err: "TRUNCATED"},
		{name: "BI-126 zstd truncated", file: "in.csv.zst", content: zst[:len(zst)-4], rows: -1, err: "TRUNCATED"},
		{name: "BI-127 gzip checksum", file: "in.csv.gz", content: string(badSum), rows: 50_000, err: "CORRUPT_GZIP"},
		{name: "BI-127 zstd checksum", file: "in.csv.zst", content: string(badZstd), rows: -1, err: "CORRUPT_ZSTD"},
		{name: "BI-128 gzip trailing junk", file: "in.csv.gz", content: gz + "junk after the end", rows: 50_000, err: "CORRUPT_GZIP"},
		{name: "BI-129 gzip of several members", file: "in.csv.gz", content: filetest.Gzipped(t, "a,b\n") + filetest.Gzipped(t, "1,2\n3") + filetest.Gzipped(t, ",4\n"), rows: 2},
		{name: "zstd --long", file: "in.csv.zst", content: windowed(27), rows: 1},
		{name: "zstd --long=31", file: "in.csv.zst", content: windowed(31), err: "ZSTD_REFUSED",
			message: "it has a window of 2048 MiB, and needs more memory than 128 MiB"},
		{name: "zstd with a dictionary", file: "in.csv.zst", content: "\x28\xb5\x2f\xfd\x01\x00\x07\x21\x00\x00a\n1\n",
			err: "ZSTD_REFUSED", message: "compressed with a dictionary"},
		{name: "BI-130 bomb", file: "in.csv.gz", content: bomb, rows: -1, err: "DECOMPRESSION_RATIO"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := pipeline.Files{Path: c.file, Compression: c.compression}
			got := filetest.Collect(t, sourceOfText(t, c.content, files), plugin.Limits{Rows: 1 << 20, Bytes: 1 << 20})
			require.Equal(t, c.err, got.Err, got.Message)
			require.Contains(t, got.Message, c.message)
			if c.rows >= 0 {
				require.Len(t, got.Rows, c.rows)
			}
			require.Empty(t, got.Rejected)
			if c.err == "" {
				require.Equal(t, []string{filetest.HexSum(c.content)}, got.Digests)
			} else {
				require.Empty(t, got.Digests)
			}
		})
	}
}

// TestSourceChanged changes a file in every way while it is read: BI-040.
func TestSourceChanged(t *testing.T) {
	text := "a,b\n" + strings.Repeat("1,2\n", 1000)
	write := func(name, content string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		}
	}
	changes := map[string]func(t *testing.T, dir string){
		"grown":     write("in/1.csv", text+"3,4\n"),
		"shrunk":    write("in/1.csv", text[:100]),
		"rewritten": write("in/1.csv", strings.Replace(text, "1", "9", 1)),
		"removed":   func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "in/1.csv"))) },
		"replaced": func(t *testing.T, dir string) {
			write("in/new", text)(t, dir)
			require.NoError(t, os.Rename(filepath.Join(dir, "in/new"), filepath.Join(dir, "in/1.csv")))
		},
	}
	for name, change := range changes {
		for _, when := range []string{"before Open", "before Next", "between chunks"} {
			t.Run(name+" "+when, func(t *testing.T) {
				root, dir := newRoot(t, map[string]string{"in/1.csv": text})
				old := time.Now().Add(-time.Hour) // times of files are as coarse as a tick of the kernel
				require.NoError(t, os.Chtimes(filepath.Join(dir, "in/1.csv"), old, old))
				source, err := newPlainSource(pipeline.Files{Path: "in/*.csv"}, Access{Root: root})
				require.NoError(t, err)
				require.Equal(t, CodeSourceChanged, readChanging(t, source, func() { change(t, dir) }, when))
			})
		}
	}
}

// readChanging reads one chunk at most after change, and returns the code of the error.
func readChanging(t *testing.T, source plugin.Source, change func(), when string) string {
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	if when == "before Open" {
		change()
	}
	reader, err := source.Open(t.Context(), plugin.Cursor{}, info)
	if err == nil {
		defer func() { require.NoError(t, reader.Close()) }()
		var chunk plugin.Chunk
		if when == "between chunks" {
			require.NoError(t, reader.Next(t.Context(), plugin.Limits{Rows: 10, Bytes: 1 << 20}, &chunk))
		}
		change()
		err = reader.Next(t.Context(), plugin.Limits{Rows: 10, Bytes: 1 << 20}, &chunk)
		require.Zero(t, chunk.Len())
	}
	var o filetest.Outcome
	return o.Fail(t, err).Err
}

// TestFileAdded shows that a pattern that matches one more file is another source.
func TestFileAdded(t *testing.T) {
	root, dir := newRoot(t, map[string]string{"1.csv": "a\n1\n"})
	source, err := newPlainSource(pipeline.Files{Path: "*.csv"}, Access{Root: root})
	require.NoError(t, err)
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "2.csv"), []byte("a\n2\n"), 0o644))
	_, err = source.Open(t.Context(), plugin.Cursor{}, info)
	require.ErrorContains(t, err, "2.csv: SOURCE_CHANGED")
	require.ErrorContains(t, err, "start over with waymark resume --fork, and leave the files alone")
}

// TestCancelledReadIsNoFault shows that a cancelled read is an error that a retry cures.
func TestCancelledReadIsNoFault(t *testing.T) {
	source := sourceOfText(t, "a\n1\n", pipeline.Files{})
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	reader, err := source.Open(ctx, plugin.Cursor{}, info)
	require.NoError(t, err)
	cancel()
	var chunk plugin.Chunk
	require.ErrorIs(t, reader.Next(ctx, filetest.Large, &chunk), context.Canceled)
	require.NoError(t, reader.Close())
	require.NoError(t, reader.Close())
}

// TestBrokenCursorIsRefused shows that a cursor from elsewhere is an error and no panic.
func TestBrokenCursorIsRefused(t *testing.T) {
	source := sourceOfText(t, "a\n1\n", pipeline.Files{})
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	_, err = source.Open(t.Context(), plugin.Cursor{File: 2}, info)
	require.ErrorContains(t, err, "cursor points to file 2 of 1")
	reader, err := source.Open(t.Context(), plugin.Cursor{Offset: 2, Digest: []byte("x"), Context: []byte("a")}, info)
	require.NoError(t, err)
	var chunk plugin.Chunk
	require.ErrorContains(t, reader.Next(t.Context(), filetest.Large, &chunk), "digest of the cursor")
}

// TestCursorBeforeAFault shows that a run that stops in a long line continues before it once the file is mended.
func TestCursorBeforeAFault(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	line := make([]byte, 6<<20)
	for i := range line {
		line[i] = 'a' + byte(random.IntN(26))
	}
	content := filetest.Gzipped(t, "a\n1\n"+string(line)+"\n2\n")
	source := sourceOfText(t, content[:len(content)-1000], pipeline.Files{Path: "in.csv.gz"})
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	reader, err := source.Open(t.Context(), plugin.Cursor{}, info)
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	var chunk plugin.Chunk
	require.NoError(t, reader.Next(t.Context(), filetest.Large, &chunk))
	require.Equal(t, 1, chunk.Len())
	require.Equal(t, plugin.Cursor{Offset: 4, Line: 2, Row: 1, Context: []byte("a")}, reader.Cursor())
	require.ErrorContains(t, reader.Next(t.Context(), filetest.Large, &chunk), "TRUNCATED")
}

// TestDecodersAgree decodes every unit of UTF-16 in pieces of every size.
func TestDecodersAgree(t *testing.T) {
	raw := []byte("a\x00\x3d\xd8\x00\xde\x3d\xd8b\x00\x00\xdcc\x00\x3d\xd8")
	for size := 1; size < 20; size++ {
		got, err := io.ReadAll(newDecoder(bytes.NewReader(raw), decodings["utf-16le"], size))
		require.NoError(t, err)
		require.Equal(t, "a\U0001F600\xffb\xffc\xff", string(got))
	}
}
