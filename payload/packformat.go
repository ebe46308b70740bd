package payload

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The stored form of a pack. These values are stored; never change one without a new version byte in packMagic.
const (
	// packMagic ends in the version of the form. It stands in the opening frame and at the very end.
	packMagic = "waymark\x01"
	// skippableMagic opens a zstd frame that decoders pass over: RFC 8878, section 3.1.2.
	skippableMagic = 0x184D2A50
	// skippableHeader is the length of such a frame without its content.
	skippableHeader = 8
	// openingBytes is the length of the opening frame.
	openingBytes = skippableHeader + len(packMagic)
	// footerBytes is the length of the footer: seven 32-bit fields and packMagic.
	footerBytes = 7*4 + len(packMagic)
)

const (
	// packFrameBytes is how much data EncodePack puts in one frame: larger frames are written faster (1 MiB 322 MB/s,
	// 256 KiB 250 MB/s), smaller ones give one record sooner (1 MiB costs about 1 ms).
	packFrameBytes = 1 << 20
	// maxPackFrameBytes is the largest frame that a reader takes.
	maxPackFrameBytes = 1 << 20
	// maxPackRatio is the most bytes of data that one stored byte may stand for. EncodePack pads frames to hold it, so
	// that a reader can refuse what breaks it without refusing an honest chunk of blanks.
	maxPackRatio = 200
	// minSpanBytes is the least that one record takes in the list of spans.
	minSpanBytes = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// footer holds the lengths that the last bytes of a pack declare.
type footer struct {
	records, frameBytes, dataBytes, spansBytes, contextBytes, indexBytes, checksum uint32
}

// parseFooter reads the last footerBytes of b, which must be there, and judges nothing.
func parseFooter(b []byte) footer {
	b = b[len(b)-footerBytes:]
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	return footer{
		records: field(0), frameBytes: field(1), dataBytes: field(2), spansBytes: field(3), contextBytes: field(4),
		indexBytes: field(5), checksum: field(6),
	}
}

// frames is the number of frames that hold the data.
func (f footer) frames() int {
	return int((uint64(f.dataBytes) + uint64(f.frameBytes) - 1) / uint64(f.frameBytes))
}

// frameSize is the length of the data in frame i.
func (f footer) frameSize(i int) int {
	return min(int(f.frameBytes), int(f.dataBytes)-i*int(f.frameBytes))
}

// appendSkippable appends the header of a skippable frame with size bytes of content.
func appendSkippable(dst []byte, size int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, skippableMagic)
	return binary.LittleEndian.AppendUint32(dst, uint32(size))
}

func corruptPack(format string, args ...any) error {
	return &CorruptError{Reason: "pack: " + fmt.Sprintf(format, args...)}
}
