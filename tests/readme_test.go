package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/tests/programs"
	"waymark/tests/services"
	"waymark/tests/system"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 120, "README.md is to be read in one go")
	return string(text)
}

// TestReadmePipelineRuns runs the document that README.md shows.
func TestReadmePipelineRuns(t *testing.T) {
	document := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(readme(t))
	require.NotNil(t, document)
	s := system.Start(t, nil)
	s.Write(t, map[string]string{"orders.csv": "id,customer,total,paid\n1,a,1000.01,\n2,b,5,true\n2,c,6,false\nx,d,7,\n"})
	result, err := s.Run(t, "readme", document[1])
	require.NoError(t, err)
	require.EqualValues(t, 4, result.Rows)
	require.EqualValues(t, 2, result.Refused)
	require.Equal(t, "id,customer,total,paid,large\n1,a,1000.01,,true\n", s.Read(t, "out/review.csv"))
	s.Verify(t, "readme")
}

// TestReadmeCommands types the commands that README.md shows, in their order, and compares the summary it shows.
func TestReadmeCommands(t *testing.T) {
	t.Parallel() // it computes while others wait
	services.Program(t, "sqlite3", "sqlite3")
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(folder, "examples"), os.DirFS("../examples")))
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "examples/bird-strikes/out")))
	binary := buildWaymark(t)
	output, err := waymark(binary, folder, "run", "examples/bird-strikes/pipeline.yaml")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode(), "%s", output)
	for _, line := range []string{
		"10,000 rows read, 15 refused, 15 of these in quarantine, 11 filtered", "review   318 ", "strikes  9,656 ",
	} {
		require.Contains(t, string(output), line)
		require.Contains(t, readme(t), line)
	}
	commands := regexp.MustCompile(`(?m)^(waymark (?:errors|explain|verify)|sqlite3) .*$`).FindAllString(readme(t), -1)
	require.Len(t, commands, 6)
	answers := make([]string, len(commands))
	for i, line := range commands {
		if command, ours := strings.CutPrefix(line, "waymark "); ours {
			line = binary + " " + command
		}
		shell := exec.Command("sh", "-ec", line)
		shell.Dir = folder
		output, err := shell.CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, output)
		require.NotEmpty(t, output, line)
		answers[i] = string(output)
	}
	shown := regexp.MustCompile("(?s)```\n(reports \\(csv\\)\n.*?)```").FindStringSubmatch(readme(t))
	require.NotNil(t, shown)
	require.Contains(t, answers[1], shown[1], "the answer that README.md shows for its second command")
}

// buildWaymark returns the path of a freshly built binary.
func buildWaymark(t *testing.T) string {
	t.Helper()
	binary, err := programs.Waymark()
	require.NoError(t, err)
	return binary
}
