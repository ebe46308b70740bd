package evidence

import (
	"fmt"
	"path/filepath"
)

// restoring is the command that takes the entries back from a place, if it has any: others than folders have heads alone.
func restoring(place string) string {
	if _, folder := PlaceOf(place).(Folder); !folder || filepath.Base(place) == stateFile {
		place = "FOLDER"
	}
	return "waymark log restore --from " + place + " --why TEXT"
}

// RolledBackError says that the log has fewer entries here than somewhere else, as after a backup was restored. Nothing was written.
type RolledBackError struct {
	Here  int64  // entries here
	There int64  // entries there
	Place string // the anchor, or the notary's state
}

// Error begins with the code LOG_ROLLED_BACK.
func (e *RolledBackError) Error() string {
	return fmt.Sprintf("LOG_ROLLED_BACK: the log has %d entries here, and %s knows %d: an older record was put in the place of the newer one; nothing was written. "+
		"If it was restored from a backup, say so: %s", e.Here, e.Place, e.There, restoring(e.Place))
}

// RemovedError says that there is no record, though its log was signed. Nothing was made.
type RemovedError struct {
	Record string // where it is not
	Place  string // the anchor
}

// Error begins with the code LOG_ROLLED_BACK.
func (e *RemovedError) Error() string {
	return fmt.Sprintf("LOG_ROLLED_BACK: there is no record at %s, and %s has heads of its log: the record was removed or moved; nothing was made. "+
		"Put it back, or say where it is. If it is lost, make an empty one and record that: waymark landscape migrate, then %s",
		e.Record, e.Place, restoring(e.Place))
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

// StrayError says that a place has something that is not a head that the log signed. It stops nothing: anybody who may write there could stop all runs.
type StrayError struct {
	Anchor string
	Err    error // about the last of it
}

// Error names the anchor and what it has.
func (e *StrayError) Error() string {
	return fmt.Sprintf("the anchor %s of the log has something that the log did not sign, and that no run heeds: %v; waymark log check names all of it", e.Anchor, e.Err)
}

// Unwrap returns what it is.
func (e *StrayError) Unwrap() error { return e.Err }
