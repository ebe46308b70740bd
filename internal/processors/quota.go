package processors

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// atMostOne reports whether the container of the process has the time of one processor, or of less. Go never uses less
// than two of several because of that.
func atMostOne(proc string) bool {
	groups, mounts := read(proc, "self", "cgroup"), read(proc, "self", "mountinfo")
	for _, mount := range strings.Split(mounts, "\n") {
		m, ok := parseMount(mount)
		if !ok {
			continue
		}
		for group := range strings.Lines(groups) {
			path, of := m.holds(strings.TrimSpace(group))
			for ; of; path = filepath.Dir(path) {
				if limits(path) {
					return true
				}
				if path == m.point {
					break
				}
			}
		}
	}
	return false
}

// mount is where a hierarchy of control groups with limits of processors is.
type mount struct {
	root, point string
	second      bool // it is of version 2
}

// parseMount understands a line of /proc/self/mountinfo.
func parseMount(line string) (m mount, ok bool) {
	about, kind, _ := strings.Cut(line, " - ")
	fields, kinds := strings.Fields(about), strings.Fields(kind)
	if len(fields) < 5 || len(kinds) < 3 {
		return mount{}, false
	}
	m = mount{root: fields[3], point: fields[4], second: kinds[0] == "cgroup2"}
	return m, m.second || kinds[0] == "cgroup" && slices.Contains(strings.Split(kinds[2], ","), "cpu")
}

// holds returns the folder of a group, as a line of /proc/self/cgroup names it, if it is one of this hierarchy.
func (m mount) holds(group string) (folder string, ok bool) {
	fields := strings.SplitN(group, ":", 3)
	if len(fields) < 3 || m.second != (fields[0] == "0") ||
		!m.second && !slices.Contains(strings.Split(fields[1], ","), "cpu") {
		return "", false
	}
	below, err := filepath.Rel(m.root, fields[2])
	if err != nil || strings.HasPrefix(below, "..") {
		below = "." // its name is that outside of the container
	}
	return filepath.Join(m.point, below), true
}

// limits reports whether a control group has the time of one processor, or of less.
func limits(folder string) bool {
	quota, period := read(folder, "cpu.cfs_quota_us"), read(folder, "cpu.cfs_period_us")
	if both := strings.Fields(read(folder, "cpu.max")); len(both) == 2 {
		quota, period = both[0], both[1]
	}
	most, err := strconv.ParseInt(strings.TrimSpace(quota), 10, 64)
	if err != nil || most <= 0 { // "max", and -1, are no limit
		return false
	}
	every, err := strconv.ParseInt(strings.TrimSpace(period), 10, 64)
	return err == nil && most <= every
}

// read returns the content of a file; nothing if there is none.
func read(path ...string) string {
	text, _ := os.ReadFile(filepath.Join(path...))
	return string(text)
}
