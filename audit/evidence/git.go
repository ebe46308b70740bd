package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"waymark/landscape"
)

// Git is an anchor in a repository of git: each head is a commit of a branch that has nothing else, so each clone keeps the heads that it fetched. It
// has no entries.
type Git struct {
	path, branch string
}

const (
	gitScheme     = "git:"
	defaultBranch = "waymark"
)

// parseGit returns the anchor with this URL, git:PATH or git:PATH?branch=NAME.
func parseGit(anchor string) (Git, error) {
	path, query, _ := strings.Cut(strings.TrimPrefix(anchor, gitScheme), "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return Git{}, fmt.Errorf("%s: %w", anchor, err)
	}
	for name := range values {
		if name != "branch" {
			return Git{}, fmt.Errorf("%s: unknown parameter %q: branch is the only one", anchor, name)
		}
	}
	g := Git{filepath.Clean(path), defaultBranch}
	if values.Has("branch") {
		g.branch = values.Get("branch")
	}
	if path == "" || g.branch == "" {
		return Git{}, fmt.Errorf("%s: write git:PATH or git:PATH?branch=NAME", anchor)
	}
	return g, nil
}

// String is the URL.
func (g Git) String() string {
	if g.branch == defaultBranch {
		return gitScheme + g.path
	}
	return gitScheme + g.path + "?branch=" + url.QueryEscape(g.branch)
}

func (g Git) ref() string { return "refs/heads/" + g.branch }

// ours are settings of git that an anchor needs, whatever the user has set: what is written is durable when git returns.
var ours = []string{"-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync", "-c", "gc.auto=0"}

// run lets git do something in the repository, and returns what it prints. The error is an *UnreachableError with what it says.
func (g Git) run(ctx context.Context, input string, args ...string) (string, error) {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	var out, said bytes.Buffer
	command := exec.CommandContext(ctx, "git", append(append([]string{"-C", g.path}, ours...), args...)...)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &out, &said
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "GIT_") { // those of a hook that calls Waymark lead into another repository
			command.Env = append(command.Env, setting)
		}
	}
	command.Env = append(command.Env, "LC_ALL=C", "GIT_AUTHOR_NAME=Waymark", "GIT_AUTHOR_EMAIL=waymark@localhost", "GIT_COMMITTER_NAME=Waymark", "GIT_COMMITTER_EMAIL=waymark@localhost")
	err := command.Run()
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = errors.New("git " + args[0] + ": " + strings.ReplaceAll(text, "\n", "; "))
	}
	if err != nil {
		return "", &UnreachableError{g.String(), err}
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// usable refuses a folder that is no repository, a name that no branch can have, and a branch that somebody works in.
func (g Git) usable(ctx context.Context) error {
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("%s: git is not installed", g)
	}
	if info, err := os.Stat(g.path); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: there is no such folder; make it with: git init --bare %s", g, g.path)
	}
	if _, err := g.run(ctx, "", "check-ref-format", g.ref()); err != nil {
		return fmt.Errorf("%s: %q cannot be the name of a branch", g, g.branch)
	}
	bare, err := g.run(ctx, "", "rev-parse", "--is-bare-repository")
	if err != nil {
		return err
	}
	out, err := g.run(ctx, "", "rev-parse", "--symbolic-full-name", "HEAD")
	if err == nil && bare == "false" && out == g.ref() {
		return fmt.Errorf("%s: the branch %s is checked out there; name another one: ?branch=NAME", g, g.branch)
	}
	return nil
}

// commits returns the last commits of the branch, the last one first; nil if there is no branch.
func (g Git) commits(ctx context.Context, most int) ([]string, error) {
	refs, err := g.run(ctx, "", "for-each-ref", "--format=%(objectname)", g.ref())
	if err != nil || refs == "" {
		return nil, err
	}
	listed, err := g.run(ctx, "", "rev-list", "--first-parent", "--max-count="+strconv.Itoa(most), refs)
	return strings.Fields(listed), err
}

// Begun does what Place says.
func (g Git) Begun(ctx context.Context) (bool, error) {
	commits, err := g.commits(ctx, 1)
	return commits != nil, err
}

