package settings

import (
	"slices"

	"github.com/spf13/pflag"
)

// Files returns the files and folders that flags name, and the settings file: what a process reads as its own,
// and what it keeps there. Which flags these are, their usage says: its value is a `file` or a `folder`. Those
// of but name folders that are for others.
func Files(flags *pflag.FlagSet, but ...string) (paths []string) {
	paths = []string{DefaultFile}
	flags.VisitAll(func(flag *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(flag)
		if kind != "file" && kind != "folder" || slices.Contains(but, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		paths = append(paths, values...)
	})
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}
