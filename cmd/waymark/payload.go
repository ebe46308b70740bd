package main

import (
	"bytes"

	"github.com/spf13/cobra"
)

func (a *app) payloadCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "payload RUN DIGEST",
		Short: "Write the bytes of a payload that a run needs, if they have the digest",
		Long: `Writes what is stored under DIGEST, a SHA-256 in hexadecimal digits, to standard output, or to the file of --output. The record
names digests, such as those of the records of each chunk in the column pack of the table chunks. docs/payloads.md says
how records are packed.

Nothing is written of a payload that was purged or forgotten, or is missing or corrupt: the message says which, and for
what was deleted by whom and why.

` + runArgument,
		Example:           `  waymark payload last 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae --output records.pack`,
		Args:              takes(2, 2),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" && isTerminal(a.stdout) {
				return wrongUsef("a payload is bytes, and this is a terminal: give --output FILE, or write > FILE")
			}
			return a.ask(cmd.Context(), func(r record) error {
				var data bytes.Buffer
				if err := r.Payload(cmd.Context(), args[0], args[1], &data); err != nil {
					return err
				}
				if file != "" {
					return a.written(file, data.Bytes())
				}
				_, err := data.WriteTo(a.stdout)
				return err
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write it to this `file`; an existing one is replaced")
	return cmd
}
