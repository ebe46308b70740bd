package payload_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/payload/payloadtest"
	"waymark/tests/sample"
)

// stored returns a store of one pack, and its stored form.
func stored(t testing.TB, p *payload.Pack) (*payload.Store, *payloadtest.Metered, payload.Digest, []byte) {
	t.Helper()
	b, err := payload.EncodePack(nil, p)
	require.NoError(t, err)
	m := &payloadtest.Metered{Backend: &memstore.Store{}}
	s := payload.New(m, payload.Options{})
	d, err := s.Put(t.Context(), b)
	require.NoError(t, err)
	return s, m, d, b
}

func TestGetRecordReturnsEachRecord(t *testing.T) {
	random := string(csvChunk(3000).Data)
	big := random[:200_000]
	for name, p := range map[string]*payload.Pack{
		"small":                    packOf("header", "\n", "a", "", "c"),
		"over many frames":         packOf("header", "\n", big, big[1:], random, "", random, big, random, random, random, random, "end"),
		"no bytes between":         packOf("", "", random, big, ""),
		"context beyond the tail":  packOf(big, "\n", random, "b", big),
		"frames of blanks, padded": packOf("", "\n", strings.Repeat(" ", 4<<20), random, strings.Repeat(" ", 4<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			s, _, d, _ := stored(t, p)
			for i := range p.Len() {
				record, err := s.GetRecord(t.Context(), d, i)
				require.NoError(t, err)
				require.True(t, bytes.Equal(p.Data[p.Offsets[i]:p.Offsets[i]+p.Lens[i]], record.Data), "record %d", i)
				require.True(t, bytes.Equal(p.Context, record.Context))
				require.Equal(t, p.Len(), record.Records)
			}
			for _, i := range []int{-1, p.Len()} {
				_, err := s.GetRecord(t.Context(), d, i)
				require.ErrorIs(t, err, payload.ErrCorrupt)
				require.ErrorContains(t, err, "there is no record")
			}
		})
	}
}

// TestGetRecordReadsLittle: one record of a chunk of 8 MB takes its frame, the list of records and the end.
func TestGetRecordReadsLittle(t *testing.T) {
	p := csvChunk(80_000)
	s, m, d, b := stored(t, p)
	frame := len(b) / (len(p.Data) >> 20)
	for _, i := range []int{0, 40_000, 79_999} {
		m.Bytes = 0
		_, err := s.GetRecord(t.Context(), d, i)
		require.NoError(t, err)
		require.Less(t, m.Bytes, 2*frame+4*p.Len()+64<<10, "of %d", len(b))
		require.Less(t, 5*m.Bytes, len(b))
	}
}

// TestGetRecordFindsDamage flips bits all over a pack: the record is right, or it is refused.
func TestGetRecordFindsDamage(t *testing.T) {
	random := string(csvChunk(3000).Data)
	p := packOf("header", "\n", random, random[:500_000/8], strings.Repeat("0123456789", 150_000), random, "end")
	_, _, d, b := stored(t, p)
	require.Greater(t, len(b), 64<<10)
	at := []int{}
	for i := 0; i < len(b); i += 1499 {
		at = append(at, i)
	}
	for i := len(b) - 300; i < len(b); i++ {
		at = append(at, i)
	}
	found := 0
	at = sample.Of(4, at)
	for _, i := range at {
		backend := &memstore.Store{}
		flipped := bytes.Clone(b)
		flipped[i] ^= 1 << (i % 8)
		backend.Plant(string(d), flipped)
		for k := range p.Len() {
			record, err := payload.New(backend, payload.Options{}).GetRecord(t.Context(), d, k)
			if err != nil {
				found++
				require.ErrorIs(t, err, payload.ErrCorrupt, "byte %d", i)
				require.ErrorContains(t, err, string(d))
				continue
			}
			require.True(t, bytes.Equal(p.Data[p.Offsets[k]:p.Offsets[k]+p.Lens[k]], record.Data), "byte %d, record %d", i, k)
		}
	}
	require.Greater(t, found, len(at))
}

func TestGetRecordOfWhatIsNoPack(t *testing.T) {
	b := &memstore.Store{}
	s := payload.New(b, payload.Options{MaxBytes: 1 << 20})
	for _, size := range []int{0, 1, 100, 70_000} {
		d, err := s.Put(t.Context(), make([]byte, size))
		require.NoError(t, err)
		_, err = s.GetRecord(t.Context(), d, 0)
		require.ErrorIs(t, err, payload.ErrCorrupt, size)
	}
	missing := payload.Of([]byte("missing"))
	_, err := s.GetRecord(t.Context(), missing, 0)
	require.ErrorIs(t, err, payload.ErrNotFound)
	b.Plant(string(missing), make([]byte, 1<<20+1))
	_, err = s.GetRecord(t.Context(), missing, 0)
	require.ErrorIs(t, err, payload.ErrTooLarge)
	_, err = s.GetRecord(t.Context(), "../../etc/passwd", 0)
	require.ErrorIs(t, err, payload.ErrBadKey)
}
