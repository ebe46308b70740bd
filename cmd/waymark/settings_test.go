package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"waymark/internal/settings"
)

// given returns the flags of a command that settings may set, after the settings file of the working folder and the
// environment have set them.
func given(t *testing.T, env map[string]string, path ...string) (*pflag.FlagSet, error) {
	t.Helper()
	a := &app{stdout: io.Discard, stderr: io.Discard}
	cmd, _, err := a.rootCommand().Find(path)
	require.NoError(t, err)
	require.NoError(t, cmd.ParseFlags(nil))
	flags := settable(cmd)
	return flags, settings.Apply(flags, append(settingNames(), servingSettings()...), func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	})
}

// allFlags returns all flags of serve and worker.
func allFlags(t *testing.T) map[string]*pflag.Flag {
	t.Helper()
	flags := map[string]*pflag.Flag{}
	for _, name := range []string{"serve", "worker"} {
		cmd, _, err := new(app).rootCommand().Find([]string{name})
		require.NoError(t, err)
		require.NoError(t, cmd.ParseFlags(nil))
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { flags[flag.Name] = flag })
	}
	delete(flags, settings.FileFlag)
	return flags
}

// TestEveryFlagOfAServerIsASetting: what serve and worker take on the command line, a settings file may say, too.
func TestEveryFlagOfAServerIsASetting(t *testing.T) {
	known, of := append(settingNames(), servingSettings()...), allFlags(t)
	for name := range of {
		require.Contains(t, known, name)
	}
	for _, name := range known {
		require.Contains(t, of, name, "of no server")
	}
	t.Chdir(t.TempDir())
	writeSettings(t, settings.DefaultFile, "port: many\n")
	_, err := given(t, nil, "serve")
	require.ErrorContains(t, err, settings.DefaultFile+":1:1: port: ")
	writeSettings(t, settings.DefaultFile, "login-link: true\noidc-role: ['a=b:viewer', 'c=d:viewer']\n")
	flags, err := given(t, map[string]string{"WAYMARK_OIDC_ISSUER": "https://idp.example", "WAYMARK_PORT": "0"}, "serve")
	require.NoError(t, err)
	for name, want := range map[string]string{
		"login-link": "true", "oidc-role": "[a=b:viewer,c=d:viewer]", "oidc-issuer": "https://idp.example", "port": "0",
	} {
		require.Equal(t, want, flags.Lookup(name).Value.String(), name)
	}
	var stdout, stderr bytes.Buffer
	writeSettings(t, settings.DefaultFile, "oidc-role: a=b:viewer\n")
	require.Equal(t, exitUsage, execute([]string{"serve", "--http", "off"}, &stdout, &stderr, func(string) (string, bool) {
		return "", false
	}))
	require.Contains(t, stderr.String(), "belong to an --oidc-issuer")
}

// TestSettingsOfThePagesAreAccepted: serve and worker take each settings file that a page shows, and a page names no
// variable that they ignore.
func TestSettingsOfThePagesAreAccepted(t *testing.T) {
	flags := allFlags(t)
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	variable := regexp.MustCompile(`WAYMARK_[A-Z_]+`)
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	var shown []string
	var named [][]byte
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range block.FindAllSubmatch(text, -1) {
			if isSettings(match[1], flags) {
				shown = append(shown, filepath.Base(page))
				named = append(named, match[1])
			}
		}
		for _, name := range variable.FindAll(text, -1) {
			is := strings.TrimPrefix(string(name), "WAYMARK_")
			if !slices.Contains(ofNoFlag, is) && !strings.HasPrefix(is, "SECRET_") {
				known := flags[strings.ToLower(strings.ReplaceAll(is, "_", "-"))] != nil
				require.True(t, known, "%s in %s is a variable of no flag", name, page)
			}
		}
	}
	require.Subset(t, shown, []string{"sign-in.md", "retention.md", "log.md"})
	t.Chdir(t.TempDir())
	for i, text := range named {
		writeSettings(t, settings.DefaultFile, string(text))
		for _, command := range []string{"serve", "worker"} {
			_, err := given(t, nil, command)
			require.NoError(t, err, "%s in %s:\n%s", command, shown[i], text)
		}
	}
}

// ofNoFlag are the variables that belong to no flag of a server, after WAYMARK_.
var ofNoFlag = []string{
	"TOKEN", "SETTINGS", "FINGERPRINT_KEY", "CODEC_KEYS", "DOCUMENT_ACCESS_KEY_ID", "DOCUMENT_SECRET_ACCESS_KEY",
	"DOCUMENT_SESSION_TOKEN", "FAILPOINTS", "FAILPOINT_CLOCK", "FAILPOINT_LOG", "FAILPOINT_SPLIT", "HEARTBEAT",
}

// isSettings reports whether a text has nothing but settings: each key is a flag, and has a mapping only if that takes
// one.
func isSettings(text []byte, flags map[string]*pflag.Flag) bool {
	var keys map[string]any
	if yaml.Unmarshal(text, &keys) != nil || len(keys) == 0 {
		return false
	}
	for key, value := range keys {
		flag := flags[key]
		if flag == nil {
			return false
		}
		_, nested := value.(map[string]any)
		if _, takes := flag.Value.(settings.Mapping); nested && !takes {
			return false
		}
	}
	return true
}

// TestSettingsOfAServerLeaveOtherCommandsAlone: a flag that shares no more than its name with a setting is not set by
// it. An access token is for what its command says, and not for the folder that a worker serves.
func TestSettingsOfAServerLeaveOtherCommandsAlone(t *testing.T) {
	var others []*cobra.Command
	root := new(app).rootCommand()
	for commands := root.Commands(); len(commands) > 0; commands = commands[1:] {
		others = append(others, commands[0])
		commands = append(commands, commands[0].Commands()...)
	}
	require.Greater(t, len(others), 50)
	for _, cmd := range others {
		require.NoError(t, cmd.ParseFlags(nil))
		flags := settable(cmd)
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if cmd.Name() != "serve" && cmd.Name() != "worker" && slices.Contains([]string{"payloads", "pipelines"}, flag.Name) {
				require.NotSame(t, flag, flags.Lookup(flag.Name), cmd.CommandPath())
			}
		})
	}
}
