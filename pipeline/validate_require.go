package pipeline

import (
	"regexp"
	"slices"
	"strings"
)

// SignOffPolicy begins the name of the policy that keeps a run's outputs back until somebody has signed the run off in a role. Stored in the records of policies;
// never rename.
const SignOffPolicy = "sign-off by "

var roleName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// IsRole reports whether a person can sign off runs in a role of this name: a small letter, then at most 39 small letters, digits, _ and -.
func IsRole(name string) bool { return roleName.MatchString(name) }

// checkRequirements reports roles in which nobody can sign, and policies with the name of one that a role makes.
func (l *loader) checkRequirements(p *Pipeline) {
	if p.Require == nil {
		return
	}
	for i, role := range p.Require.SignOff {
		item := Item(Key("require", "sign_off"), i)
		if l.isText(item, role) && !IsRole(role) {
			l.report(item, "%s is not a role: write at most 40 small letters, digits, _ and -, such as reviewer", quote(role))
		}
	}
	for i, policy := range p.Policies {
		if role, is := strings.CutPrefix(policy.Name, SignOffPolicy); is && slices.Contains(p.Require.SignOff, role) {
			l.report(Key(Item("policies", i), "name"), "%s is the policy that require.sign_off makes: choose another name", quote(policy.Name))
		}
	}
}
