// Package evidence keeps the log of a landscape: entries that say what became of runs, each a signed note and a leaf of one tree (RFC 6962), and
// heads of that tree, which a notary signs and puts where the landscape's owner need not be the owner. docs/log.md says what is in an entry, and
// what all this proves.
package evidence
