package audit

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/landscape"
	"waymark/plugin"
)

// chunkCheck is what looking at one chunk came to, apart from what is found about others.
type chunkCheck struct {
	*verification
	header []byte // what its records are parsed with
	read   bool   // its records are there
	err    error
}

// checkChunk checks the chunk's payload and places, and sends its records through the steps again if the plan is to be had. rejected are
// the errors on record of the chunk's tokens. Chunks may be checked side by side.
func (v *verification) checkChunk(ctx context.Context, record landscape.Chunk, rejected *landscape.RowErrors) (c chunkCheck) {
	own := *v
	own.report, own.forgotten = &Report{}, nil
	own.fed, own.recomputed = map[string]map[landscape.ChunkKey]bool{}, map[landscape.ChunkKey]bool{}
	c.verification = &own
	c.err = own.guard(ctx, place(record.Source, record.Chunk), func(ctx context.Context) error {
		in, err := own.readChunk(ctx, record)
		if err != nil {
			return err
		}
		if in == nil {
			err := own.verifyOthers(ctx, record)
			if own.report.Rows > 0 { // which is said of all such chunks at once
				own.forgotten, own.report.purged = own.report.purged, nil
			}
			return err
		}
		c.header, c.read = in.Chunk.Context, true
		return own.verifyChunk(ctx, record, in, rejected)
	})
	v.progress.add(record.Rows)
	return c
}

// absorb adds what a check of a chunk came to.
func (v *verification) absorb(c chunkCheck) {
	for _, problem := range c.report.Problems {
		v.addProblem(problem)
	}
	v.report.purged = append(v.report.purged, c.report.purged...)
	v.report.More = v.report.More || c.report.More
	v.report.Chunks += c.report.Chunks
	v.report.Rows += c.report.Rows
	v.report.Hashes += c.report.Hashes
	v.report.Late += c.report.Late
	v.forgotten = append(v.forgotten, c.forgotten...)
	maps.Copy(v.recomputed, c.recomputed)
	for name, chunks := range c.fed {
		if v.fed[name] == nil {
			v.fed[name] = map[landscape.ChunkKey]bool{}
		}
		maps.Copy(v.fed[name], chunks)
	}
}

// chunkBytes is about how much memory it takes to look at a chunk.
func (v *verification) chunkBytes(record landscape.Chunk) int64 {
	columns := 4 * record.Rows
	if v.compiled != nil {
		columns += int64(len(v.compiled.Nodes)) * min(record.Rows, landscape.SliceRows)
	}
	return 3*record.Bytes + columns*landscape.HashBytes
}

func (v *verification) verifyChunk(ctx context.Context, record landscape.Chunk, in *engine.Input, rejected *landscape.RowErrors) error {
	v.report.Chunks++
	v.report.Rows += int64(in.Chunk.Len())
	if record.Fold == nil {
		v.verifyPlaces(record, in.Chunk)
	}
	same, err := v.verifyRecords(ctx, record, in.Chunk)
	if err != nil || !same || v.compiled == nil {
		return err // these are not the records that the run read
	}
	return v.recompute(ctx, record, *in, rejected)
}

// readChunk returns the chunk's records; nil if they are not to be had, which it reports.
func (v *verification) readChunk(ctx context.Context, record landscape.Chunk) (*engine.Input, error) {
	err := v.log.CheckShape(ctx, record)
	var in engine.Input
	if err == nil {
		in, err = recompute.Chunk(ctx, v.log, v.payloads, v.compiled, record)
	}
	if kind := kindOf(err, ""); kind != "" {
		v.add(kind, place(record.Source, record.Chunk), "%v", err)
		return nil, nil //nolint:nilnil // as the comment says
	}
	return &in, err
}

