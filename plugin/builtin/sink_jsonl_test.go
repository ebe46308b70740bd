package builtin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/plugintest"
)

func jsonlEncoderFor(t testing.TB, fields []string, open bool) plugin.Encoder {
	t.Helper()
	root, err := NewRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	sink, err := NewSink("all", pipeline.Sink{JSONL: &pipeline.JSONLSink{FileTarget: pipeline.FileTarget{Path: "a.jsonl"}}}, root)
	require.NoError(t, err)
	require.Equal(t, pipeline.WritesIO, sink.Determinism())
	require.Equal(t, plugin.Idempotent, sink.Guarantee())
	encoder, err := sink.Encoder(fields, open)
	require.NoError(t, err)
	return encoder
}

func TestJSONLRows(t *testing.T) {
	encoder := jsonlEncoderFor(t, nil, true)
	require.Empty(t, encoder.Header())
	got, err := encoder.Append(nil, rowOf([]string{"b", "a", "d"}, row.IntValue(1), row.StringValue("x\ny\u2028"), parsed(t, row.Decimal, "1.10")))
	require.NoError(t, err)
	got, err = encoder.Append(got, rowOf([]string{"when", "what"}, parsed(t, row.Date, "2001-01-31"), row.NullValue()))
	require.NoError(t, err)
	require.Equal(t, "{\"b\":1,\"a\":\"x\\ny\u2028\",\"d\":1.10}\n{\"when\":\"2001-01-31\",\"what\":null}\n", string(got))
}

func TestJSONLEncoderContract(t *testing.T) {
	good := []row.Row{
		rowOf([]string{"id", "name"}, row.IntValue(1), row.StringValue("a")),
		rowOf([]string{"name", "id"}, row.StringValue(`"`), row.IntValue(2)),
		rowOf(nil),
		rowOf([]string{"id"}, row.NullValue()),
	}
	plugintest.TestEncoder(t, func() plugin.Encoder { return jsonlEncoderFor(t, []string{"id"}, true) }, good, nil)
}
