package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
)

// writeTables writes the accounts of the nodes, and what there is of totals, policies, barriers and sinks.
func writeTables(w io.Writer, s *client.Status) error {
	if err := writeNodes(w, s.Nodes); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if s.Totals != nil {
		if err := writeTotals(w, s.Totals); err != nil {
			return err
		}
	}
	if len(s.Policies) > 0 {
		if err := writePolicies(w, s.Policies); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if len(s.Barriers) > 0 {
		if err := writeBarriers(w, s.Barriers); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if !client.Complete(s.Status) {
		return writeOpenSinks(w, s.Sinks)
	}
	return writeSinks(w, s.Sinks)
}

// nodeColumns are the columns of the table of nodes. What only happens where rows are copied, gathered or held is left out
// if it did not happen.
var nodeColumns = []struct {
	head   string
	always bool
	count  func(landscape.NodeCount) int64
}{
	{"in", true, func(n landscape.NodeCount) int64 { return n.In }},
	{"made", false, func(n landscape.NodeCount) int64 { return n.Created }},
	{"out", true, func(n landscape.NodeCount) int64 { return n.Out }},
	{"dropped", true, func(n landscape.NodeCount) int64 { return n.Dropped }},
	{"refused", true, func(n landscape.NodeCount) int64 { return n.Diverted }},
	{"taken", false, func(n landscape.NodeCount) int64 { return n.Consumed }},
	{"held", false, func(n landscape.NodeCount) int64 { return n.Held }},
}

func writeNodes(w io.Writer, nodes []landscape.NodeCount) error {
	lines := make([][]string, len(nodes)+1)
	lines[0] = []string{"node"}
	for i, node := range nodes {
		lines[i+1] = []string{node.Node}
	}
	for _, column := range nodeColumns {
		if !column.always && !slices.ContainsFunc(nodes, func(n landscape.NodeCount) bool { return column.count(n) > 0 }) {
			continue
		}
		lines[0] = append(lines[0], column.head)
		for i, node := range nodes {
			lines[i+1] = append(lines[i+1], text.Grouped(column.count(node)))
		}
	}
	return text.Table(w, lines...)
}

// totalColumns are the columns of the account of a total, in the words of nodeColumns. What is 0 at every node is left out.
var totalColumns = []struct {
	head   string
	always bool
	amount func(landscape.NodeTotal) string
}{
	{"in", true, func(n landscape.NodeTotal) string { return n.In }},
	{"made", false, func(n landscape.NodeTotal) string { return n.Created }},
	{"revalued", false, revaluedText},
	{"out", true, func(n landscape.NodeTotal) string { return n.Out }},
	{"dropped", false, func(n landscape.NodeTotal) string { return n.Dropped }},
	{"refused", false, func(n landscape.NodeTotal) string { return n.Diverted }},
	{"taken", false, func(n landscape.NodeTotal) string { return n.Consumed }},
	{"unreadable", false, func(n landscape.NodeTotal) string { return text.Grouped(n.Unreadable) }},
}

// revaluedText says by how much a step changed the amounts of rows, and how many of these had or have none.
func revaluedText(n landscape.NodeTotal) string {
	if n.UnreadableBefore+n.UnreadableAfter == 0 {
		return n.Revalued
	}
	return fmt.Sprintf("%s (unreadable: %s before, %s after)", n.Revalued, text.Grouped(n.UnreadableBefore), text.Grouped(n.UnreadableAfter))
}

// writeTotals writes a table for each total, with its account at each node.
func writeTotals(w io.Writer, totals *landscape.Totals) error {
	for nodes := totals.Nodes; len(nodes) > 0; {
		n := 1
		for n < len(nodes) && nodes[n].Total == nodes[0].Total {
			n++
		}
		if err := writeTotal(w, nodes[:n]); err != nil {
			return err
		}
		fmt.Fprintln(w)
		nodes = nodes[n:]
	}
	return nil
}

func writeTotal(w io.Writer, nodes []landscape.NodeTotal) error {
	lines := make([][]string, len(nodes)+1)
	lines[0] = []string{"total " + nodes[0].Total}
	for i, node := range nodes {
		lines[i+1] = []string{node.Node}
	}
	for _, column := range totalColumns {
		if !column.always && !slices.ContainsFunc(nodes, func(n landscape.NodeTotal) bool { return strings.Trim(column.amount(n), "0.") != "" }) {
			continue
		}
		lines[0] = append(lines[0], column.head)
		for i, node := range nodes {
			lines[i+1] = append(lines[i+1], column.amount(node))
		}
	}
	return text.Table(w, lines...)
}

func writePolicies(w io.Writer, policies []client.Policy) error {
	lines := [][]string{{"policy", "gate", "result", "because"}}
	for _, p := range policies {
		because := p.Told()
		if p.Actor != "" {
			because = "by " + p.Actor + ": " + because
		}
		lines = append(lines, []string{p.Name, p.Gate, cmp.Or(string(p.Result), "not evaluated"), cmp.Or(because, p.Assert)})
	}
	return text.Table(w, lines...)
}

func writeBarriers(w io.Writer, barriers []client.Barrier) error {
	lines := [][]string{{"barrier", "open batches", "rows held"}}
	for _, barrier := range barriers {
		lines = append(lines, []string{barrier.Barrier, text.Grouped(barrier.Open), text.Grouped(barrier.Held)})
	}
	return text.Table(w, lines...)
}

func writeSinks(w io.Writer, sinks []client.Sink) error {
	lines := [][]string{{"sink", "rows", "output"}}
	for _, sink := range sinks {
		output := shown(sink.Path)
		if output == "" {
			output = fmt.Sprintf("not published; %s of %s confirmed", text.Grouped(sink.Finalized), text.Count(sink.Planned, "row"))
		}
		lines = append(lines, []string{sink.Sink, text.Grouped(sink.Finalized), output})
	}
	return text.Table(w, lines...)
}

// writeOpenSinks writes how far the sinks of a run are that is not complete.
func writeOpenSinks(w io.Writer, sinks []client.Sink) error {
	lines := [][]string{{"sink", "rows", "chunks completed", "missing", "unknown", "output"}}
	for _, sink := range sinks {
		output := shown(sink.Path)
		if output == "" {
			output = "not published"
		}
		lines = append(lines, []string{
			sink.Sink, fmt.Sprintf("%s of %s", text.Grouped(sink.Finalized), text.Grouped(sink.Planned)), text.Grouped(sink.Completed),
			text.Grouped(sink.Missing), text.Grouped(sink.Unknown), output,
		})
	}
	return text.Table(w, lines...)
}
