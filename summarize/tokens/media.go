package tokens

import "precis/events"

// Tokens of images as providers publish them.
const (
	// OpenAI, "Images and vision", for gpt-4o and later: an image is fitted into 2048 x 2048, then its short side into 768,
	// and takes 170 for each tile of 512 x 512 and 85 besides; in low detail, 85.
	openAIBase, openAITile = 85, 170
	// Anthropic, "Vision": width x height / 750, fitted into a long side of 1568 and some 1,600 tokens.
	anthropicArea, anthropicSide, anthropicMost = 750, 1568, 1600
	// Gemini, "Image understanding": 258 up to 384 x 384, else 258 a tile of 768 x 768.
	geminiTile = 258
	// A page of a document: Anthropic's "PDF support" says 1,500 to 3,000 for its text, and an image beside it; Gemini's
	// "Document understanding" says 258.
	pageTokens, geminiPage = 2250, 258
	// Audio: Gemini counts 32 tokens a second, OpenAI 10. A second of it is taken as 16 kB, which is 128 kbit.
	audioSecond, geminiAudio, otherAudio = 16000, 32, 10
)

// Media is what an image, a document or a recording takes in a prompt of a shape, by its size where that is known, else by
// that of a common one.
func Media(m *events.Media, shape events.Shape) int {
	switch m.Kind {
	case events.MediaImage:
		return imageTokens(m, shape)
	case events.MediaAudio, events.MediaVideo:
		seconds := max(1, m.Bytes()/audioSecond)
		if shape == events.ShapeGemini {
			return seconds * geminiAudio
		}
		return seconds * otherAudio
	}
	if m.Plain != "" {
		return len(m.Plain) / 4
	}
	pages := m.Pages
	if pages == 0 {
		const pageBytes = 50 << 10 // of scans and of text alike, in the middle
		pages = 1 + m.Bytes()/pageBytes
	}
	if shape == events.ShapeGemini {
		return pages * geminiPage
	}
	return pages * pageTokens
}

func imageTokens(m *events.Media, shape events.Shape) int {
	w, h := m.Width, m.Height
	if w <= 0 || h <= 0 {
		w, h = 1024, 1024
	}
	switch shape {
	case events.ShapeOpenAI, events.ShapeResponses:
		if m.Detail == "low" {
			return openAIBase
		}
		w, h = fitSide(w, h, max(w, h), 2048)
		w, h = fitSide(w, h, min(w, h), 768)
		return openAIBase + openAITile*tiles(w, 512)*tiles(h, 512)
	case events.ShapeGemini:
		if w <= 384 && h <= 384 {
			return geminiTile
		}
		return geminiTile * tiles(min(w, 1<<16), 768) * tiles(min(h, 1<<16), 768)
	}
	w, h = fitSide(w, h, max(w, h), anthropicSide)
	return min(max(w*h/anthropicArea, 1), anthropicMost)
}

// fitSide scales an image down so that one of its sides is at most so long.
func fitSide(w, h, side, most int) (int, int) {
	if side <= most {
		return w, h
	}
	return max(1, w*most/side), max(1, h*most/side)
}

func tiles(length, tile int) int { return (length + tile - 1) / tile }

// Unread is what the parts of a content take whose text is not in its Text: media, and what the model thought. Of encrypted
// reasoning it takes the size of what is encrypted.
func Unread(c events.Content) (n int) {
	for _, p := range c.Parts() {
		n += unread(p)
	}
	return n
}

func unread(p events.Part) (n int) {
	switch p.Kind {
	case events.PartMedia:
		return Media(p.Media, p.Shape)
	case events.PartReasoning:
		return Reasoning(p)
	case events.PartResult:
		for _, inner := range p.Result.Parts {
			n += unread(inner)
		}
	}
	return n
}

// Reasoning is what a part takes that the model thought.
func Reasoning(p events.Part) int {
	if p.Text != "" {
		return 1 + len(p.Text)/4
	}
	return 1 + len(p.Raw)*3/4/4 // base64 of some four bytes a token
}
