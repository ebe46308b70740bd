package pipeline

import "errors"

// maxKey is how many bytes the key of a limit may have: it is the name of a gate.
const maxKey = 200

// checkConcurrency reports limits that limit nothing, and names that pools cannot have.
func (l *loader) checkConcurrency(p *Pipeline) {
	for _, pool := range p.Pools {
		l.checkName(Key("pools", pool.Name), pool.Name)
	}
	c := p.Concurrency
	if c == nil || !l.sound("concurrency") {
		return
	}
	if c.Runs == 0 {
		for _, key := range []struct {
			name  string
			given bool
		}{{"key", c.Key != ""}, {"when_full", c.WhenFull != ""}} {
			if key.given {
				l.report(Key("concurrency", key.name), "is about the limit of the pipeline's runs, and there is none: add runs: 1")
			}
		}
		if len(p.Pools) == 0 {
			l.report("concurrency", "limits nothing: give runs, such as runs: 1, or pools")
		}
	}
	if len(c.Key) > maxKey {
		l.report("concurrency.key", "has %d bytes, and at most %d are allowed", len(c.Key), maxKey)
	}
}

// CheckName says what is wrong with a name of a pipeline, a node or a pool; nil if nothing is.
func CheckName(name string) error {
	if !nodeName.MatchString(name) {
		return errors.New("use a to z, 0 to 9, _ and -, at most 63 characters, a letter or digit first")
	}
	return nil
}
