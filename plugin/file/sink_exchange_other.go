//go:build !linux

package file

import (
	"errors"
	"os"
)

func exchange(*os.File, string, string) error { return errors.ErrUnsupported }
