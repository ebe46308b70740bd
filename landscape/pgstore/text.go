package pgstore

import (
	"encoding/hex"
	"reflect"
	"strings"

	"waymark/landscape"
)

// decode returns the text that landscape.PortableText made portable.
func decode(text string) string {
	head, rest, found := strings.Cut(text, landscape.TextEscape)
	if !found {
		return text
	}
	var b strings.Builder
	for ; found; head, rest, found = strings.Cut(rest, landscape.TextEscape) {
		b.WriteString(head)
		if len(rest) >= 2 {
			if c, err := hex.DecodeString(rest[:2]); err == nil {
				b.Write(c)
				rest = rest[2:]
				continue
			}
		}
		b.WriteString(landscape.TextEscape) // somebody else's
	}
	b.WriteString(head)
	return b.String()
}

// encodeAny makes a value portable if it is a text.
func encodeAny(value any) any {
	if v := reflect.ValueOf(value); v.Kind() == reflect.String {
		return landscape.PortableText(v.String())
	}
	return value
}
