package settings_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"waymark/internal/settings"
)

// given is what a command got.
type given struct {
	queue   string
	folders []string
	count   int
	pair    pair
}

// pair is a flag that a settings file has as a mapping of one key.
type pair struct{ key, value string }

func (p *pair) String() string { return p.key }
func (*pair) Type() string     { return "pair" }

func (p *pair) Set(text string) error {
	if text == "" || strings.Contains(text, "{") {
		return errors.New("write KEY")
	}
	p.key = text
	return nil
}

func (p *pair) SetMapping(mapping *ast.MappingNode) (*token.Token, error) {
	if n := len(mapping.Values); n != 1 {
		return mapping.GetToken(), errors.New("it has one key")
	}
	p.key, p.value = mapping.Values[0].Key.String(), mapping.Values[0].Value.String()
	if p.value == "bad" {
		return mapping.Values[0].Value.GetToken(), errors.New("bad is no value")
	}
	return nil, nil
}

// apply gives a command with the flags queue, folder and count its values. The settings file may also hold those of a flag that
// the command does not have.
func apply(t *testing.T, env map[string]string, args ...string) (given, error) {
	t.Helper()
	var g given
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.String(settings.FileFlag, "", "")
	flags.StringVar(&g.queue, "queue", "default", "")
	flags.StringArrayVar(&g.folders, "folder", nil, "")
	flags.IntVar(&g.count, "max-count", 0, "")
	flags.Var(&g.pair, "pair", "")
	require.NoError(t, flags.Parse(args))
	err := settings.Apply(flags, append(settings.Names(flags), "of-another"), func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	})
	return g, err
}

func write(t *testing.T, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile(settings.DefaultFile, []byte(text), 0o600))
}

func TestPrecedenceFlagEnvFile(t *testing.T) {
	write(t, "queue: file\nfolder: [a, b]\nmax-count: 3\nof-another: {any: thing}\npair:\n  of: file\n")
	env := map[string]string{
		"WAYMARK_QUEUE": "env", "WAYMARK_FOLDER": "c:d", "WAYMARK_MAX_COUNT": "", "WAYMARK_PAIR": "env",
	}
	for _, test := range []struct {
		env  map[string]string
		args []string
		want given
	}{
		{nil, nil, given{"file", []string{"a", "b"}, 3, pair{"of", "file"}}},
		{env, nil, given{"env", []string{"c", "d"}, 3, pair{key: "env"}}},
		{
			env, []string{"--queue", "line", "--folder", "e", "--max-count", "5", "--pair", "line"},
			given{"line", []string{"e"}, 5, pair{key: "line"}},
		},
	} {
		got, err := apply(t, test.env, test.args...)
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
}

func TestDefaultsHoldWithoutAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	got, err := apply(t, nil)
	require.NoError(t, err)
	require.Equal(t, given{queue: "default"}, got)
}

func TestWrongValuesAreNamedByTheirPlace(t *testing.T) {
	write(t, "queue: file\n")
	_, err := apply(t, map[string]string{"WAYMARK_MAX_COUNT": "many"})
	require.EqualError(t, err, `environment variable WAYMARK_MAX_COUNT: max-count: "many" is not a int`)
	_, err = apply(t, map[string]string{"WAYMARK_PAIR": "{}"})
	require.EqualError(t, err, "environment variable WAYMARK_PAIR: pair: write KEY")
	for text, want := range map[string]string{
		"max-count: many\n":     `waymark.settings.yaml:1:1: max-count: "many" is not a int`,
		"queue: [a, b]\n":       "waymark.settings.yaml:1:1: queue takes one value",
		"\nqueues: x\n":         `waymark.settings.yaml:2:1: unknown setting "queues" (did you mean "queue"?)`,
		"queue: a\nqueue: b\n":  "waymark.settings.yaml:2:1: ",
		"pair:\n  of: bad\n":    "waymark.settings.yaml:2:7: pair: bad is no value",
		"\npair: {}\n":          "waymark.settings.yaml:2:7: pair: it has one key",
		"queue: {a: b}\n":       "waymark.settings.yaml:1:1: queue expects a text, true or false, or a list of texts",
		"- queue\n":             "waymark.settings.yaml:1:1: expects keys with values",
		"settings: other.yml\n": `unknown setting "settings"`,
	} {
		write(t, text)
		_, err := apply(t, nil)
		require.ErrorContains(t, err, want)
	}
	_, err = apply(t, map[string]string{"WAYMARK_SETTINGS": "gone.yaml"})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "gone.yaml")
}
