package oidc

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"waymark/landscape"
)

// A Rule gives roles to everybody whose token has a value of a claim.
type Rule struct {
	Claim     string // its name, or the names that lead to it, with dots between them
	Value     string
	Roles     []landscape.Role // not empty
	Pipelines []string         // patterns as path.Match has them; empty for all pipelines
}

// ruleForm is how a Rule is written.
const ruleForm = "CLAIM=VALUE:ROLE,ROLE@PATTERN,PATTERN, such as groups=data-ops:operator or groups=shop:viewer,auditor@orders*"

// ParseRule reads CLAIM=VALUE:ROLE or CLAIM=VALUE:ROLE,ROLE@PATTERN,PATTERN. VALUE may have colons and at signs: the last colon ends it.
func ParseRule(text string) (Rule, error) {
	claim, rest, _ := strings.Cut(text, "=")
	colon := strings.LastIndexByte(rest, ':')
	if claim == "" || colon < 1 {
		return Rule{}, fmt.Errorf("%q: write %s", text, ruleForm)
	}
	roles, patterns, narrowed := strings.Cut(rest[colon+1:], "@")
	rule := Rule{Claim: claim, Value: rest[:colon]}
	for role := range strings.SplitSeq(roles, ",") {
		if !slices.Contains(landscape.Roles(), landscape.Role(role)) {
			return rule, fmt.Errorf("%q: there is no role %q: choose among %v, and write %s", text, role, landscape.Roles(), ruleForm)
		}
		rule.Roles = append(rule.Roles, landscape.Role(role))
	}
	if !narrowed {
		return rule, nil
	}
	rule.Pipelines = strings.Split(patterns, ",")
	for _, pattern := range rule.Pipelines {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return rule, fmt.Errorf("%q: %q is no pattern of names of pipelines: write a name, or one with * for any characters", text, pattern)
		}
	}
	return rule, nil
}

// String is the condition of the rule.
func (r Rule) String() string { return r.Claim + "=" + r.Value }

// grant returns what the rules give to somebody with these claims: the roles and pipelines of the first one that fits, and the roles of those after it that
// are about the same pipelines; reasons are the conditions of these. Nobody gets a role of one rule for the pipelines of another.
func grant(rules []Rule, claims map[string]any) (roles, pipelines, reasons []string) {
	for _, rule := range rules {
		if !slices.Contains(textsOf(claims, rule.Claim), rule.Value) || reasons != nil && !slices.Equal(pipelines, rule.Pipelines) {
			continue
		}
		pipelines, reasons = rule.Pipelines, append(reasons, rule.String())
		for _, role := range rule.Roles {
			if !slices.Contains(roles, string(role)) {
				roles = append(roles, string(role))
			}
		}
	}
	return roles, pipelines, reasons
}

// claimOf returns the claim of a name, or that to which names with dots between them lead; nil if there is none.
func claimOf(claims map[string]any, name string) any {
	if value, found := claims[name]; found {
		return value
	}
	first, rest, nested := strings.Cut(name, ".")
	inner, isObject := claims[first].(map[string]any)
	if !nested || !isObject {
		return nil
	}
	return claimOf(inner, rest)
}

// textsOf returns the texts of a claim: of a list, those in it, and of a scope the words (RFC 8693, section 4.2).
func textsOf(claims map[string]any, name string) (texts []string) {
	switch value := claimOf(claims, name).(type) {
	case string:
		if name == "scope" {
			return strings.Fields(value)
		}
		return []string{value}
	case []any:
		for _, item := range value {
			if text, ok := item.(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// lookedAt says for people what the claims of the rules are.
func lookedAt(rules []Rule, claims map[string]any) string {
	var said []string
	for _, rule := range rules {
		words := fmt.Sprintf("no claim %s", rule.Claim)
		if claimOf(claims, rule.Claim) != nil {
			words = fmt.Sprintf("the claim %s with %.256q", rule.Claim, textsOf(claims, rule.Claim))
		}
		if !slices.Contains(said, words) {
			said = append(said, words)
		}
	}
	return strings.Join(said, ", and ")
}
