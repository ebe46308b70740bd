package embedded

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

// registerAttributes gives the namespace the search attributes that it does not have. They are written into the database before the server
// starts: a server that runs would take seconds to know all of them. One for which there is no room stays away.
func registerAttributes(ctx context.Context, db *sql.DB, wanted map[string]enums.IndexedValueType) error {
	stored := serialization.NewSerializer()
	var data []byte
	var encoding string
	err := db.QueryRowContext(ctx, "select data, data_encoding from namespaces where name = ?", Namespace).Scan(&data, &encoding)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", Namespace, err)
	}
	detail, err := stored.NamespaceDetailFromBlob(persistence.NewDataBlob(data, encoding))
	if err != nil {
		return fmt.Errorf("namespace %s: %w", Namespace, err)
	}
	if detail.Config.CustomSearchAttributeAliases == nil {
		detail.Config.CustomSearchAttributeAliases = map[string]string{}
	}
	if !addAliases(detail.Config.CustomSearchAttributeAliases, wanted) {
		return nil
	}
	blob, err := stored.NamespaceDetailToBlob(detail)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "update namespaces set data = ?, data_encoding = ? where name = ?", blob.GetData(), blob.GetEncodingType().String(), Namespace)
	return err
}

// addAliases gives each attribute that has none a field of its type, and reports whether there was one to give. aliases are the names of
// attributes by field.
func addAliases(aliases map[string]string, wanted map[string]enums.IndexedValueType) (added bool) {
	fields := sadefs.GetDBIndexSearchAttributes(nil).CustomSearchAttributes
	named := slices.Collect(maps.Values(aliases))
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if slices.Contains(named, name) {
			continue
		}
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if _, taken := aliases[field]; !taken && fields[field] == wanted[name] {
				aliases[field], added = name, true
				break
			}
		}
	}
	return added
}
