package witness_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/audit/evidence/cosign"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/audit/evidence/witness"
)

const origin = "p.example/log"

// tree is the log of this test: its entries are numbers, from a first one.
type tree struct {
	hashes []tlog.Hash
	size   int64
}

func grown(t *testing.T, size int64, first string) *tree {
	t.Helper()
	made := &tree{}
	for made.size < size {
		entry := fmt.Sprint(first, made.size)
		hashes, err := tlog.StoredHashes(made.size, []byte(entry), made)
		require.NoError(t, err)
		made.hashes, made.size = append(made.hashes, hashes...), made.size+1
	}
	return made
}

// ReadHashes does what tlog.HashReader says.
func (l *tree) ReadHashes(numbers []int64) (hashes []tlog.Hash, err error) {
	for _, number := range numbers {
		hashes = append(hashes, l.hashes[number])
	}
	return hashes, nil
}

func (l *tree) root(t *testing.T, size int64) tlog.Hash {
	t.Helper()
	if size == 0 {
		return sha256.Sum256(nil)
	}
	root, err := tlog.TreeHash(size, l)
	require.NoError(t, err)
	return root
}

func (l *tree) text(t *testing.T, size int64) string {
	t.Helper()
	return fmt.Sprintf("%s\n%d\n%s\n", origin, size, l.root(t, size))
}

func signed(t *testing.T, text string, by ...note.Signer) string {
	t.Helper()
	n, err := note.Sign(&note.Note{Text: text}, by...)
	require.NoError(t, err)
	return string(n)
}

// proof returns the lines that prove that the log continues a smaller one.
func (l *tree) proof(t *testing.T, from, size int64) (lines string) {
	t.Helper()
	if from == 0 || from == size {
		return ""
	}
	proof, err := tlog.ProveTree(size, from, l)
	require.NoError(t, err)
	for _, hash := range proof {
		lines += fmt.Sprintln(hash)
	}
	return lines
}

// scene is a witness of one log.
type scene struct {
	folder string
	log    keys.Key
	key    keys.Key
	at     *witness.Witness
	logged bytes.Buffer
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{folder: filepath.Join(t.TempDir(), "witness")}
	var err error
	s.log, err = keys.Generate(t.TempDir(), keys.Log, origin)
	require.NoError(t, err)
	s.key, err = keys.Generate(t.TempDir(), keys.Witness, "w.example/witness")
	require.NoError(t, err)
	s.open(t)
	t.Cleanup(func() { require.NoError(t, s.at.Close()) })
	return s
}

func (s *scene) open(t *testing.T) {
	t.Helper()
	var err error
	s.at, err = s.openAs(t, s.log.VKey)
	require.NoError(t, err)
}

func (s *scene) openAs(t *testing.T, logs ...string) (*witness.Witness, error) {
	t.Helper()
	policy, err := trust.Parse("log " + strings.Join(logs, "\nlog ") + "\nquorum none\n")
	require.NoError(t, err)
	return witness.Open(s.folder, s.key, policy.Logs, slog.New(slog.NewJSONHandler(&s.logged, nil)))
}

func (s *scene) post(body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	s.at.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/add-checkpoint", strings.NewReader(body)))
	return answer
}

// show shows the witness a head of a log, and requires that it is cosigned.
func (s *scene) show(t *testing.T, log *tree, old, size int64) {
	t.Helper()
	text := log.text(t, size)
	answer := s.post(fmt.Sprintf("old %d\n%s\n%s", old, log.proof(t, old, size), signed(t, text, s.log)))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body.String())
	by, err := cosign.NewVerifier(s.key.VKey)
	require.NoError(t, err)
	n, err := note.Open([]byte(text+"\n"+answer.Body.String()), note.VerifierList(by))
	require.NoError(t, err)
	require.Len(t, n.Sigs, 1)
}

// last returns the text of the head that is in the folder.
func (s *scene) last(t *testing.T) string {
	t.Helper()
	sum := sha256.Sum256([]byte(origin))
	text, err := os.ReadFile(filepath.Join(s.folder, hex.EncodeToString(sum[:])+".checkpoint"))
	require.NoError(t, err)
	return string(text)
}

