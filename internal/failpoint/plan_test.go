package failpoint

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePlanReadsEveryAction(t *testing.T) {
	plan, err := ParsePlan(" payload.renamed=kill; activity.Read.begin@3=stop ;a=error;b=error:ENOSPC;c=error:EIO;d=error:no luck;" +
		"e=short;f=short:0;g=delay:200ms;sink.part.check@2=unknown;a@2=kill;goroutine.outbox=panic")
	require.NoError(t, err)
	var read []string
	for _, p := range plan {
		read = append(read, p.Name+" "+string(p.Action))
	}
	require.Equal(t, []string{
		"payload.renamed kill", "activity.Read.begin stop", "a error", "b error", "c error", "d error",
		"e short", "f short", "g delay", "sink.part.check unknown", "a kill", "goroutine.outbox panic",
	}, read)
	require.Equal(t, []int64{1, 3, 1}, []int64{plan[0].N, plan[1].N, plan[2].N})
	require.ErrorIs(t, plan[3].err, syscall.ENOSPC)
	require.ErrorIs(t, plan[4].err, syscall.EIO)
	require.ErrorContains(t, plan[5].err, "no luck")
	require.Equal(t, []int{-1, 0}, []int{plan[6].short, plan[7].short})
	require.Equal(t, "200ms", plan[8].delay.String())
	require.ErrorIs(t, plan[9].err, ErrUnknown)
}

func TestParsePlanTakesAnEmptyTextForNoPlan(t *testing.T) {
	for _, text := range []string{"", " ", ";", " ; "} {
		plan, err := ParsePlan(text)
		require.NoError(t, err)
		require.Empty(t, plan)
	}
}

func TestParsePlanNamesTheEntryThatIsWrong(t *testing.T) {
	for _, c := range []struct{ entry, cure string }{
		{"payload.renamed", "name=action"},
		{"=kill", "words with dots"},
		{"payload..renamed=kill", "words with dots"},
		{"a b=kill", "words with dots"},
		{"a@0=kill", "from 1"},
		{"a@=kill", "from 1"},
		{"a@x=kill", "from 1"},
		{"a=", "the actions are"},
		{"a=Kill", "the actions are"},
		{"a=kill:now", "no argument"},
		{"a=stop:now", "no argument"},
		{"a=panic:now", "no argument"},
		{"a=short:-1", "number of bytes"},
		{"a=short:few", "number of bytes"},
		{"a=delay", "duration"},
		{"a=delay:-1s", "duration"},
		{"sink.part.written=unknown", "only sink.part.check"},
		{"sink.part.check=unknown:x", "no argument"},
	} {
		_, err := ParsePlan("good=kill;" + c.entry)
		require.ErrorContains(t, err, `"`+c.entry+`"`)
		require.ErrorContains(t, err, c.cure)
	}
	_, err := ParsePlan("a=kill;b=kill;a@1=stop")
	require.ErrorContains(t, err, `"a@1=stop": there is an entry for this moment already`)
}
