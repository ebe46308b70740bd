package sweep

// What checks of tokens hold on to: conditions about columns of token_outcomes.
const (
	// LegalOutcomes are the outcomes that a token which ended may have.
	LegalOutcomes = `values ('success', 'default_flow'), ('success', 'gate_routed'), ('success', 'gate_discarded'),
				('success', 'filter_dropped'), ('success', 'coalesced'), ('failure', 'on_error_routed'), ('failure', 'unrouted'),
				('failure', 'quarantined_at_source'), ('failure', 'sink_discarded'), ('transient', 'fork_parent'),
				('transient', 'expand_parent'), ('transient', 'batch_consumed'), ('transient', 'branch_not_needed')`
	// Sinkless are the paths that end at no sink.
	Sinkless = `('gate_discarded', 'filter_dropped', 'coalesced', 'fork_parent', 'expand_parent', 'batch_consumed', 'branch_not_needed')`
	// Groups is true for a token without the group that its path names, or with another.
	Groups = `(path = 'fork_parent') <> (fork_group_id is not null) or (path = 'coalesced') <> (join_group_id is not null)
				or (path = 'expand_parent') <> (expand_group_id is not null) or (path = 'batch_consumed') <> (batch_id is not null)`
)

// OfTokens are the names of the checks that look at every token: those of a deep sweep besides Counts. Stored in findings; never rename.
var OfTokens = []string{"token_outcome", "token_twice", "sink_lines", "way_codes", "merge_codes", "batch_rows", "hash_missing"}
