package retain

import (
	"encoding/json"
	"fmt"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
)

// Rules say how long payloads of a class are kept after their run has ended. A class that is not in them is kept for ever.
type Rules map[landscape.Class]time.Duration

// longest is the longest time that a rule may name.
const longest = 100 * 365 * 24 * time.Hour

// Set makes a rule of a length of time as pipeline.Duration is written, such as 400d. An empty text makes none. Payloads of sources are kept
// for some time; 0d is only for what can be computed again.
func (r Rules) Set(class landscape.Class, text string) error {
	if text == "" {
		return nil
	}
	var length pipeline.Duration
	if err := length.UnmarshalText([]byte(text)); err != nil {
		return err
	}
	switch keep := time.Duration(length); {
	case keep > longest:
		return fmt.Errorf("%s is more than 100 years: leave the rule out to keep payloads for ever", text)
	case keep == 0 && class == landscape.SourceClass:
		return fmt.Errorf("%s would purge source records as soon as their run has ended: give a period above 0, such as 1h", text)
	case keep == 0 && class == landscape.DebuggingClass:
		return fmt.Errorf("%s would drop events before anybody reads them: give a period above 0, such as 1h", text)
	default:
		r[class] = keep
		return nil
	}
}

// Of does what a Ruler does: whatever the pipeline, its document can only lengthen the rules.
func (r Rules) Of(_ string, document map[landscape.Class]time.Duration) Rules {
	if document == nil {
		return r
	}
	longer := Rules{}
	for class, keep := range r {
		longer[class] = max(keep, document[class])
	}
	return longer
}

// String returns the rules as a JSON object of lengths of time in whole seconds, as an order to purge records them.
func (r Rules) String() string {
	seconds := map[landscape.Class]int64{}
	for class, keep := range r {
		seconds[class] = int64(keep / time.Second)
	}
	text, _ := json.Marshal(seconds) // of words and numbers
	return string(text)
}
