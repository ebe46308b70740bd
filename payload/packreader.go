package payload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// packReader is the stored form of a Pack, taken apart.
type packReader struct {
	footer        footer
	frames        [][]byte
	offsets, lens []uint32
}

// DecodePack returns the Pack that EncodePack stored as b. Data belongs to the caller; Context and Hashes are parts of b,
// which must not change as long as they are in use. Records are not compared with their hashes.
//
// It checks all lengths and the checksum of the index before it allocates by any of them: what a hostile pack can make it
// allocate is bounded by the pack's own length, 200 times. The error is a *CorruptError. It is safe for concurrent use.
func DecodePack(b []byte) (*Pack, error) {
	index, err := findIndex(b)
	if err != nil {
		return nil, err
	}
	r := packReader{footer: parseFooter(b)}
	if err := r.footer.check(len(index)); err != nil {
		return nil, err
	}
	lengths, index := cut(index, 4*r.footer.frames())
	spans, index := cut(index, int(r.footer.spansBytes))
	hashes, index := cut(index, sha256.Size*int(r.footer.records))
	context, _ := cut(index, int(r.footer.contextBytes))
	if err := r.cutFrames(b[openingBytes:len(b)-int(r.footer.indexBytes)-skippableHeader], lengths); err != nil {
		return nil, err
	}
	if err := r.parseSpans(spans); err != nil {
		return nil, err
	}
	data, err := r.unpack()
	if err != nil {
		return nil, err
	}
	return &Pack{Context: context, Data: data, Offsets: r.offsets, Lens: r.lens, Hashes: hashes}, nil
}

// findIndex returns the content of the index frame after comparing its checksum and what stands around it.
func findIndex(b []byte) ([]byte, error) {
	opening := appendSkippable(nil, len(packMagic))
	if len(b) < openingBytes || string(b[:openingBytes]) != string(opening)+packMagic {
		return nil, corruptPack("it does not begin like a pack of version %d", packMagic[len(packMagic)-1])
	}
	if len(b) < openingBytes+skippableHeader+footerBytes || string(b[len(b)-len(packMagic):]) != packMagic {
		return nil, corruptPack("it does not end like a pack; it may be cut off")
	}
	f := parseFooter(b)
	room := len(b) - openingBytes - skippableHeader
	if f.indexBytes < uint32(footerBytes) || uint64(f.indexBytes) > uint64(room) {
		return nil, corruptPack("an index of %d bytes does not fit in %d", f.indexBytes, len(b))
	}
	start := len(b) - int(f.indexBytes)
	if string(b[start-skippableHeader:start]) != string(appendSkippable(nil, int(f.indexBytes))) {
		return nil, corruptPack("no index frame at byte %d", start-skippableHeader)
	}
	checked := b[start : len(b)-len(packMagic)-4]
	if got := crc32.Checksum(checked, castagnoli); got != f.checksum {
		return nil, corruptPack("the checksum of the index is %08x instead of %08x", got, f.checksum)
	}
	return b[start:], nil
}

// check holds the declared lengths to the limits, and to the length of the index that they must add up to.
func (f footer) check(indexBytes int) error {
	if f.frameBytes == 0 || f.frameBytes > maxPackFrameBytes {
		return corruptPack("frames of %d bytes, the limit is %d", f.frameBytes, maxPackFrameBytes)
	}
	if f.dataBytes > MaxPackData {
		return corruptPack("%d bytes of data, the limit is %d", f.dataBytes, MaxPackData)
	}
	sum := 4*uint64(f.frames()) + uint64(f.spansBytes) + sha256.Size*uint64(f.records) + uint64(f.contextBytes)
	if sum += uint64(footerBytes); sum != uint64(indexBytes) {
		return corruptPack("the parts of the index add up to %d bytes instead of %d", sum, indexBytes)
	}
	if uint64(f.spansBytes) < minSpanBytes*uint64(f.records) {
		return corruptPack("%d bytes cannot hold the spans of %d records", f.spansBytes, f.records)
	}
	return nil
}

// cut returns the first n bytes of b and the rest.
func cut(b []byte, n int) (head, tail []byte) { return b[:n:n], b[n:] }

// cutFrames divides the compressed area by the table of lengths.
func (r *packReader) cutFrames(area, lengths []byte) error {
	r.frames = make([][]byte, 0, len(lengths)/4)
	for i := range len(lengths) / 4 {
		length := binary.LittleEndian.Uint32(lengths[4*i:])
		if uint64(length) > uint64(len(area)) {
			return corruptPack("frame %d of %d bytes goes beyond the data area", i, length)
		}
		if err := r.footer.checkFrame(i, length); err != nil {
			return err
		}
		var frame []byte
		frame, area = cut(area, int(length))
		r.frames = append(r.frames, frame)
	}
	if len(area) > 0 {
		return corruptPack("%d bytes between the last frame and the index", len(area))
	}
	return nil
}

// checkFrame holds the stored length of frame i to what it is to unpack to.
func (f footer) checkFrame(i int, length uint32) error {
	if uint64(length)*maxPackRatio < uint64(f.frameSize(i)) {
		return corruptPack("frame %d claims to unpack more than %d-fold", i, maxPackRatio)
	}
	return nil
}

// parseSpans turns gaps and lengths into offsets, all within the data.
func (r *packReader) parseSpans(spans []byte) error {
	r.offsets = make([]uint32, r.footer.records)
	r.lens = make([]uint32, r.footer.records)
	end := uint64(0)
	for i := range r.offsets {
		gap, n := binary.Uvarint(spans)
		length, m := binary.Uvarint(spans[max(n, 0):])
		rest := uint64(r.footer.dataBytes) - end
		if n <= 0 || m <= 0 || gap > rest || length > rest-gap {
			return corruptPack("record %d does not lie within the data", i)
		}
		r.offsets[i], r.lens[i] = uint32(end+gap), uint32(length)
		end += gap + length
		spans = spans[n+m:]
	}
	if len(spans) > 0 {
		return corruptPack("%d bytes after the last span", len(spans))
	}
	return nil
}

// packDecoder unpacks frames. It is safe for concurrent use and keeps its buffers.
var packDecoder = sync.OnceValue(func() *zstd.Decoder {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(maxPackFrameBytes), zstd.WithDecoderMaxWindow(maxPackFrameBytes))
	if err != nil {
		panic(fmt.Sprintf("payload: zstd options: %v", err)) // the options are constants
	}
	return decoder
})

// unpack returns the data of all frames.
func (r *packReader) unpack() ([]byte, error) {
	data := make([]byte, 0, r.footer.dataBytes)
	for i, frame := range r.frames {
		if err := r.footer.unpackFrame(i, frame, data[len(data):]); err != nil {
			return nil, err
		}
		data = data[:len(data)+r.footer.frameSize(i)]
	}
	return data, nil
}

// unpackFrame unpacks frame i into the capacity of dst, which is empty.
func (f footer) unpackFrame(i int, frame, dst []byte) error {
	size := f.frameSize(i)
	unpacked, err := packDecoder().DecodeAll(frame, dst[:0:size])
	if err != nil {
		return corruptPack("frame %d: %v", i, err)
	}
	if len(unpacked) != size {
		return corruptPack("frame %d holds %d bytes instead of %d", i, len(unpacked), size)
	}
	return nil
}
