// Package interop writes what is recorded of runs in the forms that other tools read: Parquet, W3C PROV, OpenLineage and RO-Crate. It derives
// everything from the record and adds nothing to it; docs/export.md describes the forms.
package interop
