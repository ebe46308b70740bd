package workers_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// head is how many bytes of a form are looked up at each position of a text: no form is shorter.
const head = 6

// form is a canary as it may be written somewhere.
type form struct{ canary, encoding, bytes string }

// search looks for canaries in all the forms that they may have.
type search struct{ forms map[[head]byte][]form }

// newSearch looks for the values of these canaries, by their names, and for the parts of them that are long enough to be told: who
// takes a URL apart at the wrong place shows a part.
func newSearch(canaries map[string]string) *search {
	s := &search{map[[head]byte][]form{}}
	for name, value := range canaries {
		for _, part := range append(words.FindAllString(value, -1), value) {
			s.add(name, part)
		}
	}
	return s
}

var words = regexp.MustCompile(`[A-Za-z0-9]{10,}`)

func (s *search) add(name, value string) {
	for encoding, text := range formsOf(value) {
		key := [head]byte([]byte(text)[:head])
		s.forms[key] = append(s.forms[key], form{name, encoding, text})
	}
}

// formsOf returns a value in all encodings, by their names.
func formsOf(value string) map[string]string {
	forms := map[string]string{
		"raw": value, "query": url.QueryEscape(value), "path": url.PathEscape(value),
		"hex": hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
		"percent": percent(value, "%%%02x"), "PERCENT": percent(value, "%%%02X"),
		"quoted": inner(strconv.Quote(value)), "ascii": inner(strconv.QuoteToASCII(value)), "html": html.EscapeString(value),
		"sql": strings.ReplaceAll(value, "'", "''"), "dsn": strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value),
		"utf-16le": wide(value, binary.LittleEndian), "utf-16be": wide(value, binary.BigEndian),
	}
	_, forms["user"], _ = strings.Cut(url.UserPassword("u", value).String(), ":")
	forms["json"] = jsonOf(value, false)
	forms["json html"] = jsonOf(value, true)
	forms["json in json"], forms["json html in json"] = jsonOf(forms["json"], false), jsonOf(forms["json html"], false)
	forms["quoted twice"] = inner(strconv.Quote(forms["quoted"]))
	digest := sha256.Sum256([]byte(value))
	forms["sha256"], forms["sha256 hex"] = string(digest[:]), hex.EncodeToString(digest[:])
	for shift := range 3 {
		forms[fmt.Sprint("base64 ", shift)] = base64Of(base64.RawStdEncoding, value, shift)
		forms[fmt.Sprint("base64 url ", shift)] = base64Of(base64.RawURLEncoding, value, shift)
	}
	return forms
}

func percent(value, format string) string {
	var out strings.Builder
	for _, b := range []byte(value) {
		fmt.Fprintf(&out, format, b)
	}
	return out.String()
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

func jsonOf(value string, forHTML bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(forHTML)
	_ = encoder.Encode(value) // a text can be encoded
	return inner(strings.TrimSpace(out.String()))
}

func wide(value string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(value)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// base64Of returns the characters that belong to the value alone, if so many bytes stand before it.
func base64Of(encoding *base64.Encoding, value string, shift int) string {
	encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + value))
	return encoded[(8*shift+5)/6 : 8*(shift+len(value))/6]
}

// in returns what a text holds of canaries, each with what is around it.
func (s *search) in(text []byte) []string {
	var found []string
	seen := map[form]bool{}
	for i := 0; i+head <= len(text); i++ {
		for _, f := range s.forms[[head]byte(text[i:i+head])] {
			if !seen[f] && bytes.HasPrefix(text[i:], []byte(f.bytes)) {
				seen[f] = true
				found = append(found, fmt.Sprintf("%s (%s) in %q", f.canary, f.encoding, text[max(0, i-160):min(len(text), i+len(f.bytes)+40)]))
			}
		}
	}
	return found
}

// TestCanariesAreFoundInEveryForm plants a value behind texts of several lengths in every encoding.
func TestCanariesAreFoundInEveryForm(t *testing.T) {
	for _, value := range []string{"Zq7xK9", `it's "q\uoted" <b> & söng-日本`, ".*(Wk3mPq|b)+[^c]$"} {
		s := newSearch(map[string]string{"bird": value})
		whole := func(encode func(string) string) {
			t.Helper()
			for shift := range 4 {
				before := strings.Repeat("x", shift)
				require.NotEmpty(t, s.in([]byte("..."+encode(before+value+"y")+"...")), "%q", encode(before+value))
			}
			require.Empty(t, s.in([]byte("..."+encode("nothing of interest")+"...")))
		}
		whole(func(text string) string { return text })
		whole(url.QueryEscape)
		whole(url.PathEscape)
		whole(strconv.Quote)
		whole(strconv.QuoteToASCII)
		whole(html.EscapeString)
		whole(func(text string) string { return hex.EncodeToString([]byte(text)) })
		whole(func(text string) string { return strings.ToUpper(hex.EncodeToString([]byte(text))) })
		whole(func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) })
		whole(func(text string) string { return base64.URLEncoding.EncodeToString([]byte(text)) })
		whole(func(text string) string { return wide(text, binary.LittleEndian) })
		whole(func(text string) string { return wide(text, binary.BigEndian) })
		whole(func(text string) string {
			encoded, _ := json.Marshal(map[string]string{"k": text})
			return string(encoded)
		})
		whole(func(text string) string {
			encoded, _ := json.Marshal(text)
			encoded, _ = json.Marshal(string(encoded))
			return string(encoded)
		})
		digest := sha256.Sum256([]byte(value))
		require.NotEmpty(t, s.in(digest[:]), "a digest without a key can be guessed")
	}
}
