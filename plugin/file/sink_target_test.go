package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/plugintest"
)

// sinkDestination is a document's folder with one file sink in it.
type sinkDestination struct {
	t      testing.TB
	dir    string
	format string
	parts  bool
}

func newSinkPlace(t testing.TB, format string, parts bool) sinkDestination {
	return sinkDestination{t: t, dir: t.TempDir(), format: format, parts: parts}
}

// header is what the format's encoder would give for two columns.
func (p sinkDestination) header() string {
	if p.format == "csv" {
		return "k,v\n"
	}
	return ""
}

func (p sinkDestination) final() string { return filepath.Join(p.dir, "out", "all."+p.format) }

func (p sinkDestination) staging(run string) string {
	return filepath.Join(p.dir, "out", ".all."+p.format+"."+run+".partial")
}

func (p sinkDestination) aside(run string) string {
	return filepath.Join(p.dir, "out", ".all."+p.format+"."+run+".old")
}

func (p sinkDestination) sink(overwrite bool) plugin.Sink {
	p.t.Helper()
	root, err := NewRoot(p.dir)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { require.NoError(p.t, root.Close()) })
	where := pipeline.FileTarget{Path: "out/all." + p.format, Parts: p.parts, Overwrite: overwrite}
	at, err := Access{Root: root}.Destination("all", "."+p.format, where)
	require.NoError(p.t, err)
	return NewSink(at, nil)
}

func (p sinkDestination) target(run string, overwrite bool) plugin.Target {
	return p.sink(overwrite).Target(run)
}

func (p sinkDestination) read(header []byte) ([]byte, bool) {
	p.t.Helper()
	if !p.parts {
		data, err := os.ReadFile(p.final())
		return data, err == nil
	}
	files, err := filepath.Glob(filepath.Join(p.final(), "part-*"))
	require.NoError(p.t, err)
	whole := header
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(p.t, err)
		rest, ok := strings.CutPrefix(string(data), string(header))
		require.True(p.t, ok, "%s has no header", name)
		whole = append(whole[:len(whole):len(whole)], rest...)
	}
	_, err = os.Stat(p.final())
	return whole, err == nil
}

func (p sinkDestination) occupy() {
	p.t.Helper()
	if !p.parts {
		writeFile(p.t, p.final(), "old")
		return
	}
	writeFile(p.t, filepath.Join(p.final(), "part-00000."+p.format), p.header()+"old")
	writeFile(p.t, filepath.Join(p.final(), ManifestName),
		`{"waymark": "parts-v1", "parts": [{"file": "part-00000.`+p.format+`"}]}`)
}

func (p sinkDestination) tamper(run string, part plugin.Part) {
	p.t.Helper()
	name, last := p.staging(run), part.Offset+part.Bytes-1
	if p.parts {
		name = partsFolder{extension: "." + p.format}.partFile(name, part.Ordinal)
		info, err := os.Stat(name)
		require.NoError(p.t, err)
		last = info.Size() - 1
	}
	flipByte(p.t, name, last)
}

func (p sinkDestination) remains() int {
	hidden, err := filepath.Glob(filepath.Join(p.dir, "out", ".*"))
	require.NoError(p.t, err)
	inside, err := filepath.Glob(filepath.Join(p.final(), ".*"))
	require.NoError(p.t, err)
	return len(hidden) + len(inside)
}

func writeFile(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func flipByte(t testing.TB, name string, offset int64) {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	data[offset] ^= 1
	require.NoError(t, os.WriteFile(name, data, 0o644))
}

// eachFormat runs the test for every file format and layout.
func eachFormat(t *testing.T, test func(t *testing.T, newPlace func(t testing.TB) sinkDestination)) {
	for _, format := range []string{"csv", "jsonl"} {
		for layout, parts := range map[string]bool{"one file": false, "parts": true} {
			t.Run(format+" "+layout, func(t *testing.T) {
				test(t, func(t testing.TB) sinkDestination { return newSinkPlace(t, format, parts) })
			})
		}
	}
}

func TestTargetContract(t *testing.T) {
	eachFormat(t, func(t *testing.T, newPlace func(t testing.TB) sinkDestination) {
		plugintest.TestTarget(t, newPlace(t).header(), func(t *testing.T) plugintest.Destination {
			p := newPlace(t)
			return plugintest.Destination{Target: p.target, Read: p.read, Occupy: p.occupy, Tamper: p.tamper, Remains: p.remains}
		})
	})
}

// TestHeaderChanged: a header that is not the run's is not published.
func TestHeaderChanged(t *testing.T) {
	for name, parts := range map[string]bool{"one file": false, "parts": true} {
		t.Run(name, func(t *testing.T) {
			p := newSinkPlace(t, "csv", parts)
			output := plugintest.NewOutput(p.header(), "a,1\n")
			target := p.target("one", false)
			output.Write(t, target)
			first := p.staging("one")
			if parts {
				first = filepath.Join(first, "part-00000.csv")
			}
			flipByte(t, first, 0)
			_, err := target.Publish(t.Context(), output.Header, output.Parts)
			plugintest.RequireCode(t, codeTargetChanged, err)
			require.ErrorContains(t, err, "header")
		})
	}
}
