package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/pipeline"
)

// Role is a role in which a run must be signed off before it publishes anything.
type Role struct {
	Role   string `json:"role"`
	Person string `json:"person,omitempty"` // whose signature counts in it now, as the approvers file names the person; empty if nobody's does
	Name   string `json:"name,omitempty"`   // printed, of the person
	Waived string `json:"waived_by,omitempty"`
}

// String says in what state it is.
func (r Role) String() string {
	switch {
	case r.Waived != "":
		return r.Role + ": waived by " + r.Waived
	case r.Person != "":
		return fmt.Sprintf("%s: signed by %s (%s)", r.Role, r.Name, r.Person)
	}
	return r.Role + ": missing"
}

// since says how the role stands now, if that is not what its policy came to when it was evaluated; else nothing.
func (r Role) since(passed bool) string {
	switch signed := r.Person != ""; {
	case r.Waived != "", signed == passed:
		return ""
	case signed:
		return fmt.Sprintf("signed by %s (%s)", r.Name, r.Person)
	}
	return "no signature in this role counts"
}

// Release is what a run still needs from people before it publishes anything, now.
type Release struct {
	Roles    []Role            // in document order; nil if none is required, or the run was not ready for a sign-off yet
	SignOffs []persons.SignOff // of the run, the oldest first
	Early    bool              // the run requires sign-offs, and none counts yet: its rows are not accounted for
	Unknown  bool              // there is no approvers file: what is recorded beside each signature is taken for who signed
}

// Awaited returns the roles in which nobody has signed the run off so that it counts, in document order; nil if there is none.
func (r Release) Awaited() (roles []string) {
	for _, role := range r.Roles {
		if role.Person == "" && role.Waived == "" {
			roles = append(roles, role.Role)
		}
	}
	return roles
}

// Release returns what a run still needs from people before it publishes anything; of a run that has, whose signatures count now.
func (c *Client) Release(ctx context.Context, run landscape.Run) (r Release, err error) {
	defer c.edge(ctx, &err)
	standing, err := c.log.Policies(ctx, run.ID)
	if err != nil {
		return r, err
	}
	var required []string
	for _, s := range standing {
		role, is := strings.CutPrefix(s.Policy, pipeline.SignOffPolicy)
		r.Early = r.Early || is && s.Last == nil
		if is && s.Last != nil {
			required = append(required, role)
			r.Roles = append(r.Roles, Role{Role: role, Waived: waivedBy(s)})
		}
	}
	if r.Roles == nil {
		return r, nil
	}
	approvers, err := c.approvers()
	if err != nil {
		return r, err
	}
	r.Unknown = approvers == nil
	epoch := run.Epoch + 1 // in which the policies are evaluated next
	if Complete(run.Status) {
		epoch = run.Epoch
	}
	r.SignOffs, err = recompute.LookAtSignOffs(ctx, c.log.Reader, run.ID, required, epoch, approvers)
	for i := range r.Roles {
		role := &r.Roles[i]
		if of := slices.IndexFunc(r.SignOffs, func(s persons.SignOff) bool { return s.Role == role.Role && s.Releases() }); of >= 0 {
			role.Person, role.Name = r.SignOffs[of].Person, r.SignOffs[of].Name
		}
	}
	return r, err
}

// waivedBy returns who waived a policy; empty if nobody did.
func waivedBy(s landscape.PolicyStanding) string {
	if s.Last.Result != landscape.PolicyWaived {
		return ""
	}
	return s.Last.Actor
}

// mayRelease refuses to resume a run that publishes nothing until people have signed it off. Whose signatures count, the approvers file says here; the workers, which
// may not have it, count what is recorded beside each signature.
func (c *Client) mayRelease(ctx context.Context, run landscape.Run) error {
	if Complete(run.Status) {
		return nil
	}
	r, err := c.Release(ctx, run)
	if err != nil || r.Roles == nil {
		return err
	}
	awaited := r.Awaited()
	if awaited == nil && !r.Unknown || !slices.ContainsFunc(r.Roles, func(role Role) bool { return role.Waived == "" }) {
		return nil
	}
	refused := &Error{Kind: Conflict, Code: NotSignedOff, Cure: SignOff, Run: run.ID}
	if awaited == nil {
		refused.Cure = NameApprovers
		refused.Message = fmt.Sprintf("nobody says whose signatures let run %s publish its outputs: there is no approvers file", run.ID)
		return refused
	}
	refused.Message = fmt.Sprintf("run %s publishes nothing until it is signed off as %s, each by another person", run.ID, strings.Join(awaited, " and as "))
	for _, s := range r.SignOffs {
		if why := s.Problem + s.NoRelease; why != "" && slices.Contains(awaited, s.Role) {
			refused.Message += fmt.Sprintf("; what %s signed as %s does not count: %s", s.Person, s.Role, why)
		}
	}
	return refused
}
