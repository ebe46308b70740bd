package landscape

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// A SchemaComparer is a driver that can hold its schema against the one that this program would make now.
type SchemaComparer interface {
	// Schemas returns the objects of the schema, and those of one that was made for this and is gone again. why, if not empty, says why
	// none could be made; then it returns no objects.
	Schemas(ctx context.Context) (stored, fresh Schema, why string, err error)
}

// An Identifier is a driver whose landscape has an id.
type Identifier interface {
	// ID returns what the landscape is known by, from when it was made: one that was made beside it has another.
	ID(ctx context.Context) (string, error)
}

// ID returns the id of the landscape; "" if the driver knows none.
func (r *Reader) ID(ctx context.Context) (string, error) {
	identifier, is := capable[Identifier](r.plain)
	if !is {
		return "", nil
	}
	id, err := identifier.ID(ctx)
	return id, mark(err)
}

// Schema is what a database's schema consists of: what defines an object, by its kind and name, such as "trigger runs_keep".
type Schema map[string]string

// SchemaDifference is an object of a schema that is not as this program makes it.
type SchemaDifference struct {
	Object string // kind and name
	What   string // is missing, was changed, or was added
}

// CompareSchema holds the schema of the database against a new one: tables, columns, constraints, indexes, triggers, views, functions,
// and the content of tables that only views need. Indexes that somebody added are no difference. why, if not empty, says why it could
// not be compared.
func (r *Reader) CompareSchema(ctx context.Context) (found []SchemaDifference, why string, err error) {
	comparer, is := capable[SchemaComparer](r.plain)
	if !is {
		return nil, "the database has none", nil
	}
	stored, fresh, why, err := comparer.Schemas(ctx)
	if err != nil || why != "" {
		return nil, why, mark(err)
	}
	for _, object := range slices.Sorted(maps.Keys(fresh)) {
		definition, there := stored[object]
		switch {
		case !there:
			found = append(found, SchemaDifference{object, "is missing"})
		case definition != fresh[object]:
			found = append(found, SchemaDifference{object, "was changed"})
		}
	}
	for _, object := range slices.Sorted(maps.Keys(stored)) {
		if _, known := fresh[object]; !known && !strings.HasPrefix(object, "index ") {
			found = append(found, SchemaDifference{object, "was added"})
		}
	}
	return found, "", nil
}
