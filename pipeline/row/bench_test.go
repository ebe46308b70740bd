package row

import (
	"crypto/sha256"
	"testing"
)

// benchRow has ten columns of the kinds and lengths of a typical table.
func benchRow() Row {
	shape := NewShape([]string{"id", "airport", "flight_date", "species", "cost_total", "speed", "damaged", "remarks", "price", "seen_at"})
	return Row{Shape: shape, Values: []Value{
		IntValue(1_234_567), StringValue("JOHN F KENNEDY INTL"), DateValue(11_353), StringValue("European starling"),
		IntValue(120_000), FloatValue(137.25), BoolValue(true), {}, mustParse(Decimal, "19.90"), TimestampValue(980_900_000, 0),
	}}
}

func mustParse(kind Kind, text string) Value {
	v, err := Parse(kind, text)
	if err != nil {
		panic(err)
	}
	return v
}

func BenchmarkAppendCanonical(b *testing.B) {
	r, buf := benchRow(), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendCanonical(buf[:0], r)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkCanonicalAndHash(b *testing.B) {
	r, buf := benchRow(), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendCanonical(buf[:0], r)
		sha256.Sum256(buf)
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	r, buf := benchRow(), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendJSON(buf[:0], r)
	}
}

var parseTexts = map[Kind]string{
	Bool: "true", Int: "-1234567", Float: "137.25", String: "European starling", Date: "2001-01-31",
	Timestamp: "2001-01-31T23:59:59.25+01:00", Decimal: "-19.90",
}

func BenchmarkParse(b *testing.B) {
	for kind := Bool; kind <= Decimal; kind++ {
		b.Run(kind.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(kind, parseTexts[kind]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkScanObject(b *testing.B) {
	text := string(AppendJSON(nil, benchRow()))
	values := make([]Value, 0, 16)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		values = values[:0]
		err := ScanObject(text, func(_ string, raw RawValue) error {
			v, err := raw.Natural()
			values = append(values, v)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseJSON(b *testing.B) {
	text := string(AppendJSON(nil, benchRow()))
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseCanonical(b *testing.B) {
	text := string(AppendCanonical(nil, benchRow()))
	parser, values := NewCanonicalParser(nil), []Value(nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r, err := parser.Parse(text, values)
		if err != nil {
			b.Fatal(err)
		}
		values = r.Values
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, pair := range [][2]Value{
		{IntValue(1), IntValue(2)}, {FloatValue(1), FloatValue(1.5)}, {IntValue(1), FloatValue(1.5)}, {StringValue("starling"), StringValue("sparrow")},
		{mustParse(Decimal, "19.90"), mustParse(Decimal, "19.9")}, {mustParse(Decimal, "19.90"), IntValue(20)},
	} {
		b.Run(pair[0].Kind().String()+"-"+pair[1].Kind().String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Compare(pair[0], pair[1])
			}
		})
	}
}
