package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"waymark/landscape"
	"waymark/payload"
)

// Payload is what is stored under a digest that a run needs, and whether that is what it should be.
type Payload struct {
	Run    string
	Digest string
	Uses   []Use        // not empty
	State  Availability // Forgotten if rows of it were, and what is stored still has them
	Told   string       // of one that is not stored: what became of it, or what is wrong with it
	Data   []byte       // of one that is stored: its bytes, the SHA-256 of which is the digest
	Pack   *Pack        // nil if it holds no records
}

// Pack is what a payload with records holds.
type Pack struct {
	Records int
	Bytes   int    // of these
	Context string // what else it says, such as a header
	List    []PackedRecord
}

// PackedRecord is a record of a pack.
type PackedRecord struct {
	Index  int
	Token  string // of the row
	Line   int64  // of its file
	Bytes  int
	SHA256 string // on record; "" for one that was forgotten
	True   bool   // the SHA-256 was computed again, and is that
	State  Availability
	Told   string // of one that was forgotten: when, by whom and why
	Data   string // of one that is stored
}

// Payload looks at a payload that a run needs, and lists the records after the first so many of it, limit at most. The error wraps
// landscape.ErrNotFound if the run does not need it.
func (a *Auditor) Payload(ctx context.Context, run landscape.Run, digest string, after, limit int) (found *Payload, err error) {
	defer sense(run.ID, &err)
	found = &Payload{Run: run.ID, Digest: digest, State: Stored}
	err = EachUse(ctx, a.log, run, func(d payload.Digest, use Use) error {
		if string(d) == digest {
			found.Uses = append(found.Uses, use)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if found.Uses == nil {
		return nil, fmt.Errorf("run %s needs no payload %.64q: %w", run.ID, digest, landscape.ErrNotFound)
	}
	if err := a.overwritten(ctx, found); err != nil || found.State != Stored {
		return found, err
	}
	found.Data, err = a.payloads.Get(ctx, payload.Digest(digest))
	if found.State, found.Told, err = availability(err); err != nil || found.State != Stored {
		return found, err
	}
	for _, use := range found.Uses {
		if use.chunk != nil {
			found.Pack, err = a.pack(ctx, *use.chunk, found.Data, after, limit)
			return found, err
		}
	}
	return found, nil
}

// availability says what became of a payload by the error with which it was asked for. Other errors pass.
func availability(err error) (state Availability, told string, _ error) {
	corrupt, isCorrupt := errors.AsType[*payload.CorruptError](err)
	switch {
	case err == nil:
		return Stored, "", nil
	case errors.Is(err, payload.ErrPurged):
		purged, _ := errors.AsType[*payload.PurgedError](err)
		return Purged, purged.Told, nil
	case errors.Is(err, payload.ErrNotFound):
		return Missing, "", nil
	case isCorrupt:
		return Corrupt, corrupt.Reason, nil
	}
	return "", "", err
}

// overwritten says of a payload that has rows which were forgotten that it is not shown, whether it is still stored or not.
func (a *Auditor) overwritten(ctx context.Context, found *Payload) error {
	for _, use := range found.Uses {
		if use.chunk == nil || use.chunk.Pack != found.Digest {
			continue
		}
		forgotten, err := a.log.Forgotten(ctx, found.Run, use.chunk.Key())
		if err != nil {
			return err
		}
		if forgotten == nil {
			continue
		}
		order, err := a.log.ForgottenOrder(ctx, *use.chunk, forgotten[0].Slot)
		if err != nil {
			return err
		}
		found.State, found.Told = Forgotten, order.Told()
	}
	return nil
}

// pack lists records of a chunk.
func (a *Auditor) pack(ctx context.Context, chunk landscape.Chunk, data []byte, after, limit int) (*Pack, error) {
	decoded, err := payload.DecodePack(data)
	if err != nil {
		return nil, err
	}
	rows, err := a.log.Records(ctx, chunk.Run, chunk.Key())
	if err != nil {
		return nil, err
	}
	pack := &Pack{Records: decoded.Len(), Bytes: len(decoded.Data), Context: string(decoded.Context)}
	for i := after; i < min(after+limit, decoded.Len()); i++ {
		end := decoded.Offsets[i] + decoded.Lens[i]
		record, err := a.packed(ctx, chunk, rows, i, string(decoded.Data[decoded.Offsets[i]:end]))
		if err != nil {
			return nil, err
		}
		pack.List = append(pack.List, record)
	}
	return pack, nil
}

// packed holds a record of a chunk against what is recorded of it.
func (a *Auditor) packed(ctx context.Context, chunk landscape.Chunk, rows landscape.Records, i int, data string) (PackedRecord, error) {
	record := PackedRecord{Index: i, Token: fmt.Sprintf("%s:%d", chunk.Source, chunk.FirstRow+int64(i)), Line: chunk.FirstLine + int64(i), Bytes: len(data), State: Stored}
	if rows.Lines != nil {
		record.Line = chunk.FirstLine + int64(rows.Lines[i])
	}
	order, err := a.log.ForgottenOrder(ctx, chunk, int64(i))
	if err != nil {
		return record, err
	}
	if order != nil {
		record.State, record.Told = Forgotten, order.Told()
		return record, nil
	}
	sum := sha256.Sum256([]byte(data))
	record.SHA256 = hex.EncodeToString(rows.Hashes[sha256.Size*i : sha256.Size*(i+1)])
	record.True = hex.EncodeToString(sum[:]) == record.SHA256
	record.Data = data
	return record, nil
}
