package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// verifyRun checks the run's own record: the document and the plan against their digests and against each other, and the
// graph against the plan.
func (v *verification) verifyRun(ctx context.Context) error {
	v.digest("the document", v.run.Document, v.run.DocumentSHA256)
	v.digest("the plan", v.run.Plan, v.run.PlanSHA256)
	if err := v.verifyDocument(ctx); err != nil {
		return err
	}
	compiled, problem, err := v.plan(ctx, v.run)
	if err != nil {
		return err
	}
	if problem != "" {
		v.add(DocumentUnusable, v.run.Pipeline, "%s", problem)
		v.skipped(CheckedSteps, "", "the document cannot be used here")
		return nil
	}
	v.compiled = compiled
	v.compared(CheckedDocument, v.run.Pipeline, "the document, the plan, its parameters, nodes, edges, lanes and tables, against each other")
	return v.verifyGraph(ctx)
}

func (v *verification) digest(what, text, recorded string) {
	if sum := sha256Hex([]byte(text)); sum != recorded {
		v.add(RecordDiffers, v.run.Pipeline, "%s on record hashes to %s, the record has %s", what, sum, recorded)
	}
}

func sha256Hex(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// verifyDocument reads the document's payload. That its bytes are those on record follows from the digest.
func (v *verification) verifyDocument(ctx context.Context) error {
	return v.read(ctx, v.run.DocumentSHA256, v.run.Pipeline, "the document")
}

// read reads a payload, and reports one that is not to be had.
func (v *verification) read(ctx context.Context, digest, where, what string) error {
	_, err := v.payloads.Get(ctx, payload.Digest(digest))
	if lost(err) {
		v.add(kindOf(err, ""), where, "%s: %v", what, err)
		return nil
	}
	return err
}

// verifyTables reads the payloads of the lookup tables. That they are those of the plan follows from its digest.
func (v *verification) verifyTables(ctx context.Context) error {
	tables, err := v.log.Tables(ctx, v.run.ID)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if err := v.read(ctx, table.SHA256, table.Node, "the table"); err != nil {
			return err
		}
	}
	return nil
}

// verifyGraph compares the run, its nodes and its edges with what the plan says they are.
func (v *verification) verifyGraph(ctx context.Context) error {
	sources, err := v.log.Sources(ctx, v.run.ID)
	if err != nil {
		return err
	}
	run, description := v.run, v.compiled.Describe()
	references, err := json.Marshal(v.compiled.Document.References)
	if err != nil {
		return err
	}
	run.Pipeline, run.DocumentSHA256, run.PlanSHA256 = description.Pipeline, description.Document, v.compiled.Digest()
	run.Plan, run.Refs = string(v.compiled.JSON()), string(references)
	graph := recompute.Graph(run.ID, v.compiled)
	for i := range graph.Sources {
		for _, recorded := range sources {
			if recorded.Source == graph.Sources[i].Source && v.isSource(recorded.Source) {
				graph.Sources[i].Info = recorded.Info // what a source held cannot be computed
			}
		}
	}
	graph.Tables = recompute.TablesOf(v.run.ID, v.compiled)
	differences, err := v.log.CompareRun(ctx, run, graph)
	v.addDifferences(v.run.Pipeline, differences)
	return err
}

// isSource reports whether the plan's origin of this name is a source, and not a barrier.
func (v *verification) isSource(origin string) bool {
	at := v.compiled.Find(origin)
	return at != plan.None && v.compiled.Nodes[at].Kind == plan.Source
}

// verifyStatus checks that a concluded run's status is what its rows make it.
func (v *verification) verifyStatus(context.Context) error {
	status := pipeline.Completed
	switch {
	case v.rows == 0:
		status = pipeline.Empty
	case v.refused > 0:
		status = pipeline.CompletedWithFailures
	}
	if concluded(v.report.Status) && v.run.Status != status {
		v.add(RecordDiffers, v.run.Pipeline, "%s read, %d refused: that makes the run %s, and the record has %s",
			plural(v.rows, "row"), v.refused, status, v.run.Status)
	}
	return nil
}

// verifyEpochs checks that a run is in the epoch that was begun last on record, and that only one that was cancelled is final.
func (v *verification) verifyEpochs(ctx context.Context) error {
	resumptions, err := v.log.Resumptions(ctx, v.run.ID)
	if err != nil {
		return err
	}
	for i, resumption := range resumptions {
		if wanted := int64(i) + 1; resumption.Epoch != wanted {
			v.add(RecordDiffers, v.run.Pipeline, "it was resumed in epoch %d on record, where epoch %d should be", resumption.Epoch, wanted)
		}
	}
	now, err := v.log.Run(ctx, v.run.ID)
	if err != nil {
		return err
	}
	if now.Epoch == v.run.Epoch && now.Epoch != int64(len(resumptions)) {
		v.add(RecordDiffers, v.run.Pipeline, "it is in epoch %d on record, and was resumed %s", now.Epoch, plural(int64(len(resumptions)), "time"))
	}
	if v.run.Final && v.run.Status != pipeline.Cancelled {
		v.add(RecordDiffers, v.run.Pipeline, "it is %s on record, and ended permanently as only a cancelled run is", v.run.Status)
	}
	return nil
}

// loadBeginning reads how far the run is, for somebody may work for it meanwhile. What goes through the steps later is not compared. The
// order matters: a chunk that is known to have gone through the steps has its writes on record, and a source that is known to have ended
// has its chunks there.
func (v *verification) loadBeginning(ctx context.Context) (err error) {
	v.passed = map[landscape.ChunkKey]bool{}
	err = landscape.Each(ctx, v.log, func(p passed) bool {
		v.passed[landscape.ChunkKey{Source: p.Source, Chunk: p.Chunk}] = true
		return true
	}, v.run.ID)
	if err != nil {
		return err
	}
	if v.ends, err = v.log.SourceEnds(ctx, v.run.ID); err != nil {
		return err
	}
	return v.loadWrites(ctx)
}

// passed is a chunk that went through the steps.
type passed struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Lane   int64  `db:"lane,key"`
}

// Table returns passages.
func (passed) Table() string { return "passages" }

// loadWrites reads what is recorded about the effects, and the writes among them, by sink, source and chunk.
func (v *verification) loadWrites(ctx context.Context) error {
	effects, err := v.log.Effects(ctx, v.run.ID)
	v.writes, v.effects = map[landscape.EffectKey]landscape.Effect{}, map[landscape.EffectKey]landscape.Effect{}
	for _, effect := range effects {
		v.effects[effect.EffectKey] = effect
		if effect.Kind == landscape.WriteEffect {
			v.writes[effect.EffectKey] = effect
		}
	}
	return err
}
