package calendar_test

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/pipeline/calendar"
)

func each(name string, values ...string) calendar.Dimension {
	return calendar.Dimension{Name: name, Values: values}
}

// namesOf lists slots by their names.
func namesOf(slots []calendar.Slot) (names []string) {
	for _, slot := range slots {
		names = append(names, slot.Name)
	}
	return names
}

func TestSlotsOfValues(t *testing.T) {
	s := schedule(t, calendar.Spec{Every: "day", ForEach: []calendar.Dimension{each("tenant", "umbrella", "a/b,c..d", "v1.2"), each("region", "eu", "Zürich =1")}})
	day := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	slots := slices.Collect(s.Slots(day, day.AddDate(0, 0, 2)))
	require.Equal(t, []string{
		"2026-11-21/region=eu,tenant=umbrella", "2026-11-21/region=eu,tenant=a%2Fb%2Cc%2E%2Ed", "2026-11-21/region=eu,tenant=v1.2",
		"2026-11-21/region=Z%C3%BCrich%20%3D1,tenant=umbrella", "2026-11-21/region=Z%C3%BCrich%20%3D1,tenant=a%2Fb%2Cc%2E%2Ed", "2026-11-21/region=Z%C3%BCrich%20%3D1,tenant=v1.2",
	}, namesOf(slots[:6]))
	require.Len(t, slots, 12)
	require.Equal(t, slots[0].Due, slots[5].Due)
	require.Equal(t, []calendar.Value{{Name: "region", Text: "Zürich =1"}, {Name: "tenant", Text: "a/b,c..d"}}, slots[4].Values())
	require.True(t, slots[4].Has([]calendar.Value{{Name: "tenant", Text: "a/b,c..d"}}))
	require.False(t, slots[4].Has([]calendar.Value{{Name: "tenant", Text: "umbrella"}}))
	require.Equal(t, slots[6:], s.Next(slots[6].Due))

	for _, name := range []string{"2026-11-21/tenant=a%2fb%2cc..d,region=Zürich%20%3D1", slots[4].Name} {
		found, err := s.Named(name)
		require.NoError(t, err)
		require.Equal(t, slots[4], found)
	}
	for name, want := range map[string]string{
		"2026-11-21":                                   `"2026-11-21" does not say for which region: write it as 2026-11-21/region=eu,tenant=umbrella`,
		"2026-11-21/region=eu":                         `"2026-11-21/region=eu" does not say for which tenant: write it as 2026-11-21/region=eu,tenant=umbrella`,
		"2026-11-21/region=eu,tenant=acme":             `the schedule has no slots for tenant "acme"`,
		"2026-11-21/region=eu,tennant=umbrella":        `slots of the schedule have no value "tennant"`,
		"2026-11-21/region=eu,region=eu,tenant=v1.2":   `"2026-11-21/region=eu,region=eu,tenant=v1.2" has a value twice: write it as 2026-11-21/region=eu,tenant=umbrella`,
		"2026-11-21/region=%zz":                        `"2026-11-21/region=%zz" is not the name of a slot: values are written as in 2026-11-21/tenant=acme, with %2C for a comma, %2F for a slash and %2E for one of several dots`,
		"2026-11-21/eu":                                `"2026-11-21/eu" is not the name of a slot: values are written as in 2026-11-21/tenant=acme, with %2C for a comma, %2F for a slash and %2E for one of several dots`,
		"2026-11-21/":                                  `"2026-11-21/" is not the name of a slot: values are written as in 2026-11-21/tenant=acme, with %2C for a comma, %2F for a slash and %2E for one of several dots`,
		"2026-13-21/region=eu,tenant=umbrella":         `"2026-13-21" is not the name of a slot: write it as 2026-11-21`,
		"2026-11-21T02:00/region=eu,tenant=umbrella":   `the schedule has no slot named 2026-11-21T02:00: the one that covers it is 2026-11-21`,
		"region=eu,tenant=umbrella":                    `"region=eu,tenant=umbrella" does not say for which time: write it as in 2026-11-21/region=eu,tenant=umbrella`,
		"2026-11-21/region=eu,tenant=umbrella/more=no": `the schedule has no slots for tenant "umbrella/more=no"`,
	} {
		_, err := s.Named(name)
		require.EqualError(t, err, want, name)
	}
	_, err := schedule(t, calendar.Spec{Every: "day"}).Named("2026-11-21/tenant=acme")
	require.EqualError(t, err, `slots of the schedule have no value "tenant"`)
}

func TestSlotsWithoutTime(t *testing.T) {
	s := schedule(t, calendar.Spec{Covers: "nothing", ForEach: []calendar.Dimension{each("tenant", "acme", "umbrella")}})
	now := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	require.False(t, s.Timed())
	require.Equal(t, []string{"tenant=acme", "tenant=umbrella"}, namesOf(s.Parts(now)))
	require.Equal(t, s.Parts(now), s.Next(now))
	require.Empty(t, slices.Collect(s.Due(now)), "it never fires")
	require.Empty(t, slices.Collect(s.Slots(now, now.AddDate(1, 0, 0))))
	_, found := s.Last(now)
	require.False(t, found)
	slot, err := s.Named("tenant=umbrella")
	require.NoError(t, err)
	require.Equal(t, "tenant=umbrella", slot.Name)
	require.True(t, slot.From.Before(slot.To))
	_, err = s.Named("2026-11-21/tenant=acme")
	require.EqualError(t, err, `"2026-11-21/tenant=acme" is not the name of a slot: those of the schedule have no time: write it as tenant=acme`)
}

