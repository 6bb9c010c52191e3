package broker

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Errors at start.
var (
	// ErrPortInUse: the embedded server's address is taken.
	ErrPortInUse = errors.New("address already in use")
	// ErrStoreDir: the embedded server's directory can't be created, written or locked.
	ErrStoreDir = errors.New("store directory not usable")
	// ErrUnreachable: no server answers at the URL.
	ErrUnreachable = errors.New("no server reachable")
	// ErrAuth: the server refused the credentials.
	ErrAuth = errors.New("credentials refused")
	// ErrNoJetStream: the server, or the account, has JetStream off.
	ErrNoJetStream = errors.New("JetStream not enabled")
	// ErrPayload: the server's max_payload is smaller than the largest record.
	ErrPayload = errors.New("max_payload too small")
	// ErrInvalidOptions: an option can't be used as given.
	ErrInvalidOptions = errors.New("invalid broker options")
)

// Errors of provisioning.
var (
	// ErrStreamMissing: a stream of the contract does not exist and may not be created.
	ErrStreamMissing = errors.New("stream missing")
	// ErrStreamSettings: a stream exists, but would lose events; see SettingError.
	ErrStreamSettings = errors.New("stream settings would lose events")
)

// ErrBroken: the embedded server could not write, and stores nothing more until it is restarted.
var ErrBroken = errors.New("embedded server can't write any more")

// Errors while consuming.
var (
	// ErrClosed: the Subscriber or Publisher is closed.
	ErrClosed = errors.New("closed")
	// ErrStreamLost: the stream was deleted, recreated or rolled back since it was read.
	ErrStreamLost = errors.New("stream lost")
	// ErrHandlerStuck: a handler did not finish within CloseTimeout; its lane's open batch was not flushed.
	ErrHandlerStuck = errors.New("handler still running at close")
	// ErrNoLeader: the stream has no leader now, so its end is unknown.
	ErrNoLeader = errors.New("stream has no leader")
	// ErrGone: the stream no longer holds the message (deleted, or past its retention).
	ErrGone = errors.New("message gone")
)

// Unanswered reports whether err says that no server has answered for a stream yet: it has no leader, or the servers are being
// restarted or can't be reached. The same request may be answered a moment later.
func Unanswered(err error) bool {
	var answer *jetstream.APIError
	if errors.As(err, &answer) {
		return answer.Code == http.StatusServiceUnavailable
	}
	return errors.Is(err, ErrNoLeader) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders)
}

// Errors of publishing. Every error other than ErrWrongLastSequence, ErrTooLarge and
// ErrRefused wraps ErrTransient: the same message may be published again under the
// same id.
var (
	// ErrWrongLastSequence: the expected last sequence did not match (JetStream error 10071 and related).
	ErrWrongLastSequence = errors.New("wrong last sequence")
	// ErrTooLarge: the message exceeds the server's or the stream's limit.
	ErrTooLarge = errors.New("message too large")
	// ErrRefused: the server refuses this message permanently.
	ErrRefused = errors.New("publish refused")
	// ErrBatchDuplicate: the server knows the Nats-Msg-Id of a message in an atomic batch, and stored none of it.
	ErrBatchDuplicate = fmt.Errorf("%w: known message id", ErrRefused)
	// ErrTransient: the message itself is not known to be at fault.
	ErrTransient = errors.New("publish not acknowledged")
)

// Reasons to recreate a consumer, and other internal signals.
var (
	errGap          = errors.New("gap in delivery")
	errSilent       = errors.New("no heartbeat")
	errBroken       = errors.New("consumer gone")
	errLags         = errors.New("replica lags behind the stream's leader")
	errReconnected  = errors.New("connection changed") // requests pending at the previous server are lost
	errNotJetStream = errors.New("message carries no JetStream reply subject")
	errStopping     = errors.New("stopping") // ends a lane's loop at Close
)

// portInUse says which address the embedded server could not listen on.
func portInUse(addr string) error {
	return fmt.Errorf("listen on %s: %w by another server or instance: stop it, use it (--nats), or give another address (nats.listen, --nats-listen)", addr, ErrPortInUse)
}

// SettingError names the setting of an existing stream that would lose events.
type SettingError struct {
	Stream  string // stream name
	Setting string // name in the server's stream configuration JSON
	Value   string // the current value
	Want    string // the required value, and what to do
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("stream %s: %s is %s: %s", e.Stream, e.Setting, e.Value, e.Want)
}

func (e *SettingError) Unwrap() error { return ErrStreamSettings }
