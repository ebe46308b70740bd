package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"waymark/plugin"
)

// RequestScheme begins the path of rows that came with the request for a run; RUN/SOURCE follows. Stored; never rename.
const RequestScheme = "request://"

// requestHead begins the payload of such rows; RUN/SOURCE, a space and a number that makes each request's payload its own follow on its line. Stored; never change it.
const requestHead = "waymark-rows-v1 "

var _ plugin.Requestable = (*source)(nil)

// Requested describes the rows that came with the request for a run.
func (s *source) Requested(run string, rows plugin.RequestRows) plugin.FileInfo {
	return plugin.FileInfo{Path: RequestScheme + run + "/" + s.name, Bytes: rows.Bytes, Target: ByPayload + rows.Payload, Version: ByDigest + rows.SHA256}
}

// PackRows returns what is stored of the rows of a source that come with the nth request for a run. With the name of the run no other run can read them; with n, what is stored of a
// request of which no run came can be deleted although somebody asks for the run again.
func PackRows(run, source string, n int64, rows []byte) []byte {
	return append(fmt.Appendf(nil, "%s%s/%s %d\n", requestHead, run, source, n), rows...)
}

// unpackRows returns the rows in a payload; false if they did not come with the request that the path of info names.
func unpackRows(info plugin.FileInfo, packed []byte) (rows []byte, whole bool) {
	rest, ours := bytes.CutPrefix(packed, []byte(requestHead+strings.TrimPrefix(info.Path, RequestScheme)+" "))
	_, rows, ends := bytes.Cut(rest, []byte{'\n'})
	return rows, ours && ends
}

// isRequest reports whether a file is rows that came with a request.
func isRequest(info plugin.FileInfo) bool { return strings.HasPrefix(info.Path, RequestScheme) }

// Rows returns the rows in a text: one JSON value, the elements of an array, or a value for each line. They keep their bytes. The error names the line that is no JSON.
func Rows(text []byte) ([]json.RawMessage, error) {
	rows := []json.RawMessage{}
	for _, at := range split(text, nil) {
		row := text[at.from:at.to]
		if !json.Valid(row) {
			return nil, fmt.Errorf("line %d is no JSON", 1+bytes.Count(text[:at.from], []byte{'\n'}))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// JoinRows makes one text of rows, which are valid JSON: an array whose elements stand on lines of their own, as the bytes that they are.
func JoinRows(rows []json.RawMessage) []byte {
	text := []byte{'['}
	for i, row := range rows {
		if i > 0 {
			text = append(text, ",\n"...)
		}
		text = append(text, row...)
	}
	return append(text, ']')
}
