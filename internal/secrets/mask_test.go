package secrets

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func masker(t testing.TB) *Masker {
	t.Helper()
	m, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// made assembles a sample at run time, so that no source file looks like a leak to a scanner.
func made(parts ...string) string { return strings.Join(parts, "") }

// letters returns a run with the entropy of a key.
func letters(n int, alphabet string) string {
	r := rand.New(rand.NewPCG(7, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	hex   = "0123456789abcdef"
)

func TestSecretsAreMasked(t *testing.T) {
	m := masker(t)
	body := strings.Repeat(letters(64, alnum)+"\n", 12)
	for _, c := range []struct{ name, before, secret, after string }{
		{"aws key id", "id ", made("AK", "IA", letters(16, upper)), " in region eu-1"},
		{"github token", "export GITHUB_TOKEN=", made("gh", "p_", letters(36, alnum)), "\n"},
		{"anthropic key", "key ", made("sk-ant", "-api03-", letters(93, alnum), "AA"), "\n"},
		{"openai key", "OPENAI_API_KEY=", made("sk", "-proj-", letters(74, alnum), "T3Blbk", "FJ", letters(74, alnum)), "\n"},
		{"slack token", "slack: ", made("xo", "xb-", letters(12, "123456789"), "-", letters(12, "123456789"), letters(24, alnum)), "\n"},
		{"jwt", "cookie ", made("ey", "J", letters(40, alnum), ".ey", "J", letters(60, alnum), ".", letters(43, alnum)), "; path=/"},
		{"generic", `"api_key": "`, letters(40, hex), `",`},
		{"longer than any window", "slack: ", made("xo", "xb-", letters(12, "123456789"), "-", letters(12, "123456789"), "-", letters(9000, alnum)), "\n"},
		{"jwt with a long payload", "cookie ", made("ey", "J", letters(40, alnum), ".ey", "J", letters(5000, alnum), ".", letters(43, alnum)), "; path=/"},
		{"password in a URL", "postgres://app:", "s3cretpass", "@db.local:5432/app"},
		{"password in code", `db.connect(password="`, "hunter22", `")`},
		{"password in YAML", "passphrase: '", "open sesame"[:4] + "sesame", "'"},
		{"bare password", "password=", "qp93hfk2lsm", "\n"},
		{"bare password in YAML", "  db_password: ", "qp93hfk2lsm", "\n"},
		{"bare password in YAML with brackets", "  db_password: ", "iAEoTH2KY0(,G1YqD)VG(Xn", "\n"},
		{"bare password in a query", "GET /login?user=a&pwd=", "qp93hfk2lsm", "&next=/ HTTP/1.1"},
		{"libpq", "PGPASSWORD=", "qp93hfk2", " psql"},
		{"a sentence", `password = '`, "correct horse battery", `'`},
		{"low entropy", `api_key: "`, made("sdf98sdf7s9d", "8f7s9d8f7sd9f87"), `"`},
		{"client secret", "client_secret=", made("8Q~", letters(20, alnum)), "\n"},
		{"quoted secret", `secret = "`, letters(26, hex), `"`},
		{"option", "login --password ", "qp93hfk2lsm", " --server x"},
		{"sshpass", "sshpass -p ", "hunter22", " ssh host"},
		{"mysql", "mysql -u root -p", "S3cretpass", " db"},
		{"netrc", "machine h login joe password ", "gh4xqqqq", "\n"},
		{"environment", "export DB_PASSWORD=", "correct-horse-battery", "\n"},
		{"header", "curl -H 'Authorization: Bearer ", letters(48, alnum), "' https://x"},
		{"private key", "", made("-----BEGIN RSA PRIV", "ATE KEY-----\n", body, "-----END RSA PRIV", "ATE KEY-----"), "\nrest"},
		{"private key cut off", made("-----BEGIN PRIV", "ATE KEY-----"), "\n" + strings.TrimSuffix(body, "\n"), "\n\nthe rest of a log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := m.Mask(c.before + c.secret + c.after)
			secret := strings.TrimSpace(c.secret)
			if strings.Contains(got, secret[:8]) || strings.Contains(got, secret[len(secret)-8:]) {
				t.Fatalf("not masked: %q", clip(got))
			}
			if !strings.HasPrefix(got, c.before) || !strings.HasSuffix(got, c.after) {
				t.Fatalf("took too much: %q", clip(got))
			}
		})
	}
}

func clip(s string) string { return s[:min(len(s), 200)] }

func TestWhatIsNoSecretStays(t *testing.T) {
	m := masker(t)
	for _, text := range []string{
		"",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"func (k *Keyring) Token(ctx context.Context) (string, error) {",
		`password = os.Getenv("DB_PASSWORD")`,
		`password: "${DB_PASSWORD}"`,
		`password="[masked:password]"`,
		"API_KEY=$(cat key)",
		"API_KEY=<your-key>",
		"postgres://user:password@localhost/db",
		"https://example.com/a:b@c",
		"public_key = " + letters(40, hex),
		"author_token_" + letters(32, hex) + " = 1",
		`api_key = "EXAMPLE-` + letters(30, hex) + `"`,
		"sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		"tokens: 1523, cached: 200",
		"pwd: /home/user1/project2",
		"PWD=/root/x86",
		"password: z.string().min(8)",
		"password = self.config2.password",
		"password=get_secret2(name)",
		"def login(user: str, password: str) -> User2:",
		"  -p, --password string   Password of registry v2",
		"--pass-through 12 files",
		"secret: see chapter 12",
		"if password == user.password2:",
		"mysql -P 3306 --protocol=tcp",
		"src/auth/token_store.go:12: func secretKey() string",
	} {
		if got := m.Mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// gitleaks's allow marks are for a repository's owner, not for the author of a tool output.
func TestTheTextCantAllowItself(t *testing.T) {
	text := made("AK", "IA", letters(16, upper)) + " gitleaks:allow"
	if got := masker(t).Mask(text); got == text {
		t.Fatal("not masked")
	}
}

func TestMaskNeverLengthens(t *testing.T) {
	m := masker(t)
	pieces := []string{"password='", "hunter22", "'", "key=", letters(40, hex), " ", "\n", "é", "token: ", "postgres://u:", "pw1@h", made("gh", "p_", letters(36, alnum)), "Authorization: Bearer ", "…"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces"), "")
		holds(t, m, text)
	})
}

func FuzzMask(f *testing.F) {
	m := masker(f)
	f.Add("password=\"hunter22\" https://a:bcd@e")
	f.Add("-----BEGIN PRIV\xff")
	f.Add(strings.Repeat("key=", 50) + letters(40, hex))
	f.Fuzz(func(t *testing.T, text string) { holds(t, m, text) })
}

type fatal interface{ Fatalf(string, ...any) }

func holds(t fatal, m *Masker, text string) {
	got := m.Mask(text)
	if len(got) > len(text) || utf8.RuneCountInString(got) > utf8.RuneCountInString(text) {
		t.Fatalf("longer: %q became %q", text, got)
	}
	if utf8.ValidString(text) && !utf8.ValidString(got) {
		t.Fatalf("broke UTF-8: %q became %q", text, got)
	}
	if again := m.Mask(got); again != got {
		t.Fatalf("masked again: %q, then %q, then %q", text, got, again)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		masker(b)
	}
}

func BenchmarkMask(b *testing.B) {
	m := masker(b)
	for name, text := range map[string]string{
		"log":     strings.Repeat("2026-01-01 INFO request handled path=/api/v1/users id=12345 tokens=88\n", 700),
		"summary": strings.Repeat("2026-01-01 INFO request handled path=/api/v1/users id=12345 tokens=88\n", 11),
		"a":       strings.Repeat("a", 50000),
		"key":     strings.Repeat("key=", 12500),
		"begin":   strings.Repeat("-----BEGIN PRIVATE KEY-----\n", 1800),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Mask(text)
			}
		})
	}
}
