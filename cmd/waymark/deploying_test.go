package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client/local"
)

// changing is what in outputs differs from one execution to the next: moments, how long something took, digests of documents with other paths.
var changing = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|sha256 [0-9a-f]+|in [0-9.]+ s, [0-9,]+ rows/s`)

// TestDeployingPage executes the commands of docs/deploying.md on its document, and compares what they print.
func TestDeployingPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/deploying.md")
	require.NoError(t, err)
	shop := t.TempDir()
	t.Chdir(t.TempDir())
	here := strings.NewReplacer("/srv/shop", shop, "  ann  ", "  "+local.User()+"  ", " by ann:", " by "+local.User()+":").Replace
	blocks := regexp.MustCompile("(?s)```(yaml|console)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Equal(t, "yaml", blocks[0][1])
	document := here(blocks[0][2])
	write := func(name, content string) { require.NoError(t, os.WriteFile(name, []byte(content), 0o600)) }
	write("orders.yaml", document)
	write("countries.csv", "code,name\nDE,Germany\n")
	write(filepath.Join(shop, "orders.csv"), "id,country,total\n1,DE,3000\n2,FR,1500\n")
	run := func(command string) string {
		args := regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(here(command), -1)
		for i := range args {
			args[i] = strings.Trim(args[i], `"`)
		}
		var stdout, stderr bytes.Buffer
		require.Zero(t, execute(args, &stdout, &stderr, func(string) (string, bool) { return "", false }), "%s\n%s", command, &stderr)
		return stdout.String()
	}
	plain := func(text string) string {
		return regexp.MustCompile(`(?m) +`).ReplaceAllString(changing.ReplaceAllString(text, "*"), " ")
	}
	commands := 0
	for _, block := range blocks[1:] {
		for _, part := range strings.Split("\n"+block[2], "\n$ waymark ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			if strings.HasPrefix(command, "pipelines diff orders@1") {
				write("orders.yaml", "# What the shop sells.\n"+document)
				run("deploy orders.yaml --allow-path /srv/shop")
				write("orders.yaml", "# What the shop sells.\n"+strings.Replace(document, "1000", "2000", 1))
				run("deploy orders.yaml --allow-path /srv/shop")
			}
			if strings.HasPrefix(command, "deploy orders.yaml --to") {
				write("orders.yaml", strings.Replace(document, "1000", "3000", 1))
			}
			require.Equal(t, plain(here(strings.TrimSuffix(want, "\n"))), plain(strings.TrimSuffix(run(command), "\n")), command)
			commands++
		}
	}
	require.Equal(t, 18, commands)
}
