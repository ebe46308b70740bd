package pipeline_test

import "testing"

func TestProblemsOfParquet(t *testing.T) {
	source := func(options string) string {
		return "name: x\nsources: {in: {parquet: {" + options + "}}}\nsinks: {out: {csv: {path: out.csv}}}\n"
	}
	sink := func(options string) string {
		return "name: x\nsources: {in: {csv: {path: in.csv}}}\nsinks: {out: {parquet: {" + options + "}}}\n"
	}
	runProblemCases(t, []problemCase{
		{"standard input", source("path: '-'"), `x.yaml:2:32: sources.in.parquet.path: a Parquet file has its index at the end, and standard input has no end to begin with: give the path of a file`},
		{"options of another path", source("path: a.parquet, s3: {region: x}"), `x.yaml:2:43: sources.in.parquet.s3: belongs to a path that begins with s3://`},
		{"a folder on standard output", sink("path: '-'"), `x.yaml:3:31: sinks.out.parquet.path: a Parquet sink writes a folder of files, which standard output cannot be: give the path of a folder`},
		{"a codec that is not written", sink("path: out, compression: gzip"), `x.yaml:3:49: sinks.out.parquet.compression: "gzip" is not one of zstd, snappy, none`},
		{"digits that no decimal has", sink("path: out, decimals: {total: 39}"), `x.yaml:3:54: sinks.out.parquet.decimals.total: must be at least 0 and at most 38, not 39`},
		{"options of another target", sink("path: out, s3: {region: x}"), `x.yaml:3:36: sinks.out.parquet.s3: belongs to a path that begins with s3://`},
		{"what a source reads", "name: x\nsources: {in: {parquet: {path: out}}}\nsinks: {out: {parquet: {path: out}}}\n", `x.yaml:3:31: sinks.out.parquet.path: the sink would write to what source "in" reads`},
	})
}
