package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/audit/evidence/bundle"
	"waymark/audit/interop"
	"waymark/client/local"
)

// exportFlags are what the user says about an export.
type exportFlags struct {
	as       string
	to       string
	payloads string
	all      bool

	artifacts bool
	redact    []string
}

// The forms in which runs are exported, besides the bundle.
const (
	asBundle  = "bundle"
	asParquet = "parquet"
	asReport  = "report"
)

var (
	exportForms = []string{asBundle, asReport, asParquet, "ro-crate", "prov", "openlineage", "schemas"}
	folderForms = map[string]interop.ToFolder{asParquet: interop.Parquet, "ro-crate": interop.ROCrate, "schemas": interop.Schemas}
	fileForms   = map[string]interop.ToFile{"prov": interop.PROV, "openlineage": interop.OpenLineage}
)

func (a *app) exportCommand() *cobra.Command {
	f := exportFlags{as: asBundle, payloads: string(bundle.NoPayloads)}
	cmd := &cobra.Command{
		Use:   "export {RUN | --all} -o FILE",
		Short: "Write what is recorded of a run for others: signed evidence, or files that their tools read",
		Long: `Writes what is recorded of a run in the form that --as names. docs/export.md describes the forms.

bundle: one signed zip file that others can verify on their own. It has every record of the run, its log entry with the proof, the payloads that
--payloads names, with --artifacts the outputs, and a manifest that a sealer's key signs. The manifest lists what could not be included, such as a purged payload, with the reason.
The same run gives the same bytes as long as record, log and payloads are the same. Recipients verify the bundle with waymark verify FILE.zip, or
with docs/verify.py. docs/bundle.md describes it.

report: one HTML file for people, which they read in a browser, without a network: what the run read, made and refused, who and what decided, and what
it took. The file verifies itself.

parquet: a new folder with a Parquet file for each table and view of docs/landscape.md, for DuckDB, pandas, Spark and others; with --all, of all runs,
also of those that have not ended.

ro-crate: a new folder with the document and an RO-Crate that describes the run. prov: a W3C PROV-JSON document. openlineage: OpenLineage events, one on
each line.

schemas: a new folder with a file for each output: a JSON Schema of the rows of JSON Lines, CSV on the Web of CSV, a Table Schema of Parquet files and tables.

` + runArgument,
		Args:              runOrAll(&f.all),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.existing(cmd.Context(), func(home *local.Home) error {
				return a.export(cmd.Context(), home, slices.Concat(args, []string{""})[0], f)
			})
		},
	}
	cmd.Flags().StringVarP(&f.to, "output", "o", "", "`file` to write, which replaces an existing one; with --as parquet, ro-crate and schemas a folder that does not exist")
	cmd.Flags().StringVar(&f.as, "as", f.as, "in which `form`: "+strings.Join(exportForms, ", "))
	cmd.Flags().StringVar(&f.payloads, "payloads", f.payloads, "which payloads go into a bundle: `none` (their hashes alone), refused (the records of rows in quarantine), source (records as they were read, tables of lookups) or all (also what barriers gave)")
	cmd.Flags().BoolVar(&f.artifacts, "artifacts", false, "put the outputs into a bundle, as they were published")
	cmd.Flags().StringSliceVar(&f.redact, "redact", nil, "leave the values of a source's rows out of a bundle, with everything by which they could be guessed, and who, why and where: `SOURCE.FIELD` or SOURCE, several with commas")
	cmd.Flags().BoolVar(&f.all, "all", false, "with --as parquet: export all runs, and what belongs to no run")
	return cmd
}

// runOrAll takes one run, or none with --all.
func runOrAll(all *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if *all {
			return noArgs(cmd, args)
		}
		return exactlyOne("run")(cmd, args)
	}
}