// verifyRecords compares the chunk's records with the index of those that were read, and reports whether they are the same.
func (v *verification) verifyRecords(ctx context.Context, record landscape.Chunk, chunk *plugin.Chunk) (same bool, err error) {
	rows, err := v.log.Records(ctx, record.Run, record.Key())
	if err != nil {
		return false, err
	}
	same = true
	for i, hash := range hashesOf(recompute.RecordHashes(chunk)) {
		v.report.Hashes++
		row, recorded := record.FirstRow+int64(i), rows.Hashes[32*i:32*i+32]
		if rows.Offsets[i] != chunk.Offsets[i] || rows.Lengths[i] != chunk.Lengths[i] {
			same = false
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d: the stored record has %d bytes at byte %d, on record are %d at %d",
				row, chunk.Lengths[i], chunk.Offsets[i], rows.Lengths[i], rows.Offsets[i])
		}
		if hash != [32]byte(recorded) {
			same = false
			v.add(RecordDiffers, place(record.Source, record.Chunk), "row %d: the stored record hashes to %x, the record has %x", row, hash, recorded)
		}
	}
	return same, nil
}

// recompute sends the chunk through the steps again and compares what comes out with everything on record about it.
func (v *verification) recompute(ctx context.Context, record landscape.Chunk, in engine.Input, rejected *landscape.RowErrors) error {
	if !v.passed[record.Key()] {
		return nil // which is said of all such chunks at once
	}
	var sums landscape.HashSums
	in.Hashes = v.sum(&sums)
	result, err := v.result(ctx, record.Chunk, in)
	if err != nil {
		return err
	}
	v.feed(record, result)
	computed := recompute.PassageOf(v.compiled, record.Run, record.Source, record.Chunk, in.Chunk, result)
	before := len(v.report.Problems)
	v.compareWrites(record, computed)
	if err := v.compareLate(ctx, record, in, computed, v.compareRejected(record, computed, rejected)); err != nil {
		return err
	}
	if same, err := v.log.IsPassage(ctx, computed, rejected, &sums); err != nil || same {
		return err
	}
	return v.compareAll(ctx, record, in, rejected, before)
}

// sum returns what takes the hashes of a chunk into sums, as they are recorded.
func (v *verification) sum(sums *landscape.HashSums) *engine.Hashes {
	return &engine.Hashes{Every: landscape.SliceRows, Take: func(column engine.Column, from int) {
		v.report.Hashes += int64(len(column.Hashes) / landscape.HashBytes)
		sums.Add(int64(column.Lane), v.compiled.Nodes[column.Node].Name, from, column.Hashes)
	}}
}

// compareAll says what of a chunk is other on record than the steps make of it. All of its hashes are in memory for that. before is how many
// problems there were before it was looked at.
func (v *verification) compareAll(ctx context.Context, record landscape.Chunk, in engine.Input, rejected *landscape.RowErrors, before int) error {
	in.Hashes = nil
	result, err := v.result(ctx, record.Chunk, in)
	if err != nil {
		return err
	}
	computed := recompute.PassageOf(v.compiled, record.Run, record.Source, record.Chunk, in.Chunk, result)
	differences, err := v.log.ComparePassage(ctx, computed, rejected)
	if err != nil || len(differences) == 0 {
		return err
	}
	err = v.guard(ctx, place(record.Source, record.Chunk), func(ctx context.Context) error { return v.sayDifferences(ctx, record, computed) })
	if len(v.report.Problems) == before { // else said in words: the records would say it again
		v.addDifferences(place(record.Source, record.Chunk), differences)
	}
	return err
}

// sayDifferences says in words what of a chunk is other on record than was computed.
func (v *verification) sayDifferences(ctx context.Context, record landscape.Chunk, computed landscape.Passage) error {
	routes, err := v.log.AllRoutes(ctx, record.Run, record.Key())
	if err != nil {
		return err
	}
	v.compareWays(record, routes, computed.Lanes)
	hashes, err := v.log.Hashes(ctx, record.Run, record.Key())
	if err != nil {
		return err
	}
	v.compareHashes(record, hashes, computed.Hashes)
	return v.compareErrors(ctx, record, computed)
}

