package file

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/pipeline/row"
	"waymark/plugin"
)

// Reject returns a rejection of a value of the field, or of a record if field is "".
func Reject(code, field, format string, args ...any) *plugin.Rejection {
	return &plugin.Rejection{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// RejectError turns an error of the row package about a value or a record into a Rejection. The codes that say no more
// than that a value is of another type become CONVERT.
func RejectError(field string, err error) *plugin.Rejection {
	code := codeConvert
	var convert *row.ConvertError
	var json *row.JSONError
	switch {
	case errors.As(err, &convert):
		code = convert.Code
	case errors.As(err, &json):
		code = json.Code
	}
	switch code {
	case row.CodeFormat, row.CodeWrongType, row.CodeInexact:
		code = codeConvert
	case row.CodeEncoding:
		code = CodeInvalidUTF8
	}
	return &plugin.Rejection{Code: code, Field: field, Message: err.Error()}
}

// Check returns v if it satisfies the field's rules.
func (f *Field) Check(v row.Value) (row.Value, *plugin.Rejection) {
	for i := range f.rules {
		if r := &f.rules[i]; !r.holds(v) {
			return row.Value{}, Reject(codeConstraint, f.Name, "%s breaks %s", Excerpt(string(row.AppendText(nil, v))), r.text)
		}
	}
	return v, nil
}

// HasRules reports whether Check may reject a value.
func (f *Field) HasRules() bool { return len(f.rules) > 0 }

// Missing is the rejection of a row without a value of the field; what says how.
func (f *Field) Missing(what string) *plugin.Rejection {
	return Reject(codeRequired, f.Name, "%s; declare the field as %s? if it may be", what, f.Kind)
}

// Excerpt returns the first 64 bytes of text in quotes, with control and invisible characters escaped.
func Excerpt(text string) string {
	const most = 64
	if len(text) <= most {
		return strconv.Quote(text)
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return strconv.Quote(text[:end]) + "…"
}

// Listed returns the names for a message, at most 20. Characters that may pass for others are spelled out.
func Listed(names []string) string {
	const most = 20
	var parts []string
	for _, name := range names[:min(len(names), most)] {
		parts = append(parts, Excerpt(name)+codePoints(name))
	}
	if len(names) > most {
		parts = append(parts, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(parts, ", ")
}

// codePoints returns the characters of name that are not ASCII as (U+0430), at most eight, or "".
func codePoints(name string) string {
	var points []string
	for _, r := range name {
		if r >= utf8.RuneSelf && len(points) < 8 {
			points = append(points, fmt.Sprintf("%U", r))
		}
	}
	if len(points) == 0 {
		return ""
	}
	return " (" + strings.Join(points, " ") + ")"
}
