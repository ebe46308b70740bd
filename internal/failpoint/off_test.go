//go:build !failpoints

package failpoint_test

import (
	"bytes"
	"go/build"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/failpoint"
)

func TestANormalBuildDoesNothingAtItsMoments(t *testing.T) {
	require.False(t, failpoint.Enabled)
	t.Setenv("WAYMARK_FAILPOINTS", failpoint.Check+"=unknown;moment=kill;write=short:0")
	require.NoError(t, failpoint.Hit(failpoint.Check))
	require.NoError(t, failpoint.Hit("moment"))
	require.Equal(t, 10, failpoint.Short("write", 10))
}

// TestANormalBuildContainsNoFailpoints looks at what the package is made of, and at the names of functions in the binary that runs
// this test.
func TestANormalBuildContainsNoFailpoints(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"failpoint.go", "off.go"}, pkg.GoFiles)
	require.Equal(t, []string{"errors"}, pkg.Imports)

	self, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	require.True(t, bytes.Contains(binary, []byte("waymark/internal/failpoint"+"_test.TestANormalBuild")), "functions have no names here")
	for _, absent := range []string{"ParsePlan", "fromEnvironment", "arm", "giveUp"} {
		require.False(t, bytes.Contains(binary, []byte("waymark/internal/failpoint."+absent)), absent)
	}
}
