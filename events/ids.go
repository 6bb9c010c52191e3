package events

import "crypto/rand"

// NewMessageID returns an id that no other message has: 26 random characters, of 130 bits.
func NewMessageID() string { return "msg_" + rand.Text() }

// NewEditID returns an id that no other edit has.
func NewEditID() string { return "edit_" + rand.Text() }
