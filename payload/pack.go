package payload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// MaxPackData is the largest Data of a Pack in bytes.
const MaxPackData = 256 << 20

// A Pack holds the records of one chunk, in the shape in which a source reads them: one buffer, and where each record is
// in it. Bytes of Data between records, such as line ends, are kept.
type Pack struct {
	// Context holds the bytes that are needed to parse the records and are no record, such as a CSV header. May be empty.
	Context []byte
	// Data holds all records, at most MaxPackData bytes.
	Data []byte
	// Record i is Lens[i] bytes of Data from Offsets[i]. Records ascend and do not overlap; a record may be empty.
	Offsets, Lens []uint32
	// Hashes holds the SHA-256 of each record, 32 bytes each, in the order of the records.
	Hashes []byte
}

// Len returns the number of records.
func (p *Pack) Len() int { return len(p.Offsets) }

// EncodePack appends the stored form of p to dst and returns the extended slice. docs/payloads.md describes the form.
//
// Hashes are stored as they are: the caller has computed them already. Equal packs give equal bytes as long as the
// program does not change. The error says what is wrong with the shape of p; dst is then unchanged. Neither p nor any of
// its slices is kept or modified. It is safe for concurrent use.
func EncodePack(dst []byte, p *Pack) ([]byte, error) {
	if err := p.check(); err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, len(p.Data)/2+len(p.Hashes)+4*p.Len()+len(p.Context)+1024)
	dst = appendSkippable(dst, len(packMagic))
	dst = append(dst, packMagic...)
	dst, frames := appendFrames(dst, p.Data)
	return appendIndex(dst, p, frames), nil
}

// check holds the shape of p to the contract of its fields.
func (p *Pack) check() error {
	if len(p.Data) > MaxPackData || len(p.Context) > MaxPackData {
		return fmt.Errorf("%w: a pack of %d bytes with %d of context, the limit of each is %d",
			ErrTooLarge, len(p.Data), len(p.Context), MaxPackData)
	}
	if len(p.Lens) != p.Len() || len(p.Hashes) != p.Len()*sha256.Size {
		return fmt.Errorf("pack has %d offsets, %d lengths and %d bytes of hashes (32 each)",
			p.Len(), len(p.Lens), len(p.Hashes))
	}
	end := uint64(0)
	for i, offset := range p.Offsets {
		if uint64(offset) < end {
			return fmt.Errorf("pack record %d starts at %d, before the end of the one before it, %d", i, offset, end)
		}
		end = uint64(offset) + uint64(p.Lens[i])
	}
	if end > uint64(len(p.Data)) {
		return fmt.Errorf("pack records end at %d, the data at %d", end, len(p.Data))
	}
	return nil
}

// packEncoder compresses frames. It is safe for concurrent use and keeps its buffers.
var packEncoder = sync.OnceValue(func() *zstd.Encoder {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(packFrameBytes))
	if err != nil {
		panic(fmt.Sprintf("payload: zstd options: %v", err)) // the options are constants
	}
	return encoder
})

// appendFrames appends data in compressed frames, and returns the stored length of each.
func appendFrames(dst, data []byte) (_ []byte, lengths []uint32) {
	for frame := range slices.Chunk(data, packFrameBytes) {
		start := len(dst)
		dst = packEncoder().EncodeAll(frame, dst)
		dst = padFrame(dst, start, len(frame))
		lengths = append(lengths, uint32(len(dst)-start))
	}
	return dst, lengths
}

// padFrame brings the frame from start up to the length that the ratio limit of the reader asks for.
func padFrame(dst []byte, start, size int) []byte {
	short := (size+maxPackRatio-1)/maxPackRatio - (len(dst) - start)
	if short <= 0 {
		return dst
	}
	padding := max(short-skippableHeader, 0)
	dst = appendSkippable(dst, padding)
	return append(dst, make([]byte, padding)...)
}

// appendIndex appends the index frame, which ends in the footer.
func appendIndex(dst []byte, p *Pack, frames []uint32) []byte {
	header := len(dst)
	dst = appendSkippable(dst, 0)
	start := len(dst)
	for _, length := range frames {
		dst = binary.LittleEndian.AppendUint32(dst, length)
	}
	spans := len(dst)
	dst = appendSpans(dst, p)
	spansBytes := len(dst) - spans
	dst = append(dst, p.Hashes...)
	dst = append(dst, p.Context...)
	for _, field := range []int{
		p.Len(), packFrameBytes, len(p.Data), spansBytes, len(p.Context), len(dst) - start + footerBytes,
	} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(field))
	}
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	dst = append(dst, packMagic...)
	binary.LittleEndian.PutUint32(dst[header+4:], uint32(len(dst)-start))
	return dst
}

// appendSpans appends, for each record, the gap since the end of the one before it, and its length.
func appendSpans(dst []byte, p *Pack) []byte {
	end := uint32(0)
	for i, offset := range p.Offsets {
		dst = binary.AppendUvarint(dst, uint64(offset-end))
		dst = binary.AppendUvarint(dst, uint64(p.Lens[i]))
		end = offset + p.Lens[i]
	}
	return dst
}
