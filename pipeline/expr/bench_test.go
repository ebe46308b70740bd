package expr

import "testing"

// One evaluation: directly where the expression allows it, by CEL, and by CEL with its cost counted.
func BenchmarkEval(b *testing.B) {
	env, r := strikesEnv(b), strike(b)
	for _, source := range []string{
		"row.details",
		"row.cost_total > 100000 ? 'major' : 'minor'",
		"row.airport == 'JFK'",
		"row.airport.startsWith('J') && row.cost_total > param.limit",
		"row.airport.lowerAscii().contains('fk')",
		"row.airport.matches('^J.K$')",
		"row.flight_date > date('2001-01-01')",
		"row.fee > 10",
		"row.details.weather.sky == 'clear'",
	} {
		program := compile(b, env, source)
		for name, p := range map[string]*Program{"used": program, "cel": byCEL(program), "cost": counted(program)} {
			b.Run(source+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Eval(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	env := strikesEnv(b)
	for b.Loop() {
		compile(b, env, "row.cost_total > 100000 ? 'major' : 'minor'")
	}
}
