package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// TestContributions asks which rows of a batch made its figures.
func TestContributions(t *testing.T) {
	var in strings.Builder
	in.WriteString("id,amount,third\n")
	amounts := []string{"-30", "5", "0", "", "40.5", "5", "1", "2", "3"}
	for k, amount := range amounts {
		fmt.Fprintf(&in, "%d,%s,%d\n", k+1, amount, k%3)
	}
	a := recordWith(t, `
name: totals
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, amount: "decimal?", third: int}}}}
steps:
  - {name: all, aggregate: {compute: {
      net: sum(row.amount), rows: count(), share: "sum(row.amount) + max(row.amount)", least: min(row.third), middle: "quantile(row.third, 0.5)", end: last(row.id), much: sum(double(row.third - 1) * 1.5e308)}}}
sinks: {out: {jsonl: {path: out.jsonl}}}
`, map[string]string{"in.csv": in.String()})

	told := map[string][]audit.Contribution{}
	for _, term := range a.tell(t, "all:1").MadeOf[0].Terms {
		told[term.For] = term.Contributions
	}
	const total = 30 + 5 + 40.5 + 5 + 1 + 2 + 3
	net := audit.Contribution{Call: "sum(row.amount)", More: 2, Tokens: []audit.Contributor{
		{Token: "in:5", Value: "40.5", Share: 40.5 / total}, {Token: "in:1", Value: "-30", Share: 30 / total}, {Token: "in:2", Value: "5", Share: 5 / total},
		{Token: "in:6", Value: "5", Share: 5 / total}, {Token: "in:9", Value: "3", Share: 3 / total},
	}}
	require.Equal(t, []audit.Contribution{net}, told["net"])
	require.Empty(t, told["rows"], "every row counts")
	require.Equal(t, []audit.Contribution{net, {Call: "max(row.amount)", Tokens: []audit.Contributor{{Token: "in:5", Value: "40.5"}}}}, told["share"])
	require.Equal(t, []audit.Contribution{{Call: "min(row.third)", Tokens: []audit.Contributor{{Token: "in:1", Value: "0"}, {Token: "in:4", Value: "0"}, {Token: "in:7", Value: "0"}}}}, told["least"])
	require.Equal(t, "quantile(row.third, 0.5)", told["middle"][0].Call)
	require.Equal(t, []audit.Contribution{{Call: "last(row.id)", Tokens: []audit.Contributor{{Token: "in:9", Value: "9"}}}}, told["end"])
	require.Len(t, told["much"][0].Tokens, 5)
	require.Zero(t, told["much"][0].Tokens[0].Share, "the sum of what they are without their signs is infinite")

	story, err := a.Explain(t.Context(), audit.Question{Run: a.run, Token: "all:1", All: true})
	require.NoError(t, err)
	require.Len(t, story.MadeOf[0].Terms[0].Contributions[0].Tokens, 7, "all that are not zero")
	require.Contains(t, textOf(t, a.tell(t, "all:1")), "\n    sum(row.amount) comes from in:5 40.5 (46.8 %), in:1 -30 (34.7 %), in:2 5 (5.8 %), in:6 5 (5.8 %), in:9 3 (3.5 %) and 2 more; --all lists them\n")
}
