package served

import (
	"fmt"
	"strings"
)

// Small is the document of small runs, small.yaml. They read in.csv, and write where the parameter to says.
const Small = `name: small
params: {to: {type: string}}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, name: string, total: decimal}}}}
steps:
  - {name: judge, set: {large: row.total > 50}}
  - {name: triage, gate: row.large, routes: {"true": review, "false": all}}
sinks:
  review: {jsonl: {path: "${param:to}"}}
  all: {jsonl: {path: "${param:to}.all"}}
`

// SmallInput is an input of Small with so many rows, of which half are large.
func SmallInput(rows int) string {
	var in strings.Builder
	in.WriteString("id,name,total\n")
	for i := range rows {
		fmt.Fprintf(&in, "%d,name %d,%d.50\n", i, i, i%2*100)
	}
	return in.String()
}
