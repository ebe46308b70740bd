package payload

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// packTailBytes is how much of the end of a pack is read at first: the footer, in most packs the context, and all of a
// small pack.
const packTailBytes = 64 << 10

// A PackRecord is one record of a pack. The caller owns its slices.
type PackRecord struct {
	Context []byte // of the pack, as in Pack
	Data    []byte
	Records int // how many the pack holds
}

// GetRecord returns record i, from 0, of the pack under d, and reads little else: the end of the pack, the list of its
// records, and the frames that hold the record. Of a pack of at most 64 KiB everything is read.
//
// The record is compared with its hash in the pack, and a small pack with d. The caller compares the record with the hash
// that it knows: only Get notices that something else in a large pack is wrong. The error is as for Get; it wraps
// ErrCorrupt, too, if the pack has no record i, or what was read is not part of a pack.
func (s *Store) GetRecord(ctx context.Context, d Digest, i int) (PackRecord, error) {
	r := recordReader{ctx: ctx, backend: s.backend, key: string(d)}
	record, err := r.read(i, s.maxBytes)
	if corrupt, ok := errors.AsType[*CorruptError](err); ok && corrupt.Digest == "" {
		err = &CorruptError{Digest: d, Reason: corrupt.Reason}
	}
	return record, known(s.told(ctx, d, err))
}

// recordReader reads one record of a pack.
type recordReader struct {
	ctx     context.Context
	backend Backend
	key     string

	size   int64 // of the object
	tail   []byte
	stored []uint32 // lengths of the frames
	packReader
}

func (r *recordReader) read(i int, limit int64) (record PackRecord, err error) {
	if r.tail, r.size, err = r.backend.ReadRange(r.ctx, r.key, -packTailBytes, packTailBytes); err != nil {
		return record, err
	}
	if r.size > limit {
		return record, fmt.Errorf("%w: %s is %d bytes long, the limit is %d", ErrTooLarge, r.key, r.size, limit)
	}
	if int64(len(r.tail)) == r.size {
		return r.whole(i)
	}
	if err := r.readIndex(); err != nil {
		return record, err
	}
	if i < 0 || i >= len(r.offsets) {
		return record, noRecord(i, len(r.offsets))
	}
	record.Records = len(r.offsets)
	if record.Context, err = r.at(r.contextAt(), int64(r.footer.contextBytes)); err != nil {
		return record, err
	}
	if record.Data, err = r.record(i); err != nil {
		return record, err
	}
	hash, err := r.at(r.hashesAt()+sha256.Size*int64(i), sha256.Size)
	if err == nil && sha256.Sum256(record.Data) != [sha256.Size]byte(hash) {
		err = corruptPack("record %d does not have its hash", i)
	}
	return record, err
}

func noRecord(i, records int) error { return corruptPack("there is no record %d among %d", i, records) }

// whole takes the record out of a pack that was read completely.
func (r *recordReader) whole(i int) (PackRecord, error) {
	if got := Of(r.tail); string(got) != r.key {
		return PackRecord{}, &CorruptError{Digest: Digest(r.key), Reason: fmt.Sprintf("its %d bytes hash to %s", len(r.tail), got)}
	}
	pack, err := DecodePack(r.tail)
	if err != nil {
		return PackRecord{}, err
	}
	if i < 0 || i >= pack.Len() {
		return PackRecord{}, noRecord(i, pack.Len())
	}
	end := pack.Offsets[i] + pack.Lens[i]
	return PackRecord{Context: pack.Context, Data: pack.Data[pack.Offsets[i]:end:end], Records: pack.Len()}, nil
}

// at returns a part of the object, which lies within it.
func (r *recordReader) at(offset, length int64) ([]byte, error) {
	if length == 0 {
		return []byte{}, nil
	}
	if begin := r.size - int64(len(r.tail)); offset >= begin {
		return r.tail[offset-begin : offset-begin+length : offset-begin+length], nil
	}
	data, size, err := r.backend.ReadRange(r.ctx, r.key, offset, length)
	if err == nil && (size != r.size || int64(len(data)) != length) {
		err = corruptPack("it changed while it was read")
	}
	return data, err
}

// readIndex reads the lengths of the frames and the spans of the records. r.offsets and r.lens lie within the data.
func (r *recordReader) readIndex() error {
	if string(r.tail[len(r.tail)-len(packMagic):]) != packMagic {
		return corruptPack("it does not end like a pack; it may be cut off")
	}
	r.footer = parseFooter(r.tail)
	if room := r.size - int64(openingBytes+skippableHeader); int64(r.footer.indexBytes) > room {
		return corruptPack("an index of %d bytes does not fit in %d", r.footer.indexBytes, r.size)
	}
	if err := r.footer.check(int(r.footer.indexBytes)); err != nil {
		return err
	}
	index, err := r.at(r.indexAt(), int64(r.lengthsBytes())+int64(r.footer.spansBytes))
	if err != nil {
		return err
	}
	lengths, spans := cut(index, r.lengthsBytes())
	area := r.indexAt() - int64(openingBytes+skippableHeader)
	for i := range r.footer.frames() {
		length := binary.LittleEndian.Uint32(lengths[4*i:])
		if err := r.footer.checkFrame(i, length); err != nil {
			return err
		}
		area -= int64(length)
		r.stored = append(r.stored, length)
	}
	if area != 0 {
		return corruptPack("the frames are not as long as what is before the index")
	}
	return r.parseSpans(spans)
}

func (r *recordReader) lengthsBytes() int { return 4 * r.footer.frames() }

// Where the parts of the index begin in the object.
func (r *recordReader) indexAt() int64 { return r.size - int64(r.footer.indexBytes) }
func (r *recordReader) hashesAt() int64 {
	return r.indexAt() + int64(r.lengthsBytes()) + int64(r.footer.spansBytes)
}
func (r *recordReader) contextAt() int64 { return r.hashesAt() + sha256.Size*int64(r.footer.records) }

// record reads and unpacks the frames that hold record i, and returns it.
func (r *recordReader) record(i int) ([]byte, error) {
	if r.lens[i] == 0 {
		return []byte{}, nil
	}
	first := int(r.offsets[i] / r.footer.frameBytes)
	last := int((r.offsets[i] + r.lens[i] - 1) / r.footer.frameBytes)
	offset, length, unpacked := int64(openingBytes), int64(0), 0
	for k, stored := range r.stored[:last+1] {
		if k < first {
			offset += int64(stored)
			continue
		}
		length += int64(stored)
		unpacked += r.footer.frameSize(k)
	}
	area, err := r.at(offset, length)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, unpacked)
	for k := first; k <= last; k++ {
		var frame []byte
		frame, area = cut(area, int(r.stored[k]))
		if err := r.footer.unpackFrame(k, frame, data[len(data):]); err != nil {
			return nil, err
		}
		data = data[:len(data)+r.footer.frameSize(k)]
	}
	start := r.offsets[i] - uint32(first)*r.footer.frameBytes
	return data[start : start+r.lens[i] : start+r.lens[i]], nil
}
