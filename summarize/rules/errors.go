package rules

import "errors"

// ErrDamaged is data that Seen did not write.
var ErrDamaged = errors.New("damaged data")
