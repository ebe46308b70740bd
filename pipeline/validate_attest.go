package pipeline

// checkAttest reports outputs that would never be read again.
func (l *loader) checkAttest(p *Pipeline) {
	if p.Attest != nil && l.sound("attest") && p.Attest.For < p.Attest.Every {
		l.report("attest.for", "is shorter than attest.every, so the outputs would never be read again: write a longer time, such as 90d")
	}
}
