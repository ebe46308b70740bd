package row

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScanKeyedSaysWhatScanObjectSays has texts with the keys that are expected, and others: whatever is known is what ScanObject
// reads, and nothing that it refuses is known.
func TestScanKeyedSaysWhatScanObjectSays(t *testing.T) {
	labels := []string{`"a":`, `"b\n":`, `"c":`}
	for text, want := range map[string]bool{
		`{"a":1,"b\n":"x","c":{"d":[1,2]}}`:            true,
		`{"a":"ü\u00e4","b\n":null,"c":-1.5e3}`:        true,
		`{"a":12345678901234567890,"b\n":true,"c":[]}`: true,
		`{"a":1,"b\u000a":"x","c":2}`:                  false, // the same key, written in another way
		`{"a":1,"b\n":"x","c":2} `:                     false,
		` {"a":1,"b\n":"x","c":2}`:                     false,
		`{"a": 1,"b\n":"x","c":2}`:                     false,
		`{"a":1 ,"b\n":"x","c":2}`:                     false,
		`{"a":1,"b\n":"x"}`:                            false,
		`{"a":1,"b\n":"x","c":2,"d":3}`:                false,
		`{"a":1,"b\n":"x","c":2,"a":3}`:                false,
		`{"b\n":"x","a":1,"c":2}`:                      false,
		`{"a":}`:                                       false, `{"a":1,"b\n":}`: false, `{"a":1,"b\n":"x","c":}`: false, `{"a":01,"b\n":"x","c":2}`: false,
		`{"a":1,"b\n":"\xff","c":2}`: false, `{"a":1,"b\n":"x","c":{"d":1,"d":2}}`: false, `{`: false, ``: false, `{}`: false, `[1]`: false,
		`{"a":1,"b\n":"x","c":2}}`: false, `{"a":1;"b\n":"x","c":2}`: false,
	} {
		var keyed, scanned []RawValue
		known, err := ScanKeyed(text, labels, func(label int, raw RawValue) error {
			require.Equal(t, len(keyed), label)
			keyed = append(keyed, raw)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, want, known, text)
		err = ScanObject(text, func(_ string, raw RawValue) error {
			scanned = append(scanned, raw)
			return nil
		})
		if known {
			require.NoError(t, err, text)
			require.Equal(t, scanned, keyed, text)
		}
	}
	known, err := ScanKeyed(`{}`, nil, nil)
	require.NoError(t, err)
	require.True(t, known)
	stop := errors.New("stop")
	known, err = ScanKeyed(`{"a":1,"b\n":"x","c":2}`, labels, func(int, RawValue) error { return stop })
	require.ErrorIs(t, err, stop)
	require.True(t, known)
}
