// Package settings gives flags that are not on the command line their values: from environment variables, or else from a settings
// file. The commands that have flags are the only callers: nothing else reads environment variables or settings.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// FileFlag is the name of the flag that names the settings file.
const FileFlag = "settings"

// DefaultFile is the settings file that is read, if it is in the working folder and no other is named.
const DefaultFile = "waymark.settings.yaml"

// Lookup returns an environment variable and whether it is set, as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// Variable returns the environment variable for a flag.
func Variable(flag string) string {
	return "WAYMARK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Names returns the flags that the environment and the settings file may set: all but the one that names the file.
func Names(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != FileFlag {
			names = append(names, flag.Name)
		}
	})
	return names
}

// Apply gives every flag of these names that is not on the command line its value from the environment, or else from the
// settings file. The file may hold settings for names that flags does not have: those are of other commands. A name may be there
// twice. The error names the place of a wrong value.
func Apply(flags *pflag.FlagSet, names []string, env Lookup) error {
	file := flags.Lookup(FileFlag)
	if _, err := fromEnvironment(file, env); err != nil {
		return err
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	values, err := read(file.Value.String(), names)
	if err != nil {
		return err
	}
	for _, name := range names {
		flag := flags.Lookup(name)
		if flag == nil || flag.Changed {
			continue
		}
		set, err := fromEnvironment(flag, env)
		if value, ok := values[name]; ok && !set && err == nil {
			err = value.apply(flag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fromEnvironment sets the flag, unless the command line has, and reports whether it did. An empty variable counts as not
// set. A list is separated as in PATH.
func fromEnvironment(flag *pflag.Flag, env Lookup) (bool, error) {
	text, _ := env(Variable(flag.Name))
	if flag.Changed || text == "" {
		return false, nil
	}
	values := []string{text}
	if _, list := flag.Value.(pflag.SliceValue); list {
		values = filepath.SplitList(text)
	}
	if err := assign(flag, values); err != nil {
		return false, fmt.Errorf("environment variable %s: %w", Variable(flag.Name), err)
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
		if _, told := flag.Value.(Mapping); told { // it says where in the text, and why
			return fmt.Errorf("%s: %w", flag.Name, err)
		}
		return fmt.Errorf("%s: %q is not a %s", flag.Name, values[0], flag.Value.Type())
	}
	return nil
}

// read reads the settings file. One that was named must exist.
func read(file string, names []string) (map[string]setting, error) {
	if file == "" {
		if _, err := os.Stat(DefaultFile); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		file = DefaultFile
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return parse(file, data, names)
}
