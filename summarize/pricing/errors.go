package pricing

import "errors"

// ErrTable is wrapped by every error that reading a price table gives.
var ErrTable = errors.New("invalid price table")
