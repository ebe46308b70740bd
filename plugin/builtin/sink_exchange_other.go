//go:build !linux

package builtin

import (
	"errors"
	"os"
)

func exchange(*os.File, string, string) error { return errors.ErrUnsupported }
