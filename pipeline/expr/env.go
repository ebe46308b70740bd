package expr

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"waymark/pipeline/row"
)

// A Field is one declared field of the rows that an expression sees.
type Field struct {
	Name     string
	Kind     row.Kind // row.Null if it is not known: programs with such a field are checked, and are not evaluated
	Optional bool     // the field may be null or missing; reading a missing one gives null
	Untyped  bool     // its values are of any kind because nothing declares one; Kind is row.JSON
}

// Env holds what expressions may name. It is immutable and safe for concurrent use.
type Env struct {
	variable string // through which expressions read the fields
	fields   []Field
	open     bool
	params   map[string]row.Value
	cel      *cel.Env
}

// The variables that an expression sees.
const (
	rowName     = "row"
	batchName   = "batch"
	resultsName = "@results" // of the aggregate functions; no expression can name it
	figuresName = "@figures" // of a run; no expression can name it
	paramName   = "param"
)

// NewEnv returns an environment for rows with these fields, whose names are distinct, and for a run with these parameters.
// If open, rows may have more fields than the declared ones; these have no type until a row is read. A parameter that is
// null has a value that is not known: programs with it are checked, and are not evaluated.
//
// The error says that CEL refused the declarations, which no document can cause.
func NewEnv(fields []Field, open bool, params map[string]row.Value) (*Env, error) {
	return newEnv(rowName, fields, open, params)
}

// NewBatchEnv returns an environment for expressions about an open batch, such as the `when` of a trigger: they name these
// fields, which are distinct, as `batch.NAME`. Everything else is as in NewEnv.
func NewBatchEnv(fields []Field, open bool, params map[string]row.Value) (*Env, error) {
	return newEnv(batchName, fields, open, params)
}

func newEnv(variable string, fields []Field, open bool, params map[string]row.Value) (*Env, error) {
	e := &Env{variable: variable, fields: slices.Clone(fields), open: open, params: maps.Clone(params)}
	base, err := baseEnv()
	if err != nil {
		return nil, err
	}
	options := []cel.EnvOption{
		cel.CustomTypeProvider(&provider{Provider: base.CELTypeProvider(), env: e}),
		cel.Variable(variable, rowType),
	}
	for name, value := range params {
		if value.IsNull() {
			options = append(options, cel.Variable(paramName+"."+name, types.DynType))
			continue
		}
		options = append(options, cel.Constant(paramName+"."+name, typeOf(value.Kind()), toCEL(value)))
	}
	if e.cel, err = base.Extend(options...); err != nil {
		return nil, fmt.Errorf("declaring fields and parameters for expressions: %w", err)
	}
	return e, nil
}

// sees says how an expression reads fields.
func (e *Env) sees() string {
	switch e.variable {
	case resultsName:
		return "aggregate functions over row.FIELD"
	case figuresName:
		return "figures of the run, such as run.read"
	}
	return e.variable + ".FIELD"
}

// baseEnv returns the language without fields and parameters: CEL's own functions and ours, and the limits of a parser
// that reads hostile text.
var baseEnv = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		ext.Strings(),
		ext.Math(),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.EnableMacroCallTracking(),
		cel.ParserRecursionLimit(maxNesting),
		cel.ASTValidators(cel.ValidateDurationLiterals()),
	}
	options = append(options, decimalFunctions()...)
	options = append(options, dateFunctions()...)
	options = append(options, numberFunctions()...)
	options = append(options, extremeOverloads()...)
	for _, o := range celOperators {
		options = append(options, o.declaration())
	}
	return cel.NewEnv(options...)
})

// rowType is the type of the variable `row`, and of those that stand in its place. No expression can name it.
var rowType = types.NewObjectType("waymark.Row")

// provider tells CEL the types of the fields of `row`, and how to read them.
type provider struct {
	types.Provider
	env *Env
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if name == rowType.TypeName() {
		return types.NewTypeTypeWithParam(rowType), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldType implements types.Provider.
func (p *provider) FindStructFieldType(structType, name string) (*types.FieldType, bool) {
	if structType != rowType.TypeName() {
		return p.Provider.FindStructFieldType(structType, name)
	}
	field, declared := p.env.field(name)
	if !declared && !p.env.open {
		return nil, false
	}
	fieldType := types.DynType
	if declared && p.env.hasKind(field) {
		fieldType = field.celType()
	}
	return &types.FieldType{
		Type:    fieldType,
		IsSet:   func(obj any) bool { return obj.(*scope).isSet(name) },
		GetFrom: func(obj any) (any, error) { return obj.(*scope).read(name, field.Optional) },
	}, true
}

// field returns the declared field with this name, and false if there is none.
func (e *Env) field(name string) (Field, bool) {
	i := slices.IndexFunc(e.fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return e.fields[i], true
}

// hasKind reports whether the kind of a declared field is known. The result of an aggregate function may be null itself.
func (e *Env) hasKind(field Field) bool { return field.Kind != row.Null || e.variable == resultsName }

// celType returns the type of the field. CEL's own rules let dates, timestamps and decimals be null, the other kinds not.
func (f Field) celType() *types.Type {
	t := typeOf(f.Kind)
	switch f.Kind {
	case row.Bool, row.Int, row.Float, row.String:
		if f.Optional {
			return types.NewNullableType(t)
		}
	}
	return t
}

// typeOf returns the type by which CEL knows values of the kind.
func typeOf(kind row.Kind) *types.Type {
	return [...]*types.Type{
		row.Null: types.NullType, row.Bool: types.BoolType, row.Int: types.IntType, row.Float: types.DoubleType,
		row.String: types.StringType, row.Date: dateType, row.Timestamp: types.TimestampType, row.Decimal: decimalType,
		row.JSON: types.DynType,
	}[kind]
}
