package connectors_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/tests/sample"
	"waymark/tests/services/buckets"
	"waymark/tests/system"
)

// convert makes a folder of Parquet files of the example's data, with types, but without its rules: what the example
// refuses is in them.
const convert = `
name: convert
chunk: {rows: 250}
sources:
  reports:
    csv: {path: data/birdstrikes.csv}
    schema:
      fields:
        airport_name: string
        aircraft_make_model: string
        effect_amount_of_damage: string
        flight_date: date
        aircraft_airline_operator: string
        origin_state: string
        phase_of_flight: string
        wildlife_size: string
        wildlife_species: string
        time_of_day: string
        cost_other: int
        cost_repair: int
        cost_total: int
        speed_ias_in_knots: int?
sinks:
  columns: {parquet: {path: data/reports}}
`

// TestTheExampleReadsParquetAsItReadsCSV runs the example on its own file, and on Parquet files that were made of it: what
// comes out is the same, byte for byte, and so is the account.
func TestTheExampleReadsParquetAsItReadsCSV(t *testing.T) {
	s := system.Start(t, nil)
	data, rows := strikes(t, 12)
	document, err := os.ReadFile(filepath.Join(example, "pipeline.yaml"))
	require.NoError(t, err)
	s.Write(t, map[string]string{"data/birdstrikes.csv": data})

	ofText, err := s.Run(t, "text", string(document))
	require.NoError(t, err)
	review, lines := s.Read(t, "out/review.csv"), s.Read(t, "out/strikes.jsonl")

	converted, err := s.Run(t, "convert", convert)
	require.NoError(t, err)
	require.Equal(t, rows, converted.Rows)
	s.Verify(t, "convert")

	columnar := strings.Replace(string(document), "csv: {path: data/birdstrikes.csv} ", "parquet: {path: data/reports/*.parquet} ", 1)
	require.NotEqual(t, string(document), columnar)
	ofColumns, err := s.Run(t, "columns", columnar)
	require.NoError(t, err)
	require.Equal(t, ofText.Status, ofColumns.Status)
	require.Equal(t, ofText.Rows, ofColumns.Rows)
	require.Equal(t, ofText.Refused, ofColumns.Refused)
	require.Equal(t, review, s.Read(t, "out/review.csv"))
	require.Equal(t, lines, s.Read(t, "out/strikes.jsonl"))
	s.Verify(t, "columns")

	const ofLines = "jsonl: {path: out/strikes.jsonl, overwrite: true}"
	require.Contains(t, columnar, ofLines)
	for _, run := range []string{"one", "two"} {
		_, err := s.Run(t, run, strings.Replace(columnar, ofLines, "parquet: {path: out/"+run+"}", 1))
		require.NoError(t, err)
		s.Verify(t, run)
	}
	require.Equal(t, digests(t, s, "out/one"), digests(t, s, "out/two"), "the same rows give the same files")
	explainsLines(t, s, "one", strings.Split(strings.TrimSpace(lines), "\n"))
}

// TestABucketHoldsTheSame writes the Parquet files of the example's data into a bucket, and runs the example on them.
func TestABucketHoldsTheSame(t *testing.T) {
	sample.Rarely(t)
	bucket := buckets.New(t)
	bucket.Setenv(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", bucket.Endpoint)
	s := system.Start(t, nil)
	data, rows := strikes(t, 12)
	document, err := os.ReadFile(filepath.Join(example, "pipeline.yaml"))
	require.NoError(t, err)
	s.Write(t, map[string]string{"data/birdstrikes.csv": data})
	_, err = s.Run(t, "text", string(document))
	require.NoError(t, err)
	lines := s.Read(t, "out/strikes.jsonl")

	in := "s3://" + bucket.Name + "/reports"
	_, err = s.Run(t, "convert", strings.Replace(convert, "path: data/reports", `path: "`+in+`", s3: {path_style: true}`, 1))
	require.NoError(t, err)
	s.Verify(t, "convert")
	columnar := strings.Replace(string(document), "csv: {path: data/birdstrikes.csv} ", `parquet: {path: "`+in+`/*/*.parquet", s3: {path_style: true}} `, 1)
	result, err := s.Run(t, "columns", columnar)
	require.NoError(t, err)
	require.Equal(t, rows, result.Rows)
	require.Equal(t, lines, s.Read(t, "out/strikes.jsonl"))
	s.Verify(t, "columns")
}

// explainsLines finds rows of the Parquet output by their number over all of its files.
func explainsLines(t *testing.T, s *system.System, run string, lines []string) {
	auditor := audit.New(s.Log.Reader, s.Payloads, s.Planner)
	for _, line := range []int{1, 2, len(lines) / 2, len(lines)} {
		story, err := auditor.Explain(context.Background(), audit.Question{Run: run, Sink: "strikes", Line: int64(line)})
		require.NoError(t, err)
		require.Equal(t, lines[line-1], story.Written, "line %d", line)
	}
}

func digests(t *testing.T, s *system.System, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.Folder, folder, "*.parquet"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	sums := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		sums[filepath.Base(path)] = hex.EncodeToString(sum[:])
	}
	return sums
}
