package parquet

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// A decompressor appends to dst the page of this size that is compressed in src. It makes no more memory than that size: a page
// that expands to another one is an error.
type decompressor func(dst, src []byte, size int) ([]byte, error)

// codecs are the compressions that are read.
var codecs = map[format.CompressionCodec]decompressor{
	format.Uncompressed: func(dst, src []byte, _ int) ([]byte, error) { return append(dst, src...), nil },
	format.Snappy:       unpackSnappy,
	format.Gzip:         unpackGzip,
	format.Zstd:         unpackZstd,
	format.Brotli: func(dst, src []byte, size int) ([]byte, error) {
		return unpackStream(dst, brotli.NewReader(bytes.NewReader(src)), len(src), size)
	},
	format.Lz4Raw: unpackLZ4,
}

const codecNames = "snappy, gzip, zstd, brotli and lz4_raw"

var errSize = errors.New("it expands to another size than the page says")

func unpackSnappy(dst, src []byte, size int) ([]byte, error) {
	claimed, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if claimed != size {
		return nil, errSize
	}
	dst = slices.Grow(dst, size)
	_, err = snappy.Decode(dst[len(dst):len(dst)+size], src)
	return dst[:len(dst)+size], err
}

func unpackGzip(dst, src []byte, size int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	return unpackStream(dst, r, len(src), size)
}

// expected returns for how much of a page there is memory from the start: a page may claim any size.
func expected(packed, size int) int { return min(size, 64*packed+4096) }

// unpackStream reads a page of this size, which is followed by nothing.
func unpackStream(dst []byte, r io.Reader, packed, size int) ([]byte, error) {
	before := len(dst)
	page := bytes.NewBuffer(slices.Grow(dst, expected(packed, size)+bytes.MinRead))
	if _, err := page.ReadFrom(io.LimitReader(r, int64(size)+1)); err != nil {
		return nil, err
	}
	if page.Len() != before+size {
		return nil, errSize
	}
	return page.Bytes(), nil
}

// zstdDecoder is safe for concurrent use.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPageBytes))
})

func unpackZstd(dst, src []byte, size int) ([]byte, error) {
	decoder, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	before := len(dst)
	page, err := decoder.DecodeAll(src, slices.Grow(dst, expected(len(src), size)))
	if err == nil && len(page) != before+size {
		err = errSize
	}
	return page, err
}

func unpackLZ4(dst, src []byte, size int) ([]byte, error) {
	if size/256 > len(src) {
		return nil, errSize // one byte stands for at most 255
	}
	dst = slices.Grow(dst, size)
	n, err := lz4.UncompressBlock(src, dst[len(dst):len(dst)+size])
	if err == nil && n != size {
		err = errSize
	}
	return dst[:len(dst)+size], err
}
