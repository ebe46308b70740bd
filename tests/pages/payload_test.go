package pages_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// TestPayloadPages shows what is stored, and tells apart why something is not: purged, forgotten, missing, or corrupt, which nobody is shown.
func TestPayloadPages(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := &pageServer{API: serving.StartAPI(t)}
	s.payloadRuns(t)
	p := s.looking(t)

	stored := s.packOf(t, "stored")
	answer, page := p.get(t, stored.path)
	require.Equal(t, http.StatusOK, answer.StatusCode, page)
	shown := spaced(textOf(parsed(t, stored.path, page)))
	for _, said := range []string{"the records of in, chunk 0, from in:1", "was computed now, and is its digest", "120 records in", "0in:1", "secret-stored-1,<script>window.broken=1</script>", "49in:50"} {
		require.Contains(t, shown, said)
	}
	require.NotContains(t, shown, "in:51")
	_, page = p.get(t, stored.path+"?after=100")
	require.Contains(t, textOf(parsed(t, stored.path, page)), "in:120")
	require.NotContains(t, page, `rel="next"`)
	seen := map[string]bool{}
	for next := stored.path; next != ""; {
		_, page := p.get(t, next)
		next = ""
		for link := range links(parsed(t, stored.path, page)) {
			if strings.Contains(link["href"], "/explain?token=") {
				seen[link["href"]] = true
			}
			if link["rel"] == "next" {
				next = link["href"]
			}
		}
	}
	require.Len(t, seen, 120)
	answer, bytes := p.get(t, stored.path+"/bytes")
	require.Equal(t, "application/octet-stream", answer.Header.Get("Content-Type"))
	require.Contains(t, answer.Header.Get("Content-Disposition"), "attachment")
	require.Equal(t, "default-src 'none'; sandbox", answer.Header.Get("Content-Security-Policy"))
	sum := sha256.Sum256([]byte(bytes))
	require.Equal(t, stored.digest, hex.EncodeToString(sum[:]))
	require.Equal(t, bytes, s.Waymark(t, "payload", "stored", stored.digest))
	require.Equal(t, 6, strings.Count(s.Waymark(t, "access", "disclosures", "--limit", "0"), stored.digest[:12]), "each look at it, and that somebody took it")

	_, page = p.get(t, "/runs/stored")
	document := regexp.MustCompile(`/runs/stored/payloads/[0-9a-f]{64}`).FindString(page)
	_, page = p.get(t, document)
	require.Contains(t, textOf(parsed(t, document, page)), "name: stored")

	require.NoError(t, os.Remove(s.stored(t, s.packOf(t, "missing").digest)))
	corrupt := s.stored(t, s.packOf(t, "corrupt").digest)
	content, err := os.ReadFile(corrupt)
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.Chmod(corrupt, 0o600))
	require.NoError(t, os.WriteFile(corrupt, content, 0o600))
	for run, said := range map[string]string{
		"missing": "✗ missing: it should be stored", "corrupt": "✗ corrupt: its", "purged": "◌ purged 20", "forgotten": "◌ not shown, because rows of it were forgotten 20",
	} {
		lost := s.packOf(t, run)
		answer, page := p.get(t, lost.path)
		require.Equal(t, http.StatusOK, answer.StatusCode, page)
		require.Contains(t, textOf(parsed(t, lost.path, page)), said, run)
		require.NotContains(t, page, "secret", run)
		answer, page = p.get(t, lost.path+"/bytes")
		require.Equal(t, http.StatusNotFound, answer.StatusCode, run)
		require.NotContains(t, page, "secret", run)
		told, err := s.Try(t.Context(), "payload", run, lost.digest)
		require.Error(t, err)
		require.Contains(t, told, "waymark: the payload is "+run, run)
		require.NotContains(t, told, "secret", run)
	}
	for run, row := range map[string]string{"purged": "in:1", "forgotten": "in:7"} {
		path := "/runs/" + run + "/explain?token=" + row
		_, page = p.get(t, path)
		shown = textOf(parsed(t, path, page))
		require.Contains(t, shown, "◌ not recomputed: the record is "+run)
		require.NotContains(t, shown, "recomputed now")
		require.Equal(t, run != "forgotten", strings.Contains(shown, "Take its dossier"), "nobody can prove a forgotten row")
	}
	replaced := s.query(t, "select replacement from repacked")
	_, page = p.get(t, "/runs/forgotten/payloads/"+replaced)
	shown = textOf(parsed(t, replaced, page))
	require.Contains(t, shown, "secret-forgotten-8,")
	require.NotContains(t, shown, "secret-forgotten-7,")
	require.Contains(t, shown, "◌ forgotten 20")

	for _, digest := range []string{stored.digest, strings.Repeat("0", 64), "..", "x"} {
		answer, _ = p.get(t, "/runs/purged/payloads/"+strings.ReplaceAll(digest, ".", "%2e"))
		require.Equal(t, http.StatusNotFound, answer.StatusCode, "%s is of no payload that the run needs", digest)
	}
	viewer := s.signIn(t, s.Tokens[landscape.Viewer])
	for _, path := range []string{stored.path, stored.path + "/bytes"} {
		answer, page = viewer.get(t, path)
		require.Equal(t, http.StatusForbidden, answer.StatusCode)
		require.NotContains(t, page, "secret")
	}
	_, page = viewer.get(t, "/runs/stored")
	require.NotContains(t, page, "/payloads/")
}

