package audit

import (
	"bytes"
	"slices"

	"waymark/landscape"
	"waymark/plugin"
)

// position is where the next chunk of an origin must begin, as far as the chunks before it tell.
type position struct {
	files  []plugin.FileInfo
	chunk  int64
	row    int64
	cursor *plugin.Cursor // nil at the beginning, behind chunks that were not read, and if it cannot be read
}

// verifyPosition checks that the chunk begins where the one before it ended, and moves next past it.
func (v *verification) verifyPosition(record landscape.Chunk, next *position) {
	where := place(record.Source, record.Chunk)
	if record.FirstRow != next.row {
		v.add(RecordDiffers, where, "its first row is %d on record, the chunks before it end before row %d", record.FirstRow, next.row)
	}
	file := slices.IndexFunc(next.files, func(f plugin.FileInfo) bool { return f.Path == record.File })
	if file < 0 {
		v.add(RecordDiffers, where, "it is of file %s on record, which the source does not have", record.File)
	}
	if at := next.cursor; at != nil && !continues(*at, file, record) {
		v.add(RecordDiffers, where, "it begins in %s at byte %d, line %d on record, the chunk before it ends in file %d at byte %d, line %d",
			record.File, record.FirstOffset, record.FirstLine, at.File+1, at.Offset, at.Line)
	}
	next.row = record.FirstRow + record.Rows
	next.cursor = v.cursor(record, file)
}

// verifyOrder checks that a barrier's chunk begins where the one before it ended, and says of which fold it is.
func (v *verification) verifyOrder(record landscape.Chunk, next *position) {
	where := place(record.Source, record.Chunk)
	if record.FirstRow != next.row || record.FirstLine != next.row {
		v.add(RecordDiffers, where, "its first row is %d, line %d on record, the chunks before it end before row %d", record.FirstRow, record.FirstLine, next.row)
	}
	if record.Fold == nil {
		v.add(RecordDiffers, where, "no fold of the barrier is recorded that made it")
	}
	next.row = record.FirstRow + record.Rows
}

// continues reports whether the chunk may be the next one at the cursor: there, or in a later file.
func continues(at plugin.Cursor, file int, record landscape.Chunk) bool {
	if file > at.File {
		return true
	}
	return file == at.File && record.FirstOffset == at.Offset && record.FirstLine == at.Line+1
}

// cursor returns where the chunk ends; nil if that cannot be read.
func (v *verification) cursor(record landscape.Chunk, file int) *plugin.Cursor {
	where := place(record.Source, record.Chunk)
	after, err := record.End()
	if err != nil {
		v.add(RecordDiffers, where, "the cursor on record cannot be read: %v", err)
		return nil
	}
	last := record.FirstRow - 1 + record.Rows
	if after.Row != last || after.File != file || after.Offset < record.FirstOffset+record.Bytes || after.Line < record.FirstLine-1 {
		v.add(RecordDiffers, where, "it ends in file %d at byte %d, after row %d on record; its records end in file %d at byte %d, after row %d",
			after.File+1, after.Offset, after.Row, file+1, record.FirstOffset+record.Bytes, last)
	}
	return &after
}

// verifyPlaces compares the size of the chunk, and the lines of its records, with its text.
func (v *verification) verifyPlaces(record landscape.Chunk, chunk *plugin.Chunk) {
	where := place(record.Source, record.Chunk)
	if record.Bytes != int64(len(chunk.Data)) {
		v.add(RecordDiffers, where, "the stored text has %d bytes, on record are %d", len(chunk.Data), record.Bytes)
	}
	if v.again[record.Source] != nil {
		return // the records are compared with those of the run that rejected them
	}
	after, err := record.End()
	partial := slices.ContainsFunc(chunk.Bad, func(b plugin.BadRecord) bool { return b.Code == plugin.RowTooLarge })
	if partial || len(chunk.Data) == 0 || err != nil {
		return // the text is not whole
	}
	if end := record.FirstOffset + int64(len(chunk.Data)); after.Offset != end {
		v.add(RecordDiffers, where, "its text ends at byte %d, the record has %d", end, after.Offset)
	}
	covered := after.Line - record.FirstLine + 1
	for _, newline := range []byte("\n\r") {
		lines := countLines(chunk.Data, newline)
		if after.State != "" { // it may end within a line
			lines = int64(bytes.Count(chunk.Data, []byte{newline}))
		}
		if lines == covered {
			v.verifyLines(record, chunk, newline)
			return
		}
	}
	v.add(RecordDiffers, where, "its text has %d lines, on record are lines %d to %d", countLines(chunk.Data, '\n'), record.FirstLine, after.Line)
}

// countLines counts the last line even if it does not end.
func countLines(text []byte, newline byte) int64 {
	lines := bytes.Count(text, []byte{newline})
	if len(text) > 0 && text[len(text)-1] != newline {
		lines++
	}
	return int64(lines)
}

func (v *verification) verifyLines(record landscape.Chunk, chunk *plugin.Chunk, newline byte) {
	line, counted := record.FirstLine, 0
	for i := range chunk.Len() {
		begin := int(chunk.Offsets[i])
		if begin < counted || begin > len(chunk.Data) {
			return // places of records are compared with the index of what was read
		}
		line += int64(bytes.Count(chunk.Data[counted:begin], []byte{newline}))
		counted = begin
		if chunk.Line(i) != line {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d is on line %d, the record has line %d", record.FirstRow+int64(i), line, chunk.Line(i))
		}
	}
}
