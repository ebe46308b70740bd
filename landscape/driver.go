package landscape

import "context"

// A Record is one row of one table: a struct whose fields carry db tags. See Tables.
type Record interface {
	// Table returns the table's name.
	Table() string
}

// A Driver stores records. It knows nothing of their meaning but what the tags say and what Sweep checks.
// Implementations must be safe for concurrent use and must pass landscapetest.Run.
type Driver interface {
	// Commit does all of the transaction or nothing, and is durable before it returns nil.
	//
	// A record whose key is new is inserted. One whose key is there is left alone if all columns but those tagged first
	// or move are equal, else the error is a *DivergedError. A move whose From is not what is stored gives ErrStale. If
	// Check names a run, Sweep's cheap checks run on the state that the transaction would leave; findings give an
	// *ImbalanceError. If Guard is not nil and its run is in another epoch, or is not there and the epoch is not 0, the error
	// wraps ErrSuperseded, whatever else is wrong; if it says Running, and the run has ended, ErrEnded. The guard holds for the state that the
	// transaction finds, as one with what it does.
	// If there is no space for the transaction, the error wraps ErrFull. After one of these six errors nothing is stored; after any
	// other error the state is unknown. The same transaction may be committed again. The transaction is not kept.
	//
	// Seal is inserted after the moves. If the records of its run are not as many then as Seal.Counts says, or its effects not as Seal.Moved says,
	// the error wraps ErrStale.
	//
	// If Remove names a run, the records that the tables of Archivable have of it are removed after the moves. The database refuses that unless an Archive of the run is
	// recorded, and an ArchivedPayload of each payload to which they refer.
	//
	// An entry of Append gets the next position of the log, whatever Position it has, and the log's head is one larger then; an entry about
	// something of which the log has one is left out, whatever it says. Entries of several transactions do not mix, and leave no gap.
	Commit(ctx context.Context, tx Tx) error

	// Read calls yield with every record of the table of kind that q selects, in the order that q says, until yield returns
	// false. kind is a zero record: its fields are the columns that are read, and the records yielded are of its type. They
	// belong to the caller. The key is that of kind: the table's, or other columns of which no two records have the same.
	// No match is no error. yield must not use the driver.
	Read(ctx context.Context, kind Record, q Query, yield func(Record) bool) error

	// Sweep returns what is wrong with a run that claims to be complete, sorted; nil if nothing is. deep looks at every
	// token, not only at counts.
	Sweep(ctx context.Context, run string, deep bool) ([]Finding, error)

	// Close releases the driver's resources. Commits that returned nil stay.
	Close() error
}

// A Wrapper is a driver that hands on to another one what it does not do itself.
type Wrapper interface {
	// Unwrap returns the other driver.
	Unwrap() Driver
}

// capable returns the first of a driver and those that it wraps that is a T.
func capable[T any](driver any) (found T, ok bool) {
	for {
		if found, ok = driver.(T); ok {
			return found, true
		}
		wrapper, wraps := driver.(Wrapper)
		if !wraps {
			return found, false
		}
		driver = wrapper.Unwrap()
	}
}

// Query selects records of one table, and says in which order they come. The zero Query selects all of them by key.
type Query struct {
	Prefix     []any // what the first key columns are; nil: whatever they are
	After      []any // what the key columns behind the prefix come after, in this order; nil: nothing
	Descending bool  // the greatest key first
	Limit      int   // how many records at most; 0: all
}

// Tx is one transaction: what is stored together, or not at all.
type Tx struct {
	Insert []Record // parents before children
	Move   []Move   // after the inserts, in order
	Check  string   // id of a run to sweep, or empty
	Guard  *Guard   // nil: none
	Seal   *NewSeal // of a run that ends or has ended; nil: none
	Remove string   // id of a run that is archived, or empty

	Append []LogEntry // to the log, in order; last, so that its head is held as short as can be

	Repeats *bool // is set once it is known whether a record of Insert was there already; nil: nobody asks
}

// Guard lets a write pass only while a run is in an epoch: what a process still does after another one took its run up again
// changes nothing. A run that is not there is in epoch 0.
type Guard struct {
	Run   string
	Epoch int64 // how often the run was resumed

	Running bool // the run must not have ended
}

// Move is a compare-and-set of a record's columns tagged move: they must be those of From and become those of To. Both
// have the same type and key.
type Move struct {
	From, To Record
}

// NotPublished is the check that finds outputs that are not published. Stored in reports; never rename.
const NotPublished = "not_published"

// Finding is one thing that a sweep found wrong.
type Finding struct {
	Check  string `json:"check"` // stored word of the check
	Source string `json:"source,omitempty"`
	Chunk  int64  `json:"chunk"` // -1 if it is not about one chunk
	Node   string `json:"node,omitempty"`
	Detail string `json:"detail"` // one phrase for people
}
