package builtin

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"waymark/pipeline/row"
	"waymark/plugin"
)

func reject(code, field, format string, args ...any) *plugin.Rejection {
	return &plugin.Rejection{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// rejectError turns an error of the row package about a value or a record into a Rejection. The codes that say no more
// than that a value is of another type become CONVERT.
func rejectError(field string, err error) *plugin.Rejection {
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
		code = codeInvalidUTF8
	}
	return &plugin.Rejection{Code: code, Field: field, Message: err.Error()}
}

// check returns v if it satisfies the field's rules.
func (f *field) check(v row.Value) (row.Value, *plugin.Rejection) {
	for i := range f.rules {
		if r := &f.rules[i]; !r.holds(v) {
			return row.Value{}, reject(codeConstraint, f.name, "%s breaks %s", excerpt(string(row.AppendText(nil, v))), r.text)
		}
	}
	return v, nil
}

func (f *field) missing(what string) *plugin.Rejection {
	return reject(codeRequired, f.name, "%s; declare the field as %s? if it may be", what, f.kind)
}

// excerpt returns the first 64 bytes of text in quotes, with control and invisible characters escaped.
func excerpt(text string) string {
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
