package broker

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestProvisionMakesTheStreams(t *testing.T) {
	b := openBroker(t)
	ctx := testContext(t)
	spec := StreamSpec{Partitions: 16}

	_, err := Provision(ctx, b.JetStream(), StreamSpec{Partitions: 16, CheckOnly: true})
	require.ErrorIs(t, err, ErrStreamMissing)

	made, err := Provision(ctx, b.JetStream(), spec)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), made.Created[StreamEvents], time.Minute)

	again, err := Provision(ctx, b.JetStream(), StreamSpec{Partitions: 16, CheckOnly: true})
	require.NoError(t, err)
	require.Equal(t, made, again)
}

func TestProvisionIsStoredAsPartitionTypeThread(t *testing.T) {
	b := provisioned(t, 16)
	r := NewLogReader(b.JetStream(), StreamEvents)
	for _, c := range []struct{ subject, stored string }{
		{"thread.message.t1", `^\d+\.thread\.message\.t1$`},
		{"tool.result.t1", `^\d+\.tool\.result\.t1$`},
		{"message.edited.a=2Eb", `^\d+\.message\.edited\.a=2Eb$`},
		{"thread.message.*", `^thread\.message\.\*$`},
		{"tool.result.>", `^tool\.result\.>$`},
	} {
		m, err := r.Get(testContext(t), publish(t, b, c.subject, c.subject))
		require.NoError(t, err)
		require.Regexp(t, c.stored, m.Subject)
		require.Equal(t, c.subject, string(m.Data))
	}
}

func TestOneThreadIsOnePartition(t *testing.T) {
	b := provisioned(t, 16)
	r := NewLogReader(b.JetStream(), StreamEvents)
	partition := map[string]bool{}
	for _, subject := range []string{"thread.message.t7", "tool.result.t7", "message.edited.t7"} {
		m, err := r.Get(testContext(t), publish(t, b, subject, "x"))
		require.NoError(t, err)
		partition[m.Subject[:len(m.Subject)-len(subject)]] = true
	}
	require.Len(t, partition, 1)
}

func TestEventsDuplicateWindowIsTheShortest(t *testing.T) {
	b := provisioned(t, 1)
	info, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	c := info.CachedInfo().Config
	require.Equal(t, 100*time.Millisecond, c.Duplicates)
	for _, window := range []time.Duration{99 * time.Millisecond, 1, -1} {
		c.Duplicates = window
		_, err = b.JetStream().UpdateStream(testContext(t), c)
		require.Error(t, err, "the server allows a window of %s: use it", window)
	}
	c.Duplicates = 0
	info, err = b.JetStream().UpdateStream(testContext(t), c)
	require.NoError(t, err)
	require.Equal(t, 2*time.Minute, info.CachedInfo().Config.Duplicates, "0 turns the window off: use it")
}

// A reused Nats-Msg-Id costs an event only within the duplicate window.
func TestAReusedMsgIDIsStoredBehindTheWindow(t *testing.T) {
	b := provisioned(t, 1)
	send := func(body string) *jetstream.PubAck {
		msg := nats.NewMsg("tool.result.t1")
		msg.Header.Set(nats.MsgIdHdr, "mine")
		msg.Data = []byte(body)
		ack, err := b.JetStream().PublishMsg(testContext(t), msg)
		require.NoError(t, err)
		return ack
	}
	first, ctx := send("1"), testContext(t)
	for second := send("2"); second.Sequence == first.Sequence; second = send("2") {
		require.True(t, second.Duplicate)
		require.NoError(t, ctx.Err())
	}
	m, err := NewLogReader(b.JetStream(), StreamEvents).Get(ctx, first.Sequence+1)
	require.NoError(t, err)
	require.Equal(t, "2", string(m.Data))
}

