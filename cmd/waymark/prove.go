package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"waymark/audit/evidence/rowproof"
	"waymark/client/local"
)

func (a *app) proveCommand() *cobra.Command {
	var file, source string
	var row int64
	var show []string
	cmd := &cobra.Command{
		Use:   "prove RUN --row N -o FILE.proof",
		Short: "Write a small file that proves to others what is recorded of one row",
		Long: `Writes a proof of a few kilobytes. It shows the hash of the row as it was read, its hash at every node, and where it went, and leads from there through
the seals of chunk and run to the signed log. It contains no values. Others verify it with waymark verify FILE.proof, or with docs/proof.py, without the
landscape and without a network. docs/proof.md describes it.

With --show the proof shows fields of the row with their values, as a sink got them, and nothing else of the row: of the fields that the sink lists under disclose.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case row == 0:
				return wrongUsef("say which row: --row N, counted from 1")
			case file == "":
				return wrongUsef("say where the proof goes: -o FILE.proof")
			}
			text, err := a.proof(cmd.Context(), args[0], source, row, show)
			if err != nil {
				return err
			}
			return a.written(file, text)
		},
	}
	numberFlag(cmd.Flags(), &row, "row", "", 1, 0, "prove the row with this `number` in the source, from 1")
	cmd.Flags().StringVar(&source, "source", "", "the `source`, if the run has more than one; or a barrier")
	cmd.Flags().StringSliceVar(&show, "show", nil, "show these `fields` with their values, and nothing else of the row")
	cmd.Flags().StringVarP(&file, "output", "o", "", "`file` to write; an existing one is replaced")
	return cmd
}

// proof returns the proof of a row, as it is written.
func (a *app) proof(ctx context.Context, word, source string, row int64, show []string) (text []byte, err error) {
	err = a.ask(ctx, func(r record) error {
		if server, ok := r.(*away); ok {
			if show != nil {
				return wrongUsef("a server gives proofs without values only: use --show where the landscape is, without --server")
			}
			text, err = server.proof(ctx, word, source, row)
			return err
		}
		proof, err := r.(*local.Home).Prove(ctx, word, source, row, show) //nolint:forcetypeassert // there is no third one
		if err != nil {
			return err
		}
		text, err = proof.Encode()
		return err
	})
	return text, err
}

// proved is a proof that was written.
type proved struct {
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
}

// written writes a proof to a file, and says so.
func (a *app) written(file string, text []byte) error {
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // it is for others
		return err
	}
	made := proved{file, len(text)}
	return a.print(made, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s  %d bytes\n", made.File, made.Bytes)
		return err
	})
}

// verifyProof verifies a proof without the landscape. record names a file with the record as read; empty for none.
func (a *app) verifyProof(path, policyFile, record string) error {
	policy, err := trustPolicy(policyFile)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return wrongUse(err)
	}
	var raw []byte
	if record != "" {
		if raw, err = os.ReadFile(record); err != nil {
			return wrongUse(err)
		}
	}
	report := rowproof.Verify(text, policy, raw)
	code := exitDone
	if report.Problem != "" {
		code = exitUnverified
	}
	return endWith(code, a.print(report, report.WriteText))
}
