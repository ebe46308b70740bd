package engine

import (
	"waymark/engine/barrier"
	"waymark/plugin"
)

// Input is what a pass begins with.
type Input struct {
	Origin int // node: a source, or a barrier whose rows came out
	Chunk  *plugin.Chunk
	// RecordHashes are the SHA-256 of the records, 32 bytes each, for who records what becomes of them; nil if nobody
	// made them.
	RecordHashes []byte
	// Keys are the fork parents of the records of a barrier that keeps its context: for each record one for each open
	// fork, outermost first. Nil if there is no open fork.
	Keys []barrier.Token
	// Losses are branches that ended within the barrier: coalesces further on are told in this pass.
	Losses []barrier.Loss
	// FieldOrders are the orders of fields in the records of a barrier, which their canonical form does not tell, and
	// FieldOrderOf says for each record which of them is its own; nil if all have the first.
	FieldOrders  [][]string
	FieldOrderOf []uint16
	// Firsts tells which tokens have a value that only another token may have; nil if none has.
	Firsts Firsts
	// Late are tokens whose amounts Result.Late is to have: the targets of their sinks refused them. Nil if there is
	// none.
	Late map[At]bool
	// Without are records of which nothing is made, by index: they were forgotten. They end where they began, whatever the
	// document says of what is rejected there. Nil if there is none.
	Without map[int]bool
	// Hashes, if not nil, gets what comes out of nodes instead of Result.Columns.
	Hashes *Hashes
	// Stop, if not nil, is asked every now and then whether the pass is to end early: then Run returns its error.
	Stop func() error
}

// At names a token of a chunk.
type At struct {
	Lane  int
	Index int // of the record
}

// Hashes takes the hashes of what comes out of nodes slice by slice, while records are in flight: those of all records
// and nodes together may take more memory than everything else.
type Hashes struct {
	Every int // so many records, the last slice aside; 0 if no hash is to be made
	// Take is called with a node's column, whose hashes are those of the records from this one on. Only during the call
	// they are there.
	Take func(column Column, from int)
}

func (in *Input) keysOf(i, forks int) []barrier.Token {
	return in.Keys[i*forks : (i+1)*forks]
}
