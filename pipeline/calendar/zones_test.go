package calendar_test

import (
	"archive/zip"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/calendar"
)

// timesOfDay is how many times of day TestEveryDayOfEveryZone tries.
var timesOfDay = flag.Int("times-of-day", 1, "try so many times of day in every zone")

// archive has the zones that Go embeds.
var archive string

// TestMain lets all zones come from the archive, whatever the machine has.
func TestMain(m *testing.M) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	archive = filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip")
	if err := errors.Join(err, os.Setenv("ZONEINFO", archive)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// zones returns the names of all zones in the archive, and of those that are alike the first.
func zones(t *testing.T) (all, distinct []string) {
	t.Helper()
	in, err := zip.OpenReader(archive)
	require.NoError(t, err)
	defer in.Close()
	seen := map[string]bool{}
	for _, file := range in.File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		content, err := file.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(content)
		require.NoError(t, err)
		all = append(all, file.Name)
		if !seen[string(data)] {
			distinct = append(distinct, file.Name)
		}
		seen[string(data)] = true
	}
	return all, distinct
}

func TestZonesAreThoseThatGoEmbeds(t *testing.T) {
	all, distinct := zones(t)
	slices.Sort(all)
	require.Equal(t, all, calendar.Zones())
	require.Greater(t, len(distinct), 300)
}