func (f *exportFlags) check() error {
	switch {
	case !slices.Contains(exportForms, f.as):
		return wrongUsef("--as %q: write one of %s", f.as, strings.Join(exportForms, ", "))
	case f.to == "":
		return wrongUsef("say where the export goes: -o FILE (for a bundle FILE.zip, for parquet, ro-crate and schemas a new folder)")
	case f.all && f.as != asParquet:
		return wrongUsef("--all is for --as parquet: say which run")
	case f.payloads != string(bundle.NoPayloads) && f.as != asBundle:
		return wrongUsef("--payloads is for --as bundle: leave it out")
	case f.redact != nil && f.as != asBundle:
		return wrongUsef("--redact is for --as bundle: leave it out")
	case f.redact != nil && f.artifacts:
		return wrongUsef("--redact and --artifacts: %w", bundle.ErrRedactedOutputs)
	case f.artifacts && f.as != asBundle:
		return wrongUsef("--artifacts is for --as bundle: leave it out")
	case !slices.Contains(bundle.EveryPayloads, bundle.Payloads(f.payloads)):
		return wrongUsef("--payloads %q: write one of none, refused, source, all", f.payloads)
	case folderForms[f.as] != nil:
		return checkNewFolder(f.to)
	}
	return checkFile(f.to)
}

// export writes a run, or all of them if word is empty, in the form that f names.
func (a *app) export(ctx context.Context, home *local.Home, word string, f exportFlags) error {
	if form := folderForms[f.as]; form != nil {
		made, err := writeFolder(f.to, func(folder string) ([]interop.File, error) { return home.ExportFolder(ctx, word, form, folder) })
		if err != nil {
			return err
		}
		return a.print(made, made.writeText)
	}
	manifest := &bundle.Manifest{Gaps: []bundle.Gap{}, Redactions: []bundle.Redaction{}}
	file, err := writeWhole(f.to, func(w io.Writer) (err error) {
		if f.as == asReport {
			return home.WriteReport(ctx, word, w)
		}
		if form := fileForms[f.as]; form != nil {
			return home.ExportFile(ctx, word, form, w)
		}
		manifest, err = home.Export(ctx, word, w, f.exported())
		return err
	})
	if err != nil {
		return err
	}
	if f.as != asBundle {
		return a.print(file, file.writeText)
	}
	const signed = 2 // the manifest and its envelope are not in the manifest
	made := &exportedBundle{*file, len(manifest.Members) + signed, manifest.Gaps, manifest.Redactions}
	return a.print(made, made.writeText)
}

// exported says what goes into a bundle.
func (f *exportFlags) exported() local.Exported {
	return local.Exported{Payloads: bundle.Payloads(f.payloads), Artifacts: f.artifacts, Redact: f.redact}
}

// exportedFile is a file that was written.
type exportedFile struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (e *exportedFile) writeText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s  %d bytes  sha256 %s\n", e.File, e.Bytes, e.SHA256)
	return err
}

// exportedBundle is a bundle that was written.
type exportedBundle struct {
	exportedFile
	Members int          `json:"members"`
	Gaps    []bundle.Gap `json:"gaps"`

	Redactions []bundle.Redaction `json:"redactions"`
}

func (e *exportedBundle) writeText(w io.Writer) error {
	for _, r := range e.Redactions {
		fmt.Fprintf(w, "redacted: %s\n", r)
	}
	for _, g := range e.Gaps {
		fmt.Fprintf(w, "not in the bundle: %s: %s\n", g.What, g.Why)
	}
	_, err := fmt.Fprintf(w, "%s  %d bytes  %d members  sha256 %s\n", e.File, e.Bytes, e.Members, e.SHA256)
	return err
}

// checkFile refuses a path at which no file can be written.
func checkFile(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return wrongUsef("-o %s is a folder: name a file in it, such as %s", path, filepath.Join(path, "run.zip"))
	}
	return checkParent(path)
}

// checkParent refuses a path that is in no folder.
func checkParent(path string) error {
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return wrongUsef("-o %s: %s is no folder: make it, or name another place", path, filepath.Dir(path))
	}
	return nil
}

// writeWhole writes a file whole or not at all.
func writeWhole(path string, write func(io.Writer) error) (made *exportedFile, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".export-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	out := &hashed{to: file, sum: sha256.New()}
	err = write(out)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return nil, err
	}
	return &exportedFile{path, out.n, hex.EncodeToString(out.sum.Sum(nil))}, nil
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