// last returns the last head that this key signed; the zero Head if none of the last 1,000 commits has one. stray is why the last commit has none.
func (g Git) last(ctx context.Context, by LogKeys) (head Head, stray, err error) {
	heads, strays, err := g.heads(ctx, 1, by)
	if err != nil || strays == nil {
		return lastOf(heads), nil, err
	}
	stray = strays[0]
	heads, _, err = g.heads(ctx, mostHeads, by)
	return lastOf(heads), stray, err
}

// Heads returns the last heads, at most 1,000. Otherwise it does what keeper says.
func (g Git) Heads(ctx context.Context, by LogKeys) (heads []Head, strays []error, err error) {
	return g.heads(ctx, mostHeads, by)
}

// heads returns the heads of the last commits, as they came.
func (g Git) heads(ctx context.Context, most int, by LogKeys) (heads []Head, strays []error, err error) {
	commits, err := g.commits(ctx, most)
	if err != nil || commits == nil {
		return nil, nil, err
	}
	var wanted strings.Builder
	for _, commit := range slices.Backward(commits) {
		fmt.Fprintf(&wanted, "%s:%s\n", commit, checkpointFile)
	}
	found, err := g.run(ctx, wanted.String(), "cat-file", "--batch=%(objectsize)")
	if err != nil {
		return nil, nil, err
	}
	for _, commit := range slices.Backward(commits) {
		var text string
		text, found = nextObject(found)
		head, err := openHead(text, by)
		if err != nil {
			strays = append(strays, fmt.Errorf("%s, commit %s: its %s is not one that the log signed: %w", g, commit, checkpointFile, err))
			continue
		}
		heads = append(heads, head)
	}
	return heads, strays, nil
}

// nextObject takes an object from what git cat-file prints: a line with its size, or with a word that says that it is missing, and the object.
func nextObject(printed string) (object, rest string) {
	line, rest, _ := strings.Cut(printed, "\n")
	size, err := strconv.Atoi(line)
	if err != nil || size > len(rest) {
		return "", rest
	}
	return rest[:size], strings.TrimPrefix(rest[size:], "\n")
}

func (g Git) agrees(ctx context.Context, here here) error {
	there, stray, err := g.last(ctx, here.by)
	if err == nil {
		err = here.agrees(ctx, there, g.String())
	}
	if err == nil && stray != nil {
		err = &StrayError{g.String(), stray}
	}
	return err
}

func (g Git) bring(ctx context.Context, log *landscape.Reader, by LogKeys, head Head) (receipt string, err error) {
	if known, err := lastAnchored(ctx, log, by, g.String()); err != nil || known >= head.Size {
		return "", err
	}
	last, err := g.commits(ctx, 1)
	if err != nil {
		return "", err
	}
	there, _, err := g.last(ctx, by)
	if err != nil {
		return "", err
	}
	if err := (here{log, by, head.Size, head.Size}).agrees(ctx, there, g.String()); err != nil || there.Size == head.Size {
		return "", err
	}
	return "", g.commit(ctx, by.origin(), head, last)
}

// commit adds a commit with a head to the branch, if its last commit is still this one; none if there is no branch.
func (g Git) commit(ctx context.Context, log string, head Head, last []string) error {
	blob, err := g.run(ctx, head.Note, "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	tree, err := g.run(ctx, "100644 blob "+blob+"\t"+checkpointFile+"\n", "mktree")
	if err != nil {
		return err
	}
	args := []string{"commit-tree", tree, "-m", fmt.Sprintf("%s: %d entries\n\n%s", log, head.Size, head.Root)}
	before := strings.Repeat("0", len(tree)) // there is no branch
	for _, parent := range last {
		args, before = append(args, "-p", parent), parent
	}
	made, err := g.run(ctx, "", args...)
	if err != nil {
		return err
	}
	_, err = g.run(ctx, "", "update-ref", "-m", "a new head", g.ref(), made, before)
	return err
}

// check compares the heads: a repository has nothing else.
func (g Git) check(ctx context.Context, c *checker, said int64) error {
	_, err := c.compareHeads(ctx, g, said)
	return err
}
