package tokens

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
)

// kinds are texts that the transcripts have little of, about 3 kB each: scripts, encodings, data.
func kinds() map[string]string {
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 2000)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	pick := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return string(b)
	}
	all := map[string]string{
		"base64":       base64.StdEncoding.EncodeToString(random),
		"hex":          hex.EncodeToString(random),
		"random lower": pick("abcdefghijklmnopqrstuvwxyz", 2000),
		"random upper": pick("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 2000),
		"dna":          pick("ACGT", 2000),
		"symbols":      pick("!#$%&()*+,-./:;<=>?@[]^_{|}~", 2000),
		"numbers": each(200, func(i int) string {
			return fmt.Sprintf("%d,%.4f,%d;", rng.IntN(1e6), rng.Float64()*1000, rng.IntN(1e9))
		}),
		"uuids": each(60, func(int) string {
			return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x\n", rng.Uint32(), rng.IntN(1<<16), rng.IntN(1<<12), rng.IntN(1<<12), rng.Uint64()>>16)
		}),
		"go sums": each(30, func(i int) string {
			return fmt.Sprintf("github.com/example/module%d v1.%d.%d h1:%s=\n", i, i%9, i%7, base64.RawStdEncoding.EncodeToString(random[i*8:i*8+32]))
		}),
		"hexdump": each(60, func(i int) string {
			return fmt.Sprintf("%08x  % x  |................|\n", i*16, random[i*16:i*16+16])
		}),
		"table": each(40, func(i int) string {
			return fmt.Sprintf("| item-%-4d | %8d | %-12s | yes |\n", i, rng.IntN(1e6), pick("abcdef", 6))
		}),
		"box drawing": strings.Repeat("├── src\n│   ├── main.go\n│   └── util.go\n└──────────────────┘\n", 40),
		"minified": each(40, func(i int) string {
			return fmt.Sprintf("function e%d(t,n){return n.a!==t?(r=o[%d],r&&r.call(this,t)):void 0}var s%d=[1,2,\"x\"];", i, i, i)
		}),
		"shouting": strings.Repeat("ERROR: CONNECTION REFUSED WHILE READING HEADERS FROM UPSTREAM. RETRYING LATER. ", 30),
		"emoji":    strings.Repeat("Done 🎉🚀 tests ✅ pass 👍🏽 build ❌ 🔥🔥 see 👩‍💻 ", 30),
		"ansi":     strings.Repeat("\x1b[32m✓\x1b[0m should render \x1b[90m(3 ms)\x1b[0m\n", 50),
		"camel":    strings.Repeat("getUserAccountSettingsByIdOrThrow(defaultRequestContextProvider.currentTenantId);\n", 30),
	}
	for language, text := range languages {
		all[language] = strings.Repeat(text, 3000/len(text)+1)
	}
	return all
}

func each(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}

// languages say the same in the scripts that most of the world writes in.
var languages = map[string]string{
	"english":  "The connection was lost while the server was writing the report, so the last three records are missing. Please check the disk and start the job again. ",
	"german":   "Die Verbindung brach ab, während der Server den Bericht schrieb, deshalb fehlen die letzten drei Datensätze. Bitte prüfen Sie die Festplatte und starten Sie den Vorgang erneut. ",
	"french":   "La connexion a été perdue pendant que le serveur écrivait le rapport, c'est pourquoi les trois derniers enregistrements manquent. Vérifiez le disque et relancez la tâche. ",
	"turkish":  "Sunucu raporu yazarken bağlantı koptu, bu yüzden son üç kayıt eksik. Lütfen diski kontrol edin ve işi yeniden başlatın. ",
	"russian":  "Соединение прервалось, когда сервер записывал отчёт, поэтому последние три записи отсутствуют. Проверьте диск и запустите задание снова. ",
	"greek":    "Η σύνδεση χάθηκε ενώ ο διακομιστής έγραφε την αναφορά, οπότε λείπουν οι τρεις τελευταίες εγγραφές. Ελέγξτε τον δίσκο και ξεκινήστε ξανά την εργασία. ",
	"hebrew":   "החיבור אבד בזמן שהשרת כתב את הדוח, ולכן שלוש הרשומות האחרונות חסרות. אנא בדקו את הדיסק והפעילו את המשימה מחדש. ",
	"arabic":   "انقطع الاتصال بينما كان الخادم يكتب التقرير، لذلك السجلات الثلاثة الأخيرة مفقودة. يرجى التحقق من القرص وبدء المهمة مرة أخرى. ",
	"hindi":    "सर्वर रिपोर्ट लिख रहा था तभी कनेक्शन टूट गया, इसलिए आख़िरी तीन रिकॉर्ड नहीं हैं। कृपया डिस्क जाँचें और काम फिर से शुरू करें। ",
	"thai":     "การเชื่อมต่อขาดหายไปขณะที่เซิร์ฟเวอร์กำลังเขียนรายงาน ดังนั้นสามรายการสุดท้ายจึงหายไป โปรดตรวจสอบดิสก์แล้วเริ่มงานใหม่อีกครั้ง ",
	"chinese":  "服务器写入报告时连接中断,因此最后三条记录丢失。请检查磁盘并重新启动任务。错误日志保存在系统目录中,管理员可以随时查看。",
	"japanese": "サーバーがレポートを書き込んでいる間に接続が切れたため、最後の三件の記録がありません。ディスクを確認して、ジョブをもう一度開始してください。",
	"korean":   "서버가 보고서를 쓰는 동안 연결이 끊겨 마지막 세 개의 기록이 없습니다. 디스크를 확인하고 작업을 다시 시작하세요. ",
}
