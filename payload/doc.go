// Package payload keeps the bytes that a run must be able to show later: source records, requests, responses, outputs.
//
// A payload is addressed by the SHA-256 of its bytes. Store is the one type that callers use: it hashes, checks and
// limits. A Backend moves bytes: fsstore for folders, memstore for tests. An object exists exactly if it is complete and
// correct: a poisoned one is never returned, and is replaced as soon as the good bytes are put again.
//
// Records are many and small, an fsync is slow: the records of a chunk are stored together as one Pack (EncodePack,
// DecodePack). Compression belongs to packs, so that `sha256sum` of any stored file prints its name.
//
// docs/payloads.md describes folders and packs byte by byte.
package payload
