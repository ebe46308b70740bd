package bundle_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/strictzip"
)

// page is the description for those who write a reader.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/bundle.md")
	require.NoError(t, err)
	return string(text)
}

// cells returns the rows of the page's table that begins with this heading.
func cells(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	_, rest, found := strings.Cut(page(t), "| "+heading+" |")
	require.True(t, found, heading)
	for _, line := range strings.Split(rest, "\n")[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
	}
	return rows
}

// TestZipIsAsThePageSays writes every header of a bundle by the words of the page, and compares all its bytes.
func TestZipIsAsThePageSays(t *testing.T) {
	s := newScene(t).ended(t)
	file, _ := s.export(t, s.log.Reader, bundle.AllPayloads)
	r, err := strictzip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	headers := map[string]string{}
	for _, row := range cells(t, "header") {
		headers[row[0]], _, _ = strings.Cut(row[1], ";")
	}
	var made, directory []byte
	for _, m := range r.Members() {
		values := map[string]uint64{
			"CRC": uint64(m.CRC), "packed size": m.Packed, "size": m.Size, "offset": m.Offset, "length of the name": uint64(len(m.Name)),
			"creator": 20, "version": 20, "method": 8,
		}
		if m.Stored {
			values["method"] = 0
		}
		require.Len(t, made, int(m.Offset))
		made = header(t, made, headers["before a member"], m.Name, values)
		made = append(made, file[len(made):][:m.Packed]...)
		made = header(t, made, headers["after a member"], m.Name, values)
		directory = header(t, directory, headers["directory, each member"], m.Name, values)
	}
	end := map[string]uint64{"members": uint64(len(r.Members())), "bytes of the directory": uint64(len(directory)), "its offset": uint64(len(made))}
	made = header(t, append(made, directory...), headers["end"], "", end)
	require.True(t, bytes.Equal(file, made), "the bundle is not as docs/bundle.md says")
}

var sized = regexp.MustCompile(`^(.*?) ?(\d+)? \((\d)\)$`)

// header appends a header as the page words it: bytes in hex, names with a constant or not, and how many bytes they have.
func header(t *testing.T, dst []byte, words, name string, values map[string]uint64) []byte {
	t.Helper()
	for _, word := range strings.Split(words, ", ") {
		switch {
		case strings.HasPrefix(word, "`"):
			signature, err := hex.DecodeString(strings.ReplaceAll(strings.Trim(word, "`"), " ", ""))
			require.NoError(t, err)
			dst = append(dst, signature...)
		case word == "the name":
			dst = append(dst, name...)
		case word == "the extra field": // none without sizes beyond 4 GiB
		default:
			match := sized.FindStringSubmatch("x " + word)
			require.NotNil(t, match, word)
			value, known := values[strings.TrimPrefix(match[1], "x ")]
			if match[2] != "" {
				value, known = number(t, match[2]), true
			}
			require.True(t, known || strings.HasPrefix(word, "length of the extra field"), word)
			dst = append(dst, binary.LittleEndian.AppendUint64(nil, value)[:number(t, match[3])]...)
		}
	}
	return dst
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	require.NoError(t, err)
	return n
}

// TestPageHasTheChecks holds the page's table of checks to what a verification says.
func TestPageHasTheChecks(t *testing.T) {
	s := newScene(t).ended(t)
	file, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	var want [][]string
	for _, c := range verify(t, file, s.trusted).Checks {
		want = append(want, []string{fmt.Sprintf("`%s`", c.Name), c.Proves, c.Not})
	}
	require.Equal(t, want, cells(t, "check"))
	program, err := os.ReadFile("../../../docs/verify.py")
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(program, []byte("\n")), 1300, "it should fit in an auditor's hand")
}
