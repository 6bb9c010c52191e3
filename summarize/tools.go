package summarize

// Tool says how rules summarize the outputs of one's own tools.
type Tool struct {
	// Match is a glob on the tool's name; "*" and "?" also match slashes.
	Match string `yaml:"match" json:"match"`
	// Category is the kind of the outputs; if empty, it is recognized by the call and the output.
	Category string `yaml:"category" json:"category,omitzero"`
	// Keep names what is shown first, Drop what is not shown: in JSON members by their names, or by names joined by dots; in other texts lines
	// by a part of them.
	Keep []string `yaml:"keep" json:"keep,omitempty"`
	Drop []string `yaml:"drop" json:"drop,omitempty"`
}

// ToolNamed returns what the policy says of a tool: the first entry of Tools that matches its name. It is the zero Tool if none does.
func (p *Policy) ToolNamed(name string) Tool {
	for _, t := range p.Tools {
		if matches(t.Match, name) {
			return t
		}
	}
	return Tool{}
}

// Categories are those that a Tool or a prompt can name.
var Categories = []string{
	"file_content", "search_results", "directory_listing", "command_output", "structured_data", "web_content", "write_result", "other",
}

// Bounds of Tools: every output is compared with each, and each of its lines with the texts.
const (
	mostTools     = 100
	mostToolTexts = 16  // in keep, and in drop
	longestText   = 100 // bytes
)
