// Package landscape keeps the audit record of runs: what was read, which way every row took, how it ended, what every
// sink confirmed.
//
// A row's whole route through the graph is one way: the (node, label) steps that it took, and how it ended. A chunk keeps
// one code per row, an index into the chunk's list of ways, so that rows of the same way share one description and every
// token has exactly one outcome by construction. Hashes of rows are kept in columns, one per chunk and node. Exceptions
// (errors) are rows.
//
// Log is the one type that callers use: it owns canonical details, that is ids, hashes, precision of times, and what may
// follow what. A Driver stores records: sqlitestore for SQLite, memdriver for tests. Nothing above a Driver knows SQL.
//
// docs/landscape.md describes every table and view for people with sqlite3 and a question.
package landscape
