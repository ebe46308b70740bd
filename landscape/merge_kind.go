package landscape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/pipeline"
)

// MergeKind is one way in which a coalesce decided about the branches of a fork parent.
type MergeKind struct {
	Node       string // the coalesce
	Policy     string // pipeline.RequireAll, Quorum, BestEffort or First
	Merge      string // pipeline.Union, Nested or SelectBranch
	Quorum     int64  // of pipeline.Quorum: how many branches are enough; else 0
	Timeout    time.Duration
	Expected   []string     // branches, in declared order
	Arrived    []string     // in order of arrival
	Lost       []LostBranch // in the order in which they were lost
	NotNeeded  []string     // expected branches that the decision did not wait for
	FiredBy    string       // all, quorum, first, lost, timeout, end
	Collisions []string     // fields on which branches disagreed
	Origins    []FieldOrigin
	Result     MergeResult
	Code       string // why the merged token was refused; empty unless Result is MergeRejected
}

// LostBranch is a branch that never arrived, and the path on which its token ended.
type LostBranch struct {
	Branch string
	Reason pipeline.Path
}

// FieldOrigin says from which branch a field of the merged row has its value.
type FieldOrigin struct {
	Field, Branch string
}

// ID returns the kind's id: 16 hex digits. It depends on everything in k.
func (k MergeKind) ID() string {
	r := k.columns("")
	return shortHash(encode([]any{
		r.Node, r.Policy, r.Merge, k.Quorum, k.Timeout.Milliseconds(), r.Expected, r.Arrived, r.Lost, r.NotNeeded, r.FiredBy,
		r.Collisions, r.Origins, r.Result, r.Code,
	}))
}

// record returns the kind as it is stored.
func (k MergeKind) record(run string) MergeKindRecord {
	r := k.columns(run)
	r.Kind = k.ID()
	return r
}

func (k MergeKind) columns(run string) MergeKindRecord {
	lost, origins := make([][2]string, len(k.Lost)), make([][2]string, len(k.Origins))
	for i, l := range k.Lost {
		lost[i] = [2]string{l.Branch, string(l.Reason)}
	}
	for i, o := range k.Origins {
		origins[i] = [2]string{o.Field, o.Branch}
	}
	r := MergeKindRecord{
		Run: run, Node: k.Node, Policy: k.Policy, Merge: k.Merge, Expected: encodeList(k.Expected), Arrived: encodeList(k.Arrived),
		Lost: encodeObject(lost), NotNeeded: encodeList(k.NotNeeded), FiredBy: k.FiredBy, Collisions: encodeList(k.Collisions),
		Origins: encodeObject(origins), Result: k.Result, Code: k.Code,
	}
	if k.Quorum > 0 {
		r.Quorum = &k.Quorum
	}
	if k.Timeout > 0 {
		ms := k.Timeout.Milliseconds()
		r.TimeoutMS = &ms
	}
	return r
}

// kind returns what is stored in r. Lists that hold nothing are nil.
func (r MergeKindRecord) kind() (MergeKind, error) {
	k := MergeKind{Node: r.Node, Policy: r.Policy, Merge: r.Merge, FiredBy: r.FiredBy, Result: r.Result, Code: r.Code}
	if r.Quorum != nil {
		k.Quorum = *r.Quorum
	}
	if r.TimeoutMS != nil {
		k.Timeout = time.Duration(*r.TimeoutMS) * time.Millisecond
	}
	lists := map[*[]string]string{&k.Expected: r.Expected, &k.Arrived: r.Arrived, &k.NotNeeded: r.NotNeeded, &k.Collisions: r.Collisions}
	for list, text := range lists {
		if err := json.Unmarshal([]byte(text), list); err != nil {
			return MergeKind{}, incomplete("merge kind %s: %v", r.Kind, err)
		}
		*list = slices.Clip(append([]string(nil), *list...))
	}
	lost, err := decodeObject(r.Lost)
	if err != nil {
		return MergeKind{}, incomplete("merge kind %s: %v", r.Kind, err)
	}
	for _, pair := range lost {
		k.Lost = append(k.Lost, LostBranch{pair[0], pipeline.Path(pair[1])})
	}
	origins, err := decodeObject(r.Origins)
	if err != nil {
		return MergeKind{}, incomplete("merge kind %s: %v", r.Kind, err)
	}
	for _, pair := range origins {
		k.Origins = append(k.Origins, FieldOrigin{pair[0], pair[1]})
	}
	return k, nil
}

// check refuses a kind that cannot be.
func (k MergeKind) check() error {
	seen := map[string]bool{}
	for _, branch := range slices.Concat(k.Arrived, k.lostBranches(), k.NotNeeded) {
		if seen[branch] || !slices.Contains(k.Expected, branch) {
			return fmt.Errorf("merge at %s: branch %s is there twice, or not expected", k.Node, branch)
		}
		seen[branch] = true
	}
	for _, o := range k.Origins {
		if !slices.Contains(k.Arrived, o.Branch) {
			return fmt.Errorf("merge at %s: field %s comes from branch %s, which did not arrive", k.Node, o.Field, o.Branch)
		}
	}
	switch {
	case k.Node == "" || k.Policy == "" || k.Merge == "" || k.FiredBy == "" || k.Result == "" || len(k.Expected) == 0:
		return fmt.Errorf("merge at %s: node, policy, merge, fired_by, result or branches are missing", k.Node)
	case (k.Policy == pipeline.Quorum) != (k.Quorum > 0):
		return fmt.Errorf("merge at %s: policy %s with a quorum of %d", k.Node, k.Policy, k.Quorum)
	case (k.Result == MergeNothing) != (len(k.Arrived) == 0):
		return fmt.Errorf("merge at %s: result %s of %d branches", k.Node, k.Result, len(k.Arrived))
	case (k.Result == MergeRejected) != (k.Code != ""):
		return fmt.Errorf("merge at %s: result %s with the code %q", k.Node, k.Result, k.Code)
	}
	return nil
}

func (k MergeKind) lostBranches() []string {
	names := make([]string, len(k.Lost))
	for i, l := range k.Lost {
		names[i] = l.Branch
	}
	return names
}

// encode returns v as compact JSON without escapes that JSON does not ask for. v is made of texts and numbers.
func encode(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("texts and numbers cannot be encoded: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// encodeList returns a JSON array; nil is an empty one.
func encodeList(list []string) string {
	if list == nil {
		list = []string{}
	}
	return string(encode(list))
}

// encodeObject returns a JSON object with the names in the order of the pairs.
func encodeObject(pairs [][2]string) string {
	object := []byte("{")
	for i, pair := range pairs {
		if i > 0 {
			object = append(object, ',')
		}
		object = append(append(append(object, encode(pair[0])...), ':'), encode(pair[1])...)
	}
	return string(append(object, '}'))
}

// decodeObject returns the names and texts of a JSON object in their order.
func decodeObject(text string) ([][2]string, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("no object: %.60q", text)
	}
	var pairs [][2]string
	for decoder.More() {
		var pair [2]string
		for i := range pair {
			word, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			pair[i], _ = word.(string)
		}
		pairs = append(pairs, pair)
	}
	_, err := decoder.Token()
	return pairs, err
}
