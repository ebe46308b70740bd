package bundle_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/strictzip"
	"waymark/tests/sample"
	"waymark/tests/services"
)

const (
	chunksFile = "record/chunks.ndjson"
	rowsFile   = "record/chunk_rows.ndjson"
	saltsFile  = "record/salts.ndjson"
)

var moments = regexp.MustCompile(`"read_us":(\d+)`)

// parts is a bundle taken apart.
type parts struct {
	names    []string // of the members
	contents map[string]string
	lie      func(*bundle.Manifest)  // nil: the manifest that is signed is right
	say      func(*bundle.Statement) // nil: the statement that is signed is the one that was there
}

// turn changes the first digit of a column of bytes that is not zero, in all records of a table.
func (p *parts) turn(name, column string) {
	p.contents[name] = regexp.MustCompile(`("`+column+`":"0*)[1-9a-e]`).ReplaceAllString(p.contents[name], "${1}f")
}

func takeApart(t *testing.T, file []byte) *parts {
	t.Helper()
	r, err := strictzip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	p := &parts{contents: map[string]string{}}
	for _, m := range r.Members() {
		var content strings.Builder
		_, err := r.Read(m, func(r io.Reader) error {
			_, err := io.Copy(&content, r)
			return err
		})
		require.NoError(t, err)
		p.names = append(p.names, m.Name)
		p.contents[m.Name] = content.String()
	}
	return p
}

// zip puts the parts together as they are.
func (p *parts) zip(t *testing.T) []byte {
	t.Helper()
	file, _ := p.zipped(t, p.names)
	return file
}

func (p *parts) zipped(t *testing.T, names []string) ([]byte, []bundle.Member) {
	t.Helper()
	var b bytes.Buffer
	var members []bundle.Member
	w := strictzip.NewWriter(&b)
	for _, name := range names {
		stored := name == "mimetype" || strings.HasPrefix(name, "manifest") || strings.HasPrefix(name, "payloads/")
		m, d, err := w.Add(name, stored, func(w io.Writer) error {
			_, err := io.WriteString(w, p.contents[name])
			return err
		})
		require.NoError(t, err)
		members = append(members, bundle.Member{Name: name, Bytes: m.Size, SHA256: hex.EncodeToString(d.Content[:]), Packed: hex.EncodeToString(d.Packed[:])})
	}
	require.NoError(t, w.Close())
	return b.Bytes(), members
}

// signed puts the parts together with a valid manifest and signature, as anyone with a sealer's key can.
func (p *parts) signed(t *testing.T, key keys.Key) []byte {
	t.Helper()
	var manifest bundle.Manifest
	require.NoError(t, json.Unmarshal([]byte(p.contents["manifest.json"]), &manifest))
	_, manifest.Members = p.zipped(t, p.names[:len(p.names)-2])
	if p.lie != nil {
		p.lie(&manifest)
	}
	p.contents["manifest.json"] = encoded(t, manifest)
	s := p.statement(t)
	s.Subject[0].Digest.SHA256 = digest(p.contents["manifest.json"])
	if p.say != nil {
		p.say(&s)
	}
	p.sign(t, key, encoded(t, s))
	return p.zip(t)
}

func (p *parts) sign(t *testing.T, key keys.Key, statement string) {
	t.Helper()
	const kind = "application/vnd.in-toto+json"
	sig, err := key.Sign(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(statement), statement))
	require.NoError(t, err)
	p.contents["manifest.dsse.json"] = fmt.Sprintf(`{"payload":"%s","payloadType":"%s","signatures":[{"keyid":"%s","sig":"%s"}]}`+"\n",
		base64.StdEncoding.EncodeToString([]byte(statement)), kind, key.VKey, base64.StdEncoding.EncodeToString(sig))
}

func (p *parts) statement(t *testing.T) (s bundle.Statement) {
	t.Helper()
	var envelope struct{ Payload []byte }
	require.NoError(t, json.Unmarshal([]byte(p.contents["manifest.dsse.json"]), &envelope))
	require.NoError(t, json.Unmarshal(envelope.Payload, &s))
	return s
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(v))
	return b.String()
}

func (p *parts) replace(name, old, with string) {
	if !strings.Contains(p.contents[name], old) {
		panic(name + " does not contain " + old)
	}
	p.contents[name] = strings.Replace(p.contents[name], old, with, 1)
}

