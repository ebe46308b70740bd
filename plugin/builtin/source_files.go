package builtin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/plugin"
)

// Codes of the SourceErrors of file sources. Stored; never rename.
const (
	codePathRefused      = "PATH_REFUSED"        // outside the allowed folders, or not a regular file
	codeNotFound         = "NOT_FOUND"           // no such file
	codeNoPermission     = "NO_PERMISSION"       // the file may not be read
	codeEmptySource      = "EMPTY_SOURCE"        // a file without header, record or counted line; a pattern without a match
	codeSourceChanged    = "SOURCE_CHANGED"      // no longer the files that the run began with
	codeEncoding         = "ENCODING"            // not in the declared encoding
	codeCompressed       = "COMPRESSED"          // compressed, though the document says that it is not
	codeTruncated        = "TRUNCATED"           // the compressed data end too early
	codeCorruptGzip      = "CORRUPT_GZIP"        // not gzip, or its checksum is wrong
	codeCorruptZstd      = "CORRUPT_ZSTD"        // not zstd, or its checksum is wrong
	codeCorruptBzip2     = "CORRUPT_BZIP2"       // not bzip2, or its checksum is wrong
	codeCorruptZip       = "CORRUPT_ZIP"         // not zip, a checksum is wrong, or its parts contradict each other
	codeArchive          = "ARCHIVE_REFUSED"     // a zip archive that is not one of one plain file
	codeCorruptJSON      = "CORRUPT_JSON"        // what is around an array of records is no JSON
	codeNoRecords        = "NO_RECORDS"          // there is no array where the document says that the records are
	codeRatio            = "DECOMPRESSION_RATIO" // expands more than any honest file
	codeLineEnding       = "LINE_ENDING"         // lines end otherwise than declared
	codeTooManyColumns   = "TOO_MANY_COLUMNS"    // the header has more than maxColumns
	codeHeaderMismatch   = "HEADER_MISMATCH"     // the header does not have the declared columns
	codeHeaderCollision  = "HEADER_COLLISION"    // two columns have one name
	codeHeaderEmpty      = "HEADER_EMPTY"        // a column has no name
	codeHeaderUnreadable = "HEADER_UNREADABLE"   // the header breaks the quoting rules or is too long
)

// Codes of the Rejections of file sources. They stand in landscapes; never rename one. Those of the row package, such as
// DUPLICATE_KEY, NUMBER_RANGE and SYNTAX, come besides.
const (
	codeBareQuote         = "BARE_QUOTE"         // a quote inside a cell that does not begin with one
	codeTextAfterQuote    = "TEXT_AFTER_QUOTE"   // text between a closing quote and the next delimiter
	codeUnterminatedQuote = "UNTERMINATED_QUOTE" // no closing quote before the end of the file or the limit of a record
	codeBareCR            = "BARE_CR"            // a carriage return outside quotes that ends no line
	codeBareLF            = "BARE_LF"            // with newline: cr, a line feed outside quotes
	codeRowTooLarge       = plugin.RowTooLarge   // a record of more than maxRecordBytes
	codeCellTooLarge      = "CELL_TOO_LARGE"     // a cell of more than maxCellBytes
	codeFieldCount        = "FIELD_COUNT"        // more or fewer cells than the header has
	codeInvalidUTF8       = "INVALID_UTF8"       // bytes that are no text in the declared encoding
	codeRequired          = "REQUIRED"           // a required field is null or missing
	codeConvert           = "CONVERT"            // a value is not of the field's type
	codeConstraint        = "CONSTRAINT"         // a value breaks the field's min, max, enum or pattern
	codeUnknownField      = "UNKNOWN_FIELD"      // a key that a fixed schema does not have
)

// Limits on what a source holds. Source: docs/sources.md.
const (
	maxRecordBytes = 4 << 20
	maxCellBytes   = 1 << 20
	maxColumns     = 4096
	keptBytes      = 64 << 10 // of a record that is too large
	bufferBytes    = 256 << 10
)

// fileSource is what the sources that read files have in common. A type that embeds it adds the Parser.
type fileSource struct {
	name   string
	store  Store
	files  pipeline.Files
	format format
	schema schema
	buffer int // bytes read at once
}

