package events

import "crypto/rand"

// NewMessageID returns a unique message id: 26 random characters, 130 bits.
func NewMessageID() string { return "msg_" + rand.Text() }

// NewEditID returns a unique edit id.
func NewEditID() string { return "edit_" + rand.Text() }