func (p *parts) remove(name string) {
	kept := p.names[:0]
	for _, n := range p.names {
		if n != name {
			kept = append(kept, n)
		}
	}
	p.names = kept
}

const (
	envelopeFile = "manifest.dsse.json"
	manifestFile = "manifest.json"
	runFile      = "record/runs.ndjson"
	genesisFile  = "log/000000000000.entry"
	keyFile      = "log/000000000001.entry"
	beganFile    = "log/000000000002.entry"
	beganProof   = "log/000000000002.proof"
	sealedFile   = "log/000000000003.entry"
	sealsFile    = "record/run_seals.ndjson"
)

// hostile are changes of a bundle, and what is said of it. Those that are signed are of somebody who has a sealer's key.
var hostile = []struct {
	name   string
	signed bool
	change func(t *testing.T, p *parts, other *scene)
	want   string
}{
	{"two signatures", false, func(_ *testing.T, p *parts, _ *scene) {
		_, one, _ := strings.Cut(p.contents[envelopeFile], "[")
		one, _, _ = strings.Cut(one, "]")
		p.replace(envelopeFile, "["+one+"]", "["+one+","+one+"]")
	}, "statement: manifest.dsse.json: it does not have one signature"},
	{"no signature", false, func(_ *testing.T, p *parts, _ *scene) {
		before, _, _ := strings.Cut(p.contents[envelopeFile], "[")
		p.contents[envelopeFile] = before + "[]}\n"
	}, "statement: manifest.dsse.json: it does not have one signature"},
	{"another type", false, func(_ *testing.T, p *parts, _ *scene) { p.replace(envelopeFile, "in-toto", "in-total") }, "statement: manifest.dsse.json: it does not have one signature"},
	{"white space", false, func(_ *testing.T, p *parts, _ *scene) { p.replace(envelopeFile, ",", ", ") }, "statement: manifest.dsse.json: it is not in the strict form"},
	{"a key twice", false, func(_ *testing.T, p *parts, _ *scene) { p.replace(envelopeFile, "{", `{"payload":"",`) }, "statement: manifest.dsse.json: "},
	{"a key more", false, func(_ *testing.T, p *parts, _ *scene) { p.replace(envelopeFile, "{", `{"a":1,`) }, "statement: manifest.dsse.json: "},
	{"other case", false, func(_ *testing.T, p *parts, _ *scene) { p.replace(envelopeFile, `"payload"`, `"Payload"`) }, "statement: manifest.dsse.json: "},
	{"UTF-16", false, func(_ *testing.T, p *parts, _ *scene) { p.contents[envelopeFile] = "\xff\xfe{\x00}\x00" }, "statement: manifest.dsse.json: "},
	{"deep", false, func(_ *testing.T, p *parts, _ *scene) { p.contents[envelopeFile] = strings.Repeat("[", 100_000) }, "statement: manifest.dsse.json: "},
	{"another key", false, func(t *testing.T, p *parts, other *scene) {
		p.sign(t, other.key, encoded(t, p.statement(t)))
	}, "log: the key that signed the bundle does not count"},
	{"the key of the log", false, func(t *testing.T, p *parts, other *scene) {
		p.replace(envelopeFile, `"keyid":"`, `"keyid":"`+other.trusted[:5]+"x")
	}, "statement: "},
	{"S beyond L", false, func(t *testing.T, p *parts, _ *scene) {
		before, rest, _ := strings.Cut(p.contents[envelopeFile], `"sig":"`)
		text, _, _ := strings.Cut(rest, `"`)
		sig, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err)
		order, err := hex.DecodeString("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
		require.NoError(t, err)
		carry := 0
		for i := range order {
			carry += int(sig[32+i]) + int(order[i])
			sig[32+i] = byte(carry)
			carry >>= 8
		}
		p.contents[envelopeFile] = before + `"sig":"` + base64.StdEncoding.EncodeToString(sig) + `"}]}` + "\n"
	}, "statement: manifest.dsse.json: h/sealer did not sign it"},
	{"statement of another bundle", false, func(t *testing.T, p *parts, other *scene) {
		file, _ := other.export(t, other.log.Reader, bundle.NoPayloads)
		p.contents[envelopeFile] = takeApart(t, file).contents[envelopeFile]
	}, "statement: manifest.json: its SHA-256 is"},
	{"another balance", true, func(_ *testing.T, p *parts, _ *scene) {
		p.say = func(s *bundle.Statement) { s.Predicate.Balance.Read++ }
	}, "account: the statement counts "},
	{"another policy", true, func(_ *testing.T, p *parts, _ *scene) {
		p.say = func(s *bundle.Statement) {
			s.Predicate.Policies = append(s.Predicate.Policies, bundle.Policy{Name: "few refused"})
		}
	}, "account: the statement names other policies"},
	{"an output more", true, func(_ *testing.T, p *parts, _ *scene) {
		p.say = func(s *bundle.Statement) { s.Subject = append(s.Subject, bundle.Subject{Name: "out.csv"}) }
	}, "account: the statement names other outputs"},
	{"manifest changed", false, func(_ *testing.T, p *parts, _ *scene) { p.replace(manifestFile, `"gaps":[]`, `"gaps":null`) }, "statement: manifest.json: its SHA-256 is"},
	{"member changed", false, func(_ *testing.T, p *parts, _ *scene) { p.replace(runFile, "failed", "complete") }, "members: record/runs.ndjson: "},
	{"member missing", false, func(_ *testing.T, p *parts, _ *scene) { p.remove(runFile) }, "members: "},
	{"last member missing", false, func(_ *testing.T, p *parts, _ *scene) { p.remove(p.names[len(p.names)-3]) }, "members: "},
	{"member more", false, func(_ *testing.T, p *parts, _ *scene) {
		last := len(p.names) - 2
		p.names = append(append(append([]string{}, p.names[:last]...), "zzz"), p.names[last:]...)
	}, "members: zzz: it is not the next member"},
	{"members unsorted", false, func(_ *testing.T, p *parts, _ *scene) { p.names[1], p.names[2] = p.names[2], p.names[1] }, "form: its members are not sorted"},
	{"no mimetype", false, func(_ *testing.T, p *parts, _ *scene) { p.remove("mimetype") }, "form: it is not a bundle"},
	{"no envelope", false, func(_ *testing.T, p *parts, _ *scene) { p.remove(envelopeFile) }, "form: it is not a bundle"},

	{"another size", true, func(_ *testing.T, p *parts, _ *scene) {
		p.lie = func(m *bundle.Manifest) { m.Members[1].Bytes++ }
	}, "members: events.ndjson: "},
	{"another digest", true, func(_ *testing.T, p *parts, _ *scene) {
		p.lie = func(m *bundle.Manifest) { m.Members[1].SHA256 = m.Members[2].SHA256 }
	}, "members: events.ndjson: its SHA-256 is not"},
	{"another digest in the zip", true, func(_ *testing.T, p *parts, _ *scene) {
		p.lie = func(m *bundle.Manifest) { m.Members[1].Packed = m.Members[2].Packed }
	}, "members: events.ndjson: its bytes in the zip"},
	{"another version", true, func(_ *testing.T, p *parts, _ *scene) {
		p.lie = func(m *bundle.Manifest) { m.Bundle = 2 }
	}, "statement: manifest.json: it has version 2"},
	{"a member that is not here", true, func(_ *testing.T, p *parts, _ *scene) {
		p.lie = func(m *bundle.Manifest) { m.Members = append(m.Members, bundle.Member{Name: "zzz"}) }
	}, "members: zzz: the manifest lists it"},
	{"payload misnamed", true, func(_ *testing.T, p *parts, _ *scene) {
		for _, name := range p.names {
			if strings.HasPrefix(name, "payloads/") {
				p.contents[name] = "another pack"
				return
			}
		}
	}, "payloads: payloads/"},
	{"another event", true, func(_ *testing.T, p *parts, _ *scene) { p.replace("events.ndjson", "chunk.read", "chunk.lost") }, "history: events.ndjson: "},
	{"no events", true, func(_ *testing.T, p *parts, _ *scene) { p.remove("events.ndjson") }, "history: events.ndjson: "},
	{"another snapshot", true, func(_ *testing.T, p *parts, _ *scene) { p.replace("snapshot.json", `"failed"`, `"completed"`) }, "history: snapshot.json: "},
	{"a record less", true, func(_ *testing.T, p *parts, _ *scene) {
		_, p.contents[chunksFile], _ = strings.Cut(p.contents[chunksFile], "\n")
	}, "records: "},
	{"a record with white space", true, func(_ *testing.T, p *parts, _ *scene) { p.replace(chunksFile, `{"`, `{ "`) }, "records: "},
	{"records with CRLF", true, func(_ *testing.T, p *parts, _ *scene) {
		p.contents[chunksFile] = strings.ReplaceAll(p.contents[chunksFile], "\n", "\r\n")
	}, "records: "},
	{"records without a line end", true, func(_ *testing.T, p *parts, _ *scene) {
		p.contents[chunksFile] = strings.TrimSuffix(p.contents[chunksFile], "\n")
	}, "records: "},
	{"a record of no columns", true, func(_ *testing.T, p *parts, _ *scene) { p.contents[chunksFile] = "[]\n" }, "records: "},
	{"a number too large", true, func(_ *testing.T, p *parts, _ *scene) {
		p.replace(chunksFile, `"blank":`, `"blank":99999999999999999999`)
	}, "records: "},
	{"a moment that is a text", true, func(_ *testing.T, p *parts, _ *scene) {
		p.contents[chunksFile] = moments.ReplaceAllString(p.contents[chunksFile], `"read_us":"$1"`)
	}, "records: "},
	{"a moment beyond all calendars", true, func(_ *testing.T, p *parts, _ *scene) {
		p.contents[chunksFile] = moments.ReplaceAllString(p.contents[chunksFile], `"read_us":253402300800000000`)
	}, "records: "},
	{"another hash of a row", true, func(_ *testing.T, p *parts, _ *scene) { p.turn(rowsFile, "raw_hashes") }, "records: "},
	{"another hash of a node", true, func(_ *testing.T, p *parts, _ *scene) { p.turn("record/hashes.ndjson", "hashes") }, "records: "},
	{"another way", true, func(_ *testing.T, p *parts, _ *scene) { p.turn("record/passages.ndjson", "way_codes") }, "records: "},
	{"another key", true, func(_ *testing.T, p *parts, _ *scene) { p.turn("record/key_hashes.ndjson", "hashes") },
		"records: "},
	{"another message", true, func(_ *testing.T, p *parts, _ *scene) {
		p.replace("record/errors.ndjson", `"message":"`, `"message":"x`)
	}, "records: "},
	{"another moment of an error", true, func(_ *testing.T, p *parts, _ *scene) { p.replace("record/errors.ndjson", `"at_us":1`, `"at_us":2`) }, "history: "},
	{"no rows", true, func(_ *testing.T, p *parts, _ *scene) { p.remove(rowsFile) }, "records: "},
	{"no salts", true, func(_ *testing.T, p *parts, _ *scene) { p.remove(saltsFile) }, "records: "},
	{"other salts", true, func(_ *testing.T, p *parts, _ *scene) { p.turn(saltsFile, "keys") }, "records: "},
	{"another node", true, func(_ *testing.T, p *parts, _ *scene) { p.replace("record/nodes.ndjson", `"node":"`, `"node":"x`) }, "records: "},
	{"a record twice", true, func(_ *testing.T, p *parts, _ *scene) { p.contents[rowsFile] += p.contents[rowsFile] }, "records: "},
	{"another document", true, func(_ *testing.T, p *parts, _ *scene) { p.replace(runFile, "name: bird-strikes", "name: word-strikes") }, "document: record/runs.ndjson: "},
	{"another plan", true, func(_ *testing.T, p *parts, _ *scene) { p.replace(runFile, `"plan":"{}"`, `"plan":"{ }"`) }, "document: record/runs.ndjson: "},
	{"another status", true, func(_ *testing.T, p *parts, _ *scene) { p.replace(runFile, `"failed"`, `"completed"`) }, "document: record/runs.ndjson: it is about another run"},
	{"no run", true, func(_ *testing.T, p *parts, _ *scene) { p.remove(runFile) }, "document: record/runs.ndjson: it is not the record of one run"},
	{"no genesis", true, func(_ *testing.T, p *parts, _ *scene) { p.remove(genesisFile) }, "log: "},
	{"no entry of the key", true, func(_ *testing.T, p *parts, _ *scene) { p.remove(keyFile) }, "log: "},
	{"no entry of the run", true, func(_ *testing.T, p *parts, _ *scene) { p.remove(beganFile) }, "log: no entry says that the run began"},
	{"no entry of the seal", true, func(_ *testing.T, p *parts, _ *scene) { p.remove(sealedFile) }, "seal: the bundle contains no log entry about the seal"},
	{"another seal", true, func(_ *testing.T, p *parts, _ *scene) { p.replace(sealsFile, `"root":"`, `"root":"00`) }, "seal: record/run_seals.ndjson: its last seal is not"},
	{"a seal of another time", true, func(_ *testing.T, p *parts, _ *scene) {
		p.contents[sealsFile] = regexp.MustCompile(`"at_us":\d+`).ReplaceAllString(p.contents[sealsFile], `"at_us":1`)
	}, "seal: record/run_seals.ndjson: its last seal is not"},
	{"a late seal", true, func(_ *testing.T, p *parts, _ *scene) { p.replace(sealsFile, `"late":0`, `"late":1`) }, "seal: record/run_seals.ndjson: its last seal is not"},
	{"a seal more", true, func(_ *testing.T, p *parts, _ *scene) {
		p.contents[sealsFile] += strings.Replace(p.contents[sealsFile], `"seq":0`, `"seq":1`, 1)
	}, "seal: record/run_seals.ndjson: its last seal is not"},
	{"a seal that is none", true, func(_ *testing.T, p *parts, _ *scene) { p.contents[sealsFile] = "{\n" }, "seal: record/run_seals.ndjson: its last line"},
	{"no seals", true, func(_ *testing.T, p *parts, _ *scene) { p.remove(sealsFile) }, "seal: record/run_seals.ndjson: its last line"},
	{"no proof", true, func(_ *testing.T, p *parts, _ *scene) { p.remove(beganProof); delete(p.contents, beganProof) }, "log: "},
	{"no log", true, func(_ *testing.T, p *parts, _ *scene) {
		for _, name := range append([]string{}, p.names...) {
			if strings.HasSuffix(name, ".entry") {
				p.remove(name)
			}
		}
	}, "log: the bundle contains no log entry"},
	{"proof of another entry", true, func(_ *testing.T, p *parts, _ *scene) {
		p.contents[beganProof] = p.contents["log/000000000001.proof"]
	}, "log: "},
	{"another index", true, func(_ *testing.T, p *parts, _ *scene) { p.replace(beganProof, "index 2", "index 02") }, "log: "},
	{"10,000 hashes", true, func(_ *testing.T, p *parts, _ *scene) {
		p.replace(beganProof, "index 2\n", "index 2\n"+strings.Repeat(base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n", 1_000))
	}, "log: "},
	{"a path too long", true, func(_ *testing.T, p *parts, _ *scene) {
		p.replace(beganProof, "index 2\n", "index 2\n"+base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n")
	}, "log: "},
	{"another head", true, func(_ *testing.T, p *parts, _ *scene) {
		for _, name := range p.names {
			if strings.HasSuffix(name, ".proof") {
				p.replace(name, "\n4\n", "\n5\n")
			}
		}
	}, "log: "},
	{"a head with two signatures", true, func(_ *testing.T, p *parts, _ *scene) {
		for _, name := range p.names {
			if text := p.contents[name]; strings.HasSuffix(name, ".proof") {
				p.contents[name] = text + text[strings.LastIndex(text, "\u2014"):]
			}
		}
	}, "log: "},
	{"entry with a carriage return", true, func(_ *testing.T, p *parts, _ *scene) { p.replace(beganFile, "\n\n", "\r\n\n") }, "log: "},
	{"entry of another run", true, func(_ *testing.T, p *parts, _ *scene) { p.replace(beganFile, `"one"`, `"two"`) }, "log: "},
	{"entry of the other log", true, func(t *testing.T, p *parts, other *scene) {
		file, _ := other.export(t, other.log.Reader, bundle.NoPayloads)
		theirs := takeApart(t, file)
		for _, name := range []string{beganFile, beganProof} {
			p.contents[name] = theirs.contents[name]
		}
	}, "log: "},
	{"the other log", true, func(t *testing.T, p *parts, other *scene) {
		file, _ := other.export(t, other.log.Reader, bundle.NoPayloads)
		theirs := takeApart(t, file)
		for name, content := range theirs.contents {
			if strings.HasPrefix(name, "log/") {
				p.contents[name] = content
			}
		}
	}, "log: the log's key is"},
}

// TestHostileBundles refuses by name what was made to deceive, in Go and in Python alike.
func TestHostileBundles(t *testing.T) {
	s, other := newScene(t).ended(t), newScene(t).ended(t)
	good, _ := s.export(t, s.log.Reader, bundle.AllPayloads)
	files, wants := [][]byte{good, takeApart(t, good).zip(t), takeApart(t, good).signed(t, s.key)}, []string{"", "", ""}
	for _, h := range hostile {
		p := takeApart(t, good)
		h.change(t, p, other)
		file := p.zip(t)
		if h.signed {
			file = p.signed(t, s.key)
		}
		files, wants = append(files, file), append(wants, h.want)
	}
	step := 970 // TestSingleByte changes more
	if sample.All() {
		step = 97
	}
	for at := 0; at < len(good); at += step {
		changed := bytes.Clone(good)
		changed[at] ^= 0x41
		problem := verify(t, changed, s.trusted).Problem
		check, _, _ := strings.Cut(problem, ": ")
		files, wants = append(files, changed), append(wants, check+": ")
	}
	for i, file := range files {
		problem := verify(t, file, s.trusted).Problem
		if wants[i] == "" {
			require.Empty(t, problem)
			continue
		}
		name := "a changed byte"
		if n := i - 3; n < len(hostile) {
			name = hostile[n].name
		}
		require.True(t, strings.HasPrefix(problem, wants[i]), "%s: %s", name, problem)
	}
	said := python(t, files, policyOf(t, s.trusted))
	require.Len(t, said, len(files))
	for i, line := range said {
		check, _, _ := strings.Cut(wants[i], ": ")
		require.Equal(t, wants[i] == "", strings.HasPrefix(line, "0 "), line)
		if wants[i] != "" {
			require.True(t, strings.HasPrefix(line, "4 NOT verified: "+check+": "), "file %d: python says %s, and Go %s", i, line, wants[i])
		}
	}
}

// once has docs/verify.py check each signature once, in Python's slow arithmetic: bundles that differ in a byte have
// the others in common.
const once = `
import functools
verify.ed25519_verify = functools.lru_cache(None)(verify.ed25519_verify)
`

// python returns what docs/verify.py says of bundles: its exit code, and the last line that says whether it is verified.
func python(t *testing.T, files [][]byte, policy string) (said []string) {
	t.Helper()
	program := services.Python(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "trust.policy"), []byte(policy), 0o600))
	for i, file := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%04d.zip", i)), file, 0o600))
	}
	const each = `
import contextlib, glob, io, sys
sys.path.insert(0, sys.argv[1])
import verify
` + once + `
for path in sorted(glob.glob(sys.argv[2] + "/*.zip")):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = verify.verify(path, sys.argv[2] + "/trust.policy")
    print(code, next(line for line in out.getvalue().splitlines() if "verified" in line))
`
	docs, err := filepath.Abs("../../../docs")
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), program, "-B", "-c", each, docs, folder)
	command.Stderr = os.Stderr
	out, err := command.Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// pythonBy returns what docs/verify.py prints of a bundle without a policy and with each of these approvers files, and
