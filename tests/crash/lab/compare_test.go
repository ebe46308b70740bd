package lab

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDifferencesFromUndisturbedRun(t *testing.T) {
	whole := "id\n1\n2\n2\n3\n"
	for name, c := range map[string]struct {
		got  map[string][]byte
		want []Finding
	}{
		"nothing":      {map[string][]byte{"out": []byte(whole)}, nil},
		"gone":         {map[string][]byte{}, []Finding{{Lost, 5, "out is not there"}}},
		"one row less": {map[string][]byte{"out": []byte("id\n1\n2\n3\n")}, []Finding{{Lost, 1, `out lacks "2\n"`}}},
		"one row twice": {
			map[string][]byte{"out": []byte("id\n1\n2\n2\n3\n3\n")}, []Finding{{Duplicated, 1, `out has "3\n" too often`}},
		},
		"another order": {map[string][]byte{"out": []byte("id\n2\n1\n2\n3\n")}, []Finding{{Differing, 1, "out has its lines in another order"}}},
		"cut off": {
			map[string][]byte{"out": []byte("id\n1\n2\n2")},
			[]Finding{{Torn, 1, "out ends within a line"}, {Lost, 2, `out lacks "2\n"`}, {Duplicated, 1, `out has "2" too often`}},
		},
		"one file more": {
			map[string][]byte{"out": []byte(whole), "out2": []byte("id\n1\n")}, []Finding{{Duplicated, 2, "out2 should not be there"}},
		},
	} {
		oracle := &snapshot{files: map[string][]byte{"out": []byte(whole)}}
		require.Equal(t, c.want, oracle.differences(&snapshot{files: c.got}), name)
	}
}

func TestDifferencesCompareEveryTable(t *testing.T) {
	oracle := &snapshot{tables: map[string][]string{"chunks": {"a", "b"}, "errors": {"x", "y"}, "ways": {"w"}}}
	require.Empty(t, oracle.differences(oracle))
	got := &snapshot{tables: map[string][]string{"chunks": {"a", "c"}, "errors": {"y"}, "ways": {"w"}}}
	require.Equal(t, []Finding{
		{Differing, 1, "table chunks lacks b"}, {Differing, 1, "table chunks has c"}, {Lost, 1, "table errors lacks x"},
	}, oracle.differences(got))
}

// TestTimedBatchesCompareReadsOnly leaves the rest to the sweep and to verify.
func TestTimedBatchesCompareReadsOnly(t *testing.T) {
	oracle := &snapshot{ends: []string{"40 rows"}, tables: map[string][]string{"batches": {"one of 40"}}}
	require.Empty(t, oracle.missing(&snapshot{ends: []string{"40 rows"}, tables: map[string][]string{"batches": {"two of 20"}}}))
	require.NotEmpty(t, oracle.missing(&snapshot{ends: []string{"39 rows"}}))
}

func TestTheMatrixAddsUpWhatCrashesDid(t *testing.T) {
	r := newReport(Options{Seed: 7, Fault: Kill})
	r.Moments = []Moment{{"payload.renamed", 1}, {"payload.renamed", 2}, {"sink.moved", 1}}
	r.add(Trial{First: Moment{"payload.renamed", 1}, Died: true, Resumed: true, Seconds: 1})
	r.add(Trial{First: Moment{"payload.renamed", 2}, Seconds: 0.5})
	second := Moment{"sink.moved", 1}
	r.add(Trial{
		First: Moment{"payload.renamed", 1}, Second: &second, Died: true, Resumed: true, Seconds: 2,
		Findings: []Finding{{Lost, 3, "out lacks 1"}, {Torn, 1, "out ends within a line"}}, Folder: "/kept", Repeat: "again",
	})
	require.Equal(t, 1, r.Failed())
	require.Equal(t, Tally{Singles: 2, Pairs: 1, Failed: 1}, r.tally())
	var out bytes.Buffer
	require.NoError(t, r.WriteMatrix(&out))
	require.Equal(t, `place    crash            tried  came there  resumed  lost  duplicated  torn  differing  stuck  seconds
payload  in a run         2      1           1        0     0           0     0          0      1.5
all      in a run         2      1           1        0     0           0     0          0      1.5
sink     in its recovery  1      1           1        3     0           1     0          0      2.0
all      in its recovery  1      1           1        3     0           1     0          0      2.0

3 moments with 2 names in a run; fault: kill; 0 s; seed 7
compared with an undisturbed run: outputs byte for byte, and every record of the landscape
not reached: payload.renamed@2

failed: payload.renamed@1, then sink.moved@1
  lost: 3: out lacks 1
  torn: 1: out ends within a line
  what is left:  /kept
  again:  again
1 of 3 trials failed
`, out.String())
}
