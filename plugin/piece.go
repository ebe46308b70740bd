package plugin

import (
	"unsafe"

	"waymark/pipeline/row"
)

// A Piece is where in a record a field is.
type Piece struct {
	Field  string `json:"field"`
	Offset int    `json:"offset"` // of its first byte in the record, from 0
	Length int    `json:"length"` // bytes, with quotes if it has some
}

// Divided is what a Parser may be as well: one of records in which each field is a piece of the text.
type Divided interface {
	// Pieces returns where the fields of a record are, in the order of the text; they do not overlap. Of a record that is rejected it returns those that were
	// found: all, those before what is wrong, or none. text is as for Parse, and is not kept.
	Pieces(text string) []Piece
}

// ObjectPieces returns where the values of a JSON object are, as Divided says. name gives the field of a key.
func ObjectPieces(text string, name func(key string) string) []Piece {
	var pieces []Piece
	_ = row.ScanObject(text, func(key string, raw row.RawValue) error { // of a broken object, the members before the fault
		pieces = append(pieces, Piece{name(key), placeIn(text, raw.Literal), len(raw.Literal)})
		return nil
	})
	return pieces
}

// placeIn returns where in a text a part of it begins that shares its memory and is not empty. (If the scanner said so of each value, it would take a third longer for all.)
func placeIn(text, part string) int {
	return int(uintptr(unsafe.Pointer(unsafe.StringData(part))) - uintptr(unsafe.Pointer(unsafe.StringData(text))))
}
