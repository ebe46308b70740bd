package bundle_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/bundle"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/plugin"
)

// outputs are files that a test can change, by the sink that published them; nil: in a table.
type outputs map[string][]plugin.OutputFile

func (o outputs) of(_ context.Context, record landscape.ArtifactRecord) ([]plugin.OutputFile, error) {
	if o[record.Sink] == nil {
		return nil, plugin.ErrNoFiles
	}
	return o[record.Sink], nil
}

// holding returns a file that holds a text, and should hold another one.
func holding(text, recorded string) plugin.OutputFile {
	return plugin.OutputFile{Name: "a file", SHA256: digest(recorded), Open: func(context.Context) (io.ReadCloser, error) {
		if text == "" {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

const firstPart = "the first part"

// publishing is a scene with a run that published a file, an output in two parts, and a table; or, in place of the table, JSON Lines with their schema.
func publishing(t *testing.T, rejects ...string) (*scene, outputs) {
	t.Helper()
	s := newScene(t)
	made := landscapetest.Scene{Run: run, Chunks: 2, ChunkRows: 10}
	require.NoError(t, s.log.EndSource(t.Context(), made.End()))
	for i := range 2 {
		require.NoError(t, made.Write(t.Context(), s.log, i))
	}
	summary, err := s.log.Summary(t.Context(), run)
	require.NoError(t, err)
	files := outputs{}
	for _, sink := range summary.Sinks {
		text, schema := strings.Repeat(sink.Sink[2:3], int(sink.Bytes)), ""
		if sink.Sink == "rejects" && rejects != nil {
			text, schema = rejects[0], rejects[1]
			files["rejects"] = []plugin.OutputFile{holding(text, text)}
		}
		a := plugin.Artifact{Path: "/out/" + sink.Sink, Bytes: int64(len(text)), Rows: sink.Finalized, SHA256: digest(text)}
		switch sink.Sink {
		case "all":
			files["all"] = []plugin.OutputFile{holding(text, text)}
		case "review":
			rest := text[len(firstPart):]
			manifest := fmt.Sprintf(`{"waymark":"parts-v1","parts":[{"file":"a","bytes":%d,"sha256":"%s"},{"file":"b","bytes":%d,"sha256":"%s"}]}`,
				len(firstPart), digest(firstPart), len(rest), digest(rest))
			a.SHA256 = digest(manifest)
			files["review"] = []plugin.OutputFile{holding(manifest, manifest), holding(firstPart, firstPart), holding(rest, rest)}
		}
		require.NoError(t, s.log.PreparePublish(t.Context(), run, sink.Sink, sink.Planned, min(sink.Bytes, int64(len(text)))))
		e, err := s.log.BeginEffect(t.Context(), landscape.PublishKey(run, sink.Sink), landscape.Placement{}, "w1")
		require.NoError(t, err)
		require.NoError(t, s.log.FinalizePublish(t.Context(), e.Attempt("w1"), a, "", schema))
	}
	return s.ended(t), files
}

func (s *scene) exportWith(t *testing.T, o bundle.Options) ([]byte, *bundle.Manifest, error) {
	t.Helper()
	recorded, err := s.log.Run(t.Context(), run)
	require.NoError(t, err)
	o.Key = s.key
	var b bytes.Buffer
	manifest, err := bundle.Export(t.Context(), &b, s.log.Reader, s.payloads, recorded, o)
	return b.Bytes(), manifest, err
}

// TestArtifacts puts outputs into a bundle, and refuses one in which they are not what the run published, in Go and in Python alike.
func TestArtifacts(t *testing.T) {
	s, files := publishing(t)
	good, manifest, err := s.exportWith(t, bundle.Options{Payloads: bundle.NoPayloads, Outputs: files.of})
	require.NoError(t, err)
	require.Len(t, manifest.Gaps, 1, "a table")
	require.Contains(t, manifest.Gaps[0].Why, "output of rejects: the output is not in files")
	part, whole := "artifacts/"+digest(firstPart), "artifacts/"+files["all"][0].SHA256
	list := "artifacts/" + files["review"][0].SHA256
	require.Equal(t, firstPart, takeApart(t, good).contents[part])
	bundles, wants := [][]byte{good}, []string{""}
	for _, h := range []struct {
		want   string
		change func(p *parts)
	}{
		{part + ": its SHA-256 is not its name", func(p *parts) { p.contents[part] = "another part!!" }},
		{"output of review: " + part + ": it is not here, and no gap says why", func(p *parts) { p.remove(part) }},
		{"output of all: " + whole + ": it is not here, and no gap says why", func(p *parts) { p.remove(whole) }},
		{"output of rejects: ", func(p *parts) { p.lie = func(m *bundle.Manifest) { m.Gaps = nil } }},
		{part + ": the run published no such file", func(p *parts) {
			p.remove(list)
			p.lie = func(m *bundle.Manifest) { m.Gaps = append(m.Gaps, bundle.Gap{What: list, Why: "lost"}) }
			for _, name := range p.names {
				if strings.HasPrefix(name, "artifacts/") && name != whole && name != part {
					p.remove(name)
				}
			}
		}},
	} {
		p := takeApart(t, good)
		h.change(p)
		bundles, wants = append(bundles, p.signed(t, s.key)), append(wants, h.want)
	}
	none, _, err := s.exportWith(t, bundle.Options{Payloads: bundle.NoPayloads})
	require.NoError(t, err)
	p := takeApart(t, good)
	p.lie = func(m *bundle.Manifest) { m.Artifacts = false }
	bundles, wants = append(bundles, p.signed(t, s.key), none), append(wants, "artifacts/", "")
	said := python(t, bundles, policyOf(t, s.trusted))
	for i, file := range bundles {
		problem := verify(t, file, s.trusted).Problem
		require.Equal(t, wants[i] == "", problem == "", "%s: %s", wants[i], problem)
		require.True(t, problem == "" || strings.HasPrefix(problem, "artifacts: "+wants[i]), "%s: %s", wants[i], problem)
		require.True(t, strings.HasPrefix(said[i], "0 ") == (wants[i] == ""), said[i])
		require.True(t, wants[i] == "" || strings.HasPrefix(said[i], "4 NOT verified: artifacts: "), said[i])
	}
}

// TestRowsFitTheirSchema refuses an output with a row that does not fit the schema on record, in Go and in Python alike. (0.5 CPU-s.)
func TestRowsFitTheirSchema(t *testing.T) {
	const rows = `{"id":1,"day":"2026-01-31","price":1e3,"data":{}}` + "\n" + `{"id":-2,"day":null,"data":1}` + "\n" + `{"id":2.5,"day":null,"data":1}` + "\n"
	const schema = `{"fields":[{"name":"id","types":["int"]},{"name":"day","types":["date"],"nullable":true},{"name":"price","types":["decimal"],"missing":true},{"name":"data","types":["json"]}]}`
	s, files := publishing(t, rows, schema)
	made, _, err := s.exportWith(t, bundle.Options{Payloads: bundle.NoPayloads, Outputs: files.of})
	require.NoError(t, err)
	want := "artifacts/" + files["rejects"][0].SHA256 + ": row 3 does not fit the schema on record: its "
	require.Contains(t, verify(t, made, s.trusted).Problem, want)
	require.Contains(t, python(t, [][]byte{made}, policyOf(t, s.trusted))[0], want)
}

// TestArtifactsThatChanged refuses to export what is not what the run published; what is gone is a gap.
func TestArtifactsThatChanged(t *testing.T) {
	s, files := publishing(t)
	with := func(sink string, changed ...plugin.OutputFile) bundle.Options {
		of := outputs{"all": files["all"], "review": files["review"], sink: changed}
		return bundle.Options{Payloads: bundle.NoPayloads, Outputs: of.of}
	}
	all, review := files["all"][0], files["review"]
	wrong := all
	wrong.Open = holding("another text", "").Open
	_, _, err := s.exportWith(t, with("all", wrong))
	require.ErrorIs(t, err, bundle.ErrOutputChanged)
	require.ErrorContains(t, err, "a file: its SHA-256 is not the recorded one, "+all.SHA256)
	_, _, err = s.exportWith(t, with("review", holding("another manifest", "another manifest"), review[1]))
	require.ErrorIs(t, err, bundle.ErrOutputChanged)
	require.ErrorContains(t, err, "/out/review: ")

	gone := review[1]
	gone.Open = holding("", "").Open
	file, manifest, err := s.exportWith(t, with("review", review[0], gone, review[2]))
	require.NoError(t, err)
	require.Len(t, manifest.Gaps, 2)
	require.Contains(t, fmt.Sprint(manifest.Gaps), "artifacts/"+gone.SHA256+" file does not exist")
	require.Empty(t, verify(t, file, s.trusted).Problem)
}

// TestRefusedRecords has the records of rows in quarantine in a bundle, each under the hash that is recorded of it, and no others.
func TestRefusedRecords(t *testing.T) {
	s := newScene(t).ended(t)
	_, manifest, err := s.exportWith(t, bundle.Options{Payloads: bundle.RefusedPayloads})
	require.NoError(t, err)
	require.Len(t, manifest.Gaps, 2, "the packs of the scene are none")
	require.Contains(t, manifest.Gaps[0].Why, "refused records of strikes chunk 0: ")
}
