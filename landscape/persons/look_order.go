package persons

import (
	"fmt"
	"slices"
	"strings"

	"waymark/landscape"
)

// SignedOrder is a guarded change as it is recorded, with the signatures under it, and whether they hold.
type SignedOrder struct {
	Case
	Executed bool `json:"executed"`
	OwnWord  bool `json:"own_word,omitempty"` // no approvers file was looked at: whose key it is, only the line says that is recorded with each signature
}

// LookAtOrders verifies what is recorded of guarded changes: each signature, whose key that is by the approvers of now
// or, if they are nil, by the line that is recorded with it, that nobody signed twice, and that as many signed an order
// as its execution says. Unlike a Jury it does not ask whether somebody could execute one now. There is one SignedOrder
// for each order, in the order of orders, and one for each that is signed or executed and not among them.
func LookAtOrders(orders []landscape.ApprovalRequest, approvals []landscape.Approval,
	executions []landscape.ApprovedExecution, approvers *Approvers) (all []SignedOrder) {
	counts := func(s Signature, others []Signature) error {
		if err := s.another(others); err != nil || approvers == nil {
			return err
		}
		return s.allowed(approvers, s.At)
	}
	for _, o := range orders {
		under := slices.DeleteFunc(slices.Clone(approvals), func(a landscape.Approval) bool { return a.Order != o.Digest })
		one := SignedOrder{Case: consider(o, under, counts), OwnWord: approvers == nil}
		for _, x := range executions {
			if x.Order == o.Digest {
				one.executed(x)
			}
		}
		all = append(all, one)
	}
	for _, digest := range strays(orders, approvals, executions) {
		all = append(all, SignedOrder{Case: Case{Digest: digest, Problem: "signatures or an execution of it are recorded, and the order is not"}})
	}
	return all
}

// executed compares an order with its execution.
func (s *SignedOrder) executed(x landscape.ApprovedExecution) {
	s.Executed = true
	if signed := s.Persons(); signed < x.Persons && s.Problem == "" {
		s.Problem = fmt.Sprintf("it was executed as one that %d persons had signed, and the signatures of %d count", x.Persons, signed)
	}
}

// strays are the digests of orders that are signed or executed, and not recorded.
func strays(orders []landscape.ApprovalRequest, approvals []landscape.Approval,
	executions []landscape.ApprovedExecution) (digests []string) {
	for _, a := range approvals {
		digests = append(digests, a.Order)
	}
	for _, x := range executions {
		digests = append(digests, x.Order)
	}
	slices.Sort(digests)
	return slices.DeleteFunc(slices.Compact(digests), func(digest string) bool {
		return slices.ContainsFunc(orders, func(o landscape.ApprovalRequest) bool { return o.Digest == digest })
	})
}

// Problems say which signatures do not hold, and why, and what of the order does not; nil if all does.
func (s SignedOrder) Problems() (found []string) {
	for _, by := range s.Signers {
		if by.Problem != "" {
			found = append(found, fmt.Sprintf("%s of %s: %s", by.Kind, by.Person, by.Problem))
		}
	}
	if s.Problem != "" && (len(s.Signers) == 0 || s.Signers[0].Problem != s.Problem) {
		found = append(found, s.Problem)
	}
	return found
}

// String tells it in one line.
func (s SignedOrder) String() string {
	line := fmt.Sprintf("%.12s", s.Digest)
	if s.Verb != "" {
		line += " to " + string(s.Verb)
	}
	if s.Executed {
		line += ", executed"
	}
	for _, by := range s.Signers {
		line += fmt.Sprintf("; %s of %s", by.Kind, by.Person)
	}
	if s.OwnWord {
		line += "; by its own word: no approvers file here says whose keys these are"
	}
	if problems := s.Problems(); problems != nil {
		line += "; DOES NOT COUNT: " + strings.Join(problems, "; ")
	}
	return line
}
