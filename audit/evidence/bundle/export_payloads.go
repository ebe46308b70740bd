package bundle

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// payloads adds the payloads that were asked for, each once.
func (e *export) payloads(ctx context.Context) error {
	if e.options.Payloads == RefusedPayloads {
		return e.refusedRecords(ctx)
	}
	wanted, err := e.wanted(ctx)
	if err != nil {
		return err
	}
	for _, digest := range slices.Compact(slices.Sorted(slices.Values(wanted))) {
		d, err := payload.ParseDigest(digest)
		if err != nil {
			return err
		}
		data, err := e.store.Get(ctx, d)
		if errors.Is(err, payload.ErrNotFound) || errors.Is(err, payload.ErrCorrupt) {
			e.gap(packName(digest), err)
			continue
		}
		if err != nil {
			return err
		}
		if err := e.addText(packName(digest), string(data)); err != nil {
			return err
		}
	}
	return nil
}

func packName(digest string) string { return packFolder + digest[:2] + "/" + digest }

// wanted returns the digests of the payloads that go into the bundle.
func (e *export) wanted(ctx context.Context) (digests []string, err error) {
	if e.options.Payloads == NoPayloads {
		return nil, nil
	}
	all := e.options.Payloads == AllPayloads
	hidden := map[string]bool{}
	err = landscape.Each(ctx, e.log, func(c landscape.Chunk) bool {
		if e.hides(c.Source) {
			hidden[c.Pack] = true
		} else if c.Fold == nil || all {
			digests = append(digests, c.Pack)
		}
		return true
	}, e.run.ID)
	digests = slices.DeleteFunc(digests, func(digest string) bool { return hidden[digest] })
	if err != nil {
		return nil, err
	}
	tables, err := landscape.Select[landscape.LookupTable](ctx, e.log, e.run.ID)
	for _, t := range tables {
		digests = append(digests, t.SHA256)
	}
	if err != nil || !all {
		return digests, err
	}
	err = landscape.Each(ctx, e.log, func(f landscape.FoldRecord) bool {
		if f.State != "" && !e.hides(f.Node) {
			digests = append(digests, f.State)
		}
		return true
	}, e.run.ID)
	return digests, err
}

// Limits of the refused records in a bundle, each of which is a member.
const (
	maxRefused      = 50_000
	maxRefusedBytes = 256 << 20
)

// ErrTooMany says that a run has more refused records than a bundle may hold one by one.
var ErrTooMany = errors.New("too many refused records: export with --payloads source")

// refusedRecords adds the record of each row in quarantine. Its name is the hash that is recorded of the row.
func (e *export) refusedRecords(ctx context.Context) error {
	rows, err := e.quarantined(ctx)
	if err != nil {
		return err
	}
	records, bytes := map[string][]byte{}, 0
	err = e.chunksWith(ctx, rows, func(chunk landscape.Chunk, rows []int64) error {
		found, err := e.recordsOf(ctx, chunk, rows)
		for digest, data := range found {
			bytes += len(data)
			records[digest] = data
		}
		if bytes > maxRefusedBytes {
			err = fmt.Errorf("more than %d MiB: %w", maxRefusedBytes>>20, ErrTooMany)
		}
		return err
	})
	for _, digest := range slices.Sorted(maps.Keys(records)) {
		if err == nil {
			err = e.addText(packName(digest), string(records[digest]))
		}
	}
	return err
}

// quarantined returns the rows of which a token is in quarantine, by origin, ascending.
func (e *export) quarantined(ctx context.Context) (rows map[string][]int64, err error) {
	rows, n := map[string][]int64{}, 0
	err = landscape.Each(ctx, e.log, func(head landscape.ErrorHead) bool {
		of := rows[head.Source]
		if head.SentTo == pipeline.QuarantineSink && !e.hides(head.Source) && (of == nil || of[len(of)-1] != head.Row) {
			rows[head.Source] = append(of, head.Row)
			n++
		}
		return n <= maxRefused
	}, e.run.ID)
	if err == nil && n > maxRefused {
		err = fmt.Errorf("more than %d: %w", maxRefused, ErrTooMany)
	}
	return rows, err
}

// chunksWith calls do with each chunk that has some of the rows, and with these.
func (e *export) chunksWith(ctx context.Context, rows map[string][]int64, do func(landscape.Chunk, []int64) error) error {
	for _, source := range slices.Sorted(maps.Keys(rows)) {
		rest := rows[source]
		for chunk, err := range e.log.Chunks(ctx, e.run.ID, source) {
			if err != nil {
				return err
			}
			to, _ := slices.BinarySearch(rest, chunk.FirstRow+chunk.Rows)
			if to == 0 {
				continue
			}
			if err := do(chunk, rest[:to]); err != nil {
				return err
			}
			rest = rest[to:]
		}
	}
	return nil
}

// recordsOf returns the records of rows of a chunk by the hashes that are recorded of them; of forgotten rows there is none. What is not stored any more is a gap.
func (e *export) recordsOf(ctx context.Context, chunk landscape.Chunk, rows []int64) (map[string][]byte, error) {
	columns, err := e.log.Records(ctx, chunk.Run, chunk.Key())
	if err != nil {
		return nil, err
	}
	name, err := e.log.PackOf(ctx, chunk)
	if err != nil {
		return nil, err
	}
	stored, err := e.store.Get(ctx, payload.Digest(name))
	var pack *payload.Pack
	if err == nil {
		pack, err = payload.DecodePack(stored)
	}
	if errors.Is(err, payload.ErrNotFound) || errors.Is(err, payload.ErrCorrupt) {
		e.gap(packName(chunk.Pack), fmt.Errorf("refused records of %s chunk %d: %w", chunk.Source, chunk.Chunk, err))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records := map[string][]byte{}
	for _, row := range rows {
		i := int(row - chunk.FirstRow)
		digest := hex.EncodeToString(columns.Hashes[landscape.HashBytes*i:][:landscape.HashBytes])
		if i < pack.Len() && digest != landscape.NoHash {
			records[digest] = pack.Data[pack.Offsets[i]:][:pack.Lens[i]]
		}
	}
	return records, nil
}
