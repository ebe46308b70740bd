package file

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
	CodeNotFound         = "NOT_FOUND"           // no such file
	codeNoPermission     = "NO_PERMISSION"       // the file may not be read
	CodeEmptySource      = "EMPTY_SOURCE"        // a file without header, record or counted line; a pattern without a match
	CodeSourceChanged    = "SOURCE_CHANGED"      // no longer the files that the run began with
	CodeEncoding         = "ENCODING"            // not in the declared encoding
	codeCompressed       = "COMPRESSED"          // compressed, though the document says that it is not
	CodeTruncated        = "TRUNCATED"           // the compressed data end too early
	codeCorruptGzip      = "CORRUPT_GZIP"        // not gzip, or its checksum is wrong
	codeCorruptZstd      = "CORRUPT_ZSTD"        // not zstd, or its checksum is wrong
	codeCorruptBzip2     = "CORRUPT_BZIP2"       // not bzip2, or its checksum is wrong
	codeZstdRefused      = "ZSTD_REFUSED"        // whole, but its window is too large, or it needs a dictionary
	codeCorruptZip       = "CORRUPT_ZIP"         // not zip, a checksum is wrong, or its parts contradict each other
	codeArchive          = "ARCHIVE_REFUSED"     // a zip archive that is not one of one plain file
	codeRatio            = "DECOMPRESSION_RATIO" // expands more than any honest file
	CodeHeaderUnreadable = "HEADER_UNREADABLE"   // the header breaks the quoting rules or is too long
)

// Codes of the Rejections of file sources. They stand in landscapes; never rename one. Those of the row package, such as
// DUPLICATE_KEY, NUMBER_RANGE and SYNTAX, come besides.
const (
	CodeRowTooLarge  = plugin.RowTooLarge // a record of more than MaxRecordBytes
	CodeCellTooLarge = "CELL_TOO_LARGE"   // a cell of more than MaxCellBytes
	CodeFieldCount   = "FIELD_COUNT"      // more or fewer cells than the header has
	CodeInvalidUTF8  = "INVALID_UTF8"     // bytes that are no text in the declared encoding
	codeRequired     = "REQUIRED"         // a required field is null or missing
	codeConvert      = "CONVERT"          // a value is not of the field's type
	codeConstraint   = "CONSTRAINT"       // a value breaks the field's min, max, enum or pattern
)

// Limits on what a source holds. Source: docs/sources.md.
const (
	MaxRecordBytes = 4 << 20
	MaxCellBytes   = 1 << 20
	MaxColumns     = 4096
	KeptBytes      = 64 << 10 // of a record that is too large
	bufferBytes    = 256 << 10
)

// Source is what the sources that read records out of texts have in common. A type that embeds it sets the Format and adds the Parser.
type Source struct {
	Format Format
	Schema Schema
	Buffer int // bytes read at once

	name  string
	store Store
	files pipeline.Files
}

// NewSource returns the common part of the source with this name. The error names the option at fault; no file is looked at.
func (a Access) NewSource(name string, files pipeline.Files, schema Schema) (Source, error) {
	s := Source{Schema: schema, Buffer: bufferBytes, name: name, files: files}
	var err error
	if s.store, err = a.Store(files); err != nil {
		return s, err
	}
	if !slices.Contains([]string{"", "auto", "none", "gzip", "zstd", "bzip2", "zip"}, files.Compression) {
		return s, fmt.Errorf("compression: %q is not auto, none, gzip, zstd, bzip2 or zip", files.Compression)
	}
	if _, ok := decodings[files.Encoding]; !ok && files.Encoding != "" && files.Encoding != "utf-8" {
		return s, fmt.Errorf("encoding: %q is not utf-8, utf-16le, utf-16be, latin-1 or windows-1252", files.Encoding)
	}
	return s, nil
}

// Store returns where the files of a source are. The error names the option at fault; nothing is looked at.
func (a Access) Store(files pipeline.Files) (Store, error) {
	if files.Path == pipeline.Stdio {
		return a.Stdio.input()
	}
	if pipeline.Scheme(files.Path) != "" {
		if a.Remote == nil {
			return nil, fmt.Errorf("path: %q: only files on this host can be read here", files.Path)
		}
		return a.Remote.Store(files)
	}
	if a.Known {
		return rootStore{a.Root}, nil
	}
	if _, _, err := a.Root.Resolve(files.Path); err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	return rootStore{a.Root}, nil
}

