package file

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/plugin"
	"waymark/plugin/plugintest"
)

func publishedParts(t *testing.T) (sinkDestination, plugin.Target, plugintest.Output) {
	t.Helper()
	p := newSinkPlace(t, "csv", true)
	target := p.target("one", false)
	output := plugintest.NewOutput(p.header(), "a,1\n", "b,2\n")
	output.Write(t, target)
	_, err := target.Publish(t.Context(), output.Header, output.Parts)
	require.NoError(t, err)
	return p, target, output
}

// TestManifest: its bytes are a promise. Equal outputs have equal manifests, whatever the run.
func TestManifest(t *testing.T) {
	p, _, _ := publishedParts(t)
	text, err := os.ReadFile(filepath.Join(p.final(), ManifestName))
	require.NoError(t, err)
	require.Equal(t, `{
  "waymark": "parts-v1",
  "sink": "all",
  "rows": 4,
  "bytes": 16,
  "parts": [
    {
      "file": "part-00000.csv",
      "rows": 2,
      "bytes": 8,
      "sha256": "01a90a081d6971b86840c3fcaa8df879ab940529e676216b603a9d5ea5db45c7"
    },
    {
      "file": "part-00001.csv",
      "rows": 2,
      "bytes": 8,
      "sha256": "10611030066d2240dc247950e49312df4098a403e8aa04e911799d3f9076962d"
    }
  ]
}
`, string(text))
}

// TestPublishedPartsChanged: whatever is done to a published folder shows when it is looked at again.
func TestPublishedPartsChanged(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"manifest changed": func(t *testing.T, dir string) { flipByte(t, filepath.Join(dir, ManifestName), 30) },
		"manifest removed": func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, ManifestName))) },
		"header changed":   func(t *testing.T, dir string) { flipByte(t, filepath.Join(dir, "part-00001.csv"), 0) },
		"row changed":      func(t *testing.T, dir string) { flipByte(t, filepath.Join(dir, "part-00001.csv"), 5) },
		"part longer":      func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "part-00001.csv"), "k,v\nb,2\nc,3\n") },
		"part removed":     func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "part-00001.csv"))) },
		"file added":       func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "part-00002.csv"), "k,v\n") },
	} {
		t.Run(name, func(t *testing.T) {
			p, target, output := publishedParts(t)
			change(t, p.final())
			_, err := target.Publish(t.Context(), output.Header, output.Parts)
			plugintest.RequireCode(t, codeTargetChanged, err)
			_, err = target.Verify(t.Context(), output.Header, output.Parts)
			plugintest.RequireCode(t, codeTargetChanged, err)
		})
	}
}

// TestOverwriteKeepsStrangers: a folder that holds anything of somebody else is not replaced, even if that came while the
// run was going on.
func TestOverwriteKeepsStrangers(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, dir string){
		"file added":     func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "notes.txt"), "mine") },
		"folder added":   func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "mine", "notes.txt"), "mine") },
		"no manifest":    func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, ManifestName))) },
		"other manifest": func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, ManifestName), `{"name": "app"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			p, _, output := publishedParts(t)
			second := p.target("two", true)
			output.Write(t, second)
			plant(t, p.final())
			_, err := second.Publish(t.Context(), output.Header, output.Parts)
			plugintest.RequireCode(t, codeTargetRefused, err)
			requireNotOpened(t, p.target("three", true), output.Header)
			require.NoError(t, second.Discard(t.Context()))
			require.FileExists(t, filepath.Join(p.final(), "part-00001.csv"))
		})
	}
}
