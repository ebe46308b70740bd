package pipeline

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// decimalInteger is how an integer is written: no sign +, no leading zero, no _, no other base.
var decimalInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// parseInt reads a decimal integer.
func parseInt(text string) (int64, error) {
	if !decimalInteger.MatchString(text) {
		return 0, fmt.Errorf("%s is not an integer: write decimal digits only, such as 1000", quote(text))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is too large a number", quote(text))
	}
	return n, nil
}

// parseBool reads true or false.
func parseBool(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%s is not a bool: write true or false", quote(text))
}

var byteSize = regexp.MustCompile(`^(0|[1-9][0-9]*)(KiB|MiB|GiB)?$`)

var byteUnits = map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// UnmarshalText reads 4096, 64KiB, 8MiB or 1GiB.
func (b *ByteSize) UnmarshalText(text []byte) error {
	parts := byteSize.FindStringSubmatch(string(text))
	if parts == nil {
		return fmt.Errorf("%s is not a size: write bytes such as 4096, or 64KiB, 8MiB, 1GiB", quote(string(text)))
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || n > math.MaxInt64/byteUnits[parts[2]] {
		return fmt.Errorf("%s is too large a size", quote(string(text)))
	}
	*b = ByteSize(n * byteUnits[parts[2]])
	return nil
}

// fieldTypes are the words that Field.Type may have.
var fieldTypes = rulesOf(reflect.TypeFor[Field]())[0].words

// fromText reads the short form of a field: a type word, with "?" for optional.
func (f *Field) fromText(text string) error {
	word, optional := strings.CutSuffix(text, "?")
	if err := checkWord(word, fieldTypes); err != nil {
		return fmt.Errorf("%w; an optional field has a ? after its type", err)
	}
	f.Type, f.Optional = word, optional
	return nil
}

func (*Field) shortTexts() []string {
	var texts []string
	for _, word := range fieldTypes {
		texts = append(texts, word, word+"?")
	}
	return texts
}

func checkWord(word string, words []string) error {
	for _, known := range words {
		if word == known {
			return nil
		}
	}
	return fmt.Errorf("%s is not one of %s%s", quote(word), strings.Join(words, ", "), suggestion(word, words))
}

// plainWords says what YAML takes a plain text for that is not a text.
var plainWords = map[token.Type]string{
	token.BoolType: "a bool", token.NullType: "null", token.FloatType: "a number", token.InfinityType: "a number",
	token.NanType: "a number", token.BinaryIntegerType: "a number", token.OctetIntegerType: "a number",
	token.HexIntegerType: "a number",
}

// ambiguous says what other readers may take the plain text for, or returns "": 1.10 is the number 1.1 to them, 010 is 8.
// A decimal integer reads the same everywhere.
func (n *node) ambiguous() string {
	if n.quoted {
		return ""
	}
	if n.plain == token.IntegerType && !decimalInteger.MatchString(n.text) {
		return "a number"
	}
	return plainWords[n.plain]
}

// quote prints a text for a message: in quotes, with control characters escaped, and cut if it is long.
func quote(text string) string {
	const most = 64
	if utf8.RuneCountInString(text) > most {
		return strconv.Quote(string([]rune(text)[:most])) + "…"
	}
	return strconv.Quote(text)
}

// shorten does the same without the quotes.
func shorten(text string) string {
	quoted := strings.TrimSuffix(quote(text), "…")
	return quoted[1 : len(quoted)-1]
}
