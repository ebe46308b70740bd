package fsstore_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/tests/sample"
)

// childDir, if set, makes this binary the child of TestKilledWriter: it stores objects in that folder until it is killed.
const childDir = "FSSTORE_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := storeForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// childObjects is how many objects the child chooses from: the killed writer's objects are put again by later ones.
const childObjects = 300

// childObject returns object n: up to 300 KiB, so that many kills fall into a write.
func childObject(n int) []byte {
	data := make([]byte, n*1000)
	rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(data)
	return data
}

// storeForever prints the digest of each object after Put acknowledged it.
func storeForever(dir string) error {
	s, err := fsstore.Open(dir)
	if err != nil {
		return err
	}
	store := payload.New(s, payload.Options{OnHeal: func(h payload.Heal) { fmt.Println("poisoned:", h.Digest, h.Reason) }})
	for {
		d, err := store.Put(context.Background(), childObject(rand.IntN(childObjects)))
		if err != nil {
			return err
		}
		fmt.Println(d)
	}
}

// TestKilledWriter kills a writer at random times. Whatever has a final name is correct at any time, everything
// acknowledged is there, and what was cut can be put again.
func TestKilledWriter(t *testing.T) {
	s, dir := create(t)
	store := payload.New(s, payload.Options{})
	acknowledged, temps := map[payload.Digest]bool{}, 0
	const kills = 25
	for n := 0; n < kills/sample.Step(5) || temps == 0 && n < kills; n++ {
		killWriter(t, dir, acknowledged)
		temps += len(glob(t, filepath.Join(dir, "objects", "*", "tmp-*")))
		requireAllCorrect(t, dir)
		for d := range acknowledged {
			_, err := store.Get(t.Context(), d)
			require.NoError(t, err)
		}
		_, err := s.Sweep(t.Context(), 0)
		require.NoError(t, err)
		requireNoTemps(t, dir)
	}
	require.NotEmpty(t, acknowledged)
	require.Positive(t, temps, "no kill fell into a write: the test proves nothing")
	for n := range childObjects {
		_, err := store.Put(t.Context(), childObject(n))
		require.NoError(t, err)
	}
	requireAllCorrect(t, dir)
	require.Empty(t, glob(t, filepath.Join(dir, "quarantine", "*")))
	t.Logf("%d objects acknowledged, %d writes cut", len(acknowledged), temps)
}

// killWriter runs the child, kills it some time after its first acknowledgement, and adds what it acknowledged.
func killWriter(t *testing.T, dir string, acknowledged map[payload.Digest]bool) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var kill *time.Timer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if kill == nil {
			kill = time.AfterFunc(time.Duration(rand.IntN(20_000))*time.Microsecond, func() { _ = child.Process.Kill() }) // it may have ended
		}
		d, err := payload.ParseDigest(lines.Text())
		if err != nil && strings.HasPrefix(lines.Text(), "poisoned") {
			t.Errorf("the child found a torn object: %s", lines.Text())
		}
		if err == nil {
			acknowledged[d] = true
		}
	}
	require.ErrorContains(t, child.Wait(), "killed")
}

// requireAllCorrect hashes every object without the help of the package under test.
func requireAllCorrect(t *testing.T, dir string) {
	t.Helper()
	for _, path := range glob(t, filepath.Join(dir, "objects", "*", "*")) {
		if strings.HasPrefix(filepath.Base(path), "tmp-") {
			continue
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		require.Equal(t, filepath.Base(path), hex.EncodeToString(sum[:]))
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return paths
}
