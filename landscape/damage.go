package landscape

import "context"

// A DamageFinder is a driver that can ask its database whether it is whole: whether tables and indexes hold the same entries, and
// every row keeps its constraints.
type DamageFinder interface {
	// Damage returns what is not whole, one phrase each, the first some tens of them; nil if nothing is. It reads all of the database.
	Damage(ctx context.Context) ([]string, error)
	// Bytes returns the size of the database, with the records of all runs.
	Bytes(ctx context.Context) (int64, error)
}

// Damage is what a database said when it was asked whether it is whole.
type Damage struct {
	Found []string // what is not, one phrase each; nil if nothing was found
	Asked bool     // false if the driver cannot ask, or the database is larger than allowed
	Bytes int64    // that the database has, with the records of all runs; 0 if the driver cannot ask
}

// Damage asks the database whether it is whole, unless it has more than most bytes, all of which would be read.
func (r *Reader) Damage(ctx context.Context, most int64) (damage Damage, err error) {
	finder, is := capable[DamageFinder](r.plain)
	if !is {
		return damage, nil
	}
	if damage.Bytes, err = finder.Bytes(ctx); err != nil || damage.Bytes > most {
		return damage, mark(err)
	}
	damage.Asked = true
	damage.Found, err = finder.Damage(ctx)
	return damage, mark(err)
}
