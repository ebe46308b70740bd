package parquet

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/tests/services"
)

var (
	duckSeed  = flag.Uint64("seed", 1, "the first seed of TestDuckDB")
	duckFiles = flag.Int("files", 100, "how many files TestDuckDB has")
)

// duck is a process with DuckDB, which reads files in its own way.
type duck struct {
	t       testing.TB
	modules string // where DuckDB is
	in      io.WriteCloser
	out     *bufio.Reader
	stop    func()
	falls   int // how often it crashed
}

// newDuck starts DuckDB. The test is skipped where there is none, and fails where CI is set.
func newDuck(t testing.TB) *duck {
	t.Helper()
	d := &duck{t: t, modules: services.NodeModules(t, "@duckdb/node-api")}
	d.start()
	t.Cleanup(func() { d.stop() })
	return d
}

func (d *duck) start() {
	script, err := filepath.Abs("testdata/duckdb.cjs")
	require.NoError(d.t, err)
	process := exec.Command("node", script)
	process.Env = append(os.Environ(), "NODE_PATH="+d.modules)
	process.Stderr = os.Stderr
	d.in, err = process.StdinPipe()
	require.NoError(d.t, err)
	out, err := process.StdoutPipe()
	require.NoError(d.t, err)
	require.NoError(d.t, process.Start())
	d.out = bufio.NewReaderSize(out, 1<<20)
	d.stop = func() {
		_ = d.in.Close()
		_ = process.Wait()
	}
}

// errDuck is what DuckDB says when it rejects a file.
type errDuck struct{ words string }

func (e *errDuck) Error() string { return e.words }

// crashed is what DuckDB says, as it were, when it crashes.
const crashed = "it crashed"

// ask sends a request and fills answer. A crash of DuckDB is an errDuck, too.
func (d *duck) ask(request map[string]string, answer any) error {
	text, err := json.Marshal(request)
	require.NoError(d.t, err)
	_, _ = d.in.Write(append(text, '\n'))
	line, err := d.out.ReadBytes('\n')
	if err != nil {
		d.stop()
		d.falls++
		require.Less(d.t, d.falls, 200, "DuckDB crashes all the time")
		d.start()
		return &errDuck{crashed}
	}
	var failure struct{ Error string }
	require.NoError(d.t, json.Unmarshal(line, &failure), "%.1000s", line)
	if failure.Error != "" {
		return &errDuck{failure.Error}
	}
	return json.Unmarshal(line, answer)
}

// run executes SQL, which must work.
func (d *duck) run(sql string) {
	d.t.Helper()
	require.NoError(d.t, d.ask(map[string]string{"run": sql}, new(struct{})), sql)
}

// read returns the rows of a file as DuckDB reads them, each as the record that it must be.
func (d *duck) read(path string) ([]string, error) {
	var answer struct{ Rows [][]duckField }
	if err := d.ask(map[string]string{"read": path}, &answer); err != nil {
		return nil, err
	}
	records := make([]string, len(answer.Rows))
	for i, fields := range answer.Rows {
		records[i] = string(appendDuckObject(nil, fields))
	}
	return records, nil
}

// duckField is a name with a value.
type duckField struct {
	name  string
	value *duckValue // nil: null
}

func (f *duckField) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&f.name, &f.value})
}

// duckPair is a key of a map with a value.
type duckPair struct{ key, value *duckValue }

func (p *duckPair) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.key, &p.value})
}

// duckValue is a value that DuckDB read: the one field that is set says what it is.
type duckValue struct {
	Bool     *bool
	Number   *string
	Float    *string // hexadecimal bits
	Text     *string
	JSON     *string
	Bytes    *string // hexadecimal
	Day      *int64  // from 1970-01-01
	Nanos    *string // from 1970-01-01
	Clock    *string // nanoseconds from midnight
	Interval []int64
	List     *[]*duckValue
	Object   *[]duckField
	Map      *[]duckPair
}

func appendDuckObject(dst []byte, fields []duckField) []byte {
	dst = append(dst, '{')
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.value.append(append(appendString(dst, f.name), ':'))
	}
	return append(dst, '}')
}

