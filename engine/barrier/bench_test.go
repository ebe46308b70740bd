package barrier

import (
	"fmt"
	"testing"
	"time"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
)

// BenchmarkAggregate is a million rows: 32 chunks of 32,768, intake and machine, count, sum and mean of each group.
func BenchmarkAggregate(b *testing.B) {
	for _, groups := range []int{1, 50, 10_000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			node := aggregateNode(b, plan.Batch{GroupBy: []string{"k"}}, "n", "count()", "sum", "sum(row.v)", "mean", "mean(row.f)")
			rows := benchRows(groups)
			b.ReportAllocs()
			for b.Loop() {
				million(b, node, rows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(benchChunks*len(rows)), "ns/row")
		})
	}
}

const benchChunks, benchChunkRows = 32, 32_768

func benchRows(groups int) []row.Row {
	shape := row.NewShape([]string{"k", "v", "f"})
	rows := make([]row.Row, benchChunkRows)
	for i := range rows {
		rows[i] = row.Row{Shape: shape, Values: []row.Value{
			row.StringValue(fmt.Sprintf("group %d", i*7919%groups)), row.IntValue(int64(i)), row.FloatValue(float64(i) / 7),
		}}
	}
	return rows
}

func million(b *testing.B, node plan.Node, rows []row.Row) {
	bench := newBench(b, node)
	for chunk := range benchChunks {
		in := &Arrivals{List: make([]Arrival, len(rows))}
		for i, r := range rows {
			kept, _, rejected := bench.intake.Take(r)
			if rejected != nil {
				b.Fatal(rejected)
			}
			in.List[i] = Arrival{Token: Token{Row: int64(i) + 1}, Row: kept}
		}
		if _, err := bench.machine.Accept(time.UnixMicro(int64(chunk)), in); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := bench.machine.End(time.UnixMicro(benchChunks)); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAcceptAggregate is the machine alone.
func BenchmarkAcceptAggregate(b *testing.B) {
	for _, groups := range []int{50, 10_000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			bench := newBench(b, aggregateNode(b, plan.Batch{GroupBy: []string{"k"}}, "n", "count()", "sum", "sum(row.v)", "mean", "mean(row.f)"))
			in := &Arrivals{}
			for i, r := range benchRows(groups) {
				kept, _, _ := bench.intake.Take(r)
				in.List = append(in.List, Arrival{Token: Token{Row: int64(i) + 1}, Row: kept})
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bench.machine.Accept(time.UnixMicro(0), in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunkRows, "ns/row")
		})
	}
}

// BenchmarkTurnAway is rows for whose groups there is no room.
func BenchmarkTurnAway(b *testing.B) {
	bench := newBench(b, aggregateNode(b, plan.Batch{GroupBy: []string{"k"}}, "n", "count()", "sum", "sum(row.v)"))
	bench.machine.maxGroups = 0
	in := &Arrivals{}
	for i, r := range benchRows(benchChunkRows) {
		kept, _, _ := bench.intake.Take(r)
		in.List = append(in.List, Arrival{Token: Token{Row: int64(i) + 1}, Row: kept})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bench.machine.Accept(time.UnixMicro(0), in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunkRows, "ns/row")
}

// BenchmarkKeepLast is as many keys as rows: beyond the memory budget every row fires a batch.
func BenchmarkKeepLast(b *testing.B) {
	node, rows := lastNode("k"), benchRows(benchChunkRows)
	for b.Loop() {
		bench := newBench(b, node)
		for chunk := range benchChunks {
			in := &Arrivals{List: make([]Arrival, len(rows))}
			for i, r := range rows {
				r.Values[0] = row.IntValue(int64(chunk*len(rows) + i))
				kept, _, _ := bench.intake.Take(r)
				in.List[i] = Arrival{Token: Token{Row: int64(i) + 1}, Row: kept}
			}
			if _, err := bench.machine.Accept(time.UnixMicro(int64(chunk)), in); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(benchChunks*len(rows)), "ns/row")
}

// BenchmarkMeeting is branches that come in two folds, a chunk of each.
func BenchmarkMeeting(b *testing.B) {
	node, rows := coalesceNode(plan.Coalescing{Policy: pipeline.Policy{Word: pipeline.BestEffort}, Timeout: time.Hour}), benchRows(50)
	bench := newBench(b, node)
	var key int64
	for b.Loop() {
		for branch := range 3 {
			in := &Arrivals{List: make([]Arrival, len(rows))}
			for i, r := range rows {
				kept, _, _ := bench.intake.Take(r)
				in.List[i] = Arrival{Branch: branch, Keys: []Token{{Row: key + int64(i)}}, Row: kept}
			}
			if _, err := bench.machine.Accept(time.UnixMicro(0), in); err != nil {
				b.Fatal(err)
			}
		}
		key += int64(len(rows))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(3*len(rows)), "ns/arrival")
}

// BenchmarkCoalescer is branches that meet in one pass.
func BenchmarkCoalescer(b *testing.B) {
	coalescer, rows := NewCoalescer(&plan.Coalescing{Branches: branchNames(3)}), []row.Row{branchRow(0, true), branchRow(1, true), branchRow(2, true)}
	b.ReportAllocs()
	for b.Loop() {
		coalescer.Reset()
		for branch, r := range rows {
			coalescer.Arrive(branch, r)
		}
		coalescer.Decision()
	}
}

// BenchmarkState is the state of 10,000 groups.
func BenchmarkState(b *testing.B) {
	bench := newBench(b, aggregateNode(b, plan.Batch{GroupBy: []string{"k"}}, "n", "count()", "sum", "sum(row.v)", "mean", "mean(row.f)"))
	in := &Arrivals{}
	for i, r := range benchRows(10_000) {
		kept, _, _ := bench.intake.Take(r)
		in.List = append(in.List, Arrival{Token: Token{Row: int64(i) + 1}, Row: kept})
	}
	if _, err := bench.machine.Accept(time.UnixMicro(0), in); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		state := bench.machine.AppendState(nil)
		if err := New(bench.plan, testBarrier).Restore(state); err != nil {
			b.Fatal(err)
		}
	}
}
