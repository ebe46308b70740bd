package payload_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
)

// packOf lays records out with the bytes of sep before the first and after each.
func packOf(context, sep string, records ...string) *payload.Pack {
	p := &payload.Pack{Context: []byte(context), Data: []byte(sep)}
	for _, record := range records {
		p.Offsets = append(p.Offsets, uint32(len(p.Data)))
		p.Lens = append(p.Lens, uint32(len(record)))
		sum := sha256.Sum256([]byte(record))
		p.Hashes = append(p.Hashes, sum[:]...)
		p.Data = append(p.Data, record...)
		p.Data = append(p.Data, sep...)
	}
	return p
}

// csvChunk returns a pack like a source makes it: n lines of about 90 bytes.
func csvChunk(n int) *payload.Pack {
	random := rand.New(rand.NewPCG(1, 2))
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("%d,2026-03-%02d,airport %d,%s,%d,%.4f,some words that repeat,%x",
			i, 1+random.IntN(28), random.IntN(300), strings.Repeat("x", random.IntN(9)), random.IntN(1e6), random.Float64(), random.Uint64())
	}
	return packOf("id,date,airport,x,cost,score,words,hash\n", "\n", lines...)
}

func TestPackRoundTrip(t *testing.T) {
	big := strings.Repeat("big record ", 200_000) // spans several frames
	for name, p := range map[string]*payload.Pack{
		"no records, no data": packOf("", ""),
		"no records":          packOf("header", "\n\n"),
		"one":                 packOf("", "", "a"),
		"empty records":       packOf("", "", "", "", ""),
		"contiguous":          packOf("", "", "a", "bc", "def"),
		"with separators":     packOf("h", "\r\n", "a", "", "def"),
		"binary":              packOf("\x00\xff", "\x00", "\x00\x01", "\xff\xfe"),
		"over frames":         packOf("h", "\n", "a", big, "b", big, ""),
		"csv":                 csvChunk(20_000),
		"blanks":              packOf("", "\n", strings.Repeat(" ", 4<<20), strings.Repeat(" ", 4<<20)),
	} {
		t.Run(name, func(t *testing.T) { requireRoundTrip(t, p) })
	}
}

func requireRoundTrip(t *testing.T, p *payload.Pack) {
	t.Helper()
	stored, err := payload.EncodePack([]byte("before"), p)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(stored, []byte("before")))
	stored = stored[len("before"):]

	got, err := payload.DecodePack(stored)
	require.NoError(t, err)
	require.True(t, bytes.Equal(p.Data, got.Data))
	require.True(t, bytes.Equal(p.Context, got.Context))
	require.True(t, bytes.Equal(p.Hashes, got.Hashes))
	require.Equal(t, len(p.Offsets), got.Len())
	for i := range p.Offsets {
		require.Equal(t, p.Offsets[i], got.Offsets[i])
		require.Equal(t, p.Lens[i], got.Lens[i])
	}
}

func TestEqualPacksGiveEqualBytes(t *testing.T) {
	p := csvChunk(10_000)
	first, err := payload.EncodePack(nil, p)
	require.NoError(t, err)
	_, err = payload.EncodePack(nil, packOf("other", "|", "things", "in between"))
	require.NoError(t, err)
	again, err := payload.EncodePack(make([]byte, 0, 1<<20), p)
	require.NoError(t, err)
	require.Equal(t, payload.Of(first), payload.Of(again))
}

func TestEncodePackRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*payload.Pack)
		message string
	}{
		"lens missing":    {func(p *payload.Pack) { p.Lens = p.Lens[1:] }, "3 offsets, 2 lengths"},
		"hash cut":        {func(p *payload.Pack) { p.Hashes = p.Hashes[1:] }, "95 bytes of hashes"},
		"overlap":         {func(p *payload.Pack) { p.Lens[0] = 3 }, "record 1 starts at 2"},
		"descending":      {func(p *payload.Pack) { p.Offsets[2] = 0 }, "record 2 starts at 0"},
		"beyond the data": {func(p *payload.Pack) { p.Lens[2] = 9 }, "records end at 13, the data at 6"},
		"length overflow": {func(p *payload.Pack) { p.Lens[2] = 1<<32 - 1 }, "the data at 6"},
		"too large":       {func(p *payload.Pack) { p.Data = make([]byte, payload.MaxPackData+1) }, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			p := packOf("", "\n", "a", "b", "c")
			p.Data, p.Offsets = p.Data[1:], []uint32{0, 2, 4}
			_, err := payload.EncodePack(nil, p)
			require.NoError(t, err)
			test.change(p)
			dst, err := payload.EncodePack([]byte("before"), p)
			require.ErrorContains(t, err, test.message)
			require.Equal(t, "before", string(dst))
		})
	}
}

func BenchmarkEncodePack(b *testing.B) {
	p := csvChunk(32_000)
	dst, err := payload.EncodePack(nil, p)
	require.NoError(b, err)
	b.ReportMetric(float64(len(dst))/float64(len(p.Data)), "stored/data")
	b.SetBytes(int64(len(p.Data)))
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = payload.EncodePack(dst[:0], p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePack(b *testing.B) {
	p := csvChunk(32_000)
	stored, err := payload.EncodePack(nil, p)
	require.NoError(b, err)
	b.SetBytes(int64(len(p.Data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := payload.DecodePack(stored); err != nil {
			b.Fatal(err)
		}
	}
}
