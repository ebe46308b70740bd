package landscape

// The tables of the records.

// Table returns runs.
func (RunHead) Table() string { return "runs" }

// Table returns runs.
func (Run) Table() string { return "runs" }

// Table returns nodes.
func (Node) Table() string { return "nodes" }

// Table returns edges.
func (Edge) Table() string { return "edges" }

// Table returns sources.
func (Source) Table() string { return "sources" }

// Table returns lanes.
func (Lane) Table() string { return "lanes" }

// Table returns lookup_tables.
func (LookupTable) Table() string { return "lookup_tables" }

// Table returns source_ends.
func (SourceEnd) Table() string { return "source_ends" }

// Table returns chunks.
func (Chunk) Table() string { return "chunks" }

// Table returns chunk_rows.
func (ChunkRowsRecord) Table() string { return "chunk_rows" }

// Table returns passages.
func (PassageRecord) Table() string { return "passages" }

// Table returns ways.
func (WayRecord) Table() string { return "ways" }

// Table returns way_steps.
func (WayStepRecord) Table() string { return "way_steps" }

// Table returns chunk_ways.
func (ChunkWayRecord) Table() string { return "chunk_ways" }

// Table returns hashes.
func (HashesRecord) Table() string { return "hashes" }

// Table returns errors.
func (RowError) Table() string { return "errors" }

// Table returns key_hashes.
func (KeyHashes) Table() string { return "key_hashes" }

// Table returns repeats.
func (RepeatsRecord) Table() string { return "repeats" }

// Table returns folds.
func (FoldRecord) Table() string { return "folds" }

// Table returns batches.
func (BatchRecord) Table() string { return "batches" }

// Table returns members.
func (MembersRecord) Table() string { return "members" }

// Table returns merge_kinds.
func (MergeKindRecord) Table() string { return "merge_kinds" }

// Table returns merge_codes.
func (MergeCodes) Table() string { return "merge_codes" }

// Table returns chunk_merges.
func (ChunkMerge) Table() string { return "chunk_merges" }

// Table returns merges.
func (MergeRecord) Table() string { return "merges" }

// Table returns parents.
func (ParentsRecord) Table() string { return "parents" }

// Table returns effects.
func (Effect) Table() string { return "effects" }

// Table returns effect_events.
func (EffectEvent) Table() string { return "effect_events" }

// Table returns artifacts.
func (ArtifactRecord) Table() string { return "artifacts" }

// Table returns resumptions.
func (Resumption) Table() string { return "resumptions" }

// Table returns executions.
func (Execution) Table() string { return "executions" }

// Table returns feeds.
func (FeedRecord) Table() string { return "feeds" }

// Table returns retried.
func (RetriedRow) Table() string { return "retried" }

// Table returns actions.
func (Action) Table() string { return "actions" }

// Table returns run_events.
func (RunEvent) Table() string { return "run_events" }

// Table returns heals.
func (Heal) Table() string { return "heals" }
