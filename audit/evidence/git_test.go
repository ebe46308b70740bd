package evidence_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/tests/services"
)

// git lets git do something in a repository, as a user does.
func git(t *testing.T, repository string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repository}, args...)...).CombinedOutput()
	require.NoError(t, err, "git %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// withGit is a place whose log goes to a repository as well, with two runs.
func withGit(t *testing.T) (p *place, repository string) {
	services.Program(t, "git", "git")
	repository = filepath.Join(t.TempDir(), "heads")
	require.NoError(t, os.Mkdir(repository, 0o700))
	git(t, repository, "init", "--bare", "--quiet")
	t.Setenv("GIT_DIR", t.TempDir()) // as in a hook: it leads into another repository
	p = newPlace(t)
	p.bucket = "git:" + repository
	require.NoError(t, evidence.CheckAnchor(p.bucket))
	p.runs("r1")
	p.runs("r2")
	require.NoError(t, os.Unsetenv("GIT_DIR"))
	return p, repository
}

// TestGitHasEveryHead: each head is a commit, who fetches the branch has them all, and a repository that is away stops nothing.
func TestGitHasEveryHead(t *testing.T) {
	p, repository := withGit(t)
	report := p.check()
	require.Empty(t, report.Problems)
	require.Equal(t, []evidence.Anchor{{Anchor: "anchor", Entries: report.Entries}, {Anchor: p.bucket, Entries: report.Entries}}, report.Anchors)
	listed, err := os.ReadFile("anchor/heads.log")
	require.NoError(t, err)
	require.Equal(t, strings.Count(string(listed), "\n"), len(strings.Fields(git(t, repository, "rev-list", "waymark"))))
	checkpoint, err := os.ReadFile("anchor/checkpoint")
	require.NoError(t, err)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, ".", "clone", "--quiet", "--branch", "waymark", repository, clone)
	cloned, err := os.ReadFile(filepath.Join(clone, "checkpoint"))
	require.NoError(t, err)
	require.Equal(t, string(checkpoint), string(cloned))
	git(t, repository, "fsck", "--strict")

	require.NoError(t, os.Rename(repository, repository+".away"))
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.Len(t, e.Away, 1)
		p.begin(e, "r3")
	}))
	require.Contains(t, problems(p), p.bucket+": was not compared: ")
	require.NotContains(t, problems(p), "\n")
	require.NoError(t, os.Rename(repository+".away", repository))
	p.runs("r4")
	require.Empty(t, problems(p))
}

// TestGitRemembers: somebody rewrites the branch, or puts back an older record.
func TestGitRemembers(t *testing.T) {
	p, repository := withGit(t)
	last := git(t, repository, "rev-parse", "waymark")
	git(t, repository, "update-ref", "refs/heads/waymark", "waymark~1")
	require.Contains(t, problems(p), p.bucket+": has 3 entries, and the landscape says that 4 were brought there")
	other := git(t, repository, "-c", "user.name=x", "-c", "user.email=x", "commit-tree", git(t, repository, "mktree"), "-p", last, "-m", "nothing")
	git(t, repository, "update-ref", "refs/heads/waymark", other)
	require.Contains(t, problems(p), "commit "+other+": its checkpoint is not one that the log signed")
	require.NoError(t, p.open(func(e *evidence.Evidence) {
		require.Len(t, e.Away, 1, "it stops nothing")
		require.ErrorContains(t, e.Away[0], "something that the log did not sign, and that no run heeds: "+p.bucket+", commit "+other)
	}))
	git(t, repository, "update-ref", "-d", "refs/heads/waymark")
	require.Contains(t, problems(p), p.bucket+": has 0 entries, and the landscape says that 4 were brought there")
	git(t, repository, "update-ref", "refs/heads/waymark", last)
	require.Empty(t, problems(p))

	back := p.yesterday()
	p.runs("r3")
	last = git(t, repository, "rev-parse", "waymark")
	other = git(t, repository, "-c", "user.name=x", "-c", "user.email=x", "commit-tree", git(t, repository, "mktree"), "-p", last, "-m", "nothing")
	git(t, repository, "update-ref", "refs/heads/waymark", other)
	p.runs("r4")
	back()
	rolledBack := new(evidence.RolledBackError)
	require.ErrorAs(t, p.open(func(*evidence.Evidence) {}), &rolledBack)
	require.Contains(t, rolledBack.Error(), p.bucket)
	git(t, repository, "update-ref", "refs/heads/waymark", other)
	rolledBack = new(evidence.RolledBackError)
	require.ErrorAs(t, p.open(func(*evidence.Evidence) {}), &rolledBack, "what the log did not sign hides nothing below it")
}

func TestUnusableRepositories(t *testing.T) {
	_, repository := withGit(t)
	worked := t.TempDir()
	git(t, worked, "init", "--quiet", "--initial-branch=waymark")
	git(t, worked, "-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "--allow-empty", "-m", "x")
	for anchor, problem := range map[string]string{
		"git:":                               "write git:PATH",
		"git:" + t.TempDir() + "/none":       "there is no such folder; make it with: git init --bare",
		"git:" + t.TempDir():                 "not a git repository",
		"git:" + repository + "?b=x":         `unknown parameter "b"`,
		"git:" + repository + "?branch":      "write git:PATH",
		"git:" + repository + "?branch=a..b": `"a..b" cannot be the name of a branch`,
		"git:" + worked:                      "the branch waymark is checked out there; name another one",
	} {
		require.ErrorContains(t, evidence.CheckAnchor(anchor), problem, anchor)
	}
	require.NoError(t, evidence.CheckAnchor("git:"+worked+"?branch=heads"))
	require.Equal(t, "git:"+repository, evidence.Whole("git:"+repository))
	relative := evidence.Whole("git:heads?branch=a")
	require.True(t, filepath.IsAbs(strings.TrimPrefix(relative, "git:")), relative)
}
