package jsonl

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
	sink, err := NewSink("all", pipeline.Sink{JSONL: &pipeline.JSONLSink{FileTarget: pipeline.FileTarget{Path: "a.jsonl"}}}, filesIn(t, t.TempDir()))
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

func BenchmarkEncoder(b *testing.B) {
	fields := []string{"id", "airport", "flight_date", "species", "cost", "speed", "height", "damage", "remarks", "seen"}
	r := rowOf(fields, row.IntValue(1234567), row.StringValue("DALLAS/FORT WORTH INTL"), parsed(b, row.Date, "2001-01-31"), row.StringValue("Rock pigeon"),
		row.IntValue(20000), row.FloatValue(130.5), row.IntValue(500), row.BoolValue(true), row.StringValue(`struck "left" wing, no damage`), row.NullValue())
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = encoder{}.Append(dst[:0], r)
	}
	b.SetBytes(int64(len(dst)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
