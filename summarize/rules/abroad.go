package rules

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tools speak their user's language: this knows failures in those that gettext's catalogues are translated to most
// often (de, es, fr, it, ja, ko, nl, pl, pt, ru, tr, zh). Warnings are none, as in English.

// errorNames are the words for an error, a fatal one, a failure, in lower case.
var errorNames = []string{
	"fehler", "schwerwiegend", "fehlgeschlagen", "erreur", "échec", "fallo", "falló", "errore", "fatale", "erro", "falha", "falhou",
	"ошибка", "сбой", "błąd", "fout", "mislukt", "hata", "hatası", "onulmaz", "ölümcül", "başarısız",
}

// errorEnds end compounds of them: "Syntaxfehler".
var errorEnds = []string{"fehler", "fout"}

// errorSigns are such words of scripts without spaces, where others stand right beside them: "致命错误".
var errorSigns = []string{"エラー", "失敗", "致命", "错误", "錯誤", "失败", "오류", "에러", "실패"}

// errorPhrases are for languages that share "error" with English.
var errorPhrases = []string{
	"error fatal", "error grave", "error interno", "error crítico", "error sintáctico", "error de ", "error del ", "error al ", "error en ",
}

// fatalForms are how French sets the colon.
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

// wordsAbroad are the words of all these, for errorWords: names and phrases as they are, with a capital and in capitals.
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

// rarest is where the two neighbours in a word begin that are the rarest in texts.
func rarest(word string) int {
	const common = " etaoinsrhldcumfpgwybvkxjqz" // the commonest first
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

// isFailureAbroad is isFailure for other languages: the word begins the line behind two others at most, or what
// follows a colon.
func isFailureAbroad(text string) bool {
	if strings.HasPrefix(text, "0 ") {
		return false
	}
	if startsWith(text, beginsFailureAbroad) {
		return true
	}
	for at := strings.Index(text, ": "); at >= 0; at = next(text, ": ", at) {
		clause := text[at+2:]
		if beginsFailureAbroad(clause) {
			return true
		}
		if rest, ok := behindField(clause); ok && beginsFailureAbroad(rest) { // "schwerwiegender Fehler:"
			return true
		}
	}
	return false
}

// beginsFailureAbroad tells "Fehler: x", "erreur fatale : x", "[エラー] x" and "ОШИБКА x".
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
	case !isErrorName(word):
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
	return slices.Contains(errorNames, low) ||
		slices.ContainsFunc(errorEnds, func(end string) bool { return strings.HasSuffix(low, end) }) ||
		slices.ContainsFunc(errorSigns, func(sign string) bool { return strings.Contains(word, sign) })
}

// leadsToMessage tells what follows such a word where it states an error: a few words at most, a colon, and a
// message; a measure of errors has a number there.
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
			return !isMeasured(rest[i+utf8.RuneLen(r):])
		}
		if n > words || i > longest/2 {
			return false
		}
	}
	return false
}

// isMeasured tells a number alone: "0", "0,03 %".
func isMeasured(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && isDigit(text[0]) && strings.Trim(text, "0123456789.,%+- ") == ""
}
