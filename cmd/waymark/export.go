package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"waymark/audit/evidence/bundle"
	"waymark/client/local"
)

func (a *app) exportCommand() *cobra.Command {
	var file string
	payloads := string(bundle.NoPayloads)
	cmd := &cobra.Command{
		Use:   "export RUN -o FILE.zip",
		Short: "Write what is recorded of a run into one signed file that others can verify on their own",
		Long: `Writes an evidence bundle: every record of the run, its log entry with the proof, the payloads that --payloads names, and a manifest that
a sealer's key signs. The manifest lists what could not be included, such as a purged payload, with the reason. The same run gives the same bytes
as long as record, log and payloads are the same. Recipients verify the bundle with waymark verify FILE.zip, or with docs/verify.py. docs/bundle.md
describes it.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			kinds := []bundle.Payloads{bundle.NoPayloads, bundle.SourcePayloads, bundle.AllPayloads}
			switch {
			case file == "":
				return wrongUsef("say where the bundle goes: -o FILE.zip")
			case !slices.Contains(kinds, bundle.Payloads(payloads)):
				return wrongUsef("--payloads %q: write one of none, source, all", payloads)
			}
			if err := checkBundleFile(file); err != nil {
				return err
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				made, err := writeBundle(file, func(w io.Writer) (*bundle.Manifest, error) {
					return home.Export(cmd.Context(), args[0], w, bundle.Payloads(payloads))
				})
				if err != nil {
					return err
				}
				return a.print(made, made.writeText)
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "`file` to write; an existing one is replaced")
	cmd.Flags().StringVar(&payloads, "payloads", payloads, "which payloads go into it: `none` (their hashes alone), source (records as they were read, tables of lookups) or all (also what barriers gave)")
	return cmd
}

// exported is a bundle that was written.
type exported struct {
	File    string       `json:"file"`
	Bytes   int64        `json:"bytes"`
	SHA256  string       `json:"sha256"`
	Members int          `json:"members"`
	Gaps    []bundle.Gap `json:"gaps"`
}

func (e *exported) writeText(w io.Writer) error {
	for _, g := range e.Gaps {
		fmt.Fprintf(w, "not in the bundle: %s: %s\n", g.What, g.Why)
	}
	_, err := fmt.Fprintf(w, "%s  %d bytes  %d members  sha256 %s\n", e.File, e.Bytes, e.Members, e.SHA256)
	return err
}

// checkBundleFile refuses a path at which no file can be written.
func checkBundleFile(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return wrongUsef("-o %s is a folder: name a file in it, such as %s", path, filepath.Join(path, "run.zip"))
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return wrongUsef("-o %s: %s is no folder: make it, or name another file", path, filepath.Dir(path))
	}
	return nil
}

// writeBundle writes a file whole or not at all.
func writeBundle(path string, write func(io.Writer) (*bundle.Manifest, error)) (made *exported, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".bundle-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	out := &hashed{to: file, sum: sha256.New()}
	manifest, err := write(out)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return nil, err
	}
	const signed = 2 // the manifest and its envelope are not in the manifest
	return &exported{path, out.n, hex.EncodeToString(out.sum.Sum(nil)), len(manifest.Members) + signed, manifest.Gaps}, nil
}

// hashed hashes and counts what is written.
type hashed struct {
	to  io.Writer
	sum hash.Hash
	n   int64
}

func (h *hashed) Write(b []byte) (int, error) {
	n, err := h.to.Write(b)
	h.sum.Write(b[:n])
	h.n += int64(n)
	return n, err
}
