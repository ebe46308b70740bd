package row

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Texts that RFC 8259 allows, each with its normal form. Together with rejected they cover the classes of cases of Nicolas
// Seriot's JSONTestSuite (y_, n_ and i_).
var accepted = []struct{ name, text, normal string }{
	{"array with spaces", "[ \t\r\n]", `[]`},
	{"array with empty string", `[""]`, `[""]`},
	{"arrays in arrays", `[[],[[]] ]`, `[[],[[]]]`},
	{"array ends with newline", "[1]\n", `[1]`},
	{"array of mixed types", `[null, 1, "1", {}]`, `[null,1,"1",{}]`},
	{"array with leading space", ` [1]`, `[1]`},
	{"array of nulls", `[1,null,null,2]`, `[1,null,null,2]`},
	{"top-level false", `false`, `false`},
	{"top-level int", `42`, `42`},
	{"top-level negative", `-0.1`, `-0.1`},
	{"top-level null", `null`, `null`},
	{"top-level string", `"a"`, `"a"`},
	{"top-level true", ` true `, `true`},
	{"top-level empty string", `""`, `""`},
	{"number 0", `[0]`, `[0]`},
	{"number -0", `[-0]`, `[0]`},
	{"number -1", `[-1]`, `[-1]`},
	{"number 0e1", `[0e1]`, `[0]`},
	{"number 0E+1", `[0E+1]`, `[0]`},
	{"number 1E22", `[1E22]`, `[1` + strings.Repeat("0", 22) + `]`},
	{"number 1E-2", `[1E-2]`, `[0.01]`},
	{"number 1E+2", `[1E+2]`, `[100]`},
	{"number 123e65", `[123e65]`, `[123` + strings.Repeat("0", 65) + `]`},
	{"number 123e45 with sign", `[-123e+45]`, `[-123` + strings.Repeat("0", 45) + `]`},
	{"number with fraction", `[123.456789]`, `[123.456789]`},
	{"number with fraction and exponent", `[123.456e78]`, `[123456` + strings.Repeat("0", 75) + `]`},
	{"number with zeros in the fraction", `[1.000000000000005]`, `[1.000000000000005]`},
	{"number with zeros in the exponent", `[1e0001]`, `[10]`},
	{"number close to zero", `[-0.` + strings.Repeat("0", 76) + `1]`, `[-0.` + strings.Repeat("0", 76) + `1]`},
	{"number after space", `[ 4]`, `[4]`},
	{"i: large exponents within range", `[1e308,-1e308]`, `[1` + strings.Repeat("0", 308) + `,-1` + strings.Repeat("0", 308) + `]`},
	{"i: least float", `[5e-324]`, `[0.` + strings.Repeat("0", 323) + `5]`},
	{"i: denormal", `[2.2250738585072011e-308]`, `[0.` + strings.Repeat("0", 307) + `22250738585072011]`},
	{"i: 1,000 digits by an exponent", `[1e999,1e-999]`, `[1` + strings.Repeat("0", 999) + `,0.` + strings.Repeat("0", 998) + `1]`},
	{"i: more digits than a float", `[1.20000000000000000000000000005]`, `[1.20000000000000000000000000005]`},
	{"number with the point moved into its digits", `[1.20e1,1.20e2,-1.20e-1,0.00e1]`, `[12.0,120,-0.120,0.0]`},
	{"number -0.0", `[-0.0]`, `[0.0]`},
	{"i: large int", `[100000000000000000000]`, `[100000000000000000000]`},
	{"i: very negative int", `[-237462374673276894279832749832423479823246327846]`, `[-237462374673276894279832749832423479823246327846]`},
	{"i: int beyond every float", `[` + strings.Repeat("9", 400) + `]`, `[` + strings.Repeat("9", 400) + `]`},
	{"object empty", ` { } `, `{}`},
	{"object with empty key", `{"":0}`, `{"":0}`},
	{"object with escaped NUL in key", `{"foo\u0000bar": 42}`, `{"foo\u0000bar":42}`},
	{"object with extreme numbers", `{ "min": -1.0e+28, "max": 1.0e+28 }`, `{"max":1` + strings.Repeat("0", 28) + `,"min":-1` + strings.Repeat("0", 28) + `}`},
	{"object with long strings", `{"id": "` + strings.Repeat("x", 200) + `"}`, `{"id":"` + strings.Repeat("x", 200) + `"}`},
	{"object with escaped Unicode", `{"t":"\u041f\u043e\u043b" }`, `{"t":"Пол"}`},
	{"object with newlines", "{\n\"a\"\r:\t\"b\"\n}", `{"a":"b"}`},
	{"object in object", `{"a":{"b":{}}}`, `{"a":{"b":{}}}`},
	{"string with UTF-8 of 1 to 4 bytes", `["a` + "\u00e9\u20ac\U0001f600" + `"]`, `["a` + "\u00e9\u20ac\U0001f600" + `"]`},
	{"string with a pair", `["\uD801\udc37"]`, `["𐐷"]`},
	{"string with two pairs", `["\ud83d\ude39\ud83d\udc8d"]`, `["😹💍"]`},
	{"string with all short escapes", `["\"\\\/\b\f\n\r\t"]`, `["\"\\/\b\f\n\r\t"]`},
	{"string with backslash and u", `["\\u0000"]`, `["\\u0000"]`},
	{"string with comment", `["a/*b*/c/*d//e"]`, `["a/*b*/c/*d//e"]`},
	{"string with escaped quote at the end", `["\\\""]`, `["\\\""]`},
	{"string with escaped control character", `["\u0012"]`, `["\u0012"]`},
	{"string with escaped noncharacter", `["\uFFFF\uFDD0"]`, "[\"\uffff\ufdd0\"]"},
	{"string with escaped noncharacter pair", `["\uDBFF\uDFFE"]`, "[\"\U0010fffe\"]"},
	{"string with NBSP", "[\"new\u00a0line\"]", "[\"new\u00a0line\"]"},
	{"string with escaped newline", `["new\u000Aline"]`, `["new\nline"]`},
	{"string with DEL", "[\"\x7f\"]", "[\"\x7f\"]"},
	{"string with escaped DEL", `["\u007F"]`, "[\"\x7f\"]"},
	{"string with line separators", "[\"\u2028\u2029\"]", "[\"\u2028\u2029\"]"},
	{"string with escaped line separators", `["\u2028\u2029"]`, "[\"\u2028\u2029\"]"},
	{"string with byte order mark inside", "[\"\ufeff\"]", "[\"\ufeff\"]"},
	{"string with replacement character", "[\"\ufffd\"]", "[\"\ufffd\"]"},
	{"string with markup", `["<script>&amp;"]`, `["<script>&amp;"]`},
	{"string with hexadecimal of both cases", `["\u00aB\u00Ab"]`, `["««"]`},
	{"string of a space", `[" "]`, `[" "]`},
	{"string that looks like a number", `["1e400"]`, `["1e400"]`},
	{"i: depth 128", nested(128), nested(128)},
}