// its exit codes.
func pythonBy(t *testing.T, file []byte, approvers []string) (said []string, codes []int) {
	t.Helper()
	folder := t.TempDir()
	path, docs := filepath.Join(folder, "b.zip"), "../../../docs"
	require.NoError(t, os.WriteFile(path, file, 0o600))
	const each = `
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
import verify
` + once + `
for path in sys.argv[3:]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = verify.verify(sys.argv[2], "", path)
    print(json.dumps([code, out.getvalue()]))
`
	args := []string{"-B", "-c", each, docs, path}
	for i, text := range approvers {
		args = append(args, filepath.Join(folder, fmt.Sprint("approvers", i)))
		require.NoError(t, os.WriteFile(args[len(args)-1], []byte(text), 0o600))
	}
	command := exec.CommandContext(t.Context(), services.Python(t), args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	require.NoError(t, err)
	for line := range bytes.Lines(out) {
		var code int
		var text string
		require.NoError(t, json.Unmarshal(line, &[]any{&code, &text}))
		said, codes = append(said, text), append(codes, code)
	}
	require.Len(t, said, len(approvers))
	return said, codes
}

// TestRevokedKey does not take the signature of a key that was revoked.
func TestRevokedKey(t *testing.T) {
	s := newScene(t).ended(t)
	folder := filepath.Dir(s.key.Place)
	e, err := evidence.Open(t.Context(), s.log, evidence.Options{Keys: folder, Host: "h"})
	require.NoError(t, err)
	_, err = e.Notary.Revoke(t.Context(), s.key.VKey, "stolen")
	require.NoError(t, err)
	file, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	require.Contains(t, verify(t, file, s.trusted).Problem, "log: the key that signed the bundle does not count")
	require.Contains(t, python(t, [][]byte{file}, policyOf(t, s.trusted))[0], "4 NOT verified: log: ")
}
