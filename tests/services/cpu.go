package services

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU is for how long a process and those that it started have computed, in programs and in the system, as far as they
// are there or were waited for.
func CPU(pid int) (sum time.Duration) {
	const parent, user, system, waitedUser, waitedSystem, ticksPerSecond = 1, 11, 12, 13, 14, 100 // Linux: proc(5)
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil { // it ended
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // a name may hold blanks
		if me := strconv.Itoa(pid); filepath.Base(filepath.Dir(file)) != me && fields[parent] != me {
			continue
		}
		for _, i := range []int{user, system, waitedUser, waitedSystem} {
			ticks, _ := strconv.Atoi(fields[i]) // the kernel writes numbers
			sum += time.Duration(ticks) * time.Second / ticksPerSecond
		}
	}
	return sum
}
