package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tools speak their user's language: these tables cover failures in the languages with the most gettext translations
// (de, es, fr, it, ja, ko, nl, pl, pt, ru, tr, zh). Warnings don't count, as in English.

// errorNames are the words for an error, a fatal one, a failure, in lower case.
var errorNames = []string{
	"fehler", "schwerwiegend", "fehlgeschlagen", "erreur", "échec", "fallo", "falló", "errore", "fatale", "erro", "falha", "falhou",
	"ошибка", "сбой", "błąd", "fout", "mislukt", "hata", "hatası", "onulmaz", "ölümcül", "başarısız",
}

// errorEnds are endings of compounds: "Syntaxfehler".
var errorEnds = []string{"fehler", "fout"}

// errorSigns are such words in scripts without spaces, where other words adjoin them: "致命错误".
var errorSigns = []string{"エラー", "失敗", "致命", "错误", "錯誤", "失败", "오류", "에러", "실패"}

// errorPhrases are for languages that share "error" with English.
var errorPhrases = []string{
	"error fatal", "error grave", "error interno", "error crítico", "error sintáctico", "error de ", "error del ", "error al ", "error en ",
}

// fatalForms are the French spacings before the colon.
var fatalForms = []string{"fatal :", "fatal\u00a0:", "fatal\u202f:"}

// systemErrors are the commonest messages of the system and the shell: no such file, no permission, no such command.
var systemErrors = []string{
	"Datei oder Verzeichnis nicht gefunden", "Keine Berechtigung", "Kommando nicht gefunden", "Befehl nicht gefunden",
	"Aucun fichier ou dossier de ce", "Permission non accordée", "commande introuvable",
	"No existe el fichero o el directorio", "No existe el archivo o el directorio", "Permiso denegado", "orden no encontrada",
	"File o directory non esistente", "Permesso negato", "comando non trovato",
	"Arquivo ou diretório inexistente", "Ficheiro ou pasta inexistente", "Permissão negada", "Permissão recusada", "comando não encontrado",
	"そのようなファイルやディレクトリはありません", "許可がありません", "コマンドが見つかりません",
	"没有那个文件或目录", "沒有此一檔案或目錄", "权限不够", "未找到命令", "指令找不到",
	"Нет такого файла или каталога", "Отказано в доступе", "команда не найдена",
	"그런 파일이나 디렉터리가 없습니다", "허가 거부", "명령어를 찾을 수 없음", "명령을 찾을 수 없음",
	"Nie ma takiego pliku ani katalogu", "Brak dostępu", "nie znaleziono polecenia",
	"Bestand of map bestaat niet", "Toegang geweigerd", "opdracht niet gevonden",
	"Böyle bir dosya ya da dizin yok", "Erişim engellendi", "komut yok", "komut bulunamadı",
}

// wordsAbroad returns all these words for errorWords: names and phrases as given, capitalized and in upper case.
func wordsAbroad() []anchored {
	var words []anchored
	add := func(word string, tells uint8) { words = append(words, anchored{word, rarest(word), tells}) }
	cased := func(word string) {
		_, first := utf8.DecodeRuneInString(word)
		for _, form := range []string{word, strings.ToUpper(word[:first]) + word[first:], strings.ToUpper(word)} {
			add(form, wordAbroad)
		}
	}
	for _, word := range slices.Concat(errorNames, errorEnds, errorPhrases, fatalForms) {
		cased(word)
	}
	for _, sign := range errorSigns {
		add(sign, wordAbroad)
	}
	for _, message := range systemErrors {
		add(message, messageAbroad)
	}
	return words
}

// rarest returns the start of the two adjacent bytes of a word that are the rarest in texts.
func rarest(word string) int {
	const common = " etaoinsrhldcumfpgwybvkxjqz" // most common first
	rarity := func(c byte) int {
		if i := strings.IndexByte(common, c); i >= 0 {
			return i
		}
		return len(common)
	}
	best := 0
	for i := range len(word) - 1 {
		if rarity(word[i])+rarity(word[i+1]) > rarity(word[best])+rarity(word[best+1]) {
			best = i
		}
	}
	return best
}

// isFailureAbroad is isFailure for other languages: the word begins the line after at most two other words, or the part
// after a colon.
func isFailureAbroad(text string) bool {
	if strings.HasPrefix(text, "0 ") {
		return false
	}
	begins := func(rest string) bool {
		return beginsFailureAbroad(rest) && !endsWithNone(text[:len(text)-len(rest)], 2) // "keine anderen Fehler"
	}
	if startsWith(text, begins) {
		return true
	}
	for at := strings.Index(text, ": "); at >= 0; at = next(text, ": ", at) {
		clause := text[at+2:]
		if begins(clause) {
			return true
		}
		if rest, ok := behindField(clause); ok && begins(rest) { // "schwerwiegender Fehler:"
			return true
		}
	}
	return false
}