// append appends the value as docs/parquet.md says that records have it.
func (v *duckValue) append(dst []byte) []byte {
	switch {
	case v == nil:
		return append(dst, "null"...)
	case v.Bool != nil:
		return strconv.AppendBool(dst, *v.Bool)
	case v.Number != nil:
		return append(dst, *v.Number...)
	case v.Float != nil:
		return appendDuckFloat(dst, *v.Float)
	case v.Text != nil:
		return appendString(dst, *v.Text)
	case v.JSON != nil:
		value, err := row.ParseJSON(*v.JSON)
		if err != nil {
			return appendOdd(dst, "json", *v.JSON)
		}
		return append(dst, value.Text()...)
	case v.Bytes != nil:
		return append(append(append(dst, `"\\x`...), *v.Bytes...), '"')
	case v.Day != nil:
		return appendDuckTime(dst, "date", *v.Day, time.Unix(*v.Day*secondsPerDay, 0), time.DateOnly)
	case v.Nanos != nil:
		return appendDuckNanos(dst, *v.Nanos)
	case v.Clock != nil:
		nanos, _ := strconv.ParseInt(*v.Clock, 10, 64)
		return time.Unix(0, nanos).UTC().AppendFormat(dst, `"15:04:05.999999999"`)
	case v.Interval != nil:
		return fmt.Appendf(dst, `{"months":%d,"days":%d,"millis":%d}`, uint32(v.Interval[0]), uint32(v.Interval[1]), v.Interval[2]) // the format's are unsigned
	case v.List != nil:
		return appendDuckList(dst, *v.List)
	case v.Object != nil:
		return appendDuckObject(dst, *v.Object)
	}
	return appendDuckMap(dst, *v.Map)
}

func appendDuckList(dst []byte, items []*duckValue) []byte {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item.append(dst)
	}
	return append(dst, ']')
}

func appendDuckMap(dst []byte, pairs []duckPair) []byte {
	dst = append(dst, '{')
	for i, p := range pairs {
		if i > 0 {
			dst = append(dst, ',')
		}
		key := string(p.key.append(nil))
		if !strings.HasPrefix(key, `"`) {
			key = string(appendString(nil, key))
		}
		dst = p.value.append(append(append(dst, key...), ':'))
	}
	return append(dst, '}')
}

func appendDuckFloat(dst []byte, bits string) []byte {
	n, _ := strconv.ParseUint(bits, 16, 64)
	if f := math.Float64frombits(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendFloat(dst, f, 'g', -1, 64)
	}
	return row.AppendJSONValue(dst, row.FloatValue(math.Float64frombits(n)))
}

func appendDuckNanos(dst []byte, text string) []byte {
	n, _ := new(big.Int).SetString(text, 10)
	seconds, nanos := n.DivMod(n, big.NewInt(1e9), new(big.Int))
	at := time.Unix(seconds.Int64(), nanos.Int64())
	return appendDuckTime(dst, "timestamp", at.Unix(), at, "2006-01-02T15:04:05.999999999Z")
}

// appendDuckTime appends a moment, or a number for one outside of the years that a row can hold.
func appendDuckTime(dst []byte, word string, number int64, at time.Time, layout string) []byte {
	if year := at.UTC().Year(); year < 1 || year > 9999 {
		return appendOdd(dst, word, strconv.FormatInt(number, 10))
	}
	return at.UTC().AppendFormat(dst, `"`+layout+`"`)
}

// TestDuckDB reads files that were generated in many ways, and damaged in many, and holds what is read against what DuckDB
// reads: each file is rejected, or gives the very rows that DuckDB has. Files that are whole must not be rejected.
func TestDuckDB(t *testing.T) {
	d := newDuck(t)
	dir := t.TempDir()
	counts := map[string]int{}
	for i := range *duckFiles {
		seed := *duckSeed + uint64(i)
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", seed))
		what, content, damaged := d.specimen(rand.New(rand.NewPCG(seed, 47662)), path)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		verdict, finding := d.compare(path, content, damaged)
		if verdict == otherRows && strings.Contains(what, "another repetition of element") {
			// An element that is repeated makes its group the element, says the format. DuckDB drops the group.
			verdict, finding = "other rows, of lists for which the format has a rule that DuckDB has not", ""
		}
		if finding != "" {
			keep := filepath.Join(os.TempDir(), fmt.Sprintf("waymark-duckdb-%d.parquet", seed))
			require.NoError(t, os.WriteFile(keep, content, 0o600))
			t.Errorf("seed %d, %s (%s): %s", seed, what, keep, finding)
		}
		counts[verdict]++
		require.NoError(t, os.Remove(path))
	}
	for _, verdict := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[verdict], verdict)
	}
	t.Logf("DuckDB crashed %d times", d.falls)
}

