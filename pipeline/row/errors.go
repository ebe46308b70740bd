package row

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The codes of ConvertError and JSONError. They are the reasons that landscapes store for a refused record; never
// rename one.
const (
	CodeFormat       = "FORMAT"         // the text does not have the form of the wanted kind
	CodeWrongType    = "WRONG_TYPE"     // a value of this type is never turned into the wanted kind
	CodeInexact      = "INEXACT"        // the wanted kind cannot hold the value without changing it
	CodeNumberRange  = "NUMBER_RANGE"   // the number is outside the range of its kind
	CodeTimeRange    = "TIME_RANGE"     // the date or time does not exist, or its year is not 0001 to 9999
	CodeEncoding     = "ENCODING"       // the bytes are not valid UTF-8
	CodeSurrogate    = "LONE_SURROGATE" // a \u escape names one half of a surrogate pair
	CodeSyntax       = "SYNTAX"         // the text is not JSON by RFC 8259
	CodeDuplicateKey = "DUPLICATE_KEY"  // one JSON object has a key twice
	CodeDepth        = "DEPTH"          // JSON is nested deeper than MaxJSONDepth
	CodeNotObject    = "NOT_OBJECT"     // the JSON value is well-formed but not an object
	CodeNotCanonical = "NOT_CANONICAL"  // the text is not the canonical form of a row
)

// A ConvertError says why a text or value was not turned into a value of the wanted kind.
type ConvertError struct {
	Code string // one of the Code constants
	Want Kind   // the kind that was wanted
	Text string // the refused text, cut to maxErrorText bytes; hostile data: print it quoted, as Error does
	Hint string // one sentence: what is expected, and the cure where there is one
}

// Error returns one line in which control characters of the refused text are escaped.
func (e *ConvertError) Error() string {
	return fmt.Sprintf("%s is not a valid %s: %s (%s)", strconv.Quote(e.Text), e.Want, e.Hint, e.Code)
}

// maxErrorText is how many bytes of a refused text an error keeps.
const maxErrorText = 64

func convertError(code string, want Kind, text, hint string) *ConvertError {
	return &ConvertError{Code: code, Want: want, Text: cut(text), Hint: hint}
}

// cut returns at most maxErrorText bytes of text in memory of their own, and does not split a character.
func cut(text string) string {
	if len(text) > maxErrorText {
		text = Clip(text, maxErrorText) + "…"
	}
	return strings.Clone(text)
}

// Clip returns at most the first bytes of a text, as whole characters.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// A JSONError says where and why a text is not JSON that Waymark accepts.
type JSONError struct {
	Code   string // one of the Code constants
	Offset int    // in bytes from the start of the text, at the offending byte
	Msg    string // one sentence without control characters
}

// Error returns one line with code, place and reason.
func (e *JSONError) Error() string {
	return fmt.Sprintf("JSON, %s (%s)", e.place(), e.Code)
}

func (e *JSONError) place() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Msg) }
