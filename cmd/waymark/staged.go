package main

import (
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
		fate = "; waymark cancel " + s.ID + " --final --why TEXT deletes it"
	case !s.Dead() && !s.Advice.Resumes():
		fate = "; a fork, or waymark cancel " + s.ID + " --final --why TEXT, deletes it"
	}
	var lines [][]string
	for _, output := range s.Staged {
		lines = append(lines, []string{"staged", stagedText(output) + fate})
	}
	return lines
}

func stagedText(output client.Staged) string {
	return shown(output.Path) + ", " + text.Size(output.Bytes)
}
