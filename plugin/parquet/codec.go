package parquet

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// A decompressor returns the page of this size that is compressed in src. It makes no more memory than that size: a page
// that expands to another one is an error.
type decompressor func(src []byte, size int) ([]byte, error)

// codecs are the compressions that are read.
var codecs = map[format.CompressionCodec]decompressor{
	format.Uncompressed: func(src []byte, _ int) ([]byte, error) { return src, nil },
	format.Snappy:       unpackSnappy,
	format.Gzip:         unpackGzip,
	format.Zstd:         unpackZstd,
	format.Brotli: func(src []byte, size int) ([]byte, error) {
		return unpackStream(brotli.NewReader(bytes.NewReader(src)), len(src), size)
	},
	format.Lz4Raw: unpackLZ4,
}

const codecNames = "snappy, gzip, zstd, brotli and lz4_raw"

var errSize = errors.New("it expands to another size than the page says")

func unpackSnappy(src []byte, size int) ([]byte, error) {
	claimed, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if claimed != size {
		return nil, errSize
	}
	return snappy.Decode(make([]byte, size), src)
}

func unpackGzip(src []byte, size int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	return unpackStream(r, len(src), size)
}

// expected returns for how much of a page there is memory from the start: a page may claim any size.
func expected(packed, size int) int { return min(size, 64*packed+4096) }

// unpackStream reads a page of this size, which is followed by nothing.
func unpackStream(r io.Reader, packed, size int) ([]byte, error) {
	page := bytes.NewBuffer(make([]byte, 0, expected(packed, size)))
	if _, err := page.ReadFrom(io.LimitReader(r, int64(size)+1)); err != nil {
		return nil, err
	}
	if page.Len() != size {
		return nil, errSize
	}
	return page.Bytes(), nil
}

// zstdDecoder is safe for concurrent use.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPageBytes))
})

func unpackZstd(src []byte, size int) ([]byte, error) {
	decoder, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	page, err := decoder.DecodeAll(src, make([]byte, 0, expected(len(src), size)))
	if err == nil && len(page) != size {
		err = errSize
	}
	return page, err
}

func unpackLZ4(src []byte, size int) ([]byte, error) {
	if size/256 > len(src) {
		return nil, errSize // one byte stands for at most 255
	}
	page := make([]byte, size)
	n, err := lz4.UncompressBlock(src, page)
	if err == nil && n != size {
		err = errSize
	}
	return page, err
}