// Path returns the path, or the pattern of paths, of the files.
func (s *Source) Path() string { return s.files.Path }

// Format says how the text of a file is divided into records.
type Format struct {
	Lines
	SkipLines int
	// CheckStart rejects a file by its first line after SkipLines, without line end and cut to the limit of a record.
	CheckStart func(line string) *plugin.SourceError
	// CheckHeader rejects a file by its header record, and returns how many columns it has; nil: files have no header.
	CheckHeader func(header string) (columns int, fault *plugin.SourceError)
	// Divider, if not nil, returns what divides a file into records that are not lines.
	Divider func() Divider
}

// A Divider divides the text of one file into records. In its errors nothing but what Text.Fault and Text.Err return reaches
// people as it is.
type Divider interface {
	// Open reads what comes before the first record, and returns how many line ends are in it. nothing says that the file holds
	// nothing at all.
	Open(ctx context.Context, t *Text) (lines int, nothing bool, err error)
	// Resume continues in the middle of a file, where State was this.
	Resume(state string) error
	// Fill adds records to c, which is empty, up to the limits, and returns how many line ends it passed. In c.Data every record is a
	// piece of the text. The error is io.EOF at the end of the file.
	Fill(ctx context.Context, t *Text, limits plugin.Limits, c *plugin.Chunk) (lines int, err error)
	// State says what Resume must know behind what Fill read. It travels in cursors.
	State() string
}

// Determinism says that the rows depend on what the files hold.
func (s *Source) Determinism() pipeline.Determinism { return pipeline.ReadsIO }

// Fields returns the declared fields; rows carry others after them unless the schema is fixed.
func (s *Source) Fields() ([]pipeline.Named[pipeline.Field], bool) {
	return s.Schema.Declared()
}

// OnHost reports whether the files are on this host.
func (s *Source) OnHost() bool { return s.store.OnHost() }

// Stat lists the files in bytewise order of their paths, with what tells that they are the same. It opens none.
func (s *Source) Stat(ctx context.Context) (plugin.SourceInfo, error) {
	files, err := s.store.List(ctx, s.files.Path)
	if err != nil {
		return plugin.SourceInfo{}, s.storeError(s.files.Path, err)
	}
	if len(files) == 0 && !s.files.AllowEmpty {
		return plugin.SourceInfo{}, &plugin.SourceError{
			Code: CodeEmptySource, File: s.files.Path,
			Message: "no file matches; mend the pattern, or set allow_empty: true",
		}
	}
	info := plugin.SourceInfo{Files: files}
	if skips, ok := s.store.(interface {
		Skipped(string) ([]string, error)
	}); ok {
		if info.Skipped, err = skips.Skipped(s.files.Path); err != nil {
			return plugin.SourceInfo{}, s.storeError(s.files.Path, err)
		}
	}
	return info, nil
}

// Look describes the files that are there. It opens none.
func (s *Source) Look(ctx context.Context) (files []plugin.FileInfo, left []error, err error) {
	files, left, err = Look(ctx, s.store, s.files.Path)
	if err != nil {
		return nil, nil, s.storeError(s.files.Path, err)
	}
	return files, left, nil
}

// Parts describes the parts of an output that was published under a path.
func (s *Source) Parts(ctx context.Context, path string) ([]plugin.OutputPart, string, error) {
	parts, manifest, err := PartsAt(ctx, s.store, path)
	if err != nil {
		err = s.storeError(path, err)
	}
	return parts, manifest, err
}

// Open returns a Reader at the cursor, after it made sure that the files are still those of pin; of what arrived, when it comes to each.
func (s *Source) Open(ctx context.Context, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	if pin.Trigger == "" { // or else others come and go
		if err := s.unchanged(ctx, pin); err != nil {
			return nil, err
		}
	}
	if at.File < 0 || at.File > len(pin.Files) {
		return nil, fmt.Errorf("source %s: cursor points to file %d of %d", s.name, at.File, len(pin.Files))
	}
	return &reader{source: s, pin: pin, first: at.File, at: at, lines: s.Format.Lines}, nil
}

// unchanged fails if the files are no longer those of pin.
func (s *Source) unchanged(ctx context.Context, pin plugin.SourceInfo) error {
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
	return errors.As(err, &fault) && (fault.Code == CodeNotFound || fault.Code == CodeEmptySource)
}

// compressionOf returns none or the name of a compression.
func (s *Source) compressionOf(path string) string {
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
