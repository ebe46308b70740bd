package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/engine"
)

// BenchmarkRun sends chunks of 10 columns through set, a gate and two JSON Lines sinks: the rows' own cost, without
// reading, storing or recording.
func BenchmarkRun(b *testing.B) { benchmarkRun(b, "") }

// BenchmarkRunTotals is the same with a total of each kind of number.
func BenchmarkRunTotals(b *testing.B) {
	benchmarkRun(b, "totals: {price: row.price, quantity: row.quantity}")
}

func benchmarkRun(b *testing.B, totals string) {
	const rows = 20_000
	var input strings.Builder
	input.WriteString("id,customer,city,kind,amount,quantity,price,ordered,paid,note\n")
	for i := range rows {
		fmt.Fprintf(&input, "%d,customer-%06d,Springfield,%s,%d,%d,%d.25,2024-%02d-%02d,%t,some words about order %d\n",
			i, i*7919%rows, []string{"web", "shop", "phone"}[i%3], i*31%5000, i%9, i%300, i%12+1, i%28+1, i%2 == 0, i)
	}
	folder := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(input.String()), 0o600))
	p := compile(b, folder, `
name: bench
sources:
  in:
    csv: {path: in.csv}
    schema:
      fields: {id: int, customer: string, city: string, kind: string, amount: int, quantity: int, price: decimal, ordered: date, paid: bool, note: string}
steps:
  - {name: band, set: {band: "row.amount > 2500 ? 'major' : 'minor'"}}
  - {name: triage, gate: "row.band == 'major'", routes: {"true": major, "false": continue}}
sinks:
  major: {jsonl: {path: out/major.jsonl}}
  all: {jsonl: {path: out/all.jsonl}, from: triage}
`+totals)
	chunk := read(b, p)
	runner, err := engine.NewRunner(p)
	require.NoError(b, err)
	b.SetBytes(int64(len(chunk.Data)))
	b.ReportAllocs()
	for b.Loop() {
		result, err := runner.Run(begin(p, chunk))
		require.NoError(b, err)
		require.Empty(b, result.Rejected)
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
