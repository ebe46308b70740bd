// Package version says which program this is: the record of every run names it.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"waymark/internal/failpoint"
)

// Build describes a binary.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Lab      bool   `json:"failpoints,omitempty"` // its failpoints are armed: see docs/crash.md
}

// This describes the binary that asks. released is what the linker wrote into a released one, else "".
func This(released string) Build {
	b := Build{Version: released, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Lab: failpoint.Enabled}
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

// Code names the program in the record of a run.
func (b Build) Code() string {
	if b.Revision == "" {
		return "waymark " + b.Version
	}
	code := fmt.Sprintf("waymark %s (%.12s", b.Version, b.Revision)
	if b.Modified {
		code += ", modified"
	}
	return code + ")"
}

// String describes the binary for people.
func (b Build) String() string {
	text := b.Code() + ", " + b.Go + ", " + b.Platform
	if b.Lab {
		text += ", with failpoints"
	}
	return text
}