// format says how the text of a file is divided into records.
type format struct {
	dialect
	header       bool
	emptyRecords bool // an empty line is a record, because rows have one column; with a header that decides
	skipLines    int
	// checkStart refuses a file by its first line after skipLines, without line end and cut to the limit of a record.
	checkStart func(line string) *plugin.SourceError
	// checkHeader refuses a file by its header record, and returns how many columns it has.
	checkHeader func(header string) (columns int, fault *plugin.SourceError)
	array       *arrayFormat // the records are elements of an array; nil: they are lines
}

func (s *fileSource) base() *fileSource { return s }

// Determinism says that the rows depend on what the files hold.
func (s *fileSource) Determinism() pipeline.Determinism { return pipeline.ReadsIO }

// Fields returns the declared fields; rows carry others after them unless the schema is fixed.
func (s *fileSource) Fields() ([]pipeline.Named[pipeline.Field], bool) {
	return slices.Clone(s.schema.declared), s.schema.open
}

// OnHost reports whether the files are on this host.
func (s *fileSource) OnHost() bool { return s.store.OnHost() }

// Stat lists the files in bytewise order of their paths, with what tells that they are the same. It opens none.
func (s *fileSource) Stat(ctx context.Context) (plugin.SourceInfo, error) {
	files, err := s.store.List(ctx, s.files.Path)
	if err != nil {
		return plugin.SourceInfo{}, s.storeError(s.files.Path, err)
	}
	if len(files) == 0 && !s.files.AllowEmpty {
		return plugin.SourceInfo{}, &plugin.SourceError{
			Code: codeEmptySource, File: s.files.Path,
			Message: "no file matches; mend the pattern, or set allow_empty: true",
		}
	}
	info := plugin.SourceInfo{Files: files}
	if skips, is := s.store.(interface {
		Skipped(string) ([]string, error)
	}); is {
		if info.Skipped, err = skips.Skipped(s.files.Path); err != nil {
			return plugin.SourceInfo{}, s.storeError(s.files.Path, err)
		}
	}
	return info, nil
}

// Open returns a Reader at the cursor, after it made sure that the files are still those of pin.
func (s *fileSource) Open(ctx context.Context, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	if err := s.unchanged(ctx, pin); err != nil {
		return nil, err
	}
	if at.File < 0 || at.File > len(pin.Files) {
		return nil, fmt.Errorf("source %s: cursor points to file %d of %d", s.name, at.File, len(pin.Files))
	}
	return &reader{source: s, pin: pin, first: at.File, at: at, splitter: splitter{dialect: s.format.dialect}}, nil
}

// unchanged fails if the files are no longer those of pin.
func (s *fileSource) unchanged(ctx context.Context, pin plugin.SourceInfo) error {
	if len(pin.Files) > 0 && !slices.ContainsFunc(pin.Files, func(info plugin.FileInfo) bool { return !s.store.Fixed(info) }) {
		return nil
	}
	now, err := s.Stat(ctx)
	if err != nil && !isGone(err) {
		return err
	}
	for i, file := range pin.Files {
		if i >= len(now.Files) || now.Files[i] != file {
			return Changed(file.Path)
		}
	}
	if len(now.Files) > len(pin.Files) {
		return Changed(now.Files[len(pin.Files)].Path)
	}
	return nil
}

// isGone reports whether err says that there is no file.
func isGone(err error) bool {
	var fault *plugin.SourceError
	return errors.As(err, &fault) && (fault.Code == codeNotFound || fault.Code == codeEmptySource)
}

// compressionOf returns none or the name of a compression.
func (s *fileSource) compressionOf(path string) string {
	if s.files.Compression != "" && s.files.Compression != "auto" {
		return s.files.Compression
	}
	switch filepath.Ext(withoutQuery(path)) {
	case ".gz":
		return "gzip"
	case ".zst":
		return "zstd"
	case ".bz2":
		return "bzip2"
	case ".zip":
		return "zip"
	}
	return "none"
}

// withoutQuery returns a path without what follows the ? or # of a URL.
func withoutQuery(path string) string {
	if scheme := pipeline.Scheme(path); scheme == "http" || scheme == "https" {
		path, _, _ = strings.Cut(path, "?")
	}
	return path
}
