package api

// ContractVersion is the version of the requests and replies. A new member or request leaves it; what a client of an earlier one
// could not read, or would read wrongly, raises it. It stands in $SRV.INFO.
const ContractVersion = "1"

// Name of the micro service.
const Name = "precis"

// ThreadsList is the subject of a request about all threads.
const ThreadsList = Name + ".threads.list"

// Subjects of requests, each before the token of the thread or summary that it is about.
const (
	ThreadGet       = Name + ".thread.get."
	ThreadContext   = Name + ".thread.context."
	ThreadSummarize = Name + ".thread.summarize."
	MessageGet      = Name + ".message.get."
	SummaryGet      = Name + ".summary.get."
)

// Formats of a prompt.
const (
	FormatMessages  = "messages" // precis's own: the messages as events have them
	FormatOpenAI    = "openai"
	FormatResponses = "responses"
	FormatAnthropic = "anthropic"
	FormatGemini    = "gemini"
)
