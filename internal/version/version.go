// Package version says which program this is: the record of every run names it.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"waymark/internal/failpoint"
)

// Build describes a binary.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Dirty    bool   `json:"dirty,omitempty"` // built from files that differ from that revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Lab      bool   `json:"failpoints,omitempty"` // its failpoints are armed: see docs/crash.md
}

// This describes the binary that asks. stamped is what the linker wrote into a released one, else "": then the version
// is that of the module, such as 1.2.3 if `go install` built it from a proxy. In a checkout the go command makes one of
// the last tag, the revision and "dirty"; without anything to make it of, it is "(devel)".
func This(stamped string) Build {
	b := Build{Version: stamped, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Lab: failpoint.Enabled}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.modified":
			b.Dirty = setting.Value == "true"
		}
	}
	if b.Version == "" {
		b.Version = strings.TrimPrefix(info.Main.Version, "v")
	}
	return b
}

// Code names the program in the record of a run: the version, and the revision that a version does not name.
func (b Build) Code() string {
	revision := fmt.Sprintf("%.12s", b.Revision)
	if strings.Contains(b.Version, revision) {
		return "waymark " + b.Version
	}
	if b.Dirty {
		revision += ", dirty"
	}
	return fmt.Sprintf("waymark %s (%s)", b.Version, revision)
}

// String describes the binary for people.
func (b Build) String() string {
	text := b.Code() + ", " + b.Go + ", " + b.Platform
	if b.Lab {
		text += ", with failpoints"
	}
	return text
}
