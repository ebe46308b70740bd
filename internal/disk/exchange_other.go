//go:build !linux

package disk

import (
	"errors"
	"os"
)

func exchange(*os.File, string, string) error { return errors.ErrUnsupported }
