package prompt

import "errors"

// ErrFormat is returned for a format that is none of the Format… constants.
var ErrFormat = errors.New("unknown prompt format")
