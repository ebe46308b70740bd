package payload

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// smallPack has records in two padded frames.
func smallPack(t testing.TB) []byte { return repeatedPack(t, 80_000) }

// repeatedPack has three records in 16 bytes of data repeated so often, at the beginning, after it, and at the end.
func repeatedPack(t testing.TB, times int) []byte {
	p := &Pack{Context: []byte("head"), Data: bytes.Repeat([]byte("0123456789abcdef"), times)}
	for _, at := range []uint32{0, 100, uint32(len(p.Data) - 50)} {
		p.Offsets, p.Lens = append(p.Offsets, at), append(p.Lens, 50)
		sum := sha256.Sum256(p.Data[at : at+50])
		p.Hashes = append(p.Hashes, sum[:]...)
	}
	b, err := EncodePack(nil, p)
	require.NoError(t, err)
	return b
}

// seal makes the checksum of the index right again, as an attacker would.
func seal(b []byte) {
	f := parseFooter(b)
	end := len(b) - len(packMagic) - 4
	if start := len(b) - int(f.indexBytes); start >= 0 && start <= end {
		binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[start:end], castagnoli))
	}
}

// decode requires that errors are ErrCorrupt and that memory is bounded.
func decode(t testing.TB, b []byte) (*Pack, error) {
	p, err := DecodePack(b)
	if err != nil {
		require.ErrorIs(t, err, ErrCorrupt)
		return nil, err
	}
	require.LessOrEqual(t, len(p.Data), maxPackRatio*len(b))
	return p, nil
}

func requireCorrupt(t *testing.T, b []byte, format string, args ...any) {
	t.Helper()
	_, err := decode(t, b)
	require.ErrorIs(t, err, ErrCorrupt, append([]any{format}, args...)...)
}

func TestTruncatedPacksAreCorrupt(t *testing.T) {
	b := smallPack(t)
	for n := range b {
		requireCorrupt(t, b[:n], "first %d bytes", n)
		requireCorrupt(t, b[n+1:], "without the first %d bytes", n+1)
	}
	requireCorrupt(t, append(b, 0), "one byte more")
}

// TestFlippedPacks: a flipped bit is found, or is one that zstd ignores (padding, unused bits) and changes nothing.
func TestFlippedPacks(t *testing.T) {
	b := repeatedPack(t, 1000)
	honest, err := decode(t, b)
	require.NoError(t, err)
	index := len(b) - int(parseFooter(b).indexBytes) - skippableHeader
	for i := range b {
		b[i] ^= 1 << (i % 8)
		if p, err := decode(t, b); err == nil {
			require.Equal(t, honest, p, "byte %d", i)
			require.True(t, i >= openingBytes && i < index, "byte %d is in no frame and not covered", i)
		}
		b[i] ^= 1 << (i % 8)
	}
}

func TestHostileFootersAreCorrupt(t *testing.T) {
	const fields = 6
	values := []uint32{0, 1, 2, 3, 100, 1 << 16, 1 << 20, 1<<20 + 1, 1 << 28, 1<<28 + 1, 1 << 31, math.MaxUint32 - 1, math.MaxUint32}
	honest := smallPack(t)
	for field := range fields {
		at := len(honest) - footerBytes + 4*field
		for _, value := range values {
			if value == binary.LittleEndian.Uint32(honest[at:]) {
				continue
			}
			b := bytes.Clone(honest)
			binary.LittleEndian.PutUint32(b[at:], value)
			seal(b)
			requireCorrupt(t, b, "field %d is %d", field, value)
		}
	}
}

// TestBombsAreRefusedBeforeUnpacking: one small frame that claims, or really holds, far more than the limit.
func TestBombsAreRefusedBeforeUnpacking(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer encoder.Close()
	for name, test := range map[string]struct {
		claimed uint32
		message string
	}{
		"claims everything": {maxPackFrameBytes, "more than 200-fold"},
		"claims little":     {1000, "frame 0: "},
	} {
		t.Run(name, func(t *testing.T) {
			b := appendSkippable(nil, len(packMagic))
			b = append(b, packMagic...)
			frame := encoder.EncodeAll(make([]byte, maxPackFrameBytes), nil)
			b = append(b, frame...)
			b = appendIndex(b, &Pack{}, []uint32{uint32(len(frame))})
			binary.LittleEndian.PutUint32(b[len(b)-footerBytes+4:], maxPackFrameBytes)
			binary.LittleEndian.PutUint32(b[len(b)-footerBytes+8:], test.claimed)
			seal(b)
			_, err := decode(t, b)
			require.ErrorContains(t, err, test.message)
		})
	}
}

