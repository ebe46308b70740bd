package audit

import (
	"context"
	"fmt"
	"path/filepath"

	"waymark/landscape"
)

// RowAt returns the record of a source that is on a line of a file: the last one that begins on it or before it. file is a path as it is recorded, or the end of one
// after a slash. The error wraps landscape.ErrNotFound if no record of the run is there.
func (a *Auditor) RowAt(ctx context.Context, run, file string, line int64) (Token, error) {
	sources, err := a.log.Sources(ctx, run)
	if err != nil {
		return Token{}, err
	}
	var found Token
	for _, source := range sources {
		for chunk, err := range a.log.Chunks(ctx, run, source.Source) {
			if err != nil {
				return Token{}, err
			}
			if chunk.Fold != nil || !isFileOf(chunk.File, file) {
				continue
			}
			if chunk.FirstLine > line {
				break
			}
			row, within, err := a.rowIn(ctx, chunk, line)
			if err != nil {
				return Token{}, err
			}
			found = Token{}
			if within {
				found = Token{source.Source, row}
			}
		}
		if found.Source != "" {
			return found, nil
		}
	}
	return Token{}, fmt.Errorf("run %s read no record on line %d of %s: %w", run, line, file, landscape.ErrNotFound)
}

// isFileOf reports whether a person means a recorded path with a word.
func isFileOf(recorded, word string) bool {
	if recorded == "" {
		return false
	}
	suffix := "/" + filepath.ToSlash(filepath.Clean(word))
	return recorded == word || len(recorded) > len(suffix) && recorded[len(recorded)-len(suffix):] == suffix
}

// rowIn returns the last record of a chunk that begins on a line or before it. Of the last record of a chunk it is not known how many lines it has: it is within only
// if it begins there.
func (a *Auditor) rowIn(ctx context.Context, chunk landscape.Chunk, line int64) (row int64, within bool, err error) {
	records, err := a.log.Records(ctx, chunk.Run, chunk.Key())
	if err != nil {
		return 0, false, err
	}
	for i := range chunk.Rows {
		at := chunk.FirstLine + i
		if records.Lines != nil {
			at = chunk.FirstLine + int64(records.Lines[i])
		}
		if at > line {
			return row, row > 0, nil
		}
		row, within = chunk.FirstRow+i, at == line
	}
	return row, within, nil
}
