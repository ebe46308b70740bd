package pipeline

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/pipeline/row"
)

// expandQuery replaces the references of a query by literals of SQL, so that no value can be more than a value. It refuses a
// reference within quotes or a comment, or right behind a word, where a literal would be something else.
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

// dollarQuote finds what begins a text in dollar quotes, and ends it.
var dollarQuote = regexp.MustCompile(`^\$([A-Za-z_\x{80}-\x{10FFFF}][\w\x{80}-\x{10FFFF}]*)?\$`)

// endsInWord reports whether SQL ends in a word, or in U&: it would change what a literal after it means, as E does.
func endsInWord(sql string) bool {
	last, _ := utf8.DecodeLastRuneInString(sql)
	return sql != "" && (last == '_' || last == '$' || last >= utf8.RuneSelf || unicode.IsLetter(last) || unicode.IsDigit(last)) ||
		strings.HasSuffix(sql, "U&") || strings.HasSuffix(sql, "u&")
}

// openAtEnd says within what the end of a piece of SQL is: "a comment", "quotes", "a word", or "" if in none of them.
func openAtEnd(sql string) string {
	for at := 0; at < len(sql); {
		length, name := lengthOfToken(sql, at)
		if length < 0 {
			return name
		}
		at += length
	}
	if endsInWord(sql) {
		return "a word"
	}
	return ""
}

// lengthOfToken returns how long what begins at a place is: a comment, something in quotes, or one byte of anything else. It is negative
// for what does not end, which is then named.
func lengthOfToken(sql string, at int) (length int, name string) {
	rest := sql[at:]
	until := func(from int, end string) (int, string) {
		if n := strings.Index(rest[from:], end); n >= 0 {
			return from + n + len(end), ""
		}
		return -1, "quotes"
	}
	switch {
	case strings.HasPrefix(rest, "--"):
		if n := strings.IndexAny(rest, "\r\n"); n >= 0 {
			return n, ""
		}
		return -1, "a comment"
	case strings.HasPrefix(rest, "/*"):
		return lengthOfComment(rest)
	case rest[0] == '"':
		return until(1, `"`)
	case rest[0] == '\'' && at > 0 && (sql[at-1] == 'E' || sql[at-1] == 'e'):
		return lengthOfEscaped(rest)
	case rest[0] == '\'':
		return until(1, "'")
	case rest[0] == '$' && !endsInWord(sql[:at]):
		if tag := dollarQuote.FindString(rest); tag != "" {
			return until(len(tag), tag)
		}
	}
	return 1, ""
}

// lengthOfComment is lengthOfToken for a comment of /* and */, which may hold others.
func lengthOfComment(text string) (length int, name string) {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch {
		case strings.HasPrefix(text[at:], "/*"):
			depth, at = depth+1, at+1
		case strings.HasPrefix(text[at:], "*/"):
			depth, at = depth-1, at+1
		}
		if depth == 0 {
			return at + 1, ""
		}
	}
	return -1, "a comment"
}

// lengthOfEscaped is lengthOfToken for a text with backslashes.
func lengthOfEscaped(text string) (length int, name string) {
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '\'':
			return at + 1, ""
		}
	}
	return -1, "quotes"
}
