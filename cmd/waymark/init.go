package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/client"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a small example pipeline, with data that has a few bad rows",
		Long: `Writes pipeline.yaml and its data into FOLDER (default the working folder). It creates the folder if necessary. The pipeline is called as FOLDER. Existing
files are never overwritten.`,
		Example: `  waymark init shop
  cd shop && waymark run pipeline.yaml`,
		Args: takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			written, err := client.WriteStarter(folder)
			if err != nil {
				return wrongUse(err)
			}
			return a.print(map[string][]string{"files": written}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "wrote %s\n\nnext: %swaymark run pipeline.yaml\n", strings.Join(written, ", "), enter(folder))
				return err
			})
		},
	}
}

func enter(folder string) string {
	if folder == "." {
		return ""
	}
	return "cd " + folder + " && "
}
