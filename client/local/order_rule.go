package local

import (
	"cmp"
	"context"
	"fmt"

	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
)

// OrderRule says how many persons orders of a verb need.
type OrderRule struct {
	Verb    landscape.OrderVerb `json:"verb"`
	Persons int64               `json:"persons"`
	Since   client.Time         `json:"since,omitzero"`
	Actor   string              `json:"actor,omitempty"`
	Why     string              `json:"why,omitempty"`
}

// OrderRules returns the rules of all guarded changes.
func (h *Home) OrderRules(ctx context.Context) (rules []OrderRule, err error) {
	for _, verb := range landscape.OrderVerbs {
		rulings, err := h.stores.Log.Rulings(ctx, verb)
		if err != nil {
			return nil, err
		}
		rule := OrderRule{Verb: verb, Persons: 1}
		if n := len(rulings); n > 0 {
			last := rulings[n-1]
			rule.Persons, rule.Since, rule.Actor, rule.Why = last.Persons, client.Time(last.At), last.Actor, last.Why
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// RuleOrders records how many persons orders of a verb need from now on. The error is an *Error: of kind Conflict with OrderNeeded if they are fewer than before; of
// kind Invalid if the approvers file does not have so many persons, for then nobody could ever execute one.
func (h *Home) RuleOrders(ctx context.Context, verb landscape.OrderVerb, count int64, by client.By) (changed bool, err error) {
	court, err := h.court(ctx)
	if err != nil {
		return false, err
	}
	if known := court.approvers.Persons(); count > int64(known) {
		wanted := text.Count(count, "person")
		return false, invalidOption(fmt.Errorf("%s: %s names %d", wanted, h.options.approversFile(), known))
	}
	return h.clientOn(court.log).RuleOrders(ctx,
		landscape.ApprovalRule{Verb: verb, Persons: count, Actor: cmp.Or(by.Actor, h.Actor), Why: by.Why})
}
