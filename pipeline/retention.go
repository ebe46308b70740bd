package pipeline

import "slices"

// Classes returns what the document says, by the name of the class, in the order of the document's keys; those of which
// it says nothing are left out.
func (r *Retention) Classes() Map[Duration] {
	if r == nil {
		return nil
	}
	all := Map[Duration]{{"source", r.Source}, {"derived", r.Derived}, {"debugging", r.Debugging}}
	return slices.DeleteFunc(all, func(class Named[Duration]) bool { return class.Value == 0 })
}

// checkRetention reports a document that asks for a retention and says nothing of it.
func (l *loader) checkRetention(p *Pipeline) {
	if p.Retention != nil && l.sound("retention") && len(p.Retention.Classes()) == 0 {
		l.report("retention", "says how long nothing is kept: write a class with a time, such as source: 400d")
	}
}
