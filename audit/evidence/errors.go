package evidence

import "fmt"

// RolledBackError says that the log has fewer entries here than somewhere else, as after a backup was restored. Nothing was written.
type RolledBackError struct {
	Here  int64  // entries here
	There int64  // entries there
	Place string // the anchor, or the notary's state
}

// Error begins with the code LOG_ROLLED_BACK.
func (e *RolledBackError) Error() string {
	return fmt.Sprintf("LOG_ROLLED_BACK: the log has %d entries here, and %s knows %d: an older record was put in the place of the newer one; nothing was written. "+
		"If it was restored from a backup, say so: waymark log restore --from %s --why TEXT", e.Here, e.Place, e.There, e.Place)
}

// RemovedError says that there is no record, though its log was signed. Nothing was made.
type RemovedError struct {
	Record string // where it is not
	Place  string // the anchor
}

// Error begins with the code LOG_ROLLED_BACK.
func (e *RemovedError) Error() string {
	return fmt.Sprintf("LOG_ROLLED_BACK: there is no record at %s, and %s has heads of its log: the record was removed or moved; nothing was made. "+
		"Put it back, or say where it is. If it is lost, make an empty one and record that: waymark landscape migrate, then waymark log restore --from %s --why TEXT",
		e.Record, e.Place, e.Place)
}

// ForkedError says that the log has other entries here than somewhere else. Nothing was written, and no restoring cures it.
type ForkedError struct {
	Size  int64 // of the head that differs
	Place string
}

// Error begins with the code LOG_FORKED.
func (e *ForkedError) Error() string {
	return fmt.Sprintf("LOG_FORKED: the first %d entries of the log are not those of the head that %s has: one of the two was changed; nothing was written or signed. "+
		"Keep both, and compare them: waymark log check", e.Size, e.Place)
}
