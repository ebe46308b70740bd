// Package landscape keeps the audit record of runs: what was read, which way every row took, how it ended, what was made of
// it, what every sink confirmed.
//
// Tokens are rows at places in the graph. Those of one chunk are in lanes: the record itself, the copies that forks sent down
// their branches, what coalesces made of these. A chunk has at most one token for each row and lane. A token's whole route
// through the graph is one way: the (node, label) steps that it took, and how it ended. A chunk keeps one code per row and
// lane, an index into the lane's list of ways, so that tokens of the same way share one description and every token has
// exactly one outcome by construction. Hashes of rows are kept in columns, one per chunk, lane and node. Exceptions (errors)
// are rows.
//
// A barrier, which gathers rows of several chunks, continues in folds. A fold takes the tokens of one chunk into batches, ends
// those that fired, and gives rows, which are a chunk like those of a source: the barrier is their origin.
//
// A run that stopped before its end may be resumed, by whatever process: then its next epoch begins. What a process stores is
// guarded by the epoch in which it works: one that continues late, after another took its run up, stores nothing.
//
// Log owns canonical details, that is ids, hashes, precision of times, and what may follow what. What only asks uses its Reader, which
// cannot write. A Driver stores records: sqlitestore for SQLite and pgstore for Postgres. Nothing above a Driver knows
// SQL.
//
// docs/landscape.md describes every table and view for people with sqlite3 and a question.
package landscape
