package fold

import "precis/events"

// report notes what the provider said about the prompt behind an assistant's message. It comes before anything that the message
// changes in prompts: the call's prompt still held the outputs that the message releases.
func (s *Step) report() {
	m := s.st.Message
	if !s.st.Changes.MessageNew || m.Role != events.RoleAssistant {
		return
	}
	in := s.in.Event.Message
	held := s.st.Header.TokensLive - m.Tokens()
	if s.f.HeldAt != nil {
		held = s.f.HeldAt(s.at.Seq, held)
	}
	s.st.Compaction.Report(m, in.Usage, in.Model, held)
}
