package main

import (
	"fmt"

	"waymark/client"
	"waymark/internal/text"
	"waymark/pipeline"
)

// stagedLines tell people about staged outputs, by their paths from the working folder if they are below it.
func stagedLines(s *client.Status) [][]string {
	fate := "; waymark resume continues it"
	switch {
	case s.Status == pipeline.Running && !s.Dead():
		fate = ""
	case s.Final:
		fate = "; stays until you delete it"
	}
	var lines [][]string
	for _, output := range s.Staged {
		lines = append(lines, []string{"staged", shown(output.Path) + ", " + size(output.Bytes) + fate})
	}
	return lines
}

// size shows a number of bytes for people.
func size(bytes int64) string {
	switch {
	case bytes < 10_000:
		return text.Count(bytes, "byte")
	case bytes < 10_000_000:
		return fmt.Sprintf("%d kB", bytes/1_000)
	default:
		return text.Grouped(bytes/1_000_000) + " MB"
	}
}