// payloads shows what is stored of a run, and says what is missing and what is corrupt: TestPayloadPages in short.
func (s *pageServer) payloads(t *testing.T) {
	p := s.looking(t)
	of := s.packOf(t, s.ordersRun)
	_, page := p.get(t, of.path)
	require.Contains(t, spaced(textOf(parsed(t, of.path, page))), "was computed now, and is its digest")
	require.Contains(t, page, "10.50")
	answer, bytes := p.get(t, of.path+"/bytes")
	require.Equal(t, "default-src 'none'; sandbox", answer.Header.Get("Content-Security-Policy"))
	require.Equal(t, of.digest, fmt.Sprintf("%x", sha256.Sum256([]byte(bytes))))
	answer, page = s.signIn(t, s.Tokens[landscape.Viewer]).get(t, of.path)
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
	require.NotContains(t, page, "10.50")

	file := s.stored(t, of.digest)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	other := slices.Clone(content)
	other[len(other)/2] ^= 1
	for said, put := range map[string][]byte{"✗ missing: it should be stored": nil, "✗ corrupt: its": other} {
		require.NoError(t, os.Remove(file))
		if put != nil {
			require.NoError(t, os.WriteFile(file, put, 0o600))
		}
		answer, page = p.get(t, of.path)
		require.Equal(t, http.StatusOK, answer.StatusCode, page)
		require.Contains(t, textOf(parsed(t, of.path, page)), said)
		require.NotContains(t, page, "10.50")
		answer, _ = p.get(t, of.path+"/bytes")
		require.Equal(t, http.StatusNotFound, answer.StatusCode)
		require.NoError(t, os.WriteFile(file, content, 0o600))
	}
}

// payloadRuns makes a run for each state of its payload.
func (s *pageServer) payloadRuns(t *testing.T) {
	t.Helper()
	for _, name := range []string{"purged", "forgotten", "stored", "missing", "corrupt"} {
		var rows strings.Builder
		rows.WriteString("id,note\n")
		for i := range 120 {
			fmt.Fprintf(&rows, "secret-%s-%d,<script>window.broken=1</script>\n", name, i+1)
		}
		require.NoError(t, os.WriteFile(filepath.Join(s.Folder, name+".csv"), []byte(rows.String()), 0o600))
		document := fmt.Sprintf("name: %[1]s\nsources: {in: {csv: {path: %[1]s.csv}, key: [id]}}\nsinks: {out: {jsonl: {path: out/%[1]s.jsonl}}}\n", name)
		require.NoError(t, os.WriteFile(filepath.Join(s.Folder, name+".yaml"), []byte(document), 0o600))
		s.Waymark(t, "run", name+".yaml", "--run-id", name)
		switch name {
		case "purged":
			s.Waymark(t, "purge", "--keep-source", "1ms", "--keep-derived", "0d", "--why", "a test")
		case "forgotten":
			s.Waymark(t, "forget", "id=secret-forgotten-7", "--why", "a test")
		}
	}
}

// pack is the payload with the records of a run, and the path of its page.
type pack struct{ digest, path string }

func (s *pageServer) packOf(t *testing.T, run string) pack {
	t.Helper()
	digest := s.query(t, "select pack from chunks where run_id = '"+run+"'")
	return pack{digest, "/runs/" + run + "/payloads/" + digest}
}

// stored is where a payload is stored.
func (s *pageServer) stored(t *testing.T, digest string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.Folder, ".waymark/payloads/objects/*", digest))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// query returns the one text that a query finds in the record.
func (s *pageServer) query(t *testing.T, query string) (found string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Folder, ".waymark/landscape.db")+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&found), query)
	return found
}
