package version_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/version"
)

func TestABuildIsNamedByWhatIsKnownOfIt(t *testing.T) {
	for want, build := range map[string]version.Build{
		"waymark 1.2.3":                       {Version: "1.2.3"},
		"waymark 1.2.3 (0123456789ab)":        {Version: "1.2.3", Revision: "0123456789abcdef"},
		"waymark 1.2.3 (0123456789ab, dirty)": {Version: "1.2.3", Revision: "0123456789abcdef", Dirty: true},
		"waymark 0.0.0-20261130030323-0123456789ab+dirty": {
			Version: "0.0.0-20261130030323-0123456789ab+dirty", Revision: "0123456789abcdef", Dirty: true,
		},
	} {
		require.Equal(t, want, build.Code())
		build.Go, build.Platform = "go1", "linux/arm64"
		require.Equal(t, want+", go1, linux/arm64", build.String())
		build.Lab = true
		require.Equal(t, want+", go1, linux/arm64, with failpoints", build.String())
	}
}

func TestTheLinkerNamesReleases(t *testing.T) {
	require.Equal(t, "1.2.3", version.This("1.2.3").Version)
	require.NotEmpty(t, version.This("").Go)
}
