// Command mutants breaks Waymark in one place at a time and looks whether a test notices: `make mutants`. It prints a
// table, and fails if a mutant survives its test, does not compile, or if the text it changes is gone. Each mutant dies
// in its tier: by day, which is `go test ./...`, or by night, in which nothing is left out.
//
// Nothing in the tree is touched: the go command takes the changed file from a temporary folder (go help build,
// -overlay).
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "try the mutants whose file, change or old bug contains this text")
	name := flag.String("name", "", "try the mutant with this name")
	list := flag.Bool("list", false, "print the names of all mutants, and try none")
	flag.Parse()
	if *list {
		for _, m := range mutants {
			fmt.Println(m.name)
		}
		return
	}
	picked := chosen(*only, *name)
	if len(picked) == 0 {
		fmt.Fprintln(os.Stderr, "mutants: there is no such mutant")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	alive, err := try(ctx, picked)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
	if alive > 0 {
		fmt.Fprintf(os.Stderr, "mutants: %d not killed: strengthen the test, or bring the mutant up to date with the code\n", alive)
		os.Exit(1)
	}
}

func chosen(only, name string) []mutant {
	var list []mutant
	for _, m := range mutants {
		if strings.Contains(m.file+" "+m.name+" "+string(m.again), only) && (name == "" || m.name == name) {
			list = append(list, m)
		}
	}
	return list
}

// try tries mutants one after the other, in the folder of the module. It returns how many were not killed. The error
// says that nothing can be tried here.
func try(ctx context.Context, list []mutant) (alive int, err error) {
	folder, err := os.MkdirTemp("", "waymark-mutants-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if _, err := os.Stat("go.mod"); err != nil {
		return 0, fmt.Errorf("start it in the folder of the module: %w", err)
	}
	tried, dead := map[lesson]int{}, map[lesson]int{}
	for _, m := range list {
		if ctx.Err() != nil {
			break
		}
		started := time.Now()
		verdict, detail := m.judge(ctx, folder)
		fmt.Printf("%-14s %-5s %5.1f s  %-60s %s\n", verdict, m.tier, time.Since(started).Seconds(), m.name, m.never)
		tried[m.again]++
		if verdict == killed {
			dead[m.again]++
			continue
		}
		alive++
		fmt.Printf("    %s, %s -run '%s'\n    %s\n", m.file, m.pkg, m.run, strings.ReplaceAll(short(detail), "\n", "\n    "))
	}
	sum(tried, dead)
	return alive, ctx.Err()
}

// sum prints how many mutants were killed: of each old bug, and of the others.
func sum(tried, dead map[lesson]int) {
	for _, again := range slices.Sorted(maps.Keys(tried)) {
		fmt.Printf("%3d of %3d killed  %s\n", dead[again], tried[again], title(again))
	}
}

func title(again lesson) string {
	if again == "" {
		return "other bugs"
	}
	return "old bug: " + string(again)
}

// short returns the beginning and the end of a long text.
func short(text string) string {
	const most = 1000
	if len(text) <= 2*most {
		return text
	}
	return text[:most] + "\n…\n" + text[len(text)-most:]
}
