package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
)

// proposal says whether an approval request is only proposed, and with which key.
type proposal struct {
	propose bool
	key     string
	expires time.Duration
}

// defaultExpiry is how long others may approve and execute an order.
const defaultExpiry = 72 * time.Hour

func (p *proposal) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.propose, "propose", false, "only propose it, with --key, so that others can approve it; see docs/orders.md")
	keyFlag(cmd, &p.key)
	cmd.Flags().DurationVar(&p.expires, "expires", defaultExpiry, "how `long` others may approve and execute what is proposed")
}

func keyFlag(cmd *cobra.Command, key *string) {
	cmd.Flags().StringVar(key, "key", "", "`file` with your SSH key: a private one, or the .pub file of one that the ssh-agent has")
}

// check refuses flags that contradict each other.
func (p *proposal) check(why string) error {
	switch {
	case p.propose && p.key == "":
		return wrongUsef("say with which key you propose it: --key FILE")
	case !p.propose && p.key != "":
		return wrongUsef("--key is for an order that is proposed: add --propose")
	case p.propose && p.expires <= 0:
		return wrongUsef("--expires %s: write a length of time such as 72h", p.expires)
	case p.propose:
		return whyGiven(why)
	}
	return nil
}

// propose proposes an order, and says what comes next.
func (a *app) propose(cmd *cobra.Command, p proposal, request local.ProposeRequest) error {
	request.Key, request.Expires, request.Ask = p.key, p.expires, a.askSecret
	return a.signing(cmd, func(home *local.Home) error {
		order, err := home.Propose(cmd.Context(), request)
		if err != nil {
			return err
		}
		if left := order.Needed - order.Counted; left > 0 {
			a.note("%s must approve it until %s: waymark approve %.12s --key FILE --why TEXT", personsText(left, "another person", "other persons"), order.Expires, order.Digest)
		}
		return a.print(order, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, order.Digest)
			return err
		})
	})
}

