package page

import (
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"
)

// decoded decodes a page of version 1 without levels, and returns its values as texts.
func decoded(column Column, encoding format.Encoding, count int32, body []byte) ([]string, error) {
	header := format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: count, Encoding: encoding})}
	page, err := NewDecoder(column, 1<<20).Data(&header, body)
	if err != nil {
		return nil, err
	}
	values := make([]string, page.Entries)
	for i := range values {
		values[i] = string(page.Value(i))
	}
	return values, nil
}

// TestEncodings has pages whose bytes were made by hand from the words of the format.
func TestEncodings(t *testing.T) {
	integers, texts, booleans := Column{Type: format.Int32}, Column{Type: format.ByteArray}, Column{Type: format.Boolean}
	for _, c := range []struct {
		name     string
		column   Column
		encoding format.Encoding
		body     []byte
		want     []string
	}{
		{"7 5 3 1 2 3 4 5 by deltas", integers, format.DeltaBinaryPacked,
			append([]byte{0x80, 1, 4, 8, 14, 3, 2, 0, 9, 77, 0xc0, 0x3f}, make([]byte, 6)...), // deltas -2 -2 -2 1 1 1 1, less the least: 0 0 0 3 3 3 3
			[]string{"\x07\x00\x00\x00", "\x05\x00\x00\x00", "\x03\x00\x00\x00", "\x01\x00\x00\x00", "\x02\x00\x00\x00", "\x03\x00\x00\x00", "\x04\x00\x00\x00", "\x05\x00\x00\x00"}},
		{"streams", integers, format.ByteStreamSplit, []byte{1, 2, 3, 4, 5, 6, 7, 8}, []string{"\x01\x03\x05\x07", "\x02\x04\x06\x08"}},
		{"booleans", booleans, format.Plain, []byte{0b101}, []string{"\x01", "\x00", "\x01"}},
		{"a run of true", booleans, format.RLE, []byte{2, 0, 0, 0, 3 << 1, 1}, []string{"\x01", "\x01", "\x01"}},
		{"a run, and packed ones", booleans, format.RLE, []byte{4, 0, 0, 0, 2 << 1, 1, 1<<1 | 1, 0b10}, []string{"\x01", "\x01", "\x00", "\x01"}},
		{"texts", texts, format.Plain, []byte{1, 0, 0, 0, 'a', 0, 0, 0, 0}, []string{"a", ""}},
		{"texts by lengths", texts, format.DeltaLengthByteArray, append(lengths(t, 1, 2), "abb"...), []string{"a", "bb"}},
		{"axis axle babble babyhood by prefixes", texts, format.DeltaByteArray,
			append(append(lengths(t, 0, 2, 0, 3), lengths(t, 4, 2, 6, 5)...), "axislebabbleyhood"...), []string{"axis", "axle", "babble", "babyhood"}},
		{"nothing", texts, format.DeltaByteArray, nil, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decoded(c.column, c.encoding, int32(len(c.want)), c.body)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			_, err = decoded(c.column, c.encoding, int32(len(c.want))+9, c.body)
			require.Error(t, err, "it declares more")
			_, err = decoded(c.column, c.encoding, int32(len(c.want)), append(c.body, 0))
			require.Error(t, err, "it holds more")
		})
	}
	_, err := decoded(texts, format.DeltaByteArray, 2, append(append(lengths(t, 0, 3), lengths(t, 2, 0)...), "ab"...))
	require.EqualError(t, err, "value 2 of 2 declares 3 bytes of the one before it, which has 2")
	_, err = decoded(texts, format.DeltaLengthByteArray, 2, append(lengths(t, -1, 3), "ab"...))
	require.EqualError(t, err, "lengths: it declares lengths that are negative")
	_, err = decoded(integers, format.DeltaLengthByteArray, 0, nil)
	require.ErrorIs(t, err, ErrEncoding)
}

// lengths encodes numbers as deltas, in one block whose deltas have 8 bits.
func lengths(t *testing.T, all ...int8) []byte {
	t.Helper()
	out := []byte{0x80, 1, 4, byte(len(all)), byte(all[0]<<1 ^ all[0]>>7)}
	if len(all) == 1 {
		return out
	}
	const least = -16
	out = append(out, 31, 8, 0, 0, 0)
	mini := make([]byte, 32)
	for i := range all[1:] {
		mini[i] = byte(all[i+1] - all[i] - least)
	}
	return append(out, mini...)
}

