package pipeline

import (
	"strings"

	"waymark/row"
)

// expandQuery replaces the references of a query by literals of SQL, so that no value can be more than a value. It refuses a
// reference within quotes or a comment, where a literal would be something else.
func (l *loader) expandQuery(path, text string) (string, bool) {
	spans, err := splitSpans(text)
	if err != nil {
		l.report(path, "%s", err)
		return "", false
	}
	var before strings.Builder
	for _, s := range spans {
		if s.kind == "" {
			before.WriteString(s.text)
			continue
		}
		if within := openAtEnd(before.String()); within != "" {
			l.report(path, "${%s} stands within %s: a reference is a whole literal, and brings its quotes: write = ${%[1]s}, or ... || ${%[1]s} || ...", s.name(), within)
			return "", false
		}
	}
	return l.expandAs(path, text, func(s span, value string) string {
		if s.kind == ParamReference {
			return sqlLiteral(l.doc.Params[s.text])
		}
		return sqlText(value)
	})
}

// sqlLiteral returns the literal of a parameter's value. A number can stand where SQL wants one as it is, as after limit.
func sqlLiteral(v row.Value) string {
	text := string(row.AppendText(nil, v))
	switch v.Kind() {
	case row.Int, row.Decimal, row.Float:
		if strings.HasPrefix(text, "-") {
			return "(" + text + ")" // not the second sign of a comment
		}
		return text
	case row.Bool:
		return text
	default:
		return sqlText(text)
	}
}

// sqlText returns the literal of a text, for sessions with standard_conforming_strings.
func sqlText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// quotings are what SQL begins and ends that is no code.
var quotings = []struct{ open, close, name string }{
	{"--", "\n", "a comment"}, {"/*", "*/", "a comment"}, {"'", "'", "quotes"}, {`"`, `"`, "quotes"}, {"$$", "$$", "quotes"},
}

// openAtEnd says within what the end of a piece of SQL is: "a comment", "quotes", or "" if in neither.
func openAtEnd(sql string) string {
next:
	for i := 0; i < len(sql); {
		for _, q := range quotings {
			if !strings.HasPrefix(sql[i:], q.open) {
				continue
			}
			i += len(q.open)
			end := strings.Index(sql[i:], q.close)
			if end < 0 {
				return q.name
			}
			i += end + len(q.close)
			continue next
		}
		i++
	}
	return ""
}