func personsText(n int64, one, more string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (a *app) ordersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "orders",
		Short: "List approval requests that people proposed, and how each stands",
		Long: `Some orders cannot be undone: to purge or forget records, to publish although a policy did not pass. A rule can ask for several persons: one proposes
the order with --propose, others approve it with their SSH keys, and then it is executed, once, if nothing that it is about changed since. docs/orders.md
says more.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				orders, err := home.Orders(cmd.Context())
				if err != nil {
					return err
				}
				return printList(a, orders, func(w io.Writer) error { return writeOrders(w, orders) })
			})
		},
	}
	cmd.AddCommand(a.ordersShowCommand(), a.ordersRuleCommand(), a.ordersRulesCommand())
	return cmd
}

func writeOrders(w io.Writer, orders []*local.OrderCase) error {
	lines := [][]string{{"order", "verb", "run", "proposed by", "status", "expires", "why"}}
	for _, o := range orders {
		lines = append(lines, []string{o.Digest[:12], string(o.Verb), cmp.Or(o.Run, "-"), o.Proposer, orderText(&o.OrderCase), o.Expires, text.Cell(o.Why)})
	}
	return text.Table(w, lines...)
}

// orderText says how an order stands.
func orderText(o *client.OrderCase) string {
	switch {
	case o.Unreviewed():
		return fmt.Sprintf("EXECUTED BY ONE PERSON, %d of 2 reviews", o.Reviewed)
	case o.State == client.OrderProposed:
		return fmt.Sprintf("proposed, %d of %d persons", o.Counted, o.Needed)
	}
	return string(o.State)
}

func (a *app) ordersShowCommand() *cobra.Command {
	statement := false
	cmd := &cobra.Command{
		Use:   "show ORDER",
		Short: "Show an approval request: what exactly it would do, who signed it, and what became of it",
		Args:  exactlyOne("order"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				order, err := home.Order(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if statement {
					_, err := io.WriteString(a.stdout, order.Signed())
					return err
				}
				return a.print(order, func(w io.Writer) error { return writeOrder(w, order) })
			})
		},
	}
	cmd.Flags().BoolVar(&statement, "statement", false, "print what was signed, as it is: its SHA-256 is the order's name")
	return cmd
}

func writeOrder(w io.Writer, o *local.OrderCase) error {
	lines := [][]string{{"order", o.Digest}, {"verb", string(o.Verb)}}
	if o.Run != "" {
		lines = append(lines, []string{"run", o.Run})
	}
	for _, of := range []struct {
		what string
		is   map[string]string
	}{{"argument", o.Args}, {"seen", o.OrderStatement.State}} {
		for _, name := range slices.Sorted(maps.Keys(of.is)) {
			lines = append(lines, []string{of.what, name + " " + text.Cell(of.is[name])})
		}
	}
	lines = append(lines, []string{"why", text.Cell(o.Why)}, []string{"expires", o.Expires}, []string{"status", orderText(&o.OrderCase)})
	for _, changed := range o.Changed {
		lines = append(lines, []string{"changed", text.Cell(changed)})
	}
	for _, s := range o.Signers {
		line := fmt.Sprintf("%s, %s: %s", s.Person, s.At.Local().Format("2006-01-02 15:04:05"), s.Why)
		if s.Problem != "" {
			line += "; DOES NOT COUNT: " + s.Problem
		}
		lines = append(lines, []string{s.Kind, text.Cell(line)})
	}
	if o.Executed.Known() {
		lines = append(lines, []string{"executed", fmt.Sprintf("%s by %s", moment(o.Executed), text.Cell(o.Executor))})
	}
	if o.Emergency != "" {
		lines = append(lines, []string{"emergency", text.Cell(o.Emergency)})
	}
	return text.Table(w, lines...)
}

func (a *app) ordersRulesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rules",
		Short: "List how many persons each guarded change needs",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.existing(cmd.Context(), func(home *local.Home) error {
				rules, err := home.OrderRules(cmd.Context())
				if err != nil {
					return err
				}
				return printList(a, rules, func(w io.Writer) error {
					lines := [][]string{{"order", "persons", "since", "by", "why"}}
					for _, r := range rules {
						since := "-"
						if r.Since.Known() {
							since = moment(r.Since)
						}
						lines = append(lines, []string{string(r.Verb), fmt.Sprint(r.Persons), since, cmp.Or(r.Actor, "-"), cmp.Or(text.Cell(r.Why), "-")})
					}
					return text.Table(w, lines...)
				})
			})
		},
	}
}

// ruled is what `waymark orders rule` prints.
type ruled struct {
	Verb    landscape.OrderVerb `json:"verb"`
	Persons int64               `json:"persons"`
	Changed bool                `json:"changed"` // else it was so already
}

func (a *app) ordersRuleCommand() *cobra.Command {
	var p proposal
	var why string
	cmd := &cobra.Command{
		Use:   "rule VERB PERSONS --why TEXT",
		Short: "Say how many persons a guarded change needs, who proposes it included",
		Long: `Says how many persons orders of a verb need from now on: purge, forget, waive, resolve, keys_revoke or cancel_final. One is what every
order needs until something else is ruled. To let fewer persons suffice needs as many as before: propose that with --propose.

The approvers file must name so many persons. Keys that it has at this moment count at once; one that is added later counts after 24 hours.`,
		Example: `  waymark orders rule purge 2 --why "four eyes"
  waymark orders rule purge 1 --why "we are few" --propose --key ~/.ssh/id_ed25519`,
		Args: takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb := landscape.OrderVerb(args[0])
			count, err := strconv.ParseInt(args[1], 10, 64)
			switch {
			case !slices.Contains(landscape.OrderVerbs, verb):
				return wrongUsef("%.40q is no guarded change: write %s", args[0], verbsText())
			case err != nil || count < 1 || count > 9:
				return wrongUsef("%.40q persons: write a number from 1 to 9", args[1])
			}
			if err := cmp.Or(whyGiven(why), p.check(why)); err != nil {
				return err
			}
			if p.propose {
				return a.propose(cmd, p, local.ProposeRequest{Verb: landscape.OrderRule, Args: map[string]string{"verb": args[0], "persons": fmt.Sprint(count)}, Why: why})
			}
			return a.signing(cmd, func(home *local.Home) error {
				changed, err := home.RuleOrders(cmd.Context(), verb, count, a.by(why))
				if err != nil {
					return err
				}
				return a.print(ruled{verb, count, changed}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s needs %s%s\n", verb, personsText(count, "one person", "persons"), already(changed))
					return err
				})
			})
		},
	}
	whyFlag(cmd, &why)
	p.flags(cmd)
	return cmd
}

func verbsText() string {
	words := make([]string, 0, len(landscape.OrderVerbs))
	for _, verb := range landscape.OrderVerbs {
		words = append(words, string(verb))
	}
	return strings.Join(words, ", ")
}

func (a *app) approveCommand() *cobra.Command {
	var request local.AssentRequest
	cmd := &cobra.Command{
		Use:   "approve ORDER --key FILE --why TEXT",
		Short: "Sign with your SSH key that an approval request be executed",
		Long: `Signs an order that another person proposed. ORDER is its digest, or the beginning of it. Look at it first: waymark orders show ORDER says what exactly it would
do. With --review you sign that you looked at what one person executed with --break-glass.`,
		Example: `  waymark approve 9c41f2a0 --key ~/.ssh/id_ed25519 --why "nobody needs them any more"`,
		Args:    exactlyOne("order"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if request.Key == "" {
				return wrongUsef("say with which key you sign: --key FILE")
			}
			if err := whyGiven(request.Why); err != nil {
				return err
			}
			request.Order, request.Ask = args[0], a.askSecret
			return a.signing(cmd, func(home *local.Home) error {
				order, err := home.Assent(cmd.Context(), request)
				if err != nil {
					return err
				}
				return a.print(order, func(w io.Writer) error {
					last := order.Signers[len(order.Signers)-1]
					line := fmt.Sprintf("order %.12s: %s of %s; %s", order.Digest, last.Kind, last.Person, orderText(&order.OrderCase))
					if order.State == client.OrderApproved {
						line += fmt.Sprintf(": waymark execute %.12s", order.Digest)
					}
					_, err := fmt.Fprintln(w, line)
					return err
				})
			})
		},
	}
	keyFlag(cmd, &request.Key)
	whyFlag(cmd, &request.Why)
	cmd.Flags().BoolVar(&request.Review, "review", false, "sign that you looked at what one person executed")
	return cmd
}

func (a *app) executeCommand() *cobra.Command {
	var request local.ExecuteRequest
	var why string
	cmd := &cobra.Command{
		Use:   "execute ORDER",
		Short: "Do what a guarded change says, once enough persons have approved it",
		Long: `Executes an order that was proposed and approved, once, if what it is about is as it was seen then; else it is stale and nothing is done. If it is killed, execute
the order again: what is left is done. An order to forget needs --subject FIELD=VALUE again, because the value is not recorded.

In an emergency --break-glass --why TEXT executes what one person proposed. waymark status, doctor and orders show that until two others have signed a review.`,
		Example: `  waymark execute 9c41f2a0
  waymark execute 77d0c3b1 --subject customer_id=4711`,
		Args: exactlyOne("order"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if request.BreakGlass {
				if err := whyGiven(why); err != nil {
					return err
				}
			} else if why != "" {
				return wrongUsef("the order says why; --why is for --break-glass")
			}
			request.Order, request.By = args[0], a.by(why)
			return a.signing(cmd, func(home *local.Home) error {
				done, err := home.Execute(cmd.Context(), request)
				if err != nil {
					return err
				}
				return a.print(done, func(w io.Writer) error { return writeExecuted(w, done) })
			})
		},
	}
	cmd.Flags().StringVar(&request.Subject, "subject", "", "whom to forget, as `FIELD=VALUE`")
	cmd.Flags().BoolVar(&request.BreakGlass, "break-glass", false, "in an emergency: execute what one person proposed")
	whyFlag(cmd, &why)
	return cmd
}

func writeExecuted(w io.Writer, done *local.OrderDone) error {
	line := fmt.Sprintf("order %.12s is executed", done.Digest)
	if done.Before {
		line = fmt.Sprintf("order %.12s was executed at %s by %s", done.Digest, moment(done.Executed), text.Visible(done.Executor))
	}
	if done.Did != "" {
		line += ": " + text.Visible(done.Did)
	} else if done.Before {
		line += ": nothing is left to do"
	}
	_, err := fmt.Fprintln(w, line)
	return err
}