// beginsFailureAbroad matches "Fehler: x", "erreur fatale : x", "[エラー] x" and "ОШИБКА x".
func beginsFailureAbroad(text string) bool {
	bare := strings.TrimLeft(text, "[(<*【「")
	end := strings.IndexFunc(bare, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(bare)
	}
	word, rest := bare[:end], bare[end:]
	switch {
	case word == "":
		return false
	case strings.EqualFold(word, "error"):
		return slices.ContainsFunc(errorPhrases, func(p string) bool { return len(bare) > len(p) && strings.EqualFold(bare[:len(p)], p) }) && leadsToMessage(rest)
	case strings.EqualFold(word, "fatal"):
		return strings.HasPrefix(strings.TrimLeftFunc(rest, unicode.IsSpace), ":")
	case !isErrorName(word), saysNone(strings.TrimLeftFunc(rest, isColon)), isDeclared(word, rest, len(bare) < len(text)):
		return false
	case len(bare) < len(text) && strings.IndexAny(rest, "])>*】」") == 0:
		return true
	case strings.ToLower(word) != word && strings.ToUpper(word) == word:
		return rest == "" || rest[0] >= utf8.RuneSelf || !wordByte[rest[0]]
	}
	return leadsToMessage(rest)
}

func isErrorName(word string) bool {
	low := strings.ToLower(word)
	if slices.ContainsFunc(noSigns, func(no string) bool { return strings.Contains(low, no) }) {
		return false
	}
	return slices.Contains(errorNames, low) ||
		slices.ContainsFunc(errorEnds, func(end string) bool { return strings.HasSuffix(low, end) }) ||
		slices.ContainsFunc(errorSigns, func(sign string) bool { return strings.Contains(word, sign) })
}

// leadsToMessage reports whether such a word is followed by an error message: at most a few words, a colon, and a
// message; an error measure has a number there.
func leadsToMessage(rest string) bool {
	const words = 6
	n := 0
	for i, r := range rest {
		switch {
		case r == ' ':
			n++
		case strings.ContainsRune(",.;?!。，、", r) && (i+1 == len(rest) || rest[i+1] == ' ' || r >= utf8.RuneSelf):
			return false
		case r == '：', r == ':' && (i+1 == len(rest) || strings.IndexByte(spaces, rest[i+1]) >= 0):
			message := rest[i+utf8.RuneLen(r):]
			return !isMeasured(message) && !saysNone(message) && !endsWithNone(rest[:i], 1) // "hata yok: …"
		}
		if n > words || i > longest/2 {
			return false
		}
	}
	return false
}

// isMeasured matches one or several numbers: "0", "0,03 %", "1.2e-05", "12 (2.4%)", "0/12".
func isMeasured(text string) bool {
	const longestMeasure = 100
	text = strings.TrimSpace(text)
	return text != "" && len(text) <= longestMeasure && (isDigit(text[0]) || len(text) > 1 && text[0] == '-' && isDigit(text[1])) && strings.Trim(text, "0123456789.,:%+-/()eE ") == ""
}

// noneWords mean "none" in the languages above and in English, in lower case.
var noneWords = []string{
	"none", "nothing", "nil", "null", "undefined", "false", "n/a", "zero", "0", "0%", "{}", "[]", "keine", "kein", "keiner", "keinen", "aucune", "aucun", "nessuno", "nessuna",
	"nessun", "ninguno", "ninguna", "ningún", "nenhum", "nenhuma", "geen", "yok", "brak", "нет", "なし", "無し", "ありません", "无", "無", "没有", "沒有", "없음", "없습니다",
}

// noSigns are the same in scripts that don't separate words.
var noSigns = []string{
	"エラーなし", "エラー無し", "エラーはありません", "失敗なし", "无错误", "無錯誤", "没有错误", "沒有錯誤", "无致命", "无失败", "没有失败", "沒有失敗", "오류없음", "에러없음", "실패없음",
}

// saysNone reports whether a text means only "none".
func saysNone(text string) bool {
	const longestNone = 40
	if len(text) > longestNone {
		return false
	}
	text = strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("()<>|.!。！-\"'`", r) })
	return text != "" && slices.Contains(noneWords, strings.ToLower(text))
}

// endsWithNone reports whether such a word, other than a number, is among the last n of a text.
func endsWithNone(text string, n int) bool {
	for range n {
		text = strings.TrimRight(text, spaces)
		at := strings.LastIndexAny(text, spaces) + 1
		word := text[at:]
		switch {
		case word == "" || isDigit(word[0]) || strings.ContainsAny(word[len(word)-1:], ",;.:!?"):
			return false
		case saysNone(word):
			return true
		}
		text = text[:at]
	}
	return false
}

// isColon matches what separates an error's name from its message.
func isColon(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(":：])>*】」", r) }

// isDeclared matches a name that code declares, in Portuguese or Italian: "erro: string;", "errore: any)"; but not one
// in brackets together with its message: "(errore: timeout)".
func isDeclared(word, rest string, bracketed bool) bool {
	if bracketed {
		rest = strings.TrimSuffix(rest, ")")
	}
	first, _ := utf8.DecodeRuneInString(word)
	return unicode.IsLower(first) && declared.MatchString(rest)
}

var declared = regexp.MustCompile(`^\??: ?[\w.$<>\[\]]+(?: ?[|=] ?[\w.$<>\[\]'"]+)*(?:[;,{]$|\)$|\) ?(?:[{:;]|=>))`)
