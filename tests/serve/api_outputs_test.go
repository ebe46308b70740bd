package serve_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// outputs gets what a run published, whole and in parts, and not what took its place.
func (s *apiServer) outputs(t *testing.T) {
	auditor, path := s.Tokens[landscape.Auditor], "/v1/runs/same/outputs/all"
	answer, body := s.Ask(t, "GET", path, auditor, "")
	require.Equal(t, 200, answer.StatusCode, "%s", body)
	require.Equal(t, "id,total\n1,10.50\n3,99\n", string(body))
	require.Equal(t, `attachment; filename=all.csv`, answer.Header.Get("Content-Disposition"))
	require.Contains(t, answer.Header.Get("Content-Security-Policy"), "sandbox")
	tag := answer.Header.Get("ETag")
	answer, body = s.Ask(t, "GET", path, auditor, "", "Range", "bytes=9-15")
	require.Equal(t, 206, answer.StatusCode)
	require.Equal(t, "1,10.50", string(body))
	answer, _ = s.Ask(t, "GET", path, auditor, "", "If-None-Match", tag)
	require.Equal(t, 304, answer.StatusCode)
	answer, body = s.Ask(t, "GET", "/v1/runs/same/outputs/nobody", auditor, "")
	require.Equal(t, 404, answer.StatusCode, "%s", body)
	file := filepath.Join(s.Folder, "out/all.csv")
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Symlink(filepath.Join(s.Folder, "orders.csv"), file))
	answer, body = s.Ask(t, "GET", path, auditor, "")
	require.Equal(t, 409, answer.StatusCode)
	require.Equal(t, "OUTPUT_DIFFERS", code(t, body))
	_, body = s.Ask(t, "GET", "/v1/disclosures?limit=1", s.Tokens[landscape.Admin], "")
	require.Contains(t, string(body), `"what":"output","subject":"all"`)
}

// secrets looks for the secrets of access tokens where they must not be: in everything that is on disk, and in the log.
func (s *apiServer) secrets(t *testing.T) {
	for role, token := range s.Tokens {
		secret := []byte(strings.SplitN(token, "_", 3)[2])
		require.NotContains(t, s.Log.String(), string(secret), role)
		require.NoError(t, filepath.WalkDir(s.Folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				var content []byte
				if content, err = os.ReadFile(path); bytes.Contains(content, secret) {
					return fmt.Errorf("%s has the secret of the %s", path, role)
				}
			}
			if errors.Is(err, fs.ErrNotExist) { // the server removed it meanwhile
				return nil
			}
			return err
		}))
	}
}
