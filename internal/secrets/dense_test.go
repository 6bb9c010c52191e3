package secrets

import (
	"strings"
	"testing"

	"precis/internal/race"
)

// dense are pieces that are expensive to search in a text made of nothing else.
var dense = []string{
	"password=", "passwd=passwd=", "token:", "secret=", "api_key=", "access_key=", "key", "key=", "key = ", "PASSWORD=", "A_PASSWORD=",
	"password='", "password = ", "password=s3cr3t99\n", "passphrase=\"s3cret word\"", "-password ", "login a password ",
	"authorization: bearer ", "AKIA", "ghp_", "github_pat_", "sk_live_", "eyJ", "eyJ.", "eyJhbGci.eyJ", "hooks.slack.com/",
	"curl ", "curl -u ", "mysql ", "mysql -p", "sshpass -p ", "adobe", "jira=", "co_api_key=", "-----BEGIN",
	"-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "://", "a://b:", ":", "=", "-", " ", "\n", `\n`, "a", "é",
	letters(64, alnum), letters(64, hex), "key = \"" + letters(32, hex) + "\"\n", "password=" + letters(40, alnum) + "+",
}

func repeated(piece string, length int) string {
	return strings.Repeat(piece, length/len(piece)+1)[:length]
}

// No text can block a partition: the work of expressions is bounded by its length, and so is what they find.
func TestWorkIsBoundedByTheText(t *testing.T) {
	race.Slow(t)
	m := masker(t)
	most := 0
	for _, piece := range dense {
		text := repeated(piece, 200_000)
		s := m.search(text)
		if bound := leastBudget + budgetPerByte*len(text); s.spent > bound || s.read > bound {
			t.Errorf("%q: %d of %d spent, %d bytes read", piece, s.spent, bound, s.read)
		}
		if len(s.found) > len(text) {
			t.Errorf("%q: %d findings", piece, len(s.found))
		}
		most = max(most, s.spent)
	}
	if most < leastBudget {
		t.Errorf("nothing comes near the budget: %d", most)
	}
}

// Text beyond the budget is masked: a secret can't hide behind a wall of names.
func TestASecretBehindAWallIsMasked(t *testing.T) {
	race.Slow(t)
	m := masker(t)
	secret := made("gh", "p_", letters(36, alnum))
	for _, piece := range dense {
		got := m.Mask(repeated(piece, 600_000) + " password=qp93hfk2lsm token " + secret)
		if strings.Contains(got, secret) || strings.Contains(got, "qp93hfk2lsm") {
			t.Errorf("%q: a secret behind it is left", piece)
		}
	}
	if got := m.Mask(repeated("secret=", 600_000)); !strings.Contains(got, "[masked:unread]") {
		t.Errorf("not said that it was not looked at: %q", clip(got))
	}
}

// A configuration of nothing but secrets is read to its end, and only the secrets are masked.
func TestARealFileOfSecretsIsRead(t *testing.T) {
	m := masker(t)
	line := "export SERVICE_API_KEY=" + letters(32, alnum) + " # from https://vault.local/secret/key token: none\n" +
		"curl -s -H 'Accept: text/plain' https://api.local/v1/keys?token=none\n"
	got := m.Mask(strings.Repeat(line, 300))
	if strings.Contains(got, unread) || strings.Contains(got, letters(32, alnum)) {
		t.Fatalf("%q", clip(got))
	}
	if n := strings.Count(got, "# from https://vault.local/secret/key token: none\n"); n != 300 {
		t.Fatalf("%d of 300 lines left as they were", n)
	}
}

// A rule whose keyword is not part of the name at the start of its expression is searched around the keyword.
func TestAKeywordInTheValue(t *testing.T) {
	m := masker(t)
	for _, text := range []string{
		made("new_relic_key = 'NR", "AK-", letters(27, hex), "'"),
		made("typeform_token = 'tf", "p_", letters(59, hex), "'"),
		made("ATA", "TT3", letters(186, alnum)),
	} {
		if m.Mask(text) == text {
			t.Errorf("not masked: %q", text)
		}
	}
}

func BenchmarkMaskDense(b *testing.B) {
	m := masker(b)
	for _, piece := range []string{"password=", "api_key=", "key", "github_pat_", "curl ", "-----BEGIN PRIVATE KEY-----", "hooks.slack.com/", letters(64, alnum)} {
		text := repeated(piece, 1<<20)
		b.Run(strings.TrimSpace(piece), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Mask(text)
			}
		})
	}
}
