package landscape

import "context"

// Moment is when a chunk of a source or barrier was read, when it went through the steps, and who did that. Started and Finished are 0, and Worker is empty, as
// long as it did not. Of work that was done twice the first time counts.
type Moment struct {
	ChunkKey
	FirstRow          int64
	Rows              int64
	Made              bool // by a barrier: Read is when it folded
	Read              Micros
	Started, Finished Micros
	Worker            string
	Attempt           int64 // from 1
}

// chunkMoment is a Chunk by what is said of its time.
type chunkMoment struct {
	Run      string `db:"run_id,key"`
	Source   string `db:"source,key"`
	Chunk    int64  `db:"chunk,key"`
	FirstRow int64  `db:"first_row"`
	Rows     int64  `db:"rows"`
	Fold     *int64 `db:"fold,null"`
	Read     Micros `db:"read_us,first"`
}

// Table returns chunks.
func (chunkMoment) Table() string { return "chunks" }

// passageMoment is a PassageRecord by what is said of its time.
type passageMoment struct {
	Run      string `db:"run_id,key"`
	Source   string `db:"source,key"`
	Chunk    int64  `db:"chunk,key"`
	Lane     int64  `db:"lane,key"`
	Started  Micros `db:"started_us,first"`
	Finished Micros `db:"finished_us,first"`
	Attempt  int64  `db:"attempt,first"`
	Worker   string `db:"worker,first"`
}

// Table returns passages.
func (passageMoment) Table() string { return "passages" }

// Moments returns when each chunk of a run was worked on, by origin and chunk. It reads a few values per chunk, and no rows.
func (r *Reader) Moments(ctx context.Context, run string) (moments []Moment, err error) {
	place := map[ChunkKey]int{}
	err = each(ctx, r.from, []any{run}, func(c chunkMoment) bool {
		key := ChunkKey{c.Source, c.Chunk}
		place[key] = len(moments)
		m := Moment{ChunkKey: key, FirstRow: c.FirstRow, Rows: c.Rows, Made: c.Fold != nil, Read: c.Read}
		moments = append(moments, m)
		return true
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, r.from, []any{run}, func(p passageMoment) bool {
		at, known := place[ChunkKey{p.Source, p.Chunk}]
		if known && moments[at].Finished == 0 { // the lanes of a chunk pass together
			m := &moments[at]
			m.Started, m.Finished, m.Worker, m.Attempt = p.Started, p.Finished, p.Worker, p.Attempt
		}
		return true
	})
	return moments, err
}

// endMoment is a RunSeal by what is said of its time.
type endMoment struct {
	Run   string `db:"run_id,key"`
	Seq   int64  `db:"seq,key"`
	Epoch int64  `db:"epoch"`
	Late  bool   `db:"late"`
	At    Micros `db:"at_us,first"`
}

// Table returns run_seals.
func (endMoment) Table() string { return "run_seals" }

// Ends returns when a run ended, by its epoch, as the seals say that were made then. An end without one is not among
// them.
func (r *Reader) Ends(ctx context.Context, run string) (map[int64]Micros, error) {
	ends := map[int64]Micros{}
	err := each(ctx, r.from, []any{run}, func(s endMoment) bool {
		if _, known := ends[s.Epoch]; !known && !s.Late { // later ones are of what was recorded afterwards
			ends[s.Epoch] = s.At
		}
		return true
	})
	return ends, err
}
