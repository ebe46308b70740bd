package bundle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/keys"
	"waymark/landscape"
	"waymark/tests/storages"
)

// TestBundleOfARotatedLog: the bundle of before the rotation holds for who trusts the key of then, and those of after it for who trusts either key: of the time in
// which both keys sign the head, and of when the old one is retired.
func TestBundleOfARotatedLog(t *testing.T) {
	folder := t.TempDir()
	s := newSceneWith(t, storages.Use(t, storages.Memory).Landscape(t), folder).ended(t)
	before, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	done, err := s.notary.Rotate(t.Context(), func(name string) (keys.Key, error) { return keys.Next(folder, keys.Log, name, "", "") }, "yearly")
	require.NoError(t, err)
	require.Equal(t, s.trusted, done.Old)
	after, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	later := func() time.Time { return done.Until }
	e, err := evidence.Open(t.Context(), landscape.New(s.driver, later), evidence.Options{Keys: folder})
	require.NoError(t, err)
	require.NoError(t, e.Notary.Pass(t.Context()))
	late, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	files := [][]byte{before, after, late}
	for i, signatures := range []int{1, 2, 1} {
		require.Equal(t, signatures, signaturesOfHead(t, files[i]))
	}
	for _, by := range []struct {
		key     string
		problem []string
	}{
		{done.Old, []string{"", "", ""}},
		{done.New, []string{"log: the log's key is ", "", ""}},
	} {
		for i, said := range python(t, files, policyOf(t, by.key)) {
			problem := verify(t, files[i], by.key).Problem
			if by.problem[i] == "" {
				require.Empty(t, problem)
				require.Contains(t, said, "0 verified: run one")
				continue
			}
			require.Contains(t, problem, by.problem[i])
			require.Contains(t, said, "4 NOT verified: log: the log's key is not the trusted one")
		}
	}
}

// signaturesOfHead counts the signatures of the head in a bundle.
func signaturesOfHead(t *testing.T, file []byte) int {
	t.Helper()
	for name, content := range takeApart(t, file).contents {
		if strings.HasSuffix(name, ".proof") {
			return strings.Count(content, "\n\u2014 ")
		}
	}
	t.Fatal("the bundle has no proof of an entry")
	return 0
}
