package migrate

import (
	"time"

	"engramd/nips/unit"
)

var testStamp = unit.Stamp{Now: time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC), Source: "import:test", Most: unit.External}