// feed notes to which barriers the chunk brings something.
func (v *verification) feed(record landscape.Chunk, result *engine.Result) {
	v.recomputed[record.Key()] = true
	for node, arrivals := range result.Arrivals {
		if arrivals == nil {
			continue
		}
		name := v.compiled.Nodes[node].Name
		if v.fed[name] == nil {
			v.fed[name] = map[landscape.ChunkKey]bool{}
		}
		v.fed[name][record.Key()] = true
	}
}

func (v *verification) compareWrites(record landscape.Chunk, computed landscape.Passage) {
	for _, write := range computed.Writes {
		recorded := v.writes[landscape.EffectKey{Run: record.Run, Sink: write.Sink, Source: record.Source, Chunk: record.Chunk}]
		if recorded.SHA256 != write.SHA256 || recorded.Bytes != write.Bytes {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "the bytes for sink %s hash to %s and are %d, the record has %s and %d",
				write.Sink, write.SHA256, write.Bytes, recorded.SHA256, recorded.Bytes)
		}
	}
}

// compareRejected looks for errors of tokens that no node rejects. It returns those with which the targets of sinks rejected tokens
// that came there: no step makes them.
func (v *verification) compareRejected(record landscape.Chunk, computed landscape.Passage, rejected *landscape.RowErrors) (late []landscape.RowErrorKey) {
	wanted := map[landscape.Token]string{}
	for _, refusal := range computed.Errors {
		lane := inLane(computed.Lanes, refusal.Lane)
		wanted[tokenAt(record, refusal.Lane, refusal.Index)] = lane.Ways[lane.Codes[refusal.Index]].Last()
	}
	for row := range rejected.All() {
		token := landscape.Token{Source: row.Source, Lane: row.Lane, Row: row.Row}
		way, err := inLane(computed.Lanes, row.Lane).WayAt(int(row.Row - record.FirstRow))
		if err == nil && way != nil && way.ToSink() && way.Sink == row.Node {
			late = append(late, row)
			continue
		}
		switch node := wanted[token]; node {
		case row.Node:
		case "":
			v.add(RecordDiffers, place(record.Source, record.Chunk), "%s is refused by no node, the record has an error", v.name(token))
		default:
			v.add(RecordDiffers, place(record.Source, record.Chunk), "%s is refused by %s, the record has an error of %s", v.name(token), node, row.Node)
		}
	}
	return late
}

// result sends a chunk through the steps.
func (v *verification) result(ctx context.Context, chunk int64, in engine.Input) (*engine.Result, error) {
	runner, err := engine.NewRunner(v.compiled)
	if err != nil {
		return nil, err
	}
	if in.Firsts, err = v.firstsFor(ctx, chunk, in); err != nil {
		return nil, err
	}
	return runner.Run(in)
}

// tokenAt returns the token of record number index of the chunk.
func tokenAt(record landscape.Chunk, lane int64, index int) landscape.Token {
	return landscape.Token{Source: record.Source, Lane: lane, Row: record.FirstRow + int64(index)}
}

// name names a token for people: a record by its row, whose origin is said already, others by their ids.
func (v *verification) name(token landscape.Token) string {
	if token.Lane < 0 || token.Lane >= int64(len(v.lanes)) {
		return fmt.Sprintf("row %d in lane %d, which the run does not have,", token.Row, token.Lane)
	}
	if lane := v.lanes[token.Lane]; !lane.IsRoot() {
		return fmt.Sprintf("%s:%d/%s", token.Source, token.Row, lane.Name)
	}
	return fmt.Sprintf("row %d", token.Row)
}

func (v *verification) compareWays(record landscape.Chunk, recorded, computed []landscape.LaneRoutes) {
	for lane := range int64(len(v.lanes)) {
		was, ok := inLane(recorded, lane), inLane(computed, lane)
		for i := range max(len(was.Codes), len(ok.Codes)) {
			if was, ok := signature(was, i), signature(ok, i); was != ok {
				v.add(RecordDiffers, place(record.Source, record.Chunk), "%s goes %s, the record has %s", v.name(tokenAt(record, lane, i)), ok, was)
			}
		}
	}
}

