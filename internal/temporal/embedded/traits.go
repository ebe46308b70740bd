package embedded

import (
	"fmt"
	"os"
	"os/user"
)

// requireTraits returns an error if the system does not say what the server asks it for its traces. There are no traces,
// but a server that gets no answer does not start, and describes that in two kilobytes.
func requireTraits() error {
	if _, err := os.Executable(); err != nil {
		return fmt.Errorf("the path of this program is unknown, mount /proc: %w", err)
	}
	_, err := user.Current()
	if err != nil && os.Getenv("HOME") == "" {
		return fmt.Errorf("the user of this process is unknown, set HOME, such as HOME=/tmp: %w", err)
	}
	if err != nil { // a program without cgo would have looked into the environment
		return fmt.Errorf("the user of this process is unknown, add it to /etc/passwd "+
			"or build the program with CGO_ENABLED=0: %w", err)
	}
	return nil
}
