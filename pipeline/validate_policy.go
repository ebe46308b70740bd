package pipeline

import (
	"errors"
	"strings"
	"unicode"
)

// maxPolicyName is how long the name of a policy may be: it stands in tables and messages.
const maxPolicyName = 100

// checkPolicies reports names of policies that people could not tell from another.
func (l *loader) checkPolicies(p *Pipeline) {
	taken := map[string]bool{}
	for i, policy := range p.Policies {
		at := Key(Item("policies", i), "name")
		if policy.Name == "" || !l.sound(at) {
			continue
		}
		if err := checkPolicyName(policy.Name); err != nil {
			l.report(at, "%s is not a name of a policy: %s", quote(policy.Name), err)
		} else if taken[policy.Name] {
			l.report(at, "two policies are named %s", quote(policy.Name))
		}
		taken[policy.Name] = true
	}
}

func checkPolicyName(name string) error {
	switch {
	case len(name) > maxPolicyName:
		return errors.New("at most 100 bytes are allowed")
	case strings.TrimSpace(name) != name, strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("use one line of visible characters, without spaces around it")
	}
	return nil
}
