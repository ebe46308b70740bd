package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"waymark/tests/quota"
)

// quarterRows are as many as fill three chunks.
const quarterRows = 65_000

// quarterCore has a run with much to compute, first without a limit and then in a container of a quarter of a core. It
// needs the right to make one.
func quarterCore(ctx context.Context, b *bench) error {
	for name, text := range map[string]string{
		"long.yaml": strings.ReplaceAll(long, "STEPS", heavy), "long.csv": table(quarterRows),
	} {
		if err := b.write(name, text); err != nil {
			return err
		}
	}
	group, err := quota.New("quarter", 0.25)
	if err != nil {
		return err
	}
	defer func() { _ = group.Remove() }()
	free, err := cpuOf(ctx, b, "free", nil)
	if err != nil {
		return err
	}
	limited, err := cpuOf(ctx, b, "limited", group)
	if err != nil {
		return err
	}
	b.tell("CPU, quarter of a core", limited, "s")
	b.tell("CPU, quarter of a core by unlimited", limited/free, "")
	return nil
}

// cpuOf executes the run in a control group, nil for none, and returns the seconds for which it kept processors busy.
func cpuOf(ctx context.Context, b *bench, name string, group *quota.Group) (seconds float64, err error) {
	args := group.Command(b.binary, "run", "-q", "--state", name, "long.yaml")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.WaitDelay = b.folder, time.Second
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, text)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}
