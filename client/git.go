package client

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"waymark/activities/bundle"
)

// gitTimeout bounds how long git may take to say where files come from.
const gitTimeout = 10 * time.Second

// gitOrigin returns the commit of the work tree that a folder is in, and whether some file of the manifest is not as that commit has it. It is
// empty if the folder is in none, has no commit, or there is no git here.
func gitOrigin(ctx context.Context, folder string, manifest bundle.Manifest) (commit string, dirty bool) {
	ctx, done := context.WithTimeout(ctx, gitTimeout)
	defer done()
	commit, err := git(ctx, folder, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return "", false
	}
	arguments := []string{"status", "--porcelain", "--ignored", "--untracked-files=all", "--"}
	for _, file := range manifest.Files {
		if filepath.IsAbs(file.Path) {
			return commit, true // no commit of this tree has it
		}
		arguments = append(arguments, file.Path)
	}
	changed, err := git(ctx, folder, arguments...)
	return commit, err != nil || changed != ""
}

// git runs git in a folder, so that nothing of the repository's settings is executed.
func git(ctx context.Context, folder string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", folder, "--literal-pathspecs", "-c", "core.fsmonitor=false"}, arguments...)...) //nolint:gosec // words of ours, and paths behind --
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
