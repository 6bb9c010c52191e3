package rules

import "strings"

// If the messages of a compiler, a linter or a test run do not all fit, the places of the others are listed: `store.go:12`.

// leastPlaces is how many messages are few enough to be shown.
const leastPlaces = 5

// diagnosedPlaces are the places that a command's messages are about, each by the name of its file.
func (d *document) diagnosedPlaces() []landmark {
	var list []landmark
	seen := map[string]bool{}
	for i := range d.lines {
		l := &d.lines[i]
		if !l.starts || !l.located && !hasPlace(l.text) {
			continue
		}
		if name := d.placeOf(i); name != "" && !seen[name] && len(list) < mostLandmarks {
			seen[name] = true
			list = append(list, landmark{line: i, name: name, worth: placeWorth, place: true})
		}
	}
	if len(list) < leastPlaces {
		return nil
	}
	return list
}

// placeOf returns the file's name and the line that a message is about; empty if the line is none.
func (d *document) placeOf(i int) string {
	if l := &d.lines[i]; l.located {
		path := d.groups[l.group]
		return path[strings.LastIndexByte(path, '/')+1:] + ":" + itoa(l.number)
	}
	return placeIn(d.lines[i].text)
}

// placeIn returns the file's name and the line in front of a message: "src/a.go:12:3: text", "src/a.ts(12,3): text".
func placeIn(text string) string {
	at := strings.IndexAny(text, ":( ")
	if at <= 0 || text[at] == ' ' || !namesFile(text[:at], '-') || placeEnd(text) == 0 {
		return ""
	}
	end := at + 1
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	return text[strings.LastIndexAny(text[:at], `/\\`)+1:at] + ":" + text[at+1:end]
}

// placesRoom is how much of the room the places take that no message shows, in characters: at most a third.
func (c *chooser) placesRoom(lines []int, room int) int {
	if len(c.doc.landmarks) == 0 || !c.doc.landmarks[0].place || c.doc.placeOf(c.doc.landmarks[0].line) == "" {
		return 0
	}
	need, left := 0, room
	for _, i := range lines {
		left -= min(c.cost(choice{line: i, end: len(c.doc.lines[i].text)}), clippedMessage)
	}
	if left >= 0 {
		return 0
	}
	for _, m := range c.doc.landmarks {
		need += runes(m.name) + 2
	}
	return min(need, room/3)
}