// Values that nobody knows yet are taken, and have no slots else.
func TestOpenValues(t *testing.T) {
	s := schedule(t, calendar.Spec{Every: "day", ForEach: []calendar.Dimension{{Name: "tenant", Open: true}}})
	slot, err := s.Named("2026-11-21/tenant=acme")
	require.NoError(t, err)
	require.Equal(t, "2026-11-21/tenant=acme", slot.Name)
	require.Empty(t, slices.Collect(s.Due(slot.Due)))
	require.Empty(t, s.Next(slot.Due))
}

func TestProblemsOfValues(t *testing.T) {
	many := make([]string, 101)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	for want, spec := range map[string]calendar.Spec{
		`for_each: "Tenant" is not a name: use a to z, 0 to 9 and _, at most 63 characters, a letter first`:     {Every: "day", ForEach: []calendar.Dimension{each("Tenant", "a")}},
		`for_each: "date" is a word for the time of slots: choose another name`:                                 {Every: "day", ForEach: []calendar.Dimension{each("date", "a")}},
		`for_each.tenant: has no values: give at least one`:                                                     {Every: "day", ForEach: []calendar.Dimension{each("tenant")}},
		`for_each.tenant[1]: is empty: a slot has a value`:                                                      {Every: "day", ForEach: []calendar.Dimension{each("tenant", "a", "")}},
		`for_each.tenant[0]: "a\nb" is not a text of UTF-8 without control characters`:                          {Every: "day", ForEach: []calendar.Dimension{each("tenant", "a\nb")}},
		`for_each.tenant[0]: "\xff" is not a text of UTF-8 without control characters`:                          {Every: "day", ForEach: []calendar.Dimension{each("tenant", "\xff")}},
		`for_each.tenant[1]: "a" is listed twice`:                                                               {Every: "day", ForEach: []calendar.Dimension{each("tenant", "a", "a")}},
		`for_each.tenant[0]: has 201 bytes, and a value has at most 200`:                                        {Every: "day", ForEach: []calendar.Dimension{each("tenant", strings.Repeat("x", 201))}},
		`for_each: makes more than 1000 slots of one interval: a schedule has at most so many`:                  {Every: "day", ForEach: []calendar.Dimension{each("a", many...), each("b", many[:10]...)}},
		`covers: nothing is for slots without time, one for each value: add for_each, or write what they cover`: {Covers: "nothing"},
		"every: says something about time, and covers: nothing is for slots without time: leave it out\nat: says something about time, and covers: nothing is for slots without time: leave it out": {
			Every: "day", At: "02:00", Zone: "UTC", Covers: "nothing", ForEach: []calendar.Dimension{each("tenant", "a")}},
	} {
		_, err := calendar.New(spec)
		require.ErrorContains(t, err, want)
	}
}

// Whatever the values are, each has one slot in each interval, whose name is its own, is found, and has nothing that separates names.
func TestEveryValueHasOneSlotInEveryInterval(t *testing.T) {
	hours := map[string]time.Duration{"day": 200, "week": 1000, "hour": 30, "15m": 8} // in which there are some intervals
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 40, 200).Filter(func(s string) bool { return !strings.ContainsFunc(s, unicode.IsControl) })
		values := rapid.SliceOfNDistinct(text, 1, 8, func(s string) string { return s }).Draw(t, "values")
		plain := calendar.Spec{Every: rapid.SampledFrom(slices.Sorted(maps.Keys(hours))).Draw(t, "every"), Zone: "Europe/Berlin", Jitter: 10 * time.Minute}
		spec := plain
		spec.ForEach = []calendar.Dimension{{Name: "tenant", Values: values}, {Name: "n", Values: []string{"1", "2"}}}
		s, err := calendar.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		times, err := calendar.New(plain)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "from"), 0)
		to := from.Add(hours[plain.Every] * time.Hour)
		names := map[string]bool{}
		for slot := range s.Slots(from, to) {
			if names[slot.Name] || strings.Count(slot.Name, "/") != 1 || strings.Contains(slot.Name, "..") || strings.Count(slot.Name, ",") != 1 {
				t.Fatalf("the name %s", slot.Name)
			}
			names[slot.Name] = true
			found, err := s.Named(slot.Name)
			if err != nil || found != slot {
				t.Fatalf("%s is found as %v: %v", slot.Name, found, err)
			}
			if value, _ := slot.Value("tenant"); !slices.Contains(values, value) {
				t.Fatalf("%s is of %q", slot.Name, value)
			}
			if decoded, err := url.PathUnescape(slot.Part); err != nil || !strings.HasPrefix(decoded, "n=") {
				t.Fatalf("%s: %v", slot.Part, err)
			}
		}
		intervals := 0
		for slot := range times.Slots(from, to) {
			intervals++
			for _, other := range []string{"/", ","} {
				if strings.Contains(slot.Name, other) {
					t.Fatalf("a slot without values is named %s", slot.Name)
				}
			}
		}
		if len(names) != 2*len(values)*intervals {
			t.Fatalf("%d slots of %d values in %d intervals", len(names), 2*len(values), intervals)
		}
	})
}