func TestProvisionRefusesWhatWouldLoseEvents(t *testing.T) {
	events := func(edit func(*jetstream.StreamConfig)) func([]jetstream.StreamConfig) jetstream.StreamConfig {
		return func(c []jetstream.StreamConfig) jetstream.StreamConfig { edit(&c[0]); return c[0] }
	}
	summaries := func(edit func(*jetstream.StreamConfig)) func([]jetstream.StreamConfig) jetstream.StreamConfig {
		return func(c []jetstream.StreamConfig) jetstream.StreamConfig { edit(&c[1]); return c[1] }
	}
	type config = jetstream.StreamConfig
	for name, c := range map[string]struct {
		make    func([]config) config
		setting string
	}{
		"max_msgs":             {events(func(c *config) { c.MaxMsgs = 10 }), "max_msgs"},
		"max_bytes":            {events(func(c *config) { c.MaxBytes = 1 << 20 }), "max_bytes"},
		"discard new":          {events(func(c *config) { c.MaxMsgs, c.Discard = 10, jetstream.DiscardNew }), "max_msgs"},
		"max_age":              {events(func(c *config) { c.MaxAge = time.Hour }), "max_age"},
		"max_msg_size":         {events(func(c *config) { c.MaxMsgSize = 1000 }), "max_msg_size"},
		"max_msgs_per_subject": {events(func(c *config) { c.MaxMsgsPerSubject = 1 }), "max_msgs_per_subject"},
		"memory":               {events(func(c *config) { c.Storage = jetstream.MemoryStorage }), "storage"},
		"workqueue":            {events(func(c *config) { c.Retention = jetstream.WorkQueuePolicy }), "retention"},
		"interest":             {events(func(c *config) { c.Retention = jetstream.InterestPolicy }), "retention"},
		"no transform":         {events(func(c *config) { c.SubjectTransform = nil }), "subject_transform"},
		"another N":            {events(func(c *config) { c.SubjectTransform.Destination = transformTarget(8) }), "subject_transform"},
		"subject missing":      {events(func(c *config) { c.Subjects = c.Subjects[1:] }), "subjects"},
		"sealed":               {events(func(c *config) { c.Sealed = true }), "sealed"},
		"duplicates":           {events(func(c *config) { c.Duplicates = time.Minute }), "duplicate_window"},
		"rollup":               {events(func(c *config) { c.AllowRollup = true }), "allow_rollup_hdrs"},
		"message ttl":          {events(func(c *config) { c.AllowMsgTTL = true }), "allow_msg_ttl"},
		"no ack":               {events(func(c *config) { c.NoAck = true }), "no_ack"},
		"async persistence":    {events(func(c *config) { c.AllowAtomicPublish, c.PersistMode = false, jetstream.AsyncPersistMode }), "persist_mode"},
		"schedules":            {events(func(c *config) { c.AllowMsgSchedules = true }), "allow_msg_schedules"},
		"sources": {events(func(c *config) {
			c.Sources = []*jetstream.StreamSource{{Name: "OTHER"}}
		}), "sources"},
		"mirror": {events(func(c *config) {
			*c = config{Name: c.Name, Mirror: &jetstream.StreamSource{Name: "OTHER"}}
		}), "mirror"},
		"summaries moved": {summaries(func(c *config) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: ">", Destination: "moved.>"}
		}), "subject_transform"},
		"summaries expire": {summaries(func(c *config) { c.MaxAge = time.Hour }), "max_age"},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBroker(t)
			ctx := testContext(t)
			_, err := b.JetStream().CreateStream(ctx, config{Name: "OTHER", Subjects: []string{"other"}})
			require.NoError(t, err)
			create(t, b.JetStream(), c.make(StreamSpec{Partitions: 16}.configs()))
			_, err = Provision(ctx, b.JetStream(), StreamSpec{Partitions: 16})
			require.ErrorIs(t, err, ErrStreamSettings)
			var s *SettingError
			require.ErrorAs(t, err, &s)
			require.Contains(t, err.Error(), ": "+c.setting+" is ")
			require.NotEmpty(t, s.Want)
			t.Log(err)
		})
	}
}

// create creates a stream with any settings: a stream can be sealed only afterwards.
func create(t *testing.T, js jetstream.JetStream, c jetstream.StreamConfig) {
	t.Helper()
	sealed := c.Sealed
	c.Sealed = false
	_, err := js.CreateStream(testContext(t), c)
	require.NoError(t, err)
	if sealed {
		c.Sealed = true
		_, err = js.UpdateStream(testContext(t), c)
		require.NoError(t, err)
	}
}

func TestProvisionAcceptsWhatLosesNothing(t *testing.T) {
	type config = jetstream.StreamConfig
	for name, c := range map[string]struct {
		edit func(*config)
		spec StreamSpec
	}{
		"as asked":           {func(*config) {}, StreamSpec{}},
		"republish":          {func(c *config) { c.RePublish = &jetstream.RePublish{Destination: "copy.>"} }, StreamSpec{}},
		"compressed":         {func(c *config) { c.Compression = jetstream.S2Compression }, StreamSpec{}},
		"no deletes":         {func(c *config) { c.DenyDelete, c.DenyPurge = true, true }, StreamSpec{}},
		"asked retention":    {func(c *config) { c.MaxAge = time.Hour }, StreamSpec{MaxAge: time.Hour}},
		"longer than asked":  {func(c *config) { c.MaxAge = 2 * time.Hour }, StreamSpec{MaxAge: time.Hour}},
		"kept for ever":      {func(*config) {}, StreamSpec{MaxAge: time.Hour}},
		"later first number": {func(c *config) { c.FirstSeq = 1000 }, StreamSpec{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBroker(t)
			events := StreamSpec{Partitions: 4}.configs()[0]
			c.edit(&events)
			_, err := b.JetStream().CreateStream(testContext(t), events)
			require.NoError(t, err)
			c.spec.Partitions = 4
			_, err = Provision(testContext(t), b.JetStream(), c.spec)
			require.NoError(t, err)
		})
	}
}
