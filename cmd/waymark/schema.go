package main

import (
	"github.com/spf13/cobra"

	"waymark/pipeline"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Write the JSON Schema of pipeline documents, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := pipeline.JSONSchema()
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(append(schema, '\n'))
			return err
		},
	}
}