// otherRows is the verdict on a file of which DuckDB reads other rows.
const otherRows = "OTHER ROWS"

// compare holds what is read against what DuckDB reads. finding says what must not be; it is empty if all is well.
func (d *duck) compare(path string, content []byte, damaged bool) (verdict, finding string) {
	ours, refused := readHostile(d.t, content)
	theirs, trouble := d.read(path)
	var words *errDuck
	if trouble != nil && !errors.As(trouble, &words) {
		return "not compared", trouble.Error()
	}
	switch {
	case refused != nil && !damaged:
		return "WHOLE FILES REFUSED", refused.Error()
	case refused != nil && words != nil:
		return "refused by both", ""
	case refused != nil:
		return "refused, and read by DuckDB: " + codeOf(refused), ""
	case words != nil && tolerable(ours, content, words.words):
		return "read, and refused by DuckDB for a reason that is known", ""
	case words != nil:
		return "ACCEPTED, and DuckDB refuses it", fmt.Sprintf("DuckDB: %s; here %d rows: %.500s", words, len(ours.records), strings.Join(ours.records, " "))
	}
	requireSameCells(d.t, content, schemaFor(d.t, content, natural(true)))
	if err := sameRecords(ours, theirs); err != nil {
		return otherRows, err.Error()
	}
	return "the same rows", ""
}

func codeOf(err error) string {
	var f *plugin.SourceError
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

// tolerable reports whether DuckDB rejects a file for a value that rejects its row alone here, or for something that only means
// something to it.
func tolerable(ours reading, content []byte, words string) bool {
	switch {
	case words == crashed:
		return true // that says something about DuckDB
	case strings.Contains(words, "Incorrect stats size"):
		return true // statistics are of no use here
	case strings.Contains(words, "DECIMAL requires a length and scale specifier"):
		return true // the format says that without a scale it is 0
	case strings.Contains(words, "converted type can only be set for value of"):
		return true // an annotation that does not fit the physical type says nothing here
	case strings.Contains(words, "Could not read enough bytes"):
		return filterBeyond(content)
	case strings.Contains(words, "only supported for FLOAT or DOUBLE"):
		return true // BYTE_STREAM_SPLIT of other numbers is younger than that
	case strings.Contains(words, "MAP_KEY_VALUE requires two children"):
		return true // the format allows a map without values, which is an object like any other group here
	case strings.Contains(words, "Decode bit width too large"):
		return true // a page without values has no bytes for them, not even how many bits an index would have: DuckDB reads on
	}
	if strings.Contains(words, "Invalid string encoding") {
		return slices.Contains(slices.Collect(maps.Values(ours.bad)), codeInvalidUTF8)
	}
	return false
}

var nanos = regexp.MustCompile(`\.\d{7,9}Z`)

// filterBeyond reports whether the footer says that a Bloom filter is behind the end of the file. None is read here.
func filterBeyond(content []byte) bool {
	var meta format.FileMetaData
	length := int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	_ = thrift.Unmarshal(new(thrift.CompactProtocol), content[len(content)-8-length:len(content)-8], &meta)
	for _, group := range meta.RowGroups {
		for _, chunk := range group.Columns {
			if chunk.MetaData.BloomFilterOffset+int64(chunk.MetaData.BloomFilterLength) > int64(len(content)-8-length) {
				return true
			}
		}
	}
	return false
}

// inMicros cuts moments to microseconds, which is what DuckDB reads of INT96.
func inMicros(record string) string {
	return nanos.ReplaceAllStringFunc(record, func(fraction string) string {
		return strings.TrimRight(strings.TrimRight(fraction[:7], "0"), ".") + "Z"
	})
}

// sameRecords requires that rows are those of DuckDB, but for those that are rejected here.
func sameRecords(ours reading, theirs []string) error {
	for i := range min(len(ours.records), len(theirs)) {
		if ours.bad[i] == "" && ours.records[i] != theirs[i] && inMicros(ours.records[i]) != theirs[i] {
			return fmt.Errorf("row %d (%s) is %.500s here, and DuckDB reads %.500s", i+1, ours.bad[i], ours.records[i], theirs[i])
		}
	}
	if len(ours.records) != len(theirs) {
		return fmt.Errorf("there are %d rows here, and DuckDB reads %d", len(ours.records), len(theirs))
	}
	return nil
}
