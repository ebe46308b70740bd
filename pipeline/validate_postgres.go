package pipeline

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxIdentifierBytes is how long a name may be in Postgres, which cuts longer ones off without an error.
const maxIdentifierBytes = 63

// TableName is where a table is in a Postgres database.
type TableName struct{ Schema, Table string }

// ParseTableName reads schema.table, or the name of a table in the schema public.
func ParseTableName(text string) TableName {
	if schema, table, found := strings.Cut(text, "."); found {
		return TableName{schema, table}
	}
	return TableName{"public", text}
}

// String returns schema.table.
func (t TableName) String() string { return t.Schema + "." + t.Table }

func (l *loader) checkPostgresSource(path string, source *PostgresSource) {
	l.checkDSN(Key(path, "dsn"), source.DSN)
	for i, column := range source.OrderBy {
		l.checkIdentifier(Item(Key(path, "order_by"), i), column)
	}
	if strings.Contains(source.Query, "\x00") {
		l.report(Key(path, "query"), "holds a NUL, which no query can")
	}
	switch {
	case source.Table != "" && source.Query != "":
		l.report(path, "has a table and a query: make two sources of it")
	case source.Table != "":
		l.checkTable(Key(path, "table"), source.Table)
	case l.doc.find(Key(path, "table")) == nil && l.doc.find(Key(path, "query")) == nil:
		l.report(path, "has no rows: give it a table or a query")
	case source.Query != "" && l.doc.find(Key(path, "order_by")) == nil:
		l.report(path, "a query needs order_by: columns of its result that put the rows in order, no two rows alike")
	}
}

func (l *loader) checkPostgresSink(path string, sink *PostgresSink) {
	l.checkDSN(Key(path, "dsn"), sink.DSN)
	if sink.Table != "" {
		l.checkTable(Key(path, "table"), sink.Table)
	}
	for i, column := range sink.Columns {
		l.checkIdentifier(Item(Key(path, "columns"), i), column)
	}
	for i, column := range sink.Key {
		l.checkIdentifier(Item(Key(path, "key"), i), column)
		if sink.Columns != nil && !slices.Contains(sink.Columns, column) {
			l.report(Item(Key(path, "key"), i), "%s is not among the columns%s", quote(column), suggestion(column, sink.Columns))
		}
	}
	if sink.Upserts() && l.doc.find(Key(path, "key")) == nil {
		l.report(path, "mode upsert needs key: the columns of the table's primary key or of a unique index")
	}
	if !sink.Upserts() && !sink.Create && sink.Key != nil {
		l.report(Key(path, "key"), "a key belongs to mode: upsert, or to create: true as the primary key: add one of them, or delete key")
	}
}

func (l *loader) checkTable(path, text string) {
	name := ParseTableName(text)
	for _, identifier := range []string{name.Schema, name.Table} {
		if identifier == "" {
			l.report(path, "%s: write schema.table, or the name of a table of the schema public", quote(text))
			return
		}
		l.checkIdentifier(path, identifier)
	}
	if name.Schema == "information_schema" || strings.HasPrefix(name.Schema, "pg_") {
		l.report(path, "the schema %s is Postgres' own: give a table of yours", quote(name.Schema))
	}
}

func (l *loader) checkIdentifier(path, name string) {
	switch {
	case len(name) > maxIdentifierBytes:
		l.report(path, "%s has %d bytes, and Postgres cuts names off after %d: give the name as the database has it", quote(name), len(name), maxIdentifierBytes)
	case strings.Contains(name, "\x00"):
		l.report(path, "%s holds a NUL, which no name in Postgres can", quote(name))
	}
}

// checkDSN reports a password that stands in the document, which is recorded.
func (l *loader) checkDSN(path, dsn string) {
	if dsn == "" {
		return
	}
	if strings.Contains(dsn, "\x00") {
		l.report(path, "holds a NUL, which no address can")
	}
	n := l.doc.find(path)
	if n == nil {
		return
	}
	spans, err := splitSpans(n.text)
	if err != nil {
		return // it is reported already
	}
	var known strings.Builder
	for _, s := range spans {
		switch s.kind {
		case ParamReference:
			known.WriteString(l.params[s.text].text)
		case EnvReference, SecretReference:
			known.WriteString(unrecorded)
		default:
			known.WriteString(s.text)
		}
	}
	if holdsPassword(known.String()) {
		l.report(path, "the password is recorded, as all that the document and its parameters say: write ${secret:NAME} in its place")
	}
}

// passwordWord finds a password among the words of a connection text, and in the options of a URL.
var passwordWord = regexp.MustCompile(`(?i)(?:^|[\s?&])(?:ssl)?password\s*=\s*('(?:[^'\\]|\\.)+'|[^'\s&][^\s&]*)`)

// unrecorded takes the place of a reference whose value no record has.
const unrecorded = "\x01"

// holdsPassword reports whether a connection text has a password, or a part of one, that is not unrecorded.
func holdsPassword(dsn string) bool {
	for _, word := range passwordWord.FindAllStringSubmatch(dsn, -1) {
		if strings.Trim(word[1], "'"+unrecorded) != "" {
			return true
		}
	}
	scheme, rest, isURL := strings.Cut(dsn, "://")
	if !isURL || !slices.Contains([]string{"postgres", "postgresql"}, strings.ToLower(scheme)) {
		return false
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	at := strings.LastIndex(rest, "@")
	if at < 0 {
		return false
	}
	_, password, found := strings.Cut(rest[:at], ":")
	if unescaped, err := url.PathUnescape(password); err == nil {
		password = unescaped
	}
	password = strings.Trim(password, unrecorded)
	return found && password != ""
}
