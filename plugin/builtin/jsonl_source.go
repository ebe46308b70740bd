package builtin

import (
	"strings"

	"waymark/plugin"
)

// jsonlSource reads one JSON object per line.
type jsonlSource struct {
	fileSource
	records *Records
}

func newJSONLSource(base fileSource) *jsonlSource {
	s := &jsonlSource{fileSource: base, records: newRecords(base.schema)}
	s.format = format{dialect: dialect{newline: '\n', maxRecord: maxRecordBytes}, checkStart: refuseWide}
	return s
}

// refuseWide refuses a file that begins as UTF-16 or UTF-32 without byte order mark does. JSON cannot hold a NUL byte.
func refuseWide(line string) *plugin.SourceError {
	if strings.Contains(line[:min(len(line), 4)], threeNULs) {
		return notUTF32()
	}
	if strings.IndexByte(line[:min(len(line), 2)], 0) < 0 {
		return nil
	}
	return &plugin.SourceError{Code: codeEncoding, Message: "the file seems to be UTF-16; set encoding: utf-16le or utf-16be"}
}

// Parser returns a parser. The context says nothing: every line names its keys.
func (s *jsonlSource) Parser([]byte) (plugin.Parser, error) { return s.records.Parser(), nil }
