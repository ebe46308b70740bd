package calendar

import (
	_ "embed"
	"strings"
)

//go:embed zones.txt
var zoneNames string

// Zones returns the names that a zone can have, in order.
func Zones() []string { return strings.Fields(zoneNames) }
