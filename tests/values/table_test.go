// Package values_test sends every kind of value through every source, every sink and every view, and compares what comes out with docs/values.md.
package values_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/manual"
)

// example is a value in the forms of docs/values.md.
type example struct {
	kind     string // "any" for null
	shown    string // its canonical form
	json     form
	csv      form
	parquet  form
	postgres form
}

// form is what a place has of a value.
type form struct {
	text    string // of a text that is there; signs stand for what a page cannot show
	code    string // of the refusal; empty if the place takes the value
	isNull  bool   // it is read back as null
	nothing bool   // there is no text: null
}

// kinds are the fields of the rows: one of each kind. The first of them is the number of the row.
var kinds = []string{"bool", "date", "decimal", "float", "id", "int", "json", "string", "timestamp"}

var (
	span    = regexp.MustCompile("`([^`]*)`")
	refusal = regexp.MustCompile(`^[A-Z_]{6,}$`)
	signs   = strings.NewReplacer("⏎", "\n", "␍", "\r", "⇥", "\t", "␀", "\x00")
)

// examples are the rows of the table.
func examples(t *testing.T) (all []example) {
	t.Helper()
	for line := range strings.Lines(manual.Page(t, "values.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 6 || strings.HasPrefix(line, "| kind") || strings.HasPrefix(line, "| ---") {
			continue
		}
		e := example{kind: strings.TrimSpace(cells[0]), shown: newForm(cells[1]).text}
		e.json, e.csv, e.parquet, e.postgres = newForm(cells[2]), newForm(cells[3]), newForm(cells[4]), newForm(cells[5])
		all = append(all, e)
	}
	require.Greater(t, len(all), 30)
	return all
}

func newForm(cell string) form {
	f := form{isNull: strings.Contains(cell, "read as null")}
	found := span.FindStringSubmatch(cell)
	switch {
	case found == nil:
		f.nothing = !strings.Contains(cell, "empty text")
	case refusal.MatchString(found[1]) && found[1] != "NULL":
		f.code = found[1]
	default:
		f.text = signs.Replace(found[1])
	}
	return f
}

// row is a row with one value: its field of each kind, as text says; others are what null is.
func (e example) row(number int, null string, text func(name, value string) string, value string) []string {
	var fields []string
	for _, name := range kinds {
		switch name {
		case "id":
			fields = append(fields, text(name, strconv.Itoa(number)))
		case e.kind:
			fields = append(fields, text(name, value))
		default:
			fields = append(fields, text(name, null))
		}
	}
	return fields
}

func member(name, value string) string { return fmt.Sprintf("%q:%s", name, value) }

func cell(_, value string) string { return value }

// line is the row in JSON Lines.
func (e example) line(number int) string {
	return "{" + strings.Join(e.row(number, "null", member, e.json.text), ",") + "}"
}

// record is the row in CSV.
func (e example) record(number int) string {
	return strings.Join(e.row(number, "", cell, e.csv.text), ",")
}

// hash is that of the row on record: of its canonical form. Names of fields are sorted.
func (e example) hash(number int) string { return hashOf(e.row(number, "null", member, e.shown)) }

// hashOfNull is the hash of a row in which the value became null.
func (e example) hashOfNull(number int) string { return hashOf(e.row(number, "null", member, "null")) }

func hashOf(members []string) string {
	sum := sha256.Sum256([]byte("{" + strings.Join(members, ",") + "}"))
	return hex.EncodeToString(sum[:])
}

// schema declares a field of each kind.
func schema() string {
	var fields []string
	for _, name := range kinds {
		kind := name + "?"
		if name == "id" {
			kind = "int"
		}
		fields = append(fields, fmt.Sprintf("%s: %q", name, kind))
	}
	return "{fields: {" + strings.Join(fields, ", ") + "}}"
}
