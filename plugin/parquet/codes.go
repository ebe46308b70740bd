package parquet

import (
	"errors"
	"fmt"

	"waymark/plugin"
)

// Codes of the SourceErrors of Parquet sources, besides those of file sources. Stored; never rename.
const (
	codeCorrupt     = "CORRUPT_PARQUET"     // not Parquet, cut off, or contradicting itself
	codeUnsupported = "UNSUPPORTED_PARQUET" // encrypted, nested too deeply, or of an encoding that is not read
	codeTooLarge    = "PARQUET_TOO_LARGE"   // a footer or pages beyond what is kept in memory
	codeRatio       = "DECOMPRESSION_RATIO" // more rows than an honest file of its size has
	codeColumns     = "TOO_MANY_COLUMNS"
	codeMismatch    = "HEADER_MISMATCH"  // the columns are not the declared ones
	codeCollision   = "HEADER_COLLISION" // two columns have one name
	codeNameless    = "HEADER_EMPTY"     // a column has no name
	codeNotFound    = "NOT_FOUND"
	codeEmpty       = "EMPTY_SOURCE" // a file of no bytes; a pattern without a match
	codeEncoding    = "ENCODING"     // a column's name is no text
)

// Codes of the Rejections of rows that cannot be a record, as the sources of text have them. Stored; never rename.
const (
	codeRowTooLarge = plugin.RowTooLarge
	codeInvalidUTF8 = "INVALID_UTF8"
	codeNumberRange = "NUMBER_RANGE"
	codeTimeRange   = "TIME_RANGE"
)

// Limits on what a file holds. Source: docs/parquet.md.
const (
	maxColumns     = 4096
	maxNesting     = 64 // groups
	maxRecordBytes = 4 << 20
	keptBytes      = 64 << 10 // of a record that is too large
	maxFooterBytes = 16 << 20
	maxHeaderBytes = 4 << 20   // of a page
	maxPageBytes   = 128 << 20 // decompressed
	maxOpenBytes   = 1 << 30   // of the pages that are in memory at a time, one of each column and its dictionary
	maxFixedBytes  = 1 << 20   // of a value of fixed length
)

// fault says why a file cannot be read. What opened the file adds its path.
func fault(code, format string, args ...any) error {
	return &plugin.SourceError{Code: code, Message: fmt.Sprintf(format, args...)}
}

func isFault(err error) bool {
	var f *plugin.SourceError
	return errors.As(err, &f)
}

// of returns err with the file's path, if it is a fault that has none.
func of(path string, err error) error {
	var f *plugin.SourceError
	if errors.As(err, &f) && f.File == "" {
		named := *f
		named.File = path
		return &named
	}
	return err
}

// confine turns a panic of the library, which trusts what it reads, into a fault of the file.
func confine(err *error) {
	if cause := recover(); cause != nil {
		*err = fault(codeCorrupt, "it contradicts itself, or is read wrongly: %.200s: if another tool reads it, "+
			"please report this", fmt.Sprint(cause))
	}
}
