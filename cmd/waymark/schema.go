package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/pipeline"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of pipeline documents, for editors",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := pipeline.JSONSchema()
			if err != nil {
				return err
			}
			return a.print(json.RawMessage(schema), func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s\n", schema)
				return err
			})
		},
	}
}
