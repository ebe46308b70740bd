package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"waymark/internal/settings"
)

// settled returns the configuration that args, the environment and the settings file of the working folder give.
func settled(t *testing.T, env map[string]string, args ...string) (*config, error) {
	t.Helper()
	c := &config{env: func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	}}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.bind(flags)
	require.NoError(t, flags.Parse(args))
	return c, c.settle(flags)
}

func writeSettings(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

func TestPrecedence(t *testing.T) {
	t.Chdir(t.TempDir())
	c, err := settled(t, nil)
	require.NoError(t, err)
	require.Equal(t, ".waymark", c.state, "the default")

	writeSettings(t, settings.DefaultFile, "state: from-file\nverbose: true\n")
	c, err = settled(t, nil)
	require.NoError(t, err)
	require.Equal(t, "from-file", c.state, "the file comes before the default")
	require.True(t, c.verbose)

	env := map[string]string{"WAYMARK_STATE": "from-env", "WAYMARK_VERBOSE": "false"}
	c, err = settled(t, env)
	require.NoError(t, err)
	require.Equal(t, "from-env", c.state, "the environment comes before the file")
	require.False(t, c.verbose)

	c, err = settled(t, env, "--state", "from-flag", "-v")
	require.NoError(t, err)
	require.Equal(t, "from-flag", c.state, "the command line comes before the environment")
	require.True(t, c.verbose)

	c, err = settled(t, map[string]string{"WAYMARK_STATE": ""})
	require.NoError(t, err)
	require.Equal(t, "from-file", c.state, "an empty variable is as good as none")
}

func TestEveryFlagHasThreeSources(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("folder", 0o700))
	value := map[string]string{
		"json": "true", "quiet": "true", "verbose": "true", "allow-network": "10.0.0.0/8", "retention": "{source: 90d}",
	}
	for _, name := range settingNames() {
		text := value[name]
		if text == "" {
			text = "folder"
		}
		get := func(c *config) string {
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			flags.AddFlagSet(flagsOf(c))
			return flags.Lookup(name).Value.String()
		}
		fromFlag, err := settled(t, nil, "--"+name+"="+text)
		require.NoError(t, err)
		fromEnv, err := settled(t, map[string]string{settings.Variable(name): text})
		require.NoError(t, err)
		writeSettings(t, "s.yaml", name+": "+text+"\n")
		fromFile, err := settled(t, nil, "--settings", "s.yaml")
		require.NoError(t, err)
		require.Equal(t, get(fromFlag), get(fromEnv), name)
		require.Equal(t, get(fromFlag), get(fromFile), name)
		require.NotEqual(t, get(&config{}), get(fromFlag), name)
	}
}

// flagsOf shows the values of c as flags, without changing them.
func flagsOf(c *config) *pflag.FlagSet {
	kept := *c
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.bind(flags)
	*c = kept
	return flags
}

func TestLists(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"a", "b", "c"} {
		require.NoError(t, os.Mkdir(folder, 0o700))
	}
	writeSettings(t, settings.DefaultFile, "allow-path: [a, b]\n")
	c, err := settled(t, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, c.allowPaths)

	c, err = settled(t, map[string]string{"WAYMARK_ALLOW_PATH": "b" + string(filepath.ListSeparator) + "c"})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c"}, c.allowPaths, "as in PATH")

	c, err = settled(t, nil, "--allow-path", "c", "--allow-path", "a")
	require.NoError(t, err)
	require.Equal(t, []string{"c", "a"}, c.allowPaths)
}

func TestSettingsFileNamedByVariable(t *testing.T) {
	t.Chdir(t.TempDir())
	writeSettings(t, "other.yaml", "state: other\n")
	c, err := settled(t, map[string]string{"WAYMARK_SETTINGS": "other.yaml"})
	require.NoError(t, err)
	require.Equal(t, "other", c.state)
}

func TestWrongSettings(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"unknown":     {"stat: x\n", `s.yaml:1:1: unknown setting "stat" (did you mean "state"?)`},
		"far off":     {"colour: red\n", `unknown setting "colour" (there are: allow-`},
		"twice":       {"state: a\nstate: b\n", "s.yaml:2:1: "},
		"mapping":     {"state: {a: b}\n", "s.yaml:1:1: state expects a text, true or false, or a list of texts"},
		"list":        {"state: [a, b]\n", "s.yaml:1:1: state takes one value"},
		"not a bool":  {"\njson: maybe\n", `s.yaml:2:1: json: "maybe" is not a bool`},
		"no mapping":  {"- state\n", "s.yaml:1:1: expects keys with values"},
		"broken":      {"state: [\n", "s.yaml:1:8: "},
		"empty state": {"state: ''\n", "--state is empty"},
		"no folder":   {"secrets-dir: nowhere\n", `"nowhere" is not a folder`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			writeSettings(t, "s.yaml", test.text)
			_, err := settled(t, nil, "--settings", "s.yaml")
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestNamedSettingsMustExist(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := settled(t, nil, "--settings", "gone.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "gone.yaml")
}

func TestWrongVariable(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := settled(t, map[string]string{"WAYMARK_JSON": "perhaps"})
	require.EqualError(t, err, `environment variable WAYMARK_JSON: json: "perhaps" is not a bool`)
}
