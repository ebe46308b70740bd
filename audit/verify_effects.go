package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"waymark/landscape"
)

// effectStory is what the events on record say of one effect.
type effectStory struct {
	began     map[int64]int    // how often, by attempt
	receipts  map[int64]string // of attempts that were finalized
	applied   map[int64]bool   // attempts of which a person said so
	undecided map[int64]bool   // attempts of which the target could not tell what became of them
}

// verifyEffects checks that every effect is one that the run can have, and that its events make it what it is.
func (v *verification) verifyEffects(ctx context.Context) error {
	places, err := v.effectPlaces(ctx)
	if err != nil {
		return err
	}
	stories, err := v.effectStories(ctx)
	if err != nil {
		return err
	}
	artifacts, err := v.log.Artifacts(ctx, v.run.ID)
	if err != nil {
		return err
	}
	effects, err := v.log.Effects(ctx, v.run.ID)
	if err != nil {
		return err
	}
	for _, effect := range effects {
		story := stories[effect.EffectKey]
		delete(stories, effect.EffectKey)
		if before := v.effects[effect.EffectKey]; before.State != effect.State || before.Fence != effect.Fence {
			continue // somebody works for the run just now, and its events were read too early
		}
		if !places.has(effect) {
			v.add(RecordDiffers, effect.Sink, "%s: the run has no such sink, or no such chunk", effect.EffectKey)
			continue
		}
		if what := story.contradicts(effect); what != "" {
			v.add(RecordDiffers, effect.Sink, "%s: %s", effect.EffectKey, what)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(stories), func(a, b landscape.EffectKey) int { return cmp.Compare(a.String(), b.String()) }) {
		v.add(RecordDiffers, key.Sink, "%s: there are events of it, and it is not recorded", key)
	}
	v.verifyPublications(artifacts, effects)
	v.verifyPublishedBytes(effects)
	return nil
}

// verifyPublishedBytes checks that a publication is of the bytes of its parts, and has no place among them.
func (v *verification) verifyPublishedBytes(effects []landscape.Effect) {
	written := map[string]int64{}
	for _, effect := range effects {
		if effect.Kind == landscape.WriteEffect {
			written[effect.Sink] += effect.Bytes
		}
	}
	for _, effect := range effects {
		if effect.Kind != landscape.PublishEffect || v.effects[effect.EffectKey].State != effect.State {
			continue
		}
		if effect.Ordinal != nil || effect.Offset != nil {
			v.add(RecordDiffers, effect.Sink, "%s: it has a place in the output on record, as only a part has", effect.EffectKey)
		}
		if effect.State == landscape.Finalized && effect.Bytes != written[effect.Sink] {
			v.add(RecordDiffers, effect.Sink, "%s: it is of %d bytes on record, its parts have %d", effect.EffectKey, effect.Bytes, written[effect.Sink])
		}
	}
}

// effectPlaces is what effects of a run can be of.
type effectPlaces struct {
	sinks  map[string]bool
	chunks map[landscape.ChunkKey]bool
}

func (v *verification) effectPlaces(ctx context.Context) (effectPlaces, error) {
	places := effectPlaces{map[string]bool{}, map[landscape.ChunkKey]bool{}}
	nodes, err := v.log.Nodes(ctx, v.run.ID)
	if err != nil {
		return places, err
	}
	for _, node := range nodes {
		places.sinks[node.Node] = node.Kind == landscape.SinkNode
		for chunk, err := range v.log.Chunks(ctx, v.run.ID, node.Node) {
			if err != nil {
				return places, err
			}
			places.chunks[chunk.Key()] = true
		}
	}
	return places, nil
}

func (p effectPlaces) has(effect landscape.Effect) bool {
	if effect.Kind == landscape.PublishEffect {
		return p.sinks[effect.Sink] && effect.Source == "" && effect.Chunk == -1
	}
	return p.sinks[effect.Sink] && p.chunks[landscape.ChunkKey{Source: effect.Source, Chunk: effect.Chunk}]
}

// effectStories reads the events of the run's effects.
func (v *verification) effectStories(ctx context.Context) (map[landscape.EffectKey]effectStory, error) {
	events, err := v.log.EffectEvents(ctx, v.run.ID)
	if err != nil {
		return nil, err
	}
	stories := map[landscape.EffectKey]effectStory{}
	for _, event := range events {
		story, known := stories[event.EffectKey]
		if !known {
			story = effectStory{map[int64]int{}, map[int64]string{}, map[int64]bool{}, map[int64]bool{}}
			stories[event.EffectKey] = story
		}
		story.add(event)
	}
	return stories, nil
}

func (s effectStory) add(event landscape.EffectEvent) {
	switch event.Event {
	case landscape.EffectBegan:
		s.began[event.Fence]++
	case landscape.EffectFinalized:
		s.receipts[event.Fence] = event.Detail
	case landscape.EffectResolved:
		s.applied[event.Fence] = s.applied[event.Fence] || event.Detail == "applied"
	case landscape.EffectReconciled:
		s.undecided[event.Fence] = s.undecided[event.Fence] || event.Detail == "unknown"
	case landscape.EffectFenced, landscape.EffectFailed: // they change nothing
	}
}

// contradicts says what of an effect on record cannot be after its events; "" if all can.
func (s effectStory) contradicts(effect landscape.Effect) string {
	ended := len(s.receipts) > 0 || slices.Contains(slices.Collect(maps.Values(s.applied)), true)
	switch {
	case !s.attempts(effect.Fence):
		return fmt.Sprintf("%s begun on record, its events say other ones", plural(effect.Fence, "attempt"))
	case (effect.Fence == 0) != (effect.State == landscape.Reserved || effect.State == landscape.Prepared):
		return fmt.Sprintf("it is %s on record, with %s", effect.State, plural(effect.Fence, "attempt"))
	case ended && effect.State != landscape.Finalized:
		return fmt.Sprintf("it is %s on record, its events say that it was finalized", effect.State)
	case effect.State == landscape.Blocked && !s.undecided[effect.Fence]:
		return "it is blocked on record, no event says why"
	case effect.State == landscape.Finalized:
		return s.contradictsEnd(effect)
	}
	return ""
}

// attempts reports whether the attempts that began are those from 1 to the last, each once.
func (s effectStory) attempts(last int64) bool {
	if int64(len(s.began)) != last {
		return false
	}
	for fence, times := range s.began {
		if fence < 1 || fence > last || times != 1 {
			return false
		}
	}
	return true
}

// contradictsEnd says what of the end of an effect cannot be; "" if all can. A person's word gives a write the receipt of its part,
// as every target does.
func (s effectStory) contradictsEnd(effect landscape.Effect) string {
	receipt, finalized := s.receipts[effect.Fence]
	switch {
	case !finalized && !s.applied[effect.Fence]:
		return fmt.Sprintf("it is finalized on record, no event says so of attempt %d", effect.Fence)
	case finalized && receipt != effect.Receipt:
		return "its recorded receipt differs from the one in its event"
	case effect.Kind != landscape.WriteEffect:
		return ""
	case effect.Ordinal == nil || effect.Offset == nil:
		return "it is finalized on record, and has no place in the output"
	case effect.Receipt != landscape.PartReceipt(effect):
		return "its receipt is another than that of its part on record"
	}
	return ""
}

// verifyPublications checks that the artifacts on record are those of the publications that are finalized.
func (v *verification) verifyPublications(artifacts []landscape.ArtifactRecord, effects []landscape.Effect) {
	published := map[string]string{}
	for _, artifact := range artifacts {
		published[artifact.Sink] = receiptOf(artifact)
	}
	for _, effect := range effects {
		if effect.Kind != landscape.PublishEffect || effect.State != landscape.Finalized {
			continue
		}
		receipt, known := published[effect.Sink]
		delete(published, effect.Sink)
		switch before := v.effects[effect.EffectKey]; {
		case before.State != effect.State: // published just now
		case !known:
			v.add(RecordDiffers, effect.Sink, "%s: it is finalized on record, and what was published is not there", effect.EffectKey)
		case receipt != effect.Receipt:
			v.add(RecordDiffers, effect.Sink, "%s: its receipt is %s, what was published is recorded as %s", effect.EffectKey, effect.Receipt, receipt)
		}
	}
	for _, sink := range slices.Sorted(maps.Keys(published)) {
		v.add(RecordDiffers, sink, "%s: what was published is recorded, and it is not finalized", landscape.PublishKey(v.run.ID, sink))
	}
}

// receiptOf returns the receipt of a publication.
func receiptOf(artifact landscape.ArtifactRecord) string {
	text, err := json.Marshal(artifact.Artifact())
	if err != nil {
		panic(err) // numbers and text are JSON
	}
	return string(text)
}
