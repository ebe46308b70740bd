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
