package main

import "github.com/spf13/cobra"

// page is the part of a list that somebody wants to see.
type page struct {
	limit int
	after string
}

// addFlags adds the flags of a list of what, of which so many are shown unless somebody says otherwise.
func (p *page) addFlags(cmd *cobra.Command, what string, limit int) {
	numberFlag(cmd.Flags(), &p.limit, "limit", "n", 0, limit, "how many `"+what+"` to show, 0 for all")
	cmd.Flags().StringVar(&p.after, "after", "", "start after the entry with this `name`")
}

// note says how to see what may follow n items that are shown, the last of them by its name.
func (p *page) note(a *app, n int, last string) {
	if n == p.limit {
		a.note("there may be more: --after '%s' shows what follows", last)
	}
}
