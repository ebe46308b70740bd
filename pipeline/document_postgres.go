package pipeline

// PostgresSource reads the rows of a table or of a query, all of them as they were at one moment.
type PostgresSource struct {
	DSN     string   `yaml:"dsn" json:"-" text:"sent"`       // the database: postgres://user@host:5432/db, or host=… dbname=…; a password by ${secret:NAME}
	Table   string   `yaml:"table,omitempty" text:"path"`    // the table: schema.table, or a table of the schema public
	Query   string   `yaml:"query,omitempty" text:"query"`   // instead of a table: one select, which needs order_by; ${param:NAME} is a literal of its type
	OrderBy []string `yaml:"order_by,omitempty" text:"name"` // the columns that put the rows in order, no two rows alike; default: the table's primary key
}

// PostgresSink writes rows into a table.
type PostgresSink struct {
	DSN     string   `yaml:"dsn" json:"-" text:"sent"`             // the database: postgres://user@host:5432/db, or host=… dbname=…; a password by ${secret:NAME}
	Table   string   `yaml:"table" text:"path"`                    // the table: schema.table, or a table of the schema public
	Mode    string   `yaml:"mode,omitempty" words:"insert upsert"` // insert (default) adds rows; upsert replaces the row with the same key
	Key     []string `yaml:"key,omitempty" text:"name"`            // of an upsert: the columns of a primary key or a unique index
	Columns []string `yaml:"columns,omitempty" text:"name"`        // the fields that are written, each into the column of its name; default: the fields of the incoming rows, if they are all declared
	Create  bool     `yaml:"create,omitempty"`                     // make the table if it is not there, with columns of the fields' types
}

// Words of PostgresSink.Mode. Stored; never rename.
const (
	InsertMode = "insert"
	UpsertMode = "upsert"
)

// Upserts reports whether rows replace those with the same key.
func (s PostgresSink) Upserts() bool { return s.Mode == UpsertMode }
