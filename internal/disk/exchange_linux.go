package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// exchange is renameat2(2) with RENAME_EXCHANGE. File systems that do not know the flag answer EINVAL.
func exchange(folder *os.File, a, b string) error {
	fd := int(folder.Fd())
	err := unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return fmt.Errorf("exchange %s and %s: %w", a, b, err)
	}
	return nil
}
