package recompute

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"waymark/landscape"
	"waymark/payload"
	"waymark/plugin"
)

// RetryList is the records of one source that a linked run retries, in order: row n of the source in the linked run is the
// n-th of the list. It is stored as a payload, whose digest is in what the source's record says of it.
type RetryList struct {
	Parent string       `json:"parent"` // the run that rejected them
	Source string       `json:"source"`
	Chunks []RetryChunk `json:"chunks"` // ascending, each with at least one row; nil if the source feeds nothing
}

// RetryChunk is the records that come of one chunk of the parent.
type RetryChunk struct {
	Chunk int64   `json:"chunk"`
	Rows  []int64 `json:"rows"` // of the source in the parent, ascending
}

// Rows returns how many records the list has.
func (l RetryList) Rows() int64 {
	rows := 0
	for _, chunk := range l.Chunks {
		rows += len(chunk.Rows)
	}
	return int64(rows)
}

// Was returns which row of the parent's source row n of the list is, from 1, and the chunk that it is in; false if there is
// no such row.
func (l RetryList) Was(n int64) (chunk, row int64, found bool) {
	for _, part := range l.Chunks {
		if n >= 1 && n <= int64(len(part.Rows)) {
			return part.Chunk, part.Rows[n-1], true
		}
		n -= int64(len(part.Rows))
	}
	return 0, 0, false
}

// Is returns the position in the list, from 1, of a row of the parent's source; 0 if the list does not have it.
func (l RetryList) Is(row int64) int64 {
	before := 0
	for _, part := range l.Chunks {
		if at, found := slices.BinarySearch(part.Rows, row); found {
			return int64(before + at + 1)
		}
		before += len(part.Rows)
	}
	return 0
}

// Retried puts the list into the landscape's words.
func (l RetryList) Retried() []landscape.RetriedRow {
	var rows []landscape.RetriedRow
	for _, chunk := range l.Chunks {
		for _, row := range chunk.Rows {
			rows = append(rows, landscape.RetriedRow{Source: l.Source, Row: row})
		}
	}
	return rows
}

// check rejects a list that no run made.
func (l RetryList) check(source string) error {
	if l.Source != source || l.Parent == "" {
		return fmt.Errorf("%w: a list of source %q of run %q, not of %s", payload.ErrCorrupt, l.Source, l.Parent, source)
	}
	last := RetryChunk{Chunk: -1, Rows: []int64{0}}
	for _, part := range l.Chunks {
		for _, row := range part.Rows {
			if row <= last.Rows[0] {
				return fmt.Errorf("%w: row %d of the list comes after row %d", payload.ErrCorrupt, row, last.Rows[0])
			}
			last.Rows[0] = row
		}
		if part.Chunk <= last.Chunk || len(part.Rows) == 0 {
			return fmt.Errorf("%w: chunk %d of the list comes after chunk %d, or is empty", payload.ErrCorrupt, part.Chunk, last.Chunk)
		}
		last.Chunk = part.Chunk
	}
	return nil
}

// ReadRetryList returns the list of a source of a linked run. info is what the source's record says of it. found is false if the
// source is not one that feeds records again.
func ReadRetryList(ctx context.Context, payloads *payload.Store, source, info string) (list RetryList, found bool, err error) {
	var pin plugin.SourceInfo
	if err := json.Unmarshal([]byte(info), &pin); err != nil {
		return list, false, fmt.Errorf("source %s: description on record: %w", source, err)
	}
	if pin.List == "" {
		return list, false, nil
	}
	list, err = ReadList(ctx, payloads, source, pin.List)
	return list, true, err
}

// ReadList returns the list of a source that is stored under a digest.
func ReadList(ctx context.Context, payloads *payload.Store, source, digest string) (list RetryList, err error) {
	text, err := payloads.Get(ctx, payload.Digest(digest))
	if err == nil {
		if wrong := json.Unmarshal(text, &list); wrong != nil {
			err = fmt.Errorf("%w: %w", payload.ErrCorrupt, wrong)
		} else {
			err = list.check(source)
		}
	}
	if err != nil {
		err = fmt.Errorf("list of the records that source %s retries: %w", source, err)
	}
	return list, err
}
