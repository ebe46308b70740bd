package landscape

import "context"

// A DamageFinder is a driver that can ask its database whether it is whole: whether tables and indexes hold the same entries, and
// every row keeps its constraints.
type DamageFinder interface {
	// Damage returns what is not whole, one phrase each, the first some tens of them; nil if nothing is.
	Damage(ctx context.Context) ([]string, error)
}

// Damage returns what is not whole in the database itself; asked is false if it cannot be asked.
func (r *Reader) Damage(ctx context.Context) (found []string, asked bool, err error) {
	finder, is := r.plain.(DamageFinder)
	if !is {
		return nil, false, nil
	}
	found, err = finder.Damage(ctx)
	return found, true, mark(err)
}
