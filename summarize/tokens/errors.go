package tokens

import "errors"

// ErrUnknown is returned by For for a name that is none of Names.
var ErrUnknown = errors.New("unknown tokenizer")
