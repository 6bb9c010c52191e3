package broker

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"

	"github.com/nats-io/nats-server/v2/server"
)

// door authenticates clients of the embedded server: those with its credentials, if it has any, and the service, whose
// user may only publish replies.
type door struct {
	user, password, token string
	service               *server.User
}

func newDoor(o Options) *door {
	var replies []string
	for _, prefix := range o.ReplyPrefixes {
		replies = append(replies, prefix+".>")
	}
	return &door{user: o.User, password: o.Password, token: o.Token, service: &server.User{
		Username: "precis-service", Password: rand.Text(),
		Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: replies},
			Subscribe: &server.SubjectPermission{Allow: []string{"precis.>", "$SRV.>"}},
		},
	}}
}

// Check implements server.Authentication.
func (d *door) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	switch {
	case given.Username == d.service.Username && same(given.Password, d.service.Password):
		c.RegisterUser(d.service)
		return true
	case d.user != "" || d.password != "":
		return given.Username == d.user && same(given.Password, d.password)
	case d.token != "":
		return same(given.Token, d.token)
	default:
		return true
	}
}

// same compares secrets in constant time.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
