package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/plugin"
	"waymark/plugin/plugintest"
	"waymark/tests/sample"
)

const killsPerCase = 5

// crashOutput is the output that the killed child writes and the parent finishes.
func crashOutput(header string) plugintest.Output {
	var texts []string
	for i := range 20 {
		texts = append(texts, fmt.Sprintf("%d,%0*d\n", i, 1+997*i, i))
	}
	return plugintest.NewOutput(header, texts...)
}

// TestKilled: whenever a process is killed between Open and the end of Publish, a new one that writes what Check does not
// find, and publishes, ends with exactly the output; and until then nothing is visible.
func TestKilled(t *testing.T) {
	eachFormat(t, func(t *testing.T, newPlace func(t testing.TB) sinkDestination) {
		for _, overwrite := range []bool{false, true} {
			stages := map[string]int{}
			for range killsPerCase / sample.Step(3) {
				p := newPlace(t)
				if overwrite {
					p.occupy()
				}
				killChild(t, p, overwrite)
				stages[finish(t, p, overwrite, crashOutput(p.header()))]++
			}
			t.Logf("overwrite %v: killed while %v", overwrite, stages)
		}
	})
}

// killChild runs TestKilledChild in a process of its own, for the place, and kills it after a random time.
func killChild(t *testing.T, p sinkDestination, overwrite bool) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
	child.Env = append(os.Environ(), "SINK_DIR="+p.dir, "SINK_FORMAT="+p.format,
		fmt.Sprintf("SINK_PARTS=%v", p.parts), fmt.Sprintf("SINK_OVERWRITE=%v", overwrite))
	ready, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	_, err = ready.Read(make([]byte, 1))
	require.NoError(t, err)
	time.Sleep(rand.N(25 * time.Millisecond))
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
}

// TestKilledChild writes and publishes the same output for ever, as the process that TestKilled kills.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv("SINK_DIR")
	if dir == "" {
		t.Skip("is run by TestKilled")
	}
	p := sinkDestination{t: t, dir: dir, format: os.Getenv("SINK_FORMAT"), parts: os.Getenv("SINK_PARTS") == "true"}
	output := crashOutput(p.header())
	target := p.target("one", os.Getenv("SINK_OVERWRITE") == "true")
	fmt.Print("!")
	for {
		output.Write(t, target)
		if _, err := target.Publish(t.Context(), output.Header, output.Parts); err != nil {
			t.Fatal(err)
		}
		if os.Getenv("SINK_OVERWRITE") != "true" {
			select {}
		}
	}
}

// finish continues where the child was killed, and says where that was.
func finish(t *testing.T, p sinkDestination, overwrite bool, o plugintest.Output) string {
	t.Helper()
	target := p.target("one", overwrite)
	stage := "publishing"
	for i, part := range o.Parts {
		applied, err := target.Check(t.Context(), part)
		require.NoError(t, err)
		if applied == plugin.Exactly {
			continue
		}
		stage = "writing"
		_, err = target.Open(t.Context(), o.Header)
		require.NoError(t, err)
		require.NoError(t, target.Write(t.Context(), part, o.Data[i]))
	}
	if data, ok := p.read(o.Header); ok && string(data) == string(o.Whole()) {
		stage = "published"
	}
	_, err := target.Publish(t.Context(), o.Header, o.Parts)
	require.NoError(t, err)
	data, ok := p.read(o.Header)
	require.True(t, ok)
	require.Equal(t, string(o.Whole()), string(data))
	require.Zero(t, p.remains())
	return stage
}

// TestPublishIsAtomic: whoever looks while outputs are published sees nothing, the old or the new one, never a part (SNK-09).
func TestPublishIsAtomic(t *testing.T) {
	p := newSinkPlace(t, "jsonl", false)
	outputs := map[string]bool{}
	var both []plugintest.Output
	for _, text := range []string{"old", "new, longer"} {
		o := plugintest.NewOutput("", text+"\n", text+"\n")
		both, outputs[string(o.Whole())] = append(both, o), true
	}
	ctx, cancel := context.WithCancel(t.Context())
	var reader sync.WaitGroup
	reads := 0
	reader.Go(func() {
		for ; ctx.Err() == nil; reads++ {
			data, err := os.ReadFile(p.final())
			if errors.Is(err, fs.ErrNotExist) && len(data) == 0 {
				continue
			}
			if err != nil || !outputs[string(data)] {
				t.Errorf("saw %q, %v", data, err)
			}
		}
	})
	publications := 200 / sample.Step(4)
	for i := range publications {
		target := p.target(fmt.Sprint(i), true)
		both[i%2].Write(t, target)
		_, err := target.Publish(t.Context(), both[i%2].Header, both[i%2].Parts)
		require.NoError(t, err)
	}
	cancel()
	reader.Wait()
	require.Greater(t, reads, publications)
}

// TestInterruptedMove: a process that was killed between the steps of a move leaves what Publish finishes, and what Discard
// undoes.
func TestInterruptedMove(t *testing.T) {
	for name, c := range map[string]struct {
		parts, overwrite bool
		cut              func(t *testing.T, p sinkDestination)
	}{
		"linked": {cut: func(t *testing.T, p sinkDestination) { require.NoError(t, os.Link(p.staging("one"), p.final())) }},
		"header removed": {parts: true, cut: func(t *testing.T, p sinkDestination) {
			require.NoError(t, os.Remove(filepath.Join(p.staging("one"), headerName)))
		}},
		"old put aside": {parts: true, overwrite: true, cut: func(t *testing.T, p sinkDestination) {
			require.NoError(t, os.Rename(p.final(), p.aside("one")))
		}},
		"old not removed": {parts: true, overwrite: true, cut: func(t *testing.T, p sinkDestination) {
			sealStaging(t, p, crashOutput(p.header()))
			require.NoError(t, os.Rename(p.final(), p.aside("one")))
			require.NoError(t, os.Rename(p.staging("one"), p.final()))
		}},
	} {
		prepare := func(t *testing.T) (sinkDestination, plugin.Target, plugintest.Output) {
			p := newSinkPlace(t, "csv", c.parts)
			if c.overwrite {
				p.occupy()
			}
			output := crashOutput(p.header())
			target := p.target("one", c.overwrite)
			output.Write(t, target)
			return p, target, output
		}
		t.Run(name+", then Publish", func(t *testing.T) {
			p, target, output := prepare(t)
			c.cut(t, p)
			_, err := target.Publish(t.Context(), output.Header, output.Parts)
			require.NoError(t, err)
			data, ok := p.read(output.Header)
			require.True(t, ok)
			require.Equal(t, string(output.Whole()), string(data))
			require.Zero(t, p.remains())
		})
		t.Run(name+", then Discard", func(t *testing.T) {
			p, target, _ := prepare(t)
			c.cut(t, p)
			require.NoError(t, target.Discard(t.Context()))
			require.Zero(t, p.remains())
			_, ok := p.read(nil)
			require.Equal(t, c.overwrite || name == "linked", ok)
		})
	}
}

// sealStaging does what Publish does before it moves a folder of parts.
func sealStaging(t *testing.T, p sinkDestination, o plugintest.Output) {
	t.Helper()
	target := p.target("one", true).(*fileTarget)
	_, _, err := target.layout.seal(t.Context(), target.staging, o.Header, o.Parts)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(p.staging("one"), headerName)))
}
