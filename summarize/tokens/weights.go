package tokens

// weights are costs in thousandths of an o200k_base token.
type weights struct {
	wordAfterBlank, wordAfterLine, wordAfterTab, wordAfterDigit  int // a word's first letter
	wordAfterSign, wordAfterSigns, wordAfterWide                 int
	letter, letters, longWord                                    int // its 2nd to 4th, its 5th to 12th, each further
	hump, caps, smallAfterCaps                                   int // a capital within a word; each further capital
	signAfterWord, signAfterDigit, signAfterBlank, signAfterWide int
	secondSign, furtherSign                                      int
	blanks, tab, tabs                                            int // a second space; a tab; each further
	line, lineAfterSign, lineAfterBlank                          int // the first line break of several
	wide                                                         [16]int
}

// wideLeads are the first bytes from which on the characters beyond ASCII belong to another group.
var wideLeads = [...]byte{
	0xC0, // Latin with accents
	0xC6, // further Latin, IPA, marks
	0xCE, // Greek
	0xD0, // Cyrillic
	0xD4, // Armenian
	0xD7, // Hebrew
	0xD8, // Arabic
	0xDC, // Syriac and others
	0xE0, // scripts of South and Southeast Asia
	0xE1, // Georgian, Ethiopic and others
	0xE2, // signs, arrows, box drawing
	0xE3, // kana
	0xE4, // hanzi
	0xEA, // hangul
	0xEE, // private use, full width forms
	0xF0, // emoji
}

const wideArrow = wideFirst + 10 // 0xE2

// measured fits o200k_base's counts of the transcripts' texts over 200 bytes, and of samples of
// other scripts, encodings and data, by least squares of the relative error, with a pull towards
// round values where the texts say little. Within 5 % on half of all transcripts' texts and within
// 15 % on nine of ten, also on threads left out of the fit; further off on texts without words
// (random letters or signs: a third to a half too low).
var measured = weights{
	wordAfterBlank: 600, wordAfterLine: 620, wordAfterTab: 740, wordAfterDigit: 1160,
	wordAfterSign: 940, wordAfterSigns: 500, wordAfterWide: 760,
	letter: 165, letters: 40, longWord: 520,
	hump: 400, caps: 420, smallAfterCaps: 1060,
	signAfterWord: 400, signAfterDigit: 820, signAfterBlank: 960, signAfterWide: 1080,
	secondSign: 220, furtherSign: 380,
	blanks: 1480, tab: 1340, tabs: 20,
	line: 660, lineAfterSign: 0, lineAfterBlank: 480,
	wide: [...]int{720, 900, 440, 260, 800, 380, 340, 1200, 380, 1460, 500, 700, 660, 620, 1200, 2000},
}