// inLane returns the routes of one lane; none if they are not there.
func inLane(routes []landscape.LaneRoutes, lane int64) landscape.LaneRoutes {
	for _, r := range routes {
		if r.Lane == lane {
			return r
		}
	}
	return landscape.LaneRoutes{Lane: lane}
}

// signature returns the way of a token of the chunk. What is recorded may make no sense.
func signature(routes landscape.LaneRoutes, i int) string {
	if i >= len(routes.Codes) || int(routes.Codes[i]) >= len(routes.Ways) {
		return "no way"
	}
	return routes.Ways[routes.Codes[i]].Signature()
}

// compareErrors compares why each token was rejected.
func (v *verification) compareErrors(ctx context.Context, record landscape.Chunk, computed landscape.Passage) error {
	for _, refusal := range computed.Errors {
		token := tokenAt(record, refusal.Lane, refusal.Index)
		recorded, err := v.log.ErrorsOf(ctx, record.Run, token)
		if err != nil {
			return err
		}
		lane := inLane(computed.Lanes, refusal.Lane)
		way := lane.Ways[lane.Codes[refusal.Index]]
		recorded = slices.DeleteFunc(recorded, func(e landscape.RowError) bool { return way.ToSink() && e.Node == way.Sink })
		if len(recorded) != 1 || !sameError(recorded[0], way, refusal) {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "%s is refused by %s with %s, the record has another error or none", v.name(token), way.Last(), refusal.Code)
		}
	}
	return nil
}

func sameError(e landscape.RowError, way landscape.Way, r landscape.Rejection) bool {
	raw := r.Raw[:min(len(r.Raw), landscape.MaxRawBytes)]
	return e.Node == way.Last() && e.SentTo == way.Sink && e.Code == r.Code && e.Field == r.Field && e.Message == r.Message &&
		bytes.Equal(e.Raw, raw) && e.RawBytes == r.Bytes && e.Line == r.Line && e.ByteOffset == r.Offset
}

// columnKey is what a column of hashes is about.
type columnKey struct {
	lane int64
	node string
}

func (v *verification) compareHashes(record landscape.Chunk, recorded, computed []landscape.NodeHashes) {
	stored := map[columnKey]landscape.NodeHashes{}
	for _, column := range recorded {
		stored[columnKey{column.Lane, column.Node}] = column
	}
	for _, column := range computed {
		key := columnKey{column.Lane, column.Node}
		other := stored[key]
		delete(stored, key)
		if len(column.Hashes) != len(other.Hashes) {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "no row comes out of %s%s on record, computed again some do", column.Node, v.within(column.Lane))
			continue
		}
		v.compareColumn(record, column, other)
	}
	for key := range stored {
		v.add(RecordDiffers, place(record.Source, record.Chunk), "no row comes out of %s%s, on record some do", key.node, v.within(key.lane))
	}
}

// within names a lane, unless it is a root lane.
func (v *verification) within(lane int64) string {
	if lane < 0 || lane >= int64(len(v.lanes)) || v.lanes[lane].IsRoot() {
		return ""
	}
	return " in lane " + v.lanes[lane].Name
}

func (v *verification) compareColumn(record landscape.Chunk, computed, recorded landscape.NodeHashes) {
	was := hashesOf(recorded.Hashes)
	for i, hash := range hashesOf(computed.Hashes) {
		if hash != was[i] {
			v.add(RecordDiffers, place(record.Source, record.Chunk), "%s comes out of %s as %x, the record has %x",
				v.name(tokenAt(record, computed.Lane, i)), computed.Node, hash, was[i])
		}
	}
}

func hashesOf(column []byte) [][32]byte {
	hashes := make([][32]byte, 0, len(column)/32)
	for hash := range slices.Chunk(column, 32) {
		hashes = append(hashes, [32]byte(hash))
	}
	return hashes
}
