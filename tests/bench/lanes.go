package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// wide are documents that have many sources, barriers and sinks for few rows: what they cost is what a run costs besides its rows. Each
// reads the file one.csv.
var wide = []struct {
	name     string
	document func() string
}{
	{"100 sources of a row, each with an aggregate and a file", func() string {
		var sources, steps, sinks strings.Builder
		for i := range 100 {
			fmt.Fprintf(&sources, "  s%d: {csv: {path: one.csv}, schema: {fields: {id: int, city: string, amount: int}}}\n", i)
			fmt.Fprintf(&steps, "  - {name: a%d, from: s%d, aggregate: {group_by: [city], compute: {total: sum(row.amount)}}}\n", i, i)
			fmt.Fprintf(&sinks, "  o%d: {from: a%d, jsonl: {path: out/o%d.jsonl, overwrite: true}}\n", i, i, i)
		}
		return "name: lanes\nsources:\n" + sources.String() + "steps:\n" + steps.String() + "sinks:\n" + sinks.String()
	}},
	{"a row forked into 185 branches, each with a file", func() string {
		var sinks strings.Builder
		branches := make([]string, 185)
		for i := range branches {
			branches[i] = fmt.Sprintf("b%d", i)
			fmt.Fprintf(&sinks, "  o%d: {from: b%d, jsonl: {path: out/o%d.jsonl, overwrite: true}}\n", i, i, i)
		}
		return "name: fork\nsources:\n  s: {csv: {path: one.csv}, schema: {fields: {id: int, city: string, amount: int}}}\n" +
			"steps:\n  - {name: copies, fork: [" + strings.Join(branches, ", ") + "]}\nsinks:\n" + sinks.String()
	}},
}

// takeWide runs the documents that are wide.
func (m measurement) takeWide() error {
	folder := filepath.Join(m.folder, "wide")
	for _, job := range wide {
		now, err := takeDocument(m.binary, folder, job.document())
		if err != nil {
			return err
		}
		fmt.Printf("%s: %.2f s, %.2f CPU seconds, start-up included\n", job.name, now.seconds, now.cpuSeconds)
		if m.beside == "" {
			continue
		}
		then, err := takeDocument(m.beside, folder, job.document())
		if err != nil {
			return err
		}
		now.printBeside(then)
	}
	return nil
}

// takeDocument runs a document over one row in a new folder.
func takeDocument(binary, folder, document string) (out figures, err error) {
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o750)); err != nil {
		return out, err
	}
	for file, content := range map[string]string{"pipeline.yaml": document, "one.csv": "id,city,amount\n1,Springfield,7\n"} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
			return out, err
		}
	}
	_, err = out.run(binary, folder)
	return out, err
}