// TestLevels has levels in both encodings, of which the old one packs them from the highest bit on.
func TestLevels(t *testing.T) {
	d := NewDecoder(Column{Type: format.ByteArray, MaxDef: 2, MaxRep: 1}, 1<<20)
	page := func(rep, def format.Encoding, count int32, body ...byte) (*Page, error) {
		return d.Data(&format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: count, Encoding: format.Plain, RepetitionLevelEncoding: rep, DefinitionLevelEncoding: def,
		})}, body)
	}
	text := []byte{1, 0, 0, 0, 'x'}
	got, err := page(format.BitPacked, format.BitPacked, 3, append([]byte{0b0100_0000, 0b10_00_01_00}, text...)...)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 0}, got.Rep)
	require.Equal(t, []byte{2, 0, 1}, got.Def)
	require.Equal(t, 2, got.Rows)
	require.Equal(t, "x", string(got.Value(0)))
	again, err := page(format.RLE, format.RLE, 3, append([]byte{2, 0, 0, 0, 3, 0b010, 3, 0, 0, 0, 3, 0b01_00_10, 0}, text...)...)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 0}, again.Rep)
	require.Equal(t, []byte{2, 0, 1}, again.Def)
	for want, body := range map[string][]byte{
		"repetition levels: they declare 9 levels of 1 bits and hold 1 bytes": {0},
		"definition levels: there is a level of 3; the schema has 2":          {0, 0, 0b11_00_00_00, 0, 0},
		"definition levels: they declare 9 levels of 2 bits and hold 2 bytes": {0, 0, 0, 0},
	} {
		_, err := page(format.BitPacked, format.BitPacked, 9, body...)
		require.EqualError(t, err, want)
	}
	_, err = page(format.RLE, format.RLE, 3, 2, 0, 0, 0, 2<<1, 0)
	require.EqualError(t, err, "repetition levels: it declares 3 values and holds 2")
	_, err = page(format.RLE, format.RLE, 3, 2, 0, 0, 0, 4<<1, 0)
	require.EqualError(t, err, "repetition levels: it declares 3 values and holds 4")
	_, err = page(format.RLE, format.RLE, 3, 9, 0, 0, 0, 4<<1, 0)
	require.EqualError(t, err, "repetition levels: they declare 9 bytes and 2 are there")
}

// TestLevelsWithoutBits has a page as parquet-mr writes it: runs of repetition levels, although the column has none.
func TestLevelsWithoutBits(t *testing.T) {
	d := NewDecoder(Column{Type: format.Boolean}, 1<<20)
	page := func(runs ...byte) error {
		size := int32(len(runs))
		got, err := d.Data(&format.PageHeader{Type: format.DataPageV2,
			DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
				NumValues: 3, NumRows: 3, Encoding: format.RLE, RepetitionLevelsByteLength: size,
			})}, append(runs, 2, 0, 0, 0, 3<<1, 1))
		if err == nil {
			require.Nil(t, got.Rep)
			require.Equal(t, 3, got.Rows)
			require.Equal(t, "\x01", string(got.Value(2)))
		}
		return err
	}
	require.NoError(t, page(3<<1))
	require.EqualError(t, page(2<<1), "repetition levels: it declares 3 values and holds 2")
	require.EqualError(t, page(3<<1, 2<<1), "repetition levels: it declares 3 values and holds 5")
}

// TestPaddingHasALimit has packed runs that are filled up, as DuckDB fills them, one that holds more than that, and one of a value
// that has too many bits.
func TestPaddingHasALimit(t *testing.T) {
	d := NewDecoder(Column{Type: format.Boolean, MaxDef: 0}, 1<<20)
	body := func(groups byte) []byte {
		runs := append([]byte{groups<<1 | 1}, make([]byte, groups)...)
		return append([]byte{byte(len(runs)), 0, 0, 0}, runs...)
	}
	header := format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 1, Encoding: format.RLE})}
	_, err := d.Data(&header, body(32))
	require.NoError(t, err)
	_, err = d.Data(&header, []byte{2, 0, 0, 0, 1 << 1, 3})
	require.EqualError(t, err, "it declares values of 1 bits and holds a run of 3")
	_, err = d.Data(&header, body(33))
	require.EqualError(t, err, "it declares 1 values and holds 264")
}
