package codec_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/codec"
)

// started is a history that begins with an input, a header and a summary.
func started(input, header, summary *commonpb.Payload) *historypb.History {
	return &historypb.History{Events: []*historypb.HistoryEvent{{
		UserMetadata: &sdkpb.UserMetadata{Summary: summary},
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				Input:  &commonpb.Payloads{Payloads: []*commonpb.Payload{input}},
				Header: &commonpb.Header{Fields: map[string]*commonpb.Payload{"trace": header}},
				Memo:   &commonpb.Memo{Fields: map[string]*commonpb.Payload{"by": header}},
			},
		},
	}}}
}

func TestOnlyWhatProgramsReadIsChecked(t *testing.T) {
	one, two := newCodec(t, key("k1", 1)), newCodec(t, key("k2", 2))
	strict, err := codec.New([]codec.Key{key("k1", 1)}, true)
	require.NoError(t, err)
	encrypted, other, plain := encode(t, one, "text"), encode(t, two, "text"), payload("text")[0]
	for _, test := range []struct {
		name    string
		codec   *codec.Codec
		history *historypb.History
		says    string
		plain   bool
	}{
		{"its own", one, started(encrypted, plain, plain), "", false},
		{"plain", one, started(plain, plain, plain), "", false},
		{"plain, to one without keys", nil, started(plain, plain, plain), "", false},
		{"of another", two, started(encrypted, plain, plain), `encrypted with key "k1", which this program does not have`, false},
		{"to one without keys", nil, started(encrypted, plain, plain), `encrypted with key "k1", and this program has no codec keys`, false},
		{"another key of the id", newCodec(t, key("k1", 3)), started(encrypted, plain, plain), `its key is not the key "k1" that this program has`, false},
		{"plain, to one that requires more", strict, started(plain, encrypted, encrypted), "the payload is not encrypted, and --codec-require says", true},
		{"headers and summaries are none of its business", strict, started(encrypted, plain, other), "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.codec.Check(t.Context(), test.history)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			fault, is := errors.AsType[*codec.UnreadableError](err)
			require.True(t, is)
			require.Equal(t, test.plain, fault.Plain)
		})
	}
	require.True(t, codec.Uses(t.Context(), started(encrypted, plain, plain)))
	require.False(t, codec.Uses(t.Context(), started(plain, encrypted, encrypted)))
}

func TestWhoHasNotTheKeyIsToldSo(t *testing.T) {
	options := func(c *codec.Codec) (o client.Options) {
		codec.ClientOptions(&o, c)
		return o
	}
	one := newCodec(t, key("k1", 1))
	inner := temporal.NewApplicationError("the disk is full", "Full")
	failure := options(one).FailureConverter.ErrorToFailure(temporal.NewApplicationErrorWithCause("cannot go on", "Stopped", inner))
	require.Equal(t, "Encoded failure", failure.GetMessage())
	require.ErrorContains(t, options(one).FailureConverter.FailureToError(failure), "the disk is full")

	failure = options(one).FailureConverter.ErrorToFailure(temporal.NewApplicationErrorWithCause("cannot go on", "Stopped", inner))
	err := options(nil).FailureConverter.FailureToError(failure)
	require.ErrorContains(t, err, `the text of this failure cannot be read here: the payload is encrypted with key "k1"`)
	require.NotContains(t, err.Error(), "Encoded failure")
	require.Equal(t, "Encoded failure", failure.GetMessage(), "what Temporal has is left alone")

	plain := options(nil).FailureConverter.ErrorToFailure(inner)
	require.Equal(t, "the disk is full", plain.GetMessage(), "without keys nothing is encrypted")
	require.ErrorContains(t, options(one).FailureConverter.FailureToError(plain), "the disk is full")
}
