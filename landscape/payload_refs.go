package landscape

import "context"

// PayloadsOf calls yield with the payloads of a class that a run may need, in the order of the record and perhaps several times, until it
// returns false. Of an archived run, the landscape still knows them.
func (r *Reader) PayloadsOf(ctx context.Context, run string, class Class, yield func(payload string) bool) error {
	replaced, err := r.replacements(ctx)
	if err != nil {
		return err
	}
	more := true
	var all func(string) bool
	all = func(payload string) bool {
		more = more && yield(payload)
		for _, replacement := range replaced[payload] {
			more = more && all(replacement)
		}
		return more
	}
	return r.originalsOf(ctx, run, class, all)
}

// originalsOf is PayloadsOf without those that replaced others because records in them were forgotten: what the run read.
func (r *Reader) originalsOf(ctx context.Context, run string, class Class, yield func(payload string) bool) (err error) {
	more := true
	one := func(payload string) bool {
		more = more && yield(payload)
		return more
	}
	if class == SourceClass {
		err = r.deliveriesOf(ctx, run, one)
	}
	if class == SourceClass && err == nil && more {
		err = r.requestedOf(ctx, run, one)
	}
	if err != nil || !more {
		return err
	}
	archive, err := r.ArchiveOf(ctx, run)
	switch {
	case err != nil:
		return err
	case archive != nil:
		return each(ctx, r.from, []any{run}, func(a ArchivedPayload) bool { return a.Class != class || one(a.Payload) })
	}
	return r.refsOf(ctx, run, class, one)
}

// deliveriesOf calls yield with the payloads of what was delivered, and that the complete run has read, until it returns false. What is still to be read may not be purged.
func (r *Reader) deliveriesOf(ctx context.Context, run string, yield func(payload string) bool) error {
	list, err := r.ArrivalsOfRun(ctx, run)
	for _, a := range list {
		if a.Payload != "" && a.State == ArrivalDone && a.Run == run && !yield(a.Payload) {
			break
		}
	}
	return err
}

// refsOf calls yield with the payloads of a class to which the record of a run refers, until it returns false.
func (r *Reader) refsOf(ctx context.Context, run string, class Class, yield func(payload string) bool) error {
	more := true
	err := each(ctx, r.from, []any{run}, func(c packOfChunk) bool {
		more = (c.Fold != nil) != (class == DerivedClass) || yield(c.Pack)
		return more
	})
	if err != nil || !more || class != DerivedClass {
		return err
	}
	return each(ctx, r.from, []any{run}, func(f stateOfFold) bool { return f.State == "" || yield(f.State) })
}

// packOfChunk is what of a chunk refers to a payload.
type packOfChunk struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Pack   string `db:"pack"`
	Fold   *int64 `db:"fold,null"`
}

// Table returns chunks.
func (packOfChunk) Table() string { return Chunk{}.Table() }

// stateOfFold is what of a fold refers to a payload.
type stateOfFold struct {
	Run   string `db:"run_id,key"`
	Node  string `db:"node,key"`
	Fold  int64  `db:"fold,key"`
	State string `db:"state,null"`
}

// Table returns folds.
func (stateOfFold) Table() string { return FoldRecord{}.Table() }
