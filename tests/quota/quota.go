// Package quota gives processes of tests and measurements a share of a processor, as a container has one.
package quota

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	root     = "/sys/fs/cgroup"
	period   = 100_000 // microseconds, as container runtimes have it
	patience = 10 * time.Second
)

// Group is a control group, of version 1 or 2.
type Group struct{ folder string }

// New makes a group whose processes together get so many cores. Whoever makes one needs the right to; root has it.
func New(name string, cores float64) (*Group, error) {
	quota := strconv.Itoa(int(cores * period))
	parent, file, limit := root, "cpu.max", quota+" "+strconv.Itoa(period)
	if first := filepath.Join(root, "cpu"); exists(filepath.Join(first, "cpu.cfs_quota_us")) {
		parent, file, limit = first, "cpu.cfs_quota_us", quota
	}
	g := &Group{filepath.Join(parent, fmt.Sprintf("waymark-%d-%s", os.Getpid(), name))}
	if err := os.Mkdir(g.folder, 0o700); err != nil {
		return nil, fmt.Errorf("a container of %v cores: %w", cores, err)
	}
	if err := os.WriteFile(filepath.Join(g.folder, file), []byte(limit), 0o600); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// Command starts a program in the group, if there is one.
func (g *Group) Command(program string, args ...string) []string {
	command := append([]string{program}, args...)
	if g == nil {
		return command
	}
	return append([]string{"sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, g.folder}, command...)
}

// Remove removes the group, whose processes have ended or are about to.
func (g *Group) Remove() error {
	for late := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := os.Remove(g.folder)
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(late) {
			return err
		}
	}
}
