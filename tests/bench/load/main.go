// Command load measures what is slow while much goes on: many runs, schedules or steps, or little CPU. It is
// `make bench-load`. Each row of its table is one way of measuring. It prints a line for each figure, that of the other
// binary beside it if there is one, and all of them as JSON in its last line. It asserts nothing but that what it
// measures is done right.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// row is one way of measuring.
type row struct {
	name string // of one word, for -only and in the JSON
	what string // one line

	// measure works in an empty folder, which is removed afterwards, and tells the figures.
	measure func(ctx context.Context, b *bench) error
}

// bench is a binary that is measured, and where.
type bench struct {
	binary  string // absolute
	folder  string // absolute
	figures []figure
}

// figure is something that was measured.
type figure struct {
	name, unit string
	value      float64
}

// tell adds a figure. The name is one of the row's own.
func (b *bench) tell(name string, value float64, unit string) {
	b.figures = append(b.figures, figure{name: name, unit: unit, value: value})
}

// rows are all ways of measuring, in the order of the table.
var rows = []row{
	{"crowd", "small runs through the API of serve, 16, 64 and 256 at once", crowd},
	{"turns", "processes that execute a small run in one state folder, one after the other and at once", turns},
	{"steps", "200,000 rows through 2, 10, 50 and 150 steps that set a field each", steps},
	{"schedules", "1,000 schedules and 100 triggers at rest, and 200 slots due at once", schedules},
	{"beside-light", "small runs beside one of many rows, in the same serve", besideLight},
	{"beside-heavy", "small runs beside one with much to compute for each row, in the same serve", besideHeavy},
	{"beside-many", "small runs beside fifty of these, in the same serve", besideMany},
	{"quarter-core", "a run with much to compute in a container of a quarter of a core", quarterCore},
}

func main() {
	binary := flag.String("binary", "bin/waymark", "the waymark binary to measure")
	beside := flag.String("beside", "", "another waymark binary, of which the same is measured (default: none)")
	only := flag.String("only", "", "measure only rows whose name matches this `expression`")
	flag.Parse()
	if err := measure(context.Background(), *binary, *beside, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure measures the rows whose names match, of both binaries one after the other.
func measure(ctx context.Context, binary, beside, only string) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	fmt.Printf("%d cores, %s\n", runtime.NumCPU(), runtime.Version())
	all := map[string]float64{}
	var failed error
	for _, r := range rows {
		if !chosen.MatchString(r.name) {
			continue
		}
		fmt.Printf("%s: %s\n", r.name, r.what)
		now, err := r.of(ctx, binary)
		failed = errors.Join(failed, err)
		var old []figure
		if beside != "" {
			if old, err = r.of(ctx, beside); err != nil { // the other binary may fail: that is why this one exists
				fmt.Printf("  the other binary: %v\n", err)
			}
		}
		for _, f := range now {
			all[r.name+" "+f.name] = f.value
			fmt.Printf("  %-40s %10.4g %-8s", f.name, f.value, f.unit)
			if i := slices.IndexFunc(old, func(o figure) bool { return o.name == f.name }); i >= 0 {
				all[r.name+" "+f.name+" beside"] = old[i].value
				fmt.Printf(" %10.4g  × %.2f", old[i].value, f.value/old[i].value)
			}
			fmt.Println()
		}
	}
	line, err := json.Marshal(all)
	fmt.Println(string(line))
	return errors.Join(failed, err)
}

// of measures one binary.
func (r row) of(ctx context.Context, binary string) (figures []figure, err error) {
	b := &bench{}
	if b.binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	if b.folder, err = os.MkdirTemp("", "waymark-load-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	if err := r.measure(ctx, b); err != nil {
		return b.figures, fmt.Errorf("%s: %s: %w", strings.TrimSuffix(filepath.Base(binary), ".exe"), r.name, err)
	}
	return b.figures, nil
}

// write writes a file into the folder.
func (b *bench) write(name, text string) error {
	return os.WriteFile(filepath.Join(b.folder, name), []byte(text), 0o600)
}
