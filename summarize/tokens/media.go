package tokens

import "precis/events"

// Tokens of media as providers document them (docs/prompts.md names the pages). A message does not say which model it goes to: where a
// provider's models differ, the dearer count is taken, since a budget that is too small is an error of the request.
const (
	// OpenAI, "Images and vision". By tiles: fitted into 2048 x 2048, then the short side into 768, 170 for each tile of 512 x 512 and
	// 85 besides; in low detail, 85. By patches: one for each 32 x 32, 1,536 at most.
	openAIBase, openAITile             = 85, 170
	openAILong, openAIShort            = 2048, 768
	openAISide, openAIPatch, openAIMax = 512, 32, 1536
	// Anthropic, "Vision": one for each patch of 28 x 28, of an image fitted into a long side of 2576 and 4,784 tokens.
	anthropicPatch, anthropicLong, anthropicMax = 28, 2576, 4784
	// Gemini, "Media resolution": 1,120 for an image, 560 for a page, by default; "Understand and count tokens", of earlier models: 258
	// a tile of 768 x 768.
	geminiImage, geminiPage, geminiTile, geminiSide = 1120, 560, 258, 768
	// A page of a document is its text and an image of it. Anthropic's "PDF support" says 1,500 to 3,000 for the text.
	pageTokens = 3000
	// Audio: Gemini counts 32 tokens a second, OpenAI 10. Video: Gemini, 70 a frame, one frame a second, and its audio.
	geminiAudio, otherAudio, videoFrame = 32, 10, 70
)

// How many bytes a second of a recording and a page of a document take, and how long one is whose data is elsewhere.
const (
	audioSecond = 16 << 10  // 128 kbit
	videoSecond = 128 << 10 // 1 Mbit
	pageBytes   = 50 << 10  // of scans and of text alike, in the middle
	elsewhere   = 60        // seconds
)

// Media is what an image, a document or a recording takes in a prompt of a shape, by its size where that is known, else by
// that of a common one.
func Media(m *events.Media, shape events.Shape) int {
	switch m.Kind {
	case events.MediaImage:
		return imageTokens(m, shape)
	case events.MediaAudio:
		if shape == events.ShapeGemini {
			return seconds(m, audioSecond) * geminiAudio
		}
		return seconds(m, audioSecond) * otherAudio
	case events.MediaVideo:
		return seconds(m, videoSecond) * (videoFrame + geminiAudio)
	}
	if m.Plain != "" {
		return 1 + len(m.Plain)/4
	}
	pages := m.Pages
	if pages == 0 {
		pages = 1 + m.Bytes()/pageBytes
	}
	if shape == events.ShapeGemini {
		return pages * geminiPage
	}
	return pages * pageTokens
}

func seconds(m *events.Media, bytes int) int {
	if m.Bytes() == 0 {
		return elsewhere
	}
	return 1 + m.Bytes()/bytes
}

func imageTokens(m *events.Media, shape events.Shape) int {
	w, h := m.Width, m.Height
	if w <= 0 || h <= 0 {
		w, h = 1024, 1024
	}
	w, h = min(w, 1<<16), min(h, 1<<16)
	switch shape {
	case events.ShapeOpenAI, events.ShapeResponses:
		if m.Detail == "low" {
			return openAIBase
		}
		patches := min(tiles(w, openAIPatch)*tiles(h, openAIPatch), openAIMax)
		w, h = fitSide(w, h, max(w, h), openAILong)
		w, h = fitSide(w, h, min(w, h), openAIShort)
		return max(patches, openAIBase+openAITile*tiles(w, openAISide)*tiles(h, openAISide))
	case events.ShapeGemini:
		return max(geminiImage, geminiTile*tiles(w, geminiSide)*tiles(h, geminiSide))
	}
	w, h = fitSide(w, h, max(w, h), anthropicLong)
	return min(tiles(w, anthropicPatch)*tiles(h, anthropicPatch), anthropicMax)
}

// fitSide scales an image down so that one of its sides is at most so long.
func fitSide(w, h, side, most int) (int, int) {
	if side <= most {
		return w, h
	}
	return max(1, w*most/side), max(1, h*most/side)
}

func tiles(length, tile int) int { return (length + tile - 1) / tile }
