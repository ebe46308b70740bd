package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

// explain returns the parts as lines, indented by depth.
func explain(t *testing.T, source string, r row.Row) string {
	t.Helper()
	var lines []string
	for _, p := range compile(t, strikesEnv(t), source).Explain(r) {
		require.True(t, (p.Value == "") != (p.Error == ""), "%+v", p)
		lines = append(lines, fmt.Sprintf("%s%s = %s%s", strings.Repeat("  ", p.Depth), p.Source, p.Value, p.Error))
	}
	return strings.Join(lines, "\n")
}

func TestExplain(t *testing.T) {
	for source, want := range map[string]string{
		"row.airport == 'LGA' || row.cost_total > param.limit": `
row.airport == 'LGA' || row.cost_total > param.limit = true
  row.airport == 'LGA' = false
    row.airport = "JFK"
  row.cost_total > param.limit = true
    row.cost_total = 150000
    param.limit = 100000`,
		"row.fatal || row.speed > 5": `
row.fatal || row.speed > 5 = true
  row.fatal = true`,
		"has(row.speed) && row.speed > 5": `
has(row.speed) && row.speed > 5 = false
  has(row.speed) = false`,
		"row.fatal ? row.fee * 2 : row.rebate": `
row.fatal ? row.fee * 2 : row.rebate = 20.20
  row.fatal = true
  row.fee * 2 = 20.20
    row.fee = 10.10`,
		"row.fatal ? null : row.fee": `
row.fatal ? null : row.fee = null
  row.fatal = true`,
		"1 + ( row.speed ) > 5": `
1 + ( row.speed ) > 5 = row.speed is null; test it with has(…) or == null first (NULL_OPERAND)
  1 + ( row.speed ) = row.speed is null; test it with has(…) or == null first (NULL_OPERAND)
    row.speed = null`,
		"row.details.birds.exists(b, b == 2.5) && row['Airport Name'] . startsWith( \"JOHN\" )": `
row.details.birds.exists(b, b == 2.5) && row['Airport Name'] . startsWith( "JOHN" ) = true
  row.details.birds.exists(b, b == 2.5) = true
    row.details.birds = [1,2.5,"many"]
  row['Airport Name'] . startsWith( "JOHN" ) = true
    row['Airport Name'] = "JOHN F KENNEDY"`,
		"(row.details.weather['sky'] == 'clear') == (row.flight_date < date(')'+'('))": `
(row.details.weather['sky'] == 'clear') == (row.flight_date < date(')'+'(')) = ")(" is not a valid date: expected a date such as 2001-01-31, in date(')'+'(') (EVAL)
  row.details.weather['sky'] == 'clear' = true
    row.details.weather['sky'] = "clear"
  row.flight_date < date(')'+'(') = ")(" is not a valid date: expected a date such as 2001-01-31, in date(')'+'(') (EVAL)
    row.flight_date = 2001-02-03
    date(')'+'(') = ")(" is not a valid date: expected a date such as 2001-01-31, in date(')'+'(') (EVAL)
      ')'+'(' = ")("`,
		"math.greatest(row.cost_total, 5) in [row.cost_total, 1] // a (comment": `
math.greatest(row.cost_total, 5) in [row.cost_total, 1] = true
  math.greatest(row.cost_total, 5) = 150000
    row.cost_total = 150000
  [row.cost_total, 1] = [150000,1]
    row.cost_total = 150000`,
		"true": "\ntrue = true",
		"row.seen_at - row.seen_at == duration('0s')": "\nrow.seen_at - row.seen_at == duration('0s') = true\n  row.seen_at - row.seen_at = 0s\n    row.seen_at = 2001-02-03T04:05:06.5Z\n    row.seen_at = 2001-02-03T04:05:06.5Z\n  duration('0s') = 0s",
	} {
		require.Equal(t, strings.TrimSpace(want), explain(t, source, strike(t)), source)
	}
}

func TestExplainCutsLongValues(t *testing.T) {
	r := rowOf(t, strikes, map[string]string{"airport": "\x1b" + strings.Repeat("é", 1000), "details": `["` + strings.Repeat("x", 1000) + `"]`})
	for _, source := range []string{"row.airport", "row.details"} {
		value := compile(t, strikesEnv(t), source).Explain(r)[0].Value
		require.Less(t, len(value), 2*maxShownBytes)
		require.True(t, strings.HasSuffix(value, "…"), value)
		require.NotContains(t, value, "\x1b")
	}
}
