package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	programs "waymark/internal/version"
)

// version is set by the linker for released binaries: make release.
var version string

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the program's version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			return a.print(b, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, b)
				return err
			})
		},
	}
}

// thisBuild describes this binary.
func thisBuild() programs.Build { return programs.This(version) }