func TestAcceptedJSON(t *testing.T) {
	for _, test := range accepted {
		t.Run(test.name, func(t *testing.T) {
			v, err := ParseJSON(test.text)
			require.NoError(t, err)
			require.Equal(t, test.normal, v.Text())
		})
	}
}

// Texts that are refused, by code. Those of SYNTAX break RFC 8259; the others are our own rules.
var rejected = map[string][]string{
	CodeSyntax: {
		// arrays
		`[1 true]`, `[a` + "\xe5" + `]`, `["": 1]`, `[""],`, `[,1]`, `[1,,2]`, `["x",,]`, `["x"]]`, `["",]`, `["x"`, `["x", truth]`, `[,]`, `[1:2]`,
		`[x`, `[3[4]]`, `[` + "\v" + `"a"]`, `[*]`, `[""`, `[1,]`, "[\"a\",\n4\n,1,", `[1,`, `[ , ""]`, `[{}`, `[`, `]`, `[}`, `[[]`, `[][]`,
		// words
		`[fals]`, `[nul]`, `[tru]`, `[True]`, `[NULL]`, `[nullx]`, `[undefined]`, `truefalse`, `n`, `[None]`,
		// numbers
		`[++1234]`, `[+1]`, `[+Inf]`, `[-01]`, `[-1.0.]`, `[-2.]`, `[.-1]`, `[.2e-3]`, `[0.1.2]`, `[0.3e+]`, `[0.3e]`, `[0.e1]`, `[0E]`, `[0E+]`, `[0e+-1]`,
		`[1.0e+]`, `[1.0e-]`, `[1.0e]`, `[1 000.0]`, `[1eE2]`, `[2.e+3]`, `[2.e3]`, `[9.e+]`, `[Inf]`, `[NaN]`, `[-NaN]`, `[-Infinity]`, `[1+2]`, `[0x1]`, `[0x42]`,
		`[0123]`, `[-012]`, `[-]`, `[- 1]`, `[-foo]`, `[-1x]`, `[1ea]`, `[1.]`, `[.123]`, `[1.2a-3]`, `[1.8011670033376514H-308]`, `[１]`, `[0b1]`, `[0o7]`, `[1_000]`,
		`[1,5e]`, `-`, `00`, `1 2`, `[-.5]`, `[1e1.5]`, `[--1]`, `[1f]`, `[1L]`,
		// objects
		`["x", {]`, `{[: "x"}`, `{"x", null}`, `{"x"::"b"}`, `{"a":"a" 123}`, `{key: 'value'}`, `{"a" b}`, `{:"b"}`, `{"a" "b"}`, `{"a":`, `{"a"`, `{1:1}`, `{9999E9999:1}`,
		`{null:null,null:null}`, `{"id":0,,,,,}`, `{'a':0}`, `{"id":0,}`, `{"a":"b"}/**/`, `{"a":"b"}#`, `{"a":"b"}//`, `{"a":"b",,"c":"d"}`, `{a: "b"}`, `{"a":"a`,
		`{ "foo" : "bar", "a" }`, `{"a":"b"}#{}`, `{,}`, `{`, `}`, `{]`, `{"a":1 "b":2}`, `{"a":/*c*/1}`, `{"a";1}`, `{"a"=1}`, `{{}:1}`, `{"a":1}}`,
		// strings
		`["\u00A"]`, `["\u"]`, `["\x00"]`, `["\`, `["\\\"]`, "[\"\\\t\"]", `["\🌀"]`, `["\a"]`, `["\uqqqq"]`, `['single']`, `abc`, `["\`, `"`, "[\"a\x00a\"]",
		"[\"new\nline\"]", "[\"\t\"]", "[\"\x1f\"]", `["\U0041"]`, `["\u 041"]`, `["\u+041"]`, `["\u00g0"]`, `["\0"]`, `["\'"]`, `["\1234"]`, `["a"b"]`, `["\u{41}"]`, `"a" "b"`,
		"[\"\\u00\x1065\"]", `['a"]`, "[“a”]", "[`a`]",
		// structure and white space
		``, ` `, "\ufeff", "\ufeff[]", "[\u2060]", `<.>`, `[<null>]`, `[1]x`, `[1]]`, `*`, `{"a":"b"}#`, `[][]`, `{}}`, "\xc3\xa5", "[\f]", "[\u00a0]", "\x00", "[1]\x00", "{}\ufeff",
		"[\u0085]", "[\u3000]", "[//c\n1]", "[/**/]", "#c\n[]", "---\n[]", `b"x"`, `r"x"`, `("a")`, `;`, "\x1e{}", "\xff", "[\xff]", "{\xf0\x9f\x98\x80}",
	},
	CodeEncoding: {
		"[\"\xff\"]", "[\"\x80\"]", "[\"\xc3\"]", "[\"\xe2\x82\"]", "[\"\xf0\x9f\x98\"]", "[\"\xc0\x80\"]", "[\"\xc1\xbf\"]", "[\"\xe0\x9f\xbf\"]", "[\"\xf0\x8f\xbf\xbf\"]",
		"[\"\xed\xa0\x80\"]", "[\"\xed\xbf\xbf\"]", "[\"\xf4\x90\x80\x80\"]", "[\"\xf8\x88\x80\x80\x80\"]", "[\"\xfc\x84\x80\x80\x80\x80\"]", "[\"\xe9\"]", "[\"a\xffb\\n\"]", "{\"\xfe\":1}",
		"[\"\\u0041\xff\"]", "[\"\xef\xbf\"]",
	},
	CodeSurrogate: {
		`["\uD800"]`, `["\udfff"]`, `["\uD800\uD800"]`, `["\uDd1e\uD834"]`, `["\uD800\n"]`, `["\uD800abc"]`, `["\uD800\u0041"]`, `["\uDADA"]`, `["\uD888\u1234"]`, `{"\uDFAA":0}`,
		`["\uD800\"]`, `["\uD834\\uDd1e"]`, `["\uD800\u"]`, `["\uD800\u1"]`, `["\uD800\u1x"]`,
	},
	CodeNumberRange: {
		`[1e1000]`, `[-1e1000]`, `[0.4e00669999999999999999999999999999999999999999999969999999006]`, `[123.456e-998]`, `[-1e-1000]`, `[1e-99999999999]`,
		`[1e9999]`, `[0e-9999]`, `[1` + strings.Repeat("0", 1000) + `]`, `[0.` + strings.Repeat("0", 1000) + `]`,
	},
	CodeDuplicateKey: {
		`{"a":"b","a":"c"}`, `{"a":"b","a":"b"}`, `[{"":0,"":0}]`, `{"a":{"b":0,"c":1,"b":2}}`, `{"\n":1,"\u000a":2}`,
	},
	CodeDepth: {
		nested(129), strings.Repeat("[", 100_000), strings.Repeat(`[{"":`, 50_000), nested(500),
	},
}

func TestRejectedJSON(t *testing.T) {
	for code, texts := range rejected {
		t.Run(code, func(t *testing.T) {
			for _, text := range texts {
				_, err := ParseJSON(text)
				require.Equal(t, code, codeOf(t, err), "%.60q", text)
			}
		})
	}
}
