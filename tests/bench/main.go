// Command bench measures whole runs of the waymark binary, the first of them beside a plain Go loop that does the same job
// with no record of anything: `make bench`. It prints figures and asserts nothing.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	binary := flag.String("binary", "bin/waymark", "the waymark binary to measure")
	beside := flag.String("beside", "", "another waymark binary, of which the same is measured (default: none)")
	rows := flag.Int("rows", 1_000_000, "rows of the main measurement")
	many := flag.Int("many", 5_000_000, "rows of the memory measurement; 0 leaves it out")
	folder := flag.String("folder", "", "where to work (default: a temporary folder that is removed)")
	flag.Parse()
	if err := bench(measurement{binary: *binary, beside: *beside, folder: *folder}, *rows, *many); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(m measurement, rows, many int) (err error) {
	for _, binary := range []*string{&m.binary, &m.beside} {
		if *binary == "" {
			continue
		}
		if *binary, err = filepath.Abs(*binary); err != nil {
			return err
		}
	}
	if m.folder == "" {
		if m.folder, err = os.MkdirTemp("", "waymark-bench-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(m.folder) }()
	}
	fmt.Printf("machine: %s, %d cores, %s\n", cpuName(), runtime.NumCPU(), runtime.Version())
	small, err := m.take(jobs[0], 10)
	if err != nil {
		return err
	}
	fmt.Printf("10 rows, start-up included: %.2f s\n", small.seconds)
	if err := m.takeWide(); err != nil {
		return err
	}
	for _, job := range jobs {
		run, err := m.take(job, rows)
		if err != nil {
			return err
		}
		run.print()
		if err := m.compare(job, run); err != nil {
			return err
		}
		if job.plain {
			if err := loopBeside(m.place(rows), run); err != nil {
				return err
			}
			if err := m.resumeAfterKill(job, rows, run.seconds); err != nil {
				return err
			}
		}
	}
	if many == 0 {
		return nil
	}
	big, err := m.take(jobs[0], many)
	if err != nil {
		return err
	}
	big.print()
	return nil
}

// loopBeside runs the plain loop over the same file and compares.
func loopBeside(folder string, run figures) error {
	start := time.Now()
	rows, err := plainLoop(filepath.Join(folder, sourceFile), filepath.Join(folder, "plain"))
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	fmt.Printf("plain Go loop, no record of anything, same file: %.2f s, %.0f rows/s; waymark takes %.2f times as long\n",
		seconds, float64(rows)/seconds, run.seconds/seconds)
	return nil
}

// cpuName returns the processor's name as Linux tells it, or its architecture.
func cpuName() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, found := strings.CutPrefix(line, "model name"); found {
			return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), ":"))
		}
	}
	return runtime.GOARCH
}
