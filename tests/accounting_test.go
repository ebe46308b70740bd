package tests

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
	"waymark/tests/storages"
)

// accounted is one input and what must become of its records.
type accounted struct {
	name        string
	format      string // what stands behind the source's name in the document
	file        string
	content     string
	records     int64
	quarantined int64
	filtered    int64
}

const (
	csvSource   = "{csv: {path: %s}, schema: {fields: {id: int, text: string}}}"
	csvObserved = "{csv: {path: %s}}"
	jsonlSource = "{jsonl: {path: %s}, schema: {fields: {id: int, text: string}}}"
)

// The inputs of bad-inputs that a run takes, by their numbers: each record of the file is a row on record, and each row is
// in a sink, in quarantine, or dropped by the filter. Row 7 is the one that the filter drops.
var inputs = []accounted{
	{"001 byte order mark", csvSource, "a.csv", "\ufeffid,text\n1,a\n7,b\n", 2, 0, 1},
	{"005 invalid UTF-8", csvSource, "a.csv", "id,text\n1,a\n2,\xff\xfe\n3,c\n", 3, 1, 0},
	{"007 NUL in a cell", csvSource, "a.csv", "id,text\n1,a\x00b\n", 1, 0, 0},
	{"009 mixed line ends", csvSource, "a.csv", "id,text\r\n1,a\n2,b\r\n3,c\n", 3, 0, 0},
	{"010 CRLF inside quotes", csvSource, "a.csv", "id,text\r\n1,\"a\r\nb\"\r\n2,c\r\n", 2, 0, 0},
	{"012 unterminated quote in the middle", csvSource, "a.csv", "id,text\n1,a\n2,\"b\n3,c\n7,d\n5,e\n", 5, 1, 1},
	{"013 bare quote", csvSource, "a.csv", "id,text\n1,a\"b\n2,c\n", 2, 1, 0},
	{"017 header only", csvSource, "a.csv", "id,text\n", 0, 0, 0},
	{"020 blank lines", csvSource, "a.csv", "id,text\n\n1,a\n\n\n2,b\n\n", 2, 0, 0},
	{"021 one column with an empty value", csvObserved, "a.csv", "text\na\n\"\"\nb\n", 3, 0, 0},
	{"022 too few fields", csvSource, "a.csv", "id,text\n1\n2,b\n", 2, 1, 0},
	{"023 too many fields", csvSource, "a.csv", "id,text\n1,a,x\n2,b\n", 2, 1, 0},
	{"027 space before a quote", csvSource, "a.csv", "id,text\n1, \"x\"\n2,b\n", 2, 1, 0},
	{"031 no newline at the end", csvSource, "a.csv", "id,text\n1,a\n2,b", 2, 0, 0},
	{"032 cell over the limit", csvSource, "a.csv", "id,text\n1," + strings.Repeat("x", 2<<20) + "\n2,b\n", 2, 1, 0},
	{"033 line over the limit", csvSource, "a.csv", "id,text\n1," + strings.Repeat("x", 6<<20) + "\n2,b\n", 2, 1, 0},
	{"038 text after a closing quote", csvSource, "a.csv", "id,text\n1,\"a\"b\n2,c\n", 2, 1, 0},
	{"101 bool into int", csvSource, "a.csv", "id,text\ntrue,a\n2,b\n", 2, 1, 0},
	{"103 Arabic digits", csvSource, "a.csv", "id,text\n١٢٣,a\n2,b\n", 2, 1, 0},
	{"129 gzip of two members", csvSource, "a.csv.gz", zipped("id,text\n1,a\n") + zipped("2,b\n7,c\n"), 3, 0, 1},
	{"041 duplicate keys", jsonlSource, "a.jsonl", `{"id":1,"text":"a"}` + "\n" + `{"id":1,"id":2,"text":"a"}` + "\n", 2, 1, 0},
	{"042 NaN", jsonlSource, "a.jsonl", `{"id":NaN,"text":"a"}` + "\n" + `{"id":7,"text":"a"}` + "\n", 2, 1, 1},
	{"045 1e400", jsonlSource, "a.jsonl", `{"id":1e400,"text":"a"}` + "\n", 1, 1, 0},
	{"053 lone surrogate", jsonlSource, "a.jsonl", `{"id":1,"text":"\ud800"}` + "\n" + `{"id":2,"text":"b"}`, 2, 1, 0},
	{"060 too deep", jsonlSource, "a.jsonl", `{"id":1,"text":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}\n", 1, 1, 0},
	{"062 trailing garbage", jsonlSource, "a.jsonl", `{"id":1,"text":"a"} x` + "\n" + `{"id":2,"text":"b"}` + "\n", 2, 1, 0},
	{"063 two objects on a line", jsonlSource, "a.jsonl", `{"id":1,"text":"a"}{"id":2,"text":"b"}` + "\n", 1, 1, 0},
	{"064 blank lines", jsonlSource, "a.jsonl", "\n" + `{"id":1,"text":"a"}` + "\n\n", 1, 0, 0},
	{"065 truncated last line", jsonlSource, "a.jsonl", `{"id":1,"text":"a"}` + "\n" + `{"id":2,"te`, 2, 1, 0},
	{"066 scalar instead of an object", jsonlSource, "a.jsonl", "1\n\"a\"\nnull\n[]\n" + `{"id":1,"text":"a"}` + "\n", 5, 4, 0},
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

var everywhere = flag.Bool("everywhere", false, "all inputs on all storages, and all disks")

func TestEveryRecordIsAccountedFor(t *testing.T) {
	for nr, storage := range storages.Durable {
		t.Run(storage, func(t *testing.T) {
			step := sample.Step(2)
			if nr > 0 {
				step = sample.Step(15)
			}
			if *everywhere {
				step = 1
			}
			accountFor(t, inprocess.NewOn(t, storages.Use(t, storage)), step)
		})
	}
}

// accountFor runs inputs: one, and each so many further.
func accountFor(t *testing.T, r *inprocess.Record, step int) {
	t.Helper()
	for i := 0; i < len(inputs); i += step {
		in := inputs[i]
		t.Run(in.name, func(t *testing.T) {
			run := fmt.Sprintf("run-%d", i)
			document := "name: accounted\nchunk: {rows: 2}\nsources: {in: " + fmt.Sprintf(in.format, in.file) + "}\n" +
				"steps: [{name: keep, filter: \"!has(row.id) || row.id != 7\"}]\n" +
				"sinks: {out: {jsonl: {path: out.jsonl}}}\n"
			require.NoError(t, r.Run(t, run, document, map[string]string{in.file: in.content}, nil))
			sum, err := r.Log.Summary(t.Context(), run)
			require.NoError(t, err)
			require.Equal(t, in.records, sum.Rows, "rows on record")
			require.Equal(t, in.quarantined, sum.Quarantined)
			require.Equal(t, in.filtered, sum.Filtered)
			require.Equal(t, in.records-in.quarantined-in.filtered, sum.Sinks[0].Finalized)
			out, err := os.ReadFile(filepath.Join(r.Folder, run, "out.jsonl"))
			require.NoError(t, err)
			require.EqualValues(t, sum.Sinks[0].Finalized, bytes.Count(out, []byte("\n")))
			report, err := audit.New(r.Log.Reader, r.Payloads, r.Planner).Verify(t.Context(), run)
			require.NoError(t, err)
			require.Empty(t, report.Problems)
		})
	}
}

// The inputs that stop a run, by their numbers, with the word that names the fault.
var faults = []struct{ name, format, file, content, code string }{
	{"002 undeclared UTF-16", csvSource, "a.csv", "\xff\xfei\x00d\x00\n\x00", "ENCODING"},
	{"006 invalid UTF-8 in the header", csvSource, "a.csv", "id,te\xffxt\n1,a\n", "ENCODING"},
	{"008 lone CR line ends", csvSource, "a.csv", "id,text\r1,a\r2,b\r", "LINE_ENDING"},
	{"014 duplicate header", csvSource, "a.csv", "id,id\n1,2\n", "HEADER_COLLISION"},
	{"015 headers that collide", csvSource, "a.csv", "Amount $,amount_\n1,2\n", "HEADER_COLLISION"},
	{"018 empty file", csvSource, "a.csv", "", "EMPTY_SOURCE"},
	{"029 another delimiter", csvSource, "a.csv", "id;text\n1;a\n", "HEADER_MISMATCH"},
	{"034 too many columns", csvObserved, "a.csv", "c" + strings.Join(numbers(5000), ",c") + "\n", "TOO_MANY_COLUMNS"},
	{"126 truncated gzip", csvSource, "a.csv.gz", zipped("id,text\n1,a\n2,b\n")[:30], "TRUNCATED"},
}

func numbers(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

func TestSourcesThatCannotBeReadStopTheRunByName(t *testing.T) {
	r := inprocess.New(t)
	for i, in := range faults {
		t.Run(in.name, func(t *testing.T) {
			run := fmt.Sprintf("run-%d", i)
			document := "name: fault\nsources: {in: " + fmt.Sprintf(in.format, in.file) + "}\nsinks: {out: {jsonl: {path: out.jsonl}}}\n"
			require.ErrorContains(t, r.Run(t, run, document, map[string]string{in.file: in.content}, nil), in.code)
			require.NoFileExists(t, filepath.Join(r.Folder, run, "out.jsonl"))
		})
	}
}
