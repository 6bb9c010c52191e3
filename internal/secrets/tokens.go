package secrets

import (
	"regexp"
	"strings"
)

// tokenKinds are tokens with a distinctive beginning, as their issuers document them. They are found anywhere, even if
// truncated: the part that a terminal, a log or a model has left may be
// enough of the secret to search for the rest.
var tokenKinds = []struct{ id, begins, rest string }{
	{"aws-access-key", "AKIA|ASIA|ABIA|ACCA", `[A-Z2-7]{10,}`},
	{"github-token", "ghp_|gho_|ghu_|ghs_|ghr_", `[0-9A-Za-z]{10,}`},
	{"github-fine-grained-pat", "github_pat_", `\w{10,}`},
	{"gitlab-token", "glpat-|glrt-|gldt-|glft-|glimt-|glagent-|gloas-|glsoat-|glptt-|glcbt-|glffct-", `[\w-]{10,}`},
	{"slack-token", "xoxb-|xoxp-|xoxa-|xoxr-|xoxs-|xoxe-|xoxe.|xapp-", `[\w-]{10,}`},
	{"stripe-token", "sk_live_|sk_test_|rk_live_|rk_test_|sk_prod_|rk_prod_", `[0-9A-Za-z]{10,}`},
	{"webhook-secret", "whsec_", `[0-9A-Za-z+/=]{10,}`},
	{"openai-api-key", "sk-proj-|sk-svcacct-|sk-admin-|sk-None-", `[\w-]{10,}`},
	{"openai-api-key", "sk-", `[0-9A-Za-z]{20,}`},
	{"anthropic-api-key", "sk-ant-", `[\w-]{10,}`},
	{"openrouter-api-key", "sk-or-v1-", `[0-9a-f]{10,}`},
	{"huggingface-token", "hf_|api_org_", `[0-9A-Za-z]{16,}`},
	{"docker-hub-token", "dckr_pat_|dckr_oat_", `[\w-]{10,}`},
	{"supabase-token", "sbp_|sb_secret_", `(?:v\d+_)?[\w-]{10,}`},
	{"npm-token", "npm_", `[0-9A-Za-z]{16,}`},
	{"pypi-token", "pypi-AgE", `[\w-]{10,}`},
	{"rubygems-token", "rubygems_", `[0-9a-f]{10,}`},
	{"sendgrid-token", "SG.", `[\w-]{16,}(?:\.[\w-]*)?`},
	{"digitalocean-token", "dop_v1_|doo_v1_|dor_v1_", `[0-9a-f]{10,}`},
	{"shopify-token", "shpat_|shpca_|shppa_|shpss_", `[0-9A-Fa-f]{10,}`},
	{"databricks-token", "dapi", `[0-9a-f]{20,}(?:-\d)?`},
	{"vault-token", "hvs.|hvb.|hvr.", `[\w-]{10,}`},
	{"doppler-token", "dp.pt.|dp.st.|dp.ct.|dp.sa.|dp.scim.|dp.audit.", `[\w.-]{10,}`},
	{"grafana-token", "glsa_|glc_", `[\w+/=]{10,}`},
	{"new-relic-key", "NRAK-|NRII-|NRJS-", `[\w-]{10,}`},
	{"linear-token", "lin_api_|lin_oauth_", `[0-9A-Za-z]{10,}`},
	{"notion-token", "ntn_", `[0-9A-Za-z]{16,}`},
	{"postman-token", "PMAK-", `[0-9a-f-]{10,}`},
	{"planetscale-token", "pscale_pw_|pscale_tkn_|pscale_oauth_", `[\w.=-]{10,}`},
	{"age-secret-key", "AGE-SECRET-KEY-1", `[0-9A-Z]{10,}`},
	{"figma-token", "figd_", `[\w-]{10,}`},
	{"groq-api-key", "gsk_", `[0-9A-Za-z]{16,}`},
	{"replicate-token", "r8_", `[0-9A-Za-z]{16,}`},
	{"perplexity-api-key", "pplx-", `[0-9A-Za-z]{10,}`},
	{"xai-api-key", "xai-", `[0-9A-Za-z]{20,}`},
	{"atlassian-token", "ATATT3|ATCTT3|ATBB", `[\w=-]{20,}`},
	{"tailscale-key", "tskey-", `[a-z]+-[\w-]{10,}`},
	{"gcp-api-key", "AIza", `[\w-]{20,}`},
	{"google-client-secret", "GOCSPX-", `[\w-]{10,}`},
	{"google-access-token", "ya29.", `[\w-]{16,}`},
	{"twilio-key", "SK", `[0-9a-f]{32}`},
	{"jwt", "eyJ", `[\w-]{14,}\.eyJ[\w-]{10,}(?:\.[\w-]*)?`},
}

// tokenRules returns a rule for each kind.
func tokenRules() []rule {
	var rules []rule
	for _, k := range tokenKinds {
		begins := strings.Split(k.begins, "|")
		keywords := make([]string, len(begins))
		for i, b := range begins {
			keywords[i], begins[i] = strings.ToLower(b), regexp.QuoteMeta(b)
		}
		either := `(?:` + strings.Join(begins, "|") + `)`
		if len(begins) == 1 {
			either = begins[0]
		}
		r := own(k.id, `\b(`+either+k.rest+`)`, keywords...)
		skip := len(keywords[0])
		r.allowed = func(secret, _, _ string) bool { return !isDrawn(secret[min(skip, len(secret)):]) }
		rules = append(rules, r)
	}
	return rules
}

// leastEntropy separates random characters from a repeated word, in bits per character: ten random
// hexadecimal digits are below 2 once in ten thousand times.
const leastEntropy = 1.9

// isDrawn reports whether characters look random rather than written by people: with a digit among them, in both cases,
// or as capitals longer than a word, and without much repetition.
func isDrawn(s string) bool {
	if isPlaceholder(s) || strings.Contains(strings.ToLower(s), "example") || entropyOf(s) < leastEntropy {
		return false
	}
	return strings.ContainsAny(s, "0123456789") || strings.ToLower(s) != s && (strings.ToUpper(s) != s || capitals.MatchString(s) && entropyOf(s) > 2.5)
}

var capitals = regexp.MustCompile(`^[A-Z]{14,}$`)
