package secrets

import (
	"regexp"
	"strings"
)

// Parts of expressions. A quote may be escaped, as in JSON within JSON.
const (
	quote      = `\\{0,3}["'\x60]`
	assignment = `[ \t]{0,3}(?::|=|=>|:=)[ \t]{0,3}`
	// quoted is a quoted value, which ends at a quote of the same kind.
	quoted = `(?:\\{0,3}"([^"\s\\]{6,})|\\{0,3}'([^'\s\\]{6,})|\x60([^\x60\s]{6,}))`
	// bare is an unquoted value: up to the next blank, cut to its form (valueEnd).
	bare = `([^\s"'\x60]{6,})`
)

// ownRules find secrets by their name or place, regardless of entropy.
func ownRules() []rule {
	rules := tokenRules()
	for _, some := range [][]rule{passwordRules(), secretRules(), urlRules(), headerRules(), fileRules(), commandRules()} {
		rules = append(rules, some...)
	}
	return rules
}

const passwordNames = `(?:password|passwd|passphrase|pwd)`

var passwordKeywords = []string{"password", "passwd", "passphrase", "pwd"}

func passwordRules() []rule {
	return []rule{
		value("password", `(?i)`+passwordNames+`(?:`+quote+`)?`+assignment+quoted, passwordKeywords...),
		value("passphrase", `(?i)(?:password|passphrase)(?:`+quote+`)?[ \t]{0,3}=[ \t]{0,3}(?:"([^"\n]{10,200})"|'([^'\n]{10,200})')`, "password", "passphrase"),
		phrase("passphrase", `(?i)passphrase(?:`+quote+`)?`+assignment+`(?:`+quote+`)?([a-z][a-z' -]{11,200})`, "passphrase"),
		phrase("mnemonic", `(?i)(?:mnemonic|(?:seed|recovery|backup|secret|wallet)[ _-]?(?:phrase|words))(?:`+quote+`)?[ \t]{0,3}[:=]?[\s\["'(]{0,8}((?:[a-z]{3,8}[\s"',.0-9)\\]{1,8}){11,23}[a-z]{3,8})`,
			"mnemonic", "seed phrase", "seed_phrase", "seed-phrase", "seedphrase", "recovery phrase", "recovery_phrase", "recovery-phrase", "recoveryphrase",
			"backup phrase", "backup_phrase", "secret phrase", "secret_phrase", "secretphrase", "seed words", "seed_words", "wallet words", "recovery words"),
		chosen("bare-password", `(?i)`+passwordNames+`(?:`+quote+`)?`+assignment+bare, passwordKeywords...),
		value("password-element", `(?i)(?:password|passwd|passphrase|secret|token|api-?key)>([^<\s]{6,})<`,
			"password>", "passwd>", "passphrase>", "secret>", "token>", "apikey>", "api-key>"),
		value("bind-password", `(?i)\b(?:bind_?pw|root_?pw|bind_?password)(?:`+quote+`)?(?:`+assignment+`|[ \t]{1,8})(?:`+quote+`)?([^\s"'\x60]{4,})`,
			"bindpw", "bind_pw", "rootpw", "root_pw", "bindpassword", "bind_password"),
	}
}

// secretNames are names of generated secrets, as opposed to chosen ones.
const secretNames = `(?:secret(?:[_-]?key)?(?:[_-]?base)?|(?:api|access|private|master|encryption|signing|auth|preshared|account|storage)[_-]?key|(?:access|auth|refresh|session|secret|private|security|bearer)[_-]?token)`

var secretKeywords = func() []string {
	list := []string{"secret", "master_key", "master-key", "masterkey", "presharedkey", "accountkey"}
	for _, first := range []string{"api", "access", "private", "encryption", "signing", "auth", "storage"} {
		list = append(list, first+"key", first+"_key", first+"-key")
	}
	for _, first := range []string{"access", "auth", "refresh", "session", "private", "security", "bearer"} {
		list = append(list, first+"token", first+"_token", first+"-token")
	}
	return list
}()