// TestAnswers: every status code of tlog-witness, of a witness that cosigned 5 entries.
func TestAnswers(t *testing.T) {
	s := newScene(t)
	log, fork := grown(t, 9, "e"), grown(t, 9, "f")
	s.show(t, log, 0, 5)
	before := s.last(t)
	other, err := keys.Generate(t.TempDir(), keys.Log, origin)
	require.NoError(t, err)
	stranger, err := keys.Generate(t.TempDir(), keys.Log, "other.example/log")
	require.NoError(t, err)
	head := func(log *tree, size int64) string { return signed(t, log.text(t, size), s.log) }
	long := strings.Repeat(fmt.Sprintln(tlog.Hash{}), 64)
	tooLong := "old 5\n\n" + strings.Repeat("x", 64<<10)
	for name, test := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"an unknown log":                    {"old 0\n\n" + signed(t, "other.example/log\n1\n"+log.root(t, 1).String()+"\n", stranger), 404, `does not know the log "other.example/log"`},
		"no note":                           {"old 0\n\n", 404, "does not know the log"},
		"another key":                       {"old 5\n\n" + signed(t, log.text(t, 6), other), 403, "none of its signatures"},
		"a changed head":                    {"old 5\n\n" + strings.Replace(head(log, 6), "\n6\n", "\n7\n", 1), 403, "none of its signatures"},
		"no signature":                      {"old 5\n\n" + log.text(t, 6) + "\n", 400, ""},
		"another size":                      {"old 4\n" + log.proof(t, 4, 6) + "\n" + head(log, 6), 409, "5\n"},
		"no old size":                       {"old 0\n\n" + head(log, 6), 409, "5\n"},
		"an older head":                     {"old 4\n\n" + head(log, 4), 409, "5\n"},
		"another root of the same size":     {"old 5\n\n" + head(fork, 5), 409, "5\n"},
		"the old size is larger":            {"old 7\n\n" + head(log, 6), 400, "the old size 7 is larger than the new one, 6"},
		"no proof":                          {"old 5\n\n" + head(log, 6), 422, "does not show that the head continues the one of 5 entries"},
		"a proof of another size":           {"old 5\n" + log.proof(t, 4, 8) + "\n" + head(log, 8), 422, "does not show"},
		"a fork":                            {"old 5\n" + fork.proof(t, 5, 8) + "\n" + head(fork, 8), 422, "does not show"},
		"a proof where nothing is to prove": {"old 5\n" + log.proof(t, 5, 8) + "\n" + head(log, 5), 422, "there is nothing to prove"},
		"a proof of 64 hashes":              {"old 5\n" + long + "\n" + head(log, 8), 400, "at most 63 lines"},
		"a hash that is none":               {"old 5\nAAAA\n\n" + head(log, 8), 400, `"AAAA" is not a hash`},
		"a leading zero":                    {"old 05\n\n" + head(log, 8), 400, `"05" is not a size`},
		"a sign":                            {"old +5\n\n" + head(log, 8), 400, `"+5" is not a size`},
		"no first line":                     {"5\n\n" + head(log, 8), 400, "it is not a line `old SIZE`"},
		"nothing":                           {"", 400, "it is not a line `old SIZE`"},
		"no empty line":                     {"old 5\n" + log.text(t, 5), 400, ""},
		"a size that is none":               {"old 5\n\n" + signed(t, origin+"\nsix\n"+log.root(t, 6).String()+"\n", s.log), 400, `"six" is not a size`},
		"a root that is none":               {"old 5\n\n" + signed(t, origin+"\n6\nAAAA\n", s.log), 400, `"AAAA" is not a hash`},
		"no root":                           {"old 5\n\n" + signed(t, origin+"\n6\n", s.log), 400, "it is not a checkpoint"},
		"too much":                          {tooLong, 413, "more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := s.post(test.body)
			require.Equal(t, test.status, answer.Code, answer.Body.String())
			require.Contains(t, answer.Body.String(), test.says)
			require.Equal(t, test.status == 409, answer.Header().Get("Content-Type") == "text/x.tlog.size")
			if test.status == 409 {
				require.Equal(t, test.says, answer.Body.String())
			}
			require.Equal(t, before, s.last(t))
		})
	}
	require.Contains(t, s.logged.String(), `"msg":"not cosigned","log":"p.example/log","size":8,"old":5,"why":"the proof does not show`)
	for method, path := range map[string]string{http.MethodGet: "/add-checkpoint", http.MethodPost: "/"} {
		answer := httptest.NewRecorder()
		s.at.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, answer.Code)
	}
	s.show(t, log, 5, 5)
	s.show(t, log, 5, 9)
}

// TestEmptyLog: a log may have its head witnessed before its first entry.
func TestEmptyLog(t *testing.T) {
	s := newScene(t)
	log := grown(t, 3, "e")
	require.Equal(t, 409, s.post("old 0\n\n"+signed(t, fmt.Sprintf("%s\n0\n%s\n", origin, log.root(t, 1)), s.log)).Code, "there is one empty tree")
	s.show(t, log, 0, 0)
	s.show(t, log, 0, 0)
	require.Equal(t, 422, s.post("old 0\n"+log.proof(t, 1, 3)+"\n"+signed(t, log.text(t, 3), s.log)).Code)
	s.show(t, log, 0, 3)
}

// watched looks at what is in the folder when the answer leaves.
type watched struct {
	*httptest.ResponseRecorder
	leaves func()
}

func (w watched) WriteString(text string) (int, error) {
	w.leaves()
	return w.ResponseRecorder.WriteString(text)
}

func (w watched) WriteHeader(status int) {
	w.leaves()
	w.ResponseRecorder.WriteHeader(status)
}

