package row

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A vector is one line of testdata/canonical.jsonl, in the form that docs/canonical_form.py reads.
type vector struct {
	row               Row
	canonical, sha256 string
}

func parseVector(line string) (v vector, err error) {
	err = ScanObject(line, func(key string, raw RawValue) error {
		switch key {
		case "row":
			v.row, err = parseVectorRow(raw.Literal)
			return err
		case "canonical":
			v.canonical = raw.text()
		case "sha256":
			v.sha256 = raw.text()
		}
		return nil
	})
	return v, err
}

// parseVectorRow reads {"field": null, "field": {"kind": "text"}, …}.
func parseVectorRow(text string) (Row, error) {
	var fields []string
	var values []Value
	err := ScanObject(text, func(field string, raw RawValue) error {
		fields, values = append(fields, field), append(values, Value{})
		if raw.Kind == Null {
			return nil
		}
		return ScanObject(raw.Literal, func(name string, raw RawValue) (err error) {
			kind, _ := ParseKind(name)
			values[len(values)-1], err = Parse(kind, raw.text())
			return err
		})
	})
	if err != nil {
		return Row{}, err
	}
	return Row{Shape: NewShape(fields), Values: values}, nil
}

// appendVector is the inverse of parseVector, without what is expected.
func appendVector(dst []byte, r Row) []byte {
	dst = append(dst, `{"row":{`...)
	for i, v := range r.Values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONString(dst, r.Shape.Fields()[i]), ':')
		if v.IsNull() {
			dst = append(dst, "null"...)
			continue
		}
		dst = append(appendJSONString(append(dst, '{'), v.Kind().String()), ':')
		dst = append(appendJSONString(dst, string(AppendText(nil, v))), '}')
	}
	return append(dst, "}}\n"...)
}

func hashHex(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

const vectorFile = "testdata/canonical.jsonl"

// The vectors pin the canonical form: a line that changes is a new CanonicalVersion.
func TestCanonicalVectors(t *testing.T) {
	require.Equal(t, "sha256-waymark-v1", CanonicalVersion)
	file, err := os.Open(vectorFile)
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	count := 0
	for ; lines.Scan(); count++ {
		v, err := parseVector(lines.Text())
		require.NoError(t, err, lines.Text())
		canonical := AppendCanonical(nil, v.row)
		require.Equal(t, v.canonical, string(canonical))
		require.Equal(t, v.sha256, hashHex(canonical))
	}
	require.NoError(t, lines.Err())
	require.Greater(t, count, 50)
}

// The example in the document prints what it says.
func TestDocumentedExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/canonical-form.md")
	require.NoError(t, err)
	match := regexp.MustCompile(`(?s)echo '([^']+)'.*?\n([0-9a-f]{64}) ([^\n]+)\n`).FindStringSubmatch(string(text))
	require.NotNil(t, match)
	v, err := parseVector(match[1])
	require.NoError(t, err)
	canonical := AppendCanonical(nil, v.row)
	require.Equal(t, match[3], string(canonical))
	require.Equal(t, match[2], hashHex(canonical))
}

const verifier = "../../docs/canonical_form.py"

// verify runs the Python verifier and returns what it prints.
func verify(t *testing.T, path string, stdin io.Reader) []byte {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "python3 is needed to check the canonical form against another implementation")
		t.Skip("python3 not found: the canonical form is not checked against another implementation")
	}
	command := exec.Command(python, verifier, path)
	command.Stdin = stdin
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(t, err, stderr.String())
	return out
}

func TestPythonAgreesOnVectors(t *testing.T) { verify(t, vectorFile, nil) }

// The Python verifier gives the same bytes and hashes for 100,000 random values.
func TestPythonAgreesOnRandomRows(t *testing.T) {
	const wanted = 100_000
	var input, expected bytes.Buffer
	rows := genRow(12)
	for seed, values := 0, 0; values < wanted; seed++ {
		r := rows.Example(seed)
		values += len(r.Values)
		input.Write(appendVector(nil, r))
		canonical := AppendCanonical(nil, r)
		expected.WriteString(hashHex(canonical) + " " + string(canonical) + "\n")
	}
	got := bytes.Split(verify(t, "-", &input), []byte("\n"))
	for i, line := range bytes.Split(expected.Bytes(), []byte("\n")) {
		if !bytes.Equal(line, got[i]) {
			require.Equal(t, string(line), string(got[i]), "row %d", i)
		}
	}
}
