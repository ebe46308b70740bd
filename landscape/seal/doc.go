// Package seal computes the roots that bind what a run recorded: trees of SHA-256 hashes, as RFC 6962 defines them, over leaves that are
// salted so that one can be shown without telling anything of the others. docs/seal.md has the table of bytes, and Python that does the same.
//
// Everything here is a pure function: nothing is read or stored, and every process comes to the same root.
package seal