// TestDurableBeforeTheAnswer: a witness that is killed at any moment knows every head that it cosigned.
func TestDurableBeforeTheAnswer(t *testing.T) {
	s := newScene(t)
	log := grown(t, 20, "e")
	for size := int64(1); size <= 20; size++ {
		left := 0
		answer := watched{httptest.NewRecorder(), func() {
			left++
			require.True(t, strings.HasPrefix(s.last(t), log.text(t, size)+"\n"))
		}}
		body := fmt.Sprintf("old %d\n%s\n%s", size-1, log.proof(t, size-1, size), signed(t, log.text(t, size), s.log))
		s.at.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/add-checkpoint", strings.NewReader(body)))
		require.Equal(t, 200, answer.Code)
		require.NotZero(t, left)
		require.NoError(t, s.at.Close())
		s.open(t)
	}
}

// TestNothingDurableNothingCosigned: the folder cannot be written.
func TestNothingDurableNothingCosigned(t *testing.T) {
	s := newScene(t)
	log := grown(t, 3, "e")
	require.NoError(t, os.RemoveAll(s.folder))
	answer := s.post("old 0\n\n" + signed(t, log.text(t, 3), s.log))
	require.Equal(t, 500, answer.Code)
	require.NotContains(t, answer.Body.String(), "\u2014")
	require.NotContains(t, answer.Body.String(), s.folder)
	require.Contains(t, s.logged.String(), "cannot cosign")
}

// TestConcurrentRequests: of many that continue one head, one is cosigned, and the others learn its size: the size never goes back.
func TestConcurrentRequests(t *testing.T) {
	s := newScene(t)
	log := grown(t, 30, "e")
	s.show(t, log, 0, 5)
	bodies := map[int64]string{}
	for size := int64(6); size <= 30; size++ {
		bodies[size] = fmt.Sprintf("old 5\n%s\n%s", log.proof(t, 5, size), signed(t, log.text(t, size), s.log))
	}
	var all sync.WaitGroup
	codes := make([]int, 31)
	said := make([]string, 31)
	for size, body := range bodies {
		all.Go(func() {
			answer := s.post(body)
			codes[size], said[size] = answer.Code, answer.Body.String()
		})
	}
	all.Wait()
	won := int64(0)
	for size := int64(6); size <= 30; size++ {
		if codes[size] == 200 {
			require.Zero(t, won, "two heads continue the same one")
			won = size
		}
	}
	require.NotZero(t, won)
	for size := int64(6); size <= 30; size++ {
		if size != won {
			require.Equal(t, fmt.Sprintln(won), said[size])
		}
	}
	require.True(t, strings.HasPrefix(s.last(t), log.text(t, won)))
}

// TestForeignSignatures: who sends a head may add lines to it. None of them is kept: not one in the name of the witness itself.
func TestForeignSignatures(t *testing.T) {
	s := newScene(t)
	log := grown(t, 4, "e")
	own := strings.SplitN(s.post("old 0\n\n"+signed(t, log.text(t, 2), s.log)).Body.String(), " ", 3)
	wrong := "\u2014 " + own[1] + " " + own[2][:len(own[2])-20] + "AAAAAAAAAAAAAAAAAA=\n"
	body := "old 2\n" + log.proof(t, 2, 3) + "\n" + signed(t, log.text(t, 3), s.log) + wrong
	require.Equal(t, 200, s.post(body).Code)
	require.Equal(t, 2, strings.Count(s.last(t), "\u2014"))
	s.show(t, log, 3, 4)
}

// TestFolder: one process has it, a log may get another key, the witness as well, and what is damaged is not taken for nothing.
func TestFolder(t *testing.T) {
	s := newScene(t)
	log := grown(t, 9, "e")
	s.show(t, log, 0, 3)
	_, err := s.openAs(t, s.log.VKey)
	require.ErrorIs(t, err, witness.ErrInUse)

	require.NoError(t, s.at.Close())
	was := s.log
	s.log, err = keys.Generate(t.TempDir(), keys.Log, origin)
	require.NoError(t, err)
	s.open(t)
	require.Equal(t, 403, s.post("old 3\n"+log.proof(t, 3, 4)+"\n"+signed(t, log.text(t, 4), was)).Code)
	s.show(t, log, 3, 4)
	require.NoError(t, s.at.Close())
	s.at, err = s.openAs(t, was.VKey, s.log.VKey)
	require.NoError(t, err)
	s.show(t, log, 4, 5)
	require.NoError(t, s.at.Close())
	s.key, err = keys.Generate(t.TempDir(), keys.Witness, "w.example/witness-2")
	require.NoError(t, err)
	s.open(t)
	s.show(t, log, 5, 6)

	sum := sha256.Sum256([]byte(origin))
	file := filepath.Join(s.folder, hex.EncodeToString(sum[:])+".checkpoint")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	require.Equal(t, 500, s.post("old 0\n\n"+signed(t, log.text(t, 7), s.log)).Code)
	require.NoError(t, s.at.Close())
	_, err = s.openAs(t, s.log.VKey)
	require.ErrorContains(t, err, file+" is not the last head of "+origin)
	require.NoError(t, os.Remove(file))
	s.open(t)
}
