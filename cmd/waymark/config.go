package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// lookup returns an environment variable and whether it is set, as os.LookupEnv does.
type lookup func(name string) (string, bool)

// config is everything that holds for every command. Nothing else in this package reads flags that all commands have,
// environment variables or settings files.
type config struct {
	env lookup

	settings   string   // path of the settings file; empty for the one in the working folder, if there is one
	state      string   // folder for what runs leave behind
	landscape  string   // URL of the record; empty for the one in the state folder
	payloads   string   // URL of the payload store; empty for the one in the state folder
	allowPaths []string // folders, besides the document's own, that a document may use
	secretsDir string   // folder with one file for each secret
	json       bool
	quiet      bool
	verbose    bool
}

const (
	settingsFlag    = "settings"
	defaultSettings = "waymark.settings.yaml"
	defaultState    = ".waymark"
)

// bind defines the flags. Their defaults are the lowest layer of the configuration.
func (c *config) bind(flags *pflag.FlagSet) {
	flags.StringVar(&c.settings, settingsFlag, "", "settings `file` (default "+defaultSettings+", if there is one)")
	flags.StringVar(&c.state, "state", defaultState, "state `folder`: what runs leave behind")
	flags.StringVar(&c.landscape, "landscape", "", "`URL` of the record (default sqlite:STATE/landscape.db)")
	flags.StringVar(&c.payloads, "payloads", "", "`URL` of the payload store (default file:STATE/payloads)")
	flags.StringArrayVar(&c.allowPaths, "allow-path", nil, "further `folder` that documents may use; repeat for more")
	flags.StringVar(&c.secretsDir, "secrets-dir", "", "`folder` with one file for each secret")
	flags.BoolVar(&c.json, "json", false, "write results as JSON, one line for each")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "no progress, no hints")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "logs on stderr")
}

// settle gives every flag that is not on the command line its value from the environment, or else from the settings file.
// The error names the place of the wrong value.
func (c *config) settle(flags *pflag.FlagSet) error {
	if _, err := c.fromEnvironment(flags.Lookup(settingsFlag)); err != nil {
		return err
	}
	values, err := c.readSettings()
	if err != nil {
		return err
	}
	for _, name := range settingNames() {
		flag := flags.Lookup(name)
		if flag.Changed {
			continue
		}
		set, err := c.fromEnvironment(flag)
		if value, ok := values[name]; ok && !set && err == nil {
			err = value.apply(flag)
		}
		if err != nil {
			return err
		}
	}
	return c.check()
}

// settingNames returns the flags that the environment and the settings file may set.
func settingNames() []string {
	var names []string
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(config).bind(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != settingsFlag {
			names = append(names, flag.Name)
		}
	})
	return names
}

// variable returns the environment variable for a flag.
func variable(flag string) string {
	return "WAYMARK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flag, unless the command line has, and reports whether it did. An empty variable counts as not
// set. A list is separated as in PATH.
func (c *config) fromEnvironment(flag *pflag.Flag) (bool, error) {
	text, _ := c.env(variable(flag.Name))
	if flag.Changed || text == "" {
		return false, nil
	}
	values := []string{text}
	if _, list := flag.Value.(pflag.SliceValue); list {
		values = filepath.SplitList(text)
	}
	if err := assign(flag, values); err != nil {
		return false, fmt.Errorf("environment variable %s: %w", variable(flag.Name), err)
	}
	return true, nil
}

// assign sets a flag without marking it as given on the command line.
func assign(flag *pflag.Flag, values []string) error {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	if len(values) != 1 {
		return fmt.Errorf("%s takes one value", flag.Name)
	}
	if err := flag.Value.Set(values[0]); err != nil {
		return fmt.Errorf("%s: %q is not a %s", flag.Name, values[0], flag.Value.Type())
	}
	return nil
}

// readSettings reads the settings file. One that was named must exist.
func (c *config) readSettings() (map[string]setting, error) {
	file := c.settings
	if file == "" {
		if _, err := os.Stat(defaultSettings); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		file = defaultSettings
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return parseSettings(file, data, settingNames())
}

func (c *config) check() error {
	if c.state == "" {
		return errors.New("--state is empty: name a folder")
	}
	if info, err := os.Stat(c.state); err == nil && !info.IsDir() {
		return fmt.Errorf("--state %s is a file: name a folder, which the first run makes", c.state)
	}
	folders := c.allowPaths
	if c.secretsDir != "" {
		folders = append([]string{c.secretsDir}, folders...)
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("%q is not a folder: --allow-path and --secrets-dir name folders that exist", folder)
		}
	}
	return nil
}
