package rules

import "errors"

// ErrDamaged is returned for bytes that Seen did not write.
var ErrDamaged = errors.New("damaged data")
