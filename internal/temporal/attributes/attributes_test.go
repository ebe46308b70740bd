package attributes_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	"waymark/internal/temporal/attributes"
)

func TestCommandsGiveANamespaceWhatItMisses(t *testing.T) {
	absent := attributes.Fault{Name: attributes.Status, Wants: enums.INDEXED_VALUE_TYPE_KEYWORD}
	other := attributes.Fault{Name: attributes.Tags, Wants: enums.INDEXED_VALUE_TYPE_KEYWORD_LIST, Has: enums.INDEXED_VALUE_TYPE_TEXT}
	require.EqualError(t, absent, "WaymarkStatus (Keyword) is absent")
	require.EqualError(t, other, "WaymarkTags is of the type Text, and not KeywordList")
	require.Equal(t, []string{
		"temporal operator search-attribute remove --namespace prod --name WaymarkTags",
		"temporal operator search-attribute create --namespace prod --name WaymarkStatus --type Keyword --name WaymarkTags --type KeywordList",
	}, attributes.Commands("prod", []attributes.Fault{absent, other}))
	require.Nil(t, attributes.Commands("prod", nil))
}

func TestValuesAreWhatTemporalCanKeep(t *testing.T) {
	require.Equal(t, "ann on two lines?", attributes.Value("ann\ton\ntwo\x7flines\xff"))
	long := attributes.Value("a" + strings.Repeat("ä", 200))
	require.True(t, utf8.ValidString(long))
	require.Len(t, long, 199, "whole characters only")
}