func secretRules() []rule {
	return []rule{
		chosen("named-secret", `(?i)`+secretNames+`(?:`+quote+`)?`+assignment+
			`(?:\\{0,3}"([^"\s\\]{12,})|\\{0,3}'([^'\s\\]{12,})|\x60([^\x60\s]{12,})|([^\s"'\x60]{12,}))`, secretKeywords...),
		drawn("named-token", `(?i)token(?:`+quote+`)?`+assignment+`(?:\\{0,3}"([^"\s\\]{20,})|\\{0,3}'([^'\s\\]{20,})|([^\s"'\x60]{20,}))`, "token"),
		variable("env-secret", `(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET_KEY|MASTER_KEY|SIGNING_KEY|ENCRYPTION_KEY)(?:_[A-Z0-9_]{0,50})?=(?:"([^"\n]{6,})"|'([^'\n]{6,})'|([^\s"'\x60]{8,}))`,
			"password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "access_key", "private_key", "master_key", "signing_key", "encryption_key"),
		own("nkey-seed", `(?i)(?:nkey seed-{3,6}\s{0,4}|(?:nkey|seed)(?:`+quote+`)?`+assignment+`(?:`+quote+`)?)(S[UAONCX][A-Z2-7]{56})`, "nkey", "seed"),
		own("ldap-hash", `(?i)(\{(?:ssha|sha|smd5|ssha256|ssha512|pbkdf2)[^}]{0,12}\}[A-Za-z0-9+/=$.]{16,})`, "{ssha", "{sha", "{smd5", "{pbkdf2"),
		own("password-hash", `(\$(?:apr1|1|2[abxy]|5|6|7|y|gy|argon2(?:id|i|d)|pbkdf2-sha\d+)\$[./A-Za-z0-9$=,+-]{20,})`,
			"$apr1$", "$1$", "$2a$", "$2b$", "$2x$", "$2y$", "$5$", "$6$", "$7$", "$y$", "$gy$", "$argon2id$", "$argon2i$", "$argon2d$", "$pbkdf2-sha"),
		own("password-hash", `(pbkdf2_sha\d+\$\d+\$[./A-Za-z0-9$=+]{20,})`, "pbkdf2_sha"),
	}
}

func urlRules() []rule {
	return []rule{
		own("url-password", `://[^\s:/@'"]{0,100}:([^\s/'"<>]{3,200})@`, "://"),
		own("url-token", `://([A-Za-z0-9_-]{20,})(?::[A-Za-z0-9_-]{0,100})?@`, "://"),
		own("url-signature", `(?i)\bsig(?:=|%3D|":)["']?([A-Za-z0-9%+/_.~=-]{20,})`, "sig=", "sig%3d", `sig":`),
		own("url-signature", `(?i)\b(?:x-amz-signature|x-amz-security-token|x-goog-signature|x-ms-signature)(?:`+quote+`)?(?:`+assignment+`|%3D)(?:`+quote+`)?([A-Za-z0-9%+/_.~=-]{20,})`,
			"x-amz-signature", "x-amz-security-token", "x-goog-signature", "x-ms-signature"),
		own("azure-key", `(?i)\b(?:accountkey|sharedaccesskey)=([A-Za-z0-9+/]{20,}={0,2})`, "accountkey", "sharedaccesskey"),
		own("otp-secret", `(?i)otpauth://[^\s"'<>]{1,200}secret=([A-Z2-7]{8,})`, "otpauth://"),
		own("discord-webhook", `(?i)discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(\d{10,20}/[\w-]{10,})`, "discord"),
		own("slack-webhook", `(?i)hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{16,})`, "hooks.slack.com"),
		own("telegram-bot-token", `([0-9]{8,10}:A[A-Za-z][A-Za-z0-9_-]{30,35})`, ":aa"),
		chosen("query-token", `(?i)[?&;](?:token|key|auth|apikey|code|pass)=([^\s"'\x60&<>]{16,})`, queries("token", "key", "auth", "apikey", "code", "pass")...),
	}
}

func queries(names ...string) (keywords []string) {
	for _, name := range names {
		keywords = append(keywords, "?"+name+"=", "&"+name+"=", ";"+name+"=")
	}
	return keywords
}

func headerRules() []rule {
	return []rule{
		own("authorization", `(?i)authorization(?:`+quote+`)?[ \t]{0,3}[:=][ \t]{0,3}(?:`+quote+`)?(?:bearer|basic|token|apikey|negotiate)[ \t]{1,3}([A-Za-z0-9+/=._~-]{8,})`,
			"authorization"),
		own("authorization", `(?i)authorization(?:`+quote+`)?[ \t]{0,3}[:=][ \t]{0,3}(?:`+quote+`)?(?:digest|aws4-hmac-sha256|hawk)[ \t]{1,3}([^\r\n'\x60\\]{8,})`, "authorization"),
		drawn("bearer", `(?i)\bbearer[ \t]{1,3}([A-Za-z0-9+/=._~-]{20,})`, "bearer"),
		own("set-cookie", `(?i)\bset-cookie(?:`+quote+`)?[ \t]{0,3}:[ \t]{0,3}(?:`+quote+`)?[\w.-]{1,100}=([^\s;"'\x60\\,]{6,})`, "set-cookie"),
		own("cookie", `(?i)\bcookie(?:`+quote+`)?[ \t]{0,3}[:=][ \t]{0,3}(?:`+quote+`)?([\w.-]{1,100}=[^\r\n"'\x60\\<>]{6,})`, "cookie"),
		own("session-cookie", `(?i)\b(?:jsessionid|phpsessid|connect\.sid|laravel_session|asp\.net_sessionid)=([^\s;"'\x60\\,&]{8,})`, "jsessionid", "phpsessid", "connect.sid", "laravel_session", "asp.net_sessionid"),
		own("docker-auth", `(?i)\\{0,3}"auth\\{0,3}"[ \t]{0,3}:[ \t\n]{0,3}\\{0,3}"([A-Za-z0-9+/]{16,}={0,2})`, `"auth`),
	}
}

// encodedKey is the beginning of a private key that is base64-encoded as a whole: RSA, EC, OpenSSH, and unspecified.
const encodedKey = `LS0tLS1CRUdJTiB(?:SU0EgUFJJVkFUR|FQyBQUklWQVRF|PUEVOU1NIIFBSSVZBVE|QUklWQVRF)`

func fileRules() []rule {
	return []rule{
		own("private-key-part", `-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\{1,3}[nr])*[A-Z][A-Za-z-]{2,30}: [^\n\\]{1,200})*((?:(?:\s|\\{1,3}[nr])*[A-Za-z0-9+/=]{24,})+(?:(?:\r?\n|\\{1,3}[nr])[A-Za-z0-9+/]{1,76}={0,2}(?:[\r\n]|\\{1,3}[nr]|…|$))?)`, "-----begin"),
		own("private-key-end", `((?:[A-Za-z0-9+/]{24,100}(?:\s|\\{1,3}[nr]){1,4})*[A-Za-z0-9+/]{1,100}={0,2}(?:\s|\\{1,3}[nr]){1,4})-----END[ A-Z0-9_-]{0,100}PRIVATE KEY`, "-----end"),
		own("encoded-private-key", `(`+encodedKey+`[A-Za-z0-9+/=]{20,})`, "ls0tls1crudjti"),
		own("client-key-data", `(?i)client-key-data(?:`+quote+`)?:[ \t]{0,3}(?:`+quote+`)?([A-Za-z0-9+/=]{20,})`, "client-key-data"),
		own("netrc", `(?:login|user)\s{1,8}\S{1,100}\s{1,8}password[ \t]{1,8}(\S{4,200})`, "password"),
	}
}

func commandRules() []rule {
	const argument = `(?:"([^"\n]{4,200})"|'([^'\n]{4,200})'|([^\s"'\x60]{4,200}))`
	return []rule{
		chosen("password-option", `(?i)-(?:password|passwd|passphrase|pass)(?:[ \t]{1,3}|=)(?:"([^"\n]{6,200})"|'([^'\n]{6,200})'|([^\s"'\x60]{6,}))`, "-pass"),
		drawn("token-option", `(?i)--(?:auth-|access-|api-)?(?:token|key|secret|api-?key|client-secret)(?:[ \t]{1,3}|=)(?:`+quote+`)?([^\s"'\x60]{16,})`,
			"--token", "--key", "--secret", "--api", "--auth-token", "--access-token", "--client-secret"),
		own("sshpass", `sshpass[ \t]{1,3}-p[ \t]{0,3}`+argument, "sshpass"),
		own("mysql-password", `(?:mysql|mysqldump|mysqladmin|mariadb)(?:[ \t][^\n|;]{0,120})?[ \t]-p`+argument, "mysql", "mariadb"),
		own("docker-login", `(?:docker|podman|helm|oras|crane)[ \t][^\n|;]{0,40}login[^\n|;]{0,120}[ \t]-p[ \t]{1,3}`+argument, "docker", "podman", "helm", "oras", "crane"),
		own("redis-password", `redis-cli(?:[ \t][^\n|;]{0,120})?[ \t]-a[ \t]{1,3}`+argument, "redis-cli"),
		own("curl-password", `curl[^\n|;]{0,200}[ \t](?:-u|--user)[ \t]{0,3}["']?[^\s:"']{0,100}:([^\s"'\x60]{4,200})`, "curl"),
	}
}

// value returns a rule for the value of a name that marks it as a secret.
func value(id, expression string, keywords ...string) rule {
	r := own(id, expression, keywords...)
	r.quotes = true
	r.allowed = func(secret, _, _ string) bool { return isPlaceholder(secret) || saysWhatItIs(secret) }
	return r
}

// chosen returns a rule for a value whose name alone does not make it a secret: in code the same names have other names,
// without digits, and paths as values.
func chosen(id, expression string, keywords ...string) rule {
	r := own(id, expression, keywords...)
	if r.assigns {
		r.until = blank
	}
	r.ends = valueEnd
	r.allowed = func(secret, match, _ string) bool {
		return isPlaceholder(secret) || !looksChosen(secret) || isCode(secret, match) || saysWhatItIs(secret)
	}
	return r
}

// drawn returns a rule for long random values after a word that also precedes other things.
func drawn(id, expression string, keywords ...string) rule {
	r := chosen(id, expression, keywords...)
	r.allowed = func(secret, match, _ string) bool {
		return !looksChosen(secret) || isCode(secret, match) || !isDrawn(secret)
	}
	return r
}

// phrase returns a rule for a secret of several words.
func phrase(id, expression string, keywords ...string) rule {
	r := own(id, expression, keywords...)
	r.ends = phraseEnd
	r.allowed = func(secret, _, _ string) bool { return isProse(secret) }
	return r
}

// variable returns a rule for the value of an environment variable, whose name may begin before the keyword.
func variable(id, expression string, keywords ...string) rule {
	r := own(id, expression, keywords...)
	r.named, r.assigns, r.quotes, r.ends = true, true, true, valueEnd
	r.allowed = func(secret, match, _ string) bool { return isPlaceholder(secret) || !inCapitals.MatchString(match) }
	return r
}

func own(id, expression string, keywords ...string) rule {
	r := rule{id: id, keywords: keywords, assigns: strings.Contains(expression, assignment+quoted) || strings.Contains(expression, assignment+bare)}
	r.looksFor(expression)
	r.allowed = func(secret, _, _ string) bool { return isPlaceholder(secret) }
	return r
}

var inCapitals = regexp.MustCompile(`^(?:[A-Z0-9]+_)*[A-Z0-9]*(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|MASTER_KEY|SIGNING_KEY|ENCRYPTION_KEY)`)
