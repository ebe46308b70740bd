package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"waymark/failpoint"
)

// version is set by the linker for released binaries: -ldflags "-X main.version=1.2.3".
var version string

// build describes the binary.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Lab      bool   `json:"failpoints,omitempty"` // it can be told to die: see docs/crash.md
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of the program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			return a.print(b, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, b)
				return err
			})
		},
	}
}

func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Lab: failpoint.Enabled}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	return b
}

// code names the program in the record of a run.
func (b build) code() string {
	if b.Revision == "" {
		return "waymark " + b.Version
	}
	code := fmt.Sprintf("waymark %s (%.12s", b.Version, b.Revision)
	if b.Modified {
		code += ", modified"
	}
	return code + ")"
}

func (b build) String() string {
	text := b.code() + ", " + b.Go + ", " + b.Platform
	if b.Lab {
		text += ", with failpoints"
	}
	return text
}