// craft builds a pack of the data "0123456789" in one frame, with parts that EncodePack would never write.
func craft(extra, spans []byte, records, dataBytes uint32) []byte {
	b := appendSkippable(nil, len(packMagic))
	b = append(b, packMagic...)
	start := len(b)
	b = packEncoder().EncodeAll([]byte("0123456789"), b)
	frame := uint32(len(b) - start)
	b = append(b, extra...)
	index := binary.LittleEndian.AppendUint32(nil, frame)
	index = append(index, spans...)
	for range records {
		sum := sha256.Sum256([]byte("01"))
		index = append(index, sum[:]...)
	}
	size := len(index) + footerBytes
	for _, field := range []uint32{records, packFrameBytes, dataBytes, uint32(len(spans)), 0, uint32(size)} {
		index = binary.LittleEndian.AppendUint32(index, field)
	}
	index = binary.LittleEndian.AppendUint32(index, crc32.Checksum(index, castagnoli))
	b = appendSkippable(b, size)
	return append(append(b, index...), packMagic...)
}

func TestCraftedPacksAreCorrupt(t *testing.T) {
	_, err := decode(t, craft(nil, []byte{0, 2}, 1, 10))
	require.NoError(t, err, "the crafted pack is good but for what the cases change")
	for name, test := range map[string]struct {
		pack    []byte
		message string
	}{
		"gap beyond the data":    {craft(nil, []byte{11, 0}, 1, 10), "record 0 does not lie within the data"},
		"length beyond the data": {craft(nil, []byte{5, 6}, 1, 10), "record 0 does not lie within the data"},
		"second record beyond":   {craft(nil, []byte{0, 2, 8, 1}, 2, 10), "record 1 does not lie within the data"},
		"varint without an end":  {craft(nil, []byte{0x80, 0x80}, 1, 10), "record 0 does not lie within the data"},
		"spans end early":        {craft(nil, []byte{0x80, 0, 0, 2}, 2, 10), "record 1 does not lie within the data"},
		"too few spans":          {craft(nil, []byte{0}, 1, 10), "1 bytes cannot hold the spans of 1 records"},
		"bytes after the spans":  {craft(nil, []byte{0, 2, 0}, 1, 10), "1 bytes after the last span"},
		"bytes after the frames": {craft([]byte("stowaway"), []byte{0, 2}, 1, 10), "8 bytes between"},
		"frame with less data":   {craft(nil, []byte{0, 2}, 1, 11), "frame 0 holds 10 bytes instead of 11"},
		"frame with more data":   {craft(nil, []byte{0, 2}, 1, 9), "frame 0: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(t, test.pack)
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, test.message)
		})
	}
}

func TestEveryPackIsOneValidZstdStream(t *testing.T) {
	b := smallPack(t)
	decoder, err := zstd.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	defer decoder.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(decoder)
	require.NoError(t, err)
	p, err := DecodePack(b)
	require.NoError(t, err)
	require.True(t, bytes.Equal(p.Data, out.Bytes()))
}

// FuzzDecodePack changes packs and mends their checksum, so that the fuzzer gets past it.
func FuzzDecodePack(f *testing.F) {
	empty, err := EncodePack(nil, &Pack{})
	require.NoError(f, err)
	hash := sha256.Sum256([]byte("record"))
	b, err := EncodePack(nil, &Pack{
		Context: []byte("head"), Data: []byte("a record\n"), Offsets: []uint32{2}, Lens: []uint32{6}, Hashes: hash[:],
	})
	require.NoError(f, err)
	for _, seed := range [][]byte{b, empty, b[:len(b)/2], b[openingBytes:], []byte(packMagic), nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decode(t, b)
		if len(b) >= footerBytes {
			sealed := bytes.Clone(b)
			seal(sealed)
			_, _ = decode(t, sealed)
		}
	})
}
