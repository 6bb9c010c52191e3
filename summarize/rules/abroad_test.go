package rules

import (
	"slices"
	"strings"
	"testing"
)

// TestErrorsAbroad: failures are recognized in other languages too.
func TestErrorsAbroad(t *testing.T) {
	for _, text := range []string{
		"ERREUR : connexion refusée", "posting.c:9:48: erreur : « missing_total » non déclaré", "x.c:1:10: erreur fatale\u00a0: x.h", "fatal\u00a0: ceci n'est pas un dépôt git",
		"Échec : 3 tests", "ls: impossible d'accéder à '/x': Aucun fichier ou dossier de ce type", "bash: ligne 1: foo\u00a0: commande introuvable",
		"FEHLER:  Relation »orders« existiert nicht", "FEHLER Verbindung verloren", "Fehler: Modul nicht gefunden", "a.c:3:5: schwerwiegender Fehler: x.h fehlt",
		"Syntaxfehler: unerwartetes »)«", "Fehler beim Lesen von /etc/app.yml: Keine Rechte", "Schwerwiegend: Kein Git-Repository", "cp: /root: Keine Berechtigung",
		"error fatal: no se encuentra x.h", "a.c:1:10: error fatal: x.h", "Error al conectar: tiempo agotado", "Fallo: la prueba no pasó", "cat: x: No existe el fichero o el directorio",
		"psql: errore: connessione rifiutata", "ERRORE: la tabella non esiste", "Errore di sintassi: riga 3", "sh: foo: comando non trovato",
		"Erro: arquivo não encontrado", "Falha ao abrir o arquivo: x", "erro interno: y", "ls: x: Arquivo ou diretório inexistente",
		"[エラー] データベースに接続できません", "エラー: 型が一致しません", "a.c:3:1: 致命的エラー: x.h", "【エラー】ビルド失敗", "cat: x: そのようなファイルやディレクトリはありません",
		"错误：找不到文件", "致命错误：不是 git 仓库", "a.c:3:1: 错误：expected", "[错误] 连接超时", "構建失敗：見記錄", "ls: x: 没有那个文件或目录", "bash: foo: 未找到命令",
		"Ошибка: файл не найден", "ОШИБКА:  отношение \"orders\" не существует", "a.c:3: критическая ошибка: x.h", "rm: x: Отказано в доступе",
		"오류: 파일이 없습니다", "치명적 오류: 중단", "[에러] 연결 실패", "bash: foo: 명령어를 찾을 수 없음",
		"BŁĄD: relacja nie istnieje", "a.c:5:3: błąd: oczekiwano ;", "Błąd krytyczny: brak pliku", "ls: x: Nie ma takiego pliku ani katalogu",
		"FOUT: tabel bestaat niet", "Fatale fout: geen geheugen", "syntaxfout: onverwacht einde", "cat: x: Toegang geweigerd",
		"Fehler: keine Verbindung", "Fehler 3: kein Platz", "Erreur : aucun fichier", "Erro no servidor: tempo esgotado", "Ошибка: нет соединения", "Erro: arquivo.txt", "Errore: timeout (30 s)",
		"Keine Sorge, Fehler: x", "avvio fallito (errore: timeout)", "Erro: timeout;", "错误：没有权限", "無效錯誤：參數", "エラー: 権限なし", "fallo: x; y", "hata: dosya yok", "HATA: bağlantı", "ölümcül: bir git deposu değil", "sözdizim hatası: x", "ls: x: Böyle bir dosya ya da dizin yok",
	} {
		if !tellsError(text) {
			t.Errorf("%q is no error", text)
		}
	}
	for _, text := range []string{
		"Keine", "0 Fehler, 3 Warnungen", "Erreur quadratique moyenne : 0,03", "Fehler: 0", "Warnung: veraltet", "avertissement : variable inutilisée",
		"Fehler: keine", "Fehler: Keine.", "Keine Fehler: alle Tests bestanden", "Keine anderen Fehler: gut", "FEHLER: 0", "FEHLER: keine", "[Fehler] 0", "errore: nessuno", "Nessun errore: bene",
		"erreur : aucune", "ERREUR\u00a0: aucune", "Aucune erreur : tout va bien", "hata: yok", "Hata yok: bütün testler geçti", "Erro: nenhum", "Fallo: ninguno", "fout: geen", "Geen fout: klaar",
		"błąd: brak", "Ошибка: нет", "エラー: なし", "エラーなし: 成功", "错误：无", "没有错误：全部通过", "오류: 없음", "오류 없음: 통과", "erro: null", "Fehler gefunden: keine",
		"erro: string;", "errore: any)", "errore: any) {", "private erro: Error | null = null;", "catch (erro: unknown) {", "fout: boolean,", "then((erro: any) => {",
		"Aviso: obsoleto", "警告: 未使用の変数", "Предупреждение: устарело", "uyarı: eski", "ostrzeżenie: stare", "Hatay: bir il", "chatarra: x",
		"Fehler passieren allen, aber eines ist klar: man lernt", "// behandelt den Fehler", "fehlerfrei: ja", "func onErro(x int) {", "without fout, go on",
		"errors in other places: none", "error rate by host: low", "fallout: none", "fatalities: 3", "zero erro", "コンパイル完了: 成功", "编译完成：没有问题",
	} {
		if tellsError(text) {
			t.Errorf("%q is an error", text)
		}
	}
}

// TestWordsAbroadAreFound: the finder knows every word of the tables in each of its forms.
func TestWordsAbroadAreFound(t *testing.T) {
	for _, word := range slices.Concat(errorNames, errorEnds, errorPhrases, errorSigns, systemErrors) {
		for _, form := range []string{word, "x " + word + " y"} {
			if errorWords.in(form)&(wordAbroad|messageAbroad) == 0 {
				t.Errorf("%q is not found", form)
			}
		}
		if errorWords.in(strings.ToUpper(word)) == 0 && !slices.Contains(systemErrors, word) {
			t.Errorf("%q is not found in capitals", word)
		}
	}
}
