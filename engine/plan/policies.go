package plan

import (
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline"
)

func (c *compiler) connectPolicies() {
	for _, entry := range c.doc.Pipeline.Sources {
		c.policy(entry.Name, entry.Value.OnInvalid, pipeline.Key("sources", entry.Name)+".on_invalid")
	}
	for i, step := range c.doc.Pipeline.Steps {
		c.policy(step.Name, step.OnError, stepPath(i)+".on_error")
	}
	for _, i := range c.plan.Sinks() {
		c.plan.Nodes[i].OnError = Target{Node: None, Word: pipeline.Quarantine}
	}
}

func (c *compiler) policy(name, word, path string) {
	node := &c.plan.Nodes[c.index[name]]
	node.OnError = Target{Node: None, Word: word}
	switch word {
	case "":
		node.OnError.Word = pipeline.Quarantine
	case pipeline.Quarantine, pipeline.Fail, pipeline.Discard:
	default:
		position, known := c.index[word]
		if c.unclear(word) {
			c.misname()
			return
		}
		if !known || c.plan.Nodes[position].Kind != Sink {
			c.misname()
			c.problem(path, "no sink named %q%s; refused rows go to quarantine, fail, discard or a sink", word, c.meantPolicy(word))
			return
		}
		node.OnError = Target{Node: position}
		c.plan.Nodes[position].Errors = true
	}
}

// meantPolicy returns ` (did you mean "x"?)` for the nearest sink or reserved word.
func (c *compiler) meantPolicy(word string) string {
	if nearest := pipeline.Nearest(word, []string{pipeline.Quarantine, pipeline.Fail, pipeline.Discard}); nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return c.meant(word, Sink)
}

// meant returns ` (did you mean "x"?)` for the nearest name of these kinds, or the list of them.
func (c *compiler) meant(name string, kinds ...Kind) string {
	return meantOf(name, c.namesOf(kinds...))
}

// meantFlow is meant for what rows can be taken from: sources, steps and branches.
func (c *compiler) meantFlow(name string) string {
	return meantOf(name, append(c.namesOf(Source, Step), c.branchNames()...))
}

func (c *compiler) meantBranch(name string) string { return meantOf(name, c.branchNames()) }

func (c *compiler) namesOf(kinds ...Kind) []string {
	var names []string
	for i := range c.plan.Nodes {
		for _, kind := range kinds {
			if name := c.written(c.plan.Nodes[i].Name); c.plan.Nodes[i].Kind == kind && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// written returns the name of a node as the document has it, "" if it has none.
func (c *compiler) written(name string) string {
	if own, byPlace := c.doubt.called[name]; byPlace {
		return own
	}
	return name
}

func (c *compiler) branchNames() []string {
	var names []string
	for i := range c.plan.Nodes {
		if node := &c.plan.Nodes[i]; node.Operation == Fork {
			names = append(names, routeLabels(node)...)
		}
	}
	return names
}

func meantOf(name string, names []string) string {
	if nearest := pipeline.Nearest(name, names); nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	if len(names) == 0 {
		return ""
	}
	return " (there are: " + strings.Join(names, ", ") + ")"
}
