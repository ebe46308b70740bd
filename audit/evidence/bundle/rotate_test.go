package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/bundle"
	"waymark/audit/evidence/keys"
	"waymark/tests/storages"
)

// TestBundleOfARotatedLog: the bundle of before the rotation holds for who trusts the key of then, and the one of after it for who trusts either key.
func TestBundleOfARotatedLog(t *testing.T) {
	folder := t.TempDir()
	s := newSceneWith(t, storages.Use(t, storages.Memory).Landscape(t), folder).ended(t)
	before, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	done, err := s.notary.Rotate(t.Context(), func(name string) (keys.Key, error) { return keys.Next(folder, keys.Log, name, "", "") }, "yearly")
	require.NoError(t, err)
	require.Equal(t, s.trusted, done.Old)
	after, _ := s.export(t, s.log.Reader, bundle.NoPayloads)
	files := [][]byte{before, after}
	for _, by := range []struct {
		key     string
		problem []string
	}{
		{done.Old, []string{"", ""}},
		{done.New, []string{"log: the log's key is ", ""}},
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
