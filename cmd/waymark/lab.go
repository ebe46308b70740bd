//go:build !failpoints

package main

import "github.com/spf13/cobra"

// labCommand says how to get the laboratory, which needs a program that can be told to die.
func (a *app) labCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "lab",
		Short:              "Crash a pipeline at every moment (in a build with failpoints)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return wrongUsef("this program has no failpoints; build one that has, and use that: go build -tags failpoints -o bin/waymark-lab ./cmd/waymark")
		},
	}
}
