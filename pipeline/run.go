package pipeline

import (
	"fmt"
	"regexp"
)

// LastRun is what people write in the place of a run's id for the run that was started last. No run has it as its id.
const LastRun = "last"

// runID is what a run's id looks like.
var runID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckRunID says what is wrong with the id of a run that is about to begin. It will be part of the names of files, of objects
// in buckets and of workflows, and a word of commands.
func CheckRunID(id string) error {
	if runID.MatchString(id) && id != LastRun {
		return nil
	}
	return fmt.Errorf("%.64q cannot be the id of a run: write up to 64 of a to z, A to Z, 0 to 9, ., _ and -, a letter or a digit first, and not %q",
		id, LastRun)
}
